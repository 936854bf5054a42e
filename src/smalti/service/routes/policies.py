"""Policies: check, add, replace, revoke, list, read."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from smalti.checking import CheckedDocument, check_text
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.errors import PolicyError, UsageError
from smalti.formatting import convert_text
from smalti.json.registry import policy_json, policy_states
from smalti.json.text import Json
from smalti.policy.findings.render import to_explained_json
from smalti.service.disclosure import governs, is_for, shown_targets
from smalti.service.operations import (
    JSON_LD,
    NOTHING,
    POLICY_TYPES,
    SIGNATURE,
    TURTLE,
    YAML,
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
    listing,
)
from smalti.service.pages import Paged, page
from smalti.service.parties import PARTIES, READERS, Asker
from smalti.service.problems import TITLES, RefusedError, not_found, refusal_of
from smalti.service.received import RawBody
from smalti.submitting import Submitted, submit_policies

_TYPES: Final = tuple(POLICY_TYPES)
_POLICY: Final = having("uid", "digest", "issuer", "targets", "added", "state", "revoked")
_ADDED: Final = having("policies", "warnings")


class PolicyList(Paged):
    """Which policies."""

    state: Literal["in force", "replaced", "revoked"] | None = None
    target: Annotated[str, Field(max_length=4096)] | None = None


class WrittenAs(Described):
    """How the document of a policy is written in the answer."""

    form: Annotated[
        Literal["stored", "short", "json-ld"],
        Field(description="as stored where a document cannot be said in it; so is the ETag"),
    ] = "stored"


def check_one(call: Call[NoQuery, RawBody]) -> Answer:
    """Every finding about a document."""
    return answered(_checked_json(_checked(call.body, call.service.registry, call.asker)))


def add(call: Call[NoQuery, RawBody]) -> Answer:
    """Put the policies of a document in force."""
    submitted = _submitted(call, replaces=False)
    return answered(_submitted_json(submitted), 201)


def replace(call: Call[NoQuery, RawBody]) -> Answer:
    """Put a document in the place of the asker's own."""
    registry, asker = call.service.registry, call.asker
    current = _own(registry, asker, call.path["uid"])
    _check_state(call.headers, current, is_required=True)
    checked = _checked(call.body, registry, asker)
    if checked.is_valid and current.uid not in {policy.uid for policy in checked.policies}:
        raise RefusedError(422, "invalid", "the document has no policy of the uid that it would replace")
    try:
        submitted = _submitted(call, replaces=True, instead_of=current.digest)
    except UsageError:
        _check_state(call.headers, _own(registry, asker, current.uid), is_required=True)
        raise
    return answered(_submitted_json(submitted), 200, {"ETag": _tag(submitted.policies[0])})


def revoke(call: Call[NoQuery, None]) -> Answer:
    """Revoke a policy, and with it what it implied."""
    registry, uid = call.service.registry, call.path["uid"]
    current = _visible(registry, call.asker, uid)
    if not governs(registry, call.asker, current):
        raise not_found()
    _check_state(call.headers, current, is_required=False)
    registry.revoke_policy(current.uid, call.asker.party)
    return NOTHING


def list_all(call: Call[PolicyList, None]) -> Answer:
    """The policies that the asker may see."""
    registry, query = call.service.registry, call.query
    stored = registry.list_policies()
    entries = [
        (f"{number:012d}", entry, state)
        for number, (entry, state) in enumerate(zip(stored, policy_states(stored), strict=True))
        if query.state in (None, state)
        and (query.target is None or query.target in entry.targets)
        and (is_for(call.asker, entry) or governs(registry, call.asker, entry))
    ]
    return answered(
        page(entries, query, lambda entry: entry[0], lambda entry: _shown(call, entry[1], entry[2]))
    )


def read(call: Call[WrittenAs, None]) -> Answer:
    """One policy; its document is for its issuer, owners of its targets, and auditors."""
    registry = call.service.registry
    current = _visible(registry, call.asker, call.path["uid"])
    stored = registry.list_policies()
    states = dict(zip(map(_identity, stored), policy_states(stored), strict=True))
    shown = _shown(call, current, states[_identity(current)])
    if governs(registry, call.asker, current):
        shown |= _written(current, call.query.form)
    return answered(shown, headers={"ETag": _tag(current)})


def _written(stored: StoredPolicy, form: str) -> Json:
    """The document in a form, or as it is stored where it cannot be said in that."""
    text = stored.document.decode("utf-8", "replace")
    media_type = TURTLE if stored.name.endswith(".ttl") else JSON_LD
    kept = {"document": text, "mediaType": media_type}
    if form == "stored":
        return kept
    converted = convert_text(text, POLICY_TYPES[media_type], form)
    if not converted.text:
        return kept
    return {"document": converted.text, "mediaType": YAML if form == "short" else JSON_LD}


def _shown(call: Call[Any, None], stored: StoredPolicy, state: str) -> Json:
    targets = shown_targets(call.service.registry, call.asker, stored)
    return policy_json(stored, state) | {"targets": targets}


def _identity(stored: StoredPolicy) -> tuple[str, str, str, str]:
    return stored.uid, stored.digest, stored.issuer, stored.added_at.isoformat()


def _named(registry: Registry, uid: str) -> Sequence[StoredPolicy]:
    """Under a uid; what is in force first, the latest first."""
    entries = [stored for stored in registry.list_policies() if stored.uid == uid]
    return sorted(entries, key=lambda stored: (stored.is_in_force, stored.added_at), reverse=True)


def _own(registry: Registry, asker: Asker, uid: str) -> StoredPolicy:
    for stored in _named(registry, uid):
        if stored.issuer == asker.party and stored.is_in_force:
            return stored
    raise not_found()


def _visible(registry: Registry, asker: Asker, uid: str) -> StoredPolicy:
    """The entry under a uid that the asker means: its own first.

    Raises:
        RefusedError: there is none that it may see.
    """
    visible = [
        stored
        for stored in _named(registry, uid)
        if is_for(asker, stored) or governs(registry, asker, stored)
    ]
    own = [stored for stored in visible if stored.issuer == asker.party and stored.is_in_force]
    if not visible:
        raise not_found()
    return (own or visible)[0]


def _tag(stored: StoredPolicy) -> str:
    return f'"{stored.digest}"'


def _check_state(headers: Mapping[str, str], current: StoredPolicy, *, is_required: bool) -> None:
    """Refuse a change of another state than the one that the asker has seen."""
    expected = headers.get("if-match")
    if expected is None and is_required:
        raise RefusedError(428, "state-required", "send the ETag of the policy as `If-Match`")
    seen = {tag.strip() for tag in (expected or "*").split(",")}
    if not seen & {"*", _tag(current)}:
        raise RefusedError(412, "changed-meanwhile", "read the policy again, and decide anew")


def _checked(body: RawBody, registry: Registry, asker: Asker) -> CheckedDocument:
    words = registry.hierarchies.counting_for(asker.party, None)
    return check_text(body.content, POLICY_TYPES[body.media_type], words)


def _checked_json(checked: CheckedDocument) -> Json:
    return {
        "valid": checked.is_valid,
        "findings": [to_explained_json(finding) for finding in checked.diagnostics],
        "policies": [policy.uid for policy in checked.policies],
        "descriptions": list(checked.descriptions),
    }


def check_document(registry: Registry, asker: Asker, body: RawBody) -> CheckedDocument:
    """What was found in a document without errors.

    Raises:
        RefusedError: it has errors; with all findings, as where it was to be put in force.
    """
    checked = _checked(body, registry, asker)
    if not checked.is_valid:
        findings = [to_explained_json(finding) for finding in checked.diagnostics]
        raise RefusedError(422, "policy-error", TITLES["policy-error"], {"findings": findings})
    return checked


def _submitted(call: Call[NoQuery, RawBody], *, replaces: bool, instead_of: str | None = None) -> Submitted:
    signature = call.headers.get(SIGNATURE)
    _check_nothing_of_others_below(call)
    try:
        return submit_policies(
            call.service.registry,
            call.body.content,
            POLICY_TYPES[call.body.media_type],
            call.asker.party,
            signature=None if signature is None else signature.encode(),
            replaces=replaces,
            instead_of=instead_of,
        )
    except PolicyError as error:
        refusal = refusal_of(error)
        checked = _checked(call.body, call.service.registry, call.asker)
        refusal.more["findings"] = [to_explained_json(finding) for finding in checked.diagnostics]
        raise refusal from None


def _check_nothing_of_others_below(call: Call[NoQuery, RawBody]) -> None:
    """Refuse what would make the asker an owner of a part of somebody else's asset.

    Raises:
        RefusedError: by 409.
    """
    registry, party = call.service.registry, call.asker.party
    checked = _checked(call.body, registry, call.asker)
    targets = {target for policy in checked.policies for target in policy.targets}
    if any(registry.ownership.has_others_below(target, party) for target in targets):
        raise RefusedError(
            409, "conflict", "this party cannot put a policy on one of the targets: name other IRIs"
        )


def _submitted_json(submitted: Submitted) -> Json:
    return {
        "policies": [policy_json(stored, "in force") for stored in submitted.policies],
        "warnings": list(submitted.warnings),
    }


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/checks", name="checkPolicy", tag="policies",
        summary="List every finding about a policy document; nothing is stored.",
        roles=PARTIES, handler=check_one, query=NoQuery, body=RawBody, takes=_TYPES,
        gives=having("valid", "findings", "policies", "descriptions"),
    ),
    Operation(
        method="POST", path="/v1/policies", name="addPolicies", tag="policies",
        summary="Put the policies of a document in force; the asker is their issuer.",
        roles=PARTIES, handler=add, query=NoQuery, body=RawBody, takes=_TYPES, gives=_ADDED, status=201,
    ),
    Operation(
        method="GET", path="/v1/policies", name="listPolicies", tag="policies",
        summary="List the asker's policies, those about what it owns, and those in force that name it.",
        roles=READERS, handler=list_all, query=PolicyList, body=type(None), gives=listing(_POLICY),
    ),
    Operation(
        method="GET", path="/v1/policies/{uid:path}", name="readPolicy", tag="policies",
        summary="Read a policy, with its ETag.",
        roles=READERS, handler=read, query=WrittenAs, body=type(None), gives=_POLICY, refuses=(404,),
    ),
    Operation(
        method="PUT", path="/v1/policies/{uid:path}", name="replacePolicy", tag="policies",
        summary="Put a document in the place of the asker's own; If-Match names what it replaces.",
        roles=PARTIES, handler=replace, query=NoQuery, body=RawBody, takes=_TYPES, gives=_ADDED,
        refuses=(404, 412, 428),
    ),
    Operation(
        method="DELETE", path="/v1/policies/{uid:path}", name="revokePolicy", tag="policies",
        summary="Revoke a policy, and with it what it implied.",
        roles=PARTIES, handler=revoke, query=NoQuery, body=type(None), status=204, refuses=(404, 412),
    ),
)  # fmt: skip
