"""One expanded policy to a `Policy` (ODRL IM 2.1 and 2.2)."""

from typing import Final

from smalti.policy.findings import quoted
from smalti.policy.model import ConflictStrategy, Policy, PolicyType, Rule
from smalti.policy.nodes import Node, nodes_below
from smalti.policy.properties import Place, check_properties
from smalti.policy.rules import read_permission, read_prohibition, read_uid
from smalti.policy.values import (
    Scope,
    bare_name,
    known_word,
    odrl_name,
    one_value,
    unknown_word,
    values_of,
)
from smalti.vocab.odrl import CONFLICT_STRATEGIES, POLICY_TYPES
from smalti.vocab.terms import (
    AGREEMENT,
    CONFLICT,
    DPV_ODRL,
    IS_REPLACED_BY,
    MOSAICROWN,
    OFFER,
    PERMISSION,
    POLICY,
    PROFILE,
    PROHIBITION,
    SET,
    SMALTI,
    UID,
)

_PROFILES: Final = (MOSAICROWN, SMALTI)
_PROFILES_LATER: Final = (DPV_ODRL,)


def read_policy(node: Node, scope: Scope) -> Policy | None:
    """Read one policy; None after an error."""
    findings = scope.findings
    is_agreement = _read_types(node, scope)
    check_properties(node, Place.POLICY, scope)
    _check_replaced(node, scope)
    uid = read_uid(node, "policy", scope)
    _warn_of_missing(node, scope)
    _check_profiles(node, scope)
    conflict = _read_conflict(node, scope)
    permissions = [read_permission(value, scope) for value in _rules(node, PERMISSION, scope)]
    prohibitions = [read_prohibition(value, scope) for value in _rules(node, PROHIBITION, scope)]
    if node.get(PERMISSION) is None and node.get(PROHIBITION) is None and node.is_complete:
        findings.error("P302", node.place, "the policy has no permission and no prohibition")
    granted = tuple(rule for rule in permissions if rule is not None)
    forbidden = tuple(rule for rule in prohibitions if rule is not None)
    if is_agreement:
        _check_parties((*granted, *forbidden), node, scope)
    if findings.has_errors:
        return None
    digest = f"sha256:{scope.digest}"
    return Policy(
        uid=uid, document_digest=digest, conflict=conflict, permissions=granted, prohibitions=forbidden,
        type=PolicyType.AGREEMENT if is_agreement else PolicyType.SET, where=findings.where(node.place),
    )  # fmt: skip


def check_described_once(policies: list[Node], scope: Scope) -> None:
    """Refuse a uid that two places describe: in RDF the two would be one (escalation across policies)."""
    first: dict[str, int] = {}
    for node in (below for policy in policies for below in nodes_below(policy)):
        if node.name is None or not node.properties:
            continue
        line = scope.findings.where(node.name.place).line
        if node.name.iri in first:
            message = f"{quoted(node.name.written)} is described already, at line {first[node.name.iri]}"
            scope.findings.error("P310", node.name.place, message, "give each rule and policy its own uid")
        first.setdefault(node.name.iri, line)


def _rules(node: Node, kind: str, scope: Scope) -> tuple[Node, ...]:
    prop = node.get(kind)
    if prop is None:
        return ()
    found: list[Node] = []
    for value in values_of(prop, scope):
        if isinstance(value, Node):
            found.append(value)
        else:
            message = f"a {odrl_name(kind)} is an object, and {quoted(value.text)} is not"
            scope.findings.error("P314", value.place, message)
    return tuple(found)


def _read_types(node: Node, scope: Scope) -> bool:
    """Check the policy's type; True for an Agreement."""
    agreement = False
    for name in node.types:
        iri = known_word(name, scope)
        if iri == OFFER:
            message = "an Offer grants nothing: it proposes what an Agreement may say later"
            scope.findings.error("P301", name.place, message, "did you mean `Set` or `Agreement`?")
        elif iri not in {SET, POLICY, AGREEMENT} and odrl_name(iri) in POLICY_TYPES:
            scope.findings.not_implemented(name.place, f"the policy type {quoted(name.written)}")
        elif iri not in {SET, POLICY, AGREEMENT}:
            unknown_word("P301", name, "policy type", POLICY_TYPES, scope)
        agreement |= iri == AGREEMENT
    return agreement


def _check_replaced(node: Node, scope: Scope) -> None:
    prop = node.get(IS_REPLACED_BY)
    if prop is not None:
        message = f"the policy is void: {quoted(prop.word)} names the policy that replaces it"
        scope.findings.error("P318", prop.key, message, "use the policy that replaces it")


def _warn_of_missing(node: Node, scope: Scope) -> None:
    if node.name is None and node.get(UID) is None:
        message = "the policy has no `uid`; one is made from the document's digest"
        scope.findings.warning("P501", node.place, message, 'add "uid": "http://..."')
    if node.get(PROFILE) is None:
        message = "the policy names no `profile`, and uses words outside ODRL's core"
        scope.findings.warning("P502", node.place, message, f'add "profile": "{MOSAICROWN}"')


def _check_profiles(node: Node, scope: Scope) -> None:
    prop = node.get(PROFILE)
    for value in values_of(prop, scope) if prop is not None else ():
        name = bare_name(value, "the profile", scope)
        iri = known_word(name, scope) if name is not None else ""
        if name is None or iri in _PROFILES:
            continue
        if iri in _PROFILES_LATER:
            scope.findings.not_implemented(name.place, f"the profile {quoted(name.written)}")
            continue
        message = f"the profile {quoted(name.written)} is not known, so that its words have no meaning here"
        scope.findings.error(
            "P317", name.place, message, scope.findings.did_you_mean(name.written, _PROFILES)
        )


def _read_conflict(node: Node, scope: Scope) -> ConflictStrategy:
    value = one_value(node, CONFLICT, scope)
    name = bare_name(value, "the conflict strategy", scope) if value is not None else None
    if name is None:
        return ConflictStrategy.INVALID  # ODRL IM 2.9: the default
    strategy = odrl_name(known_word(name, scope))
    if strategy in CONFLICT_STRATEGIES:
        return ConflictStrategy(strategy)
    unknown_word("P315", name, "conflict strategy", CONFLICT_STRATEGIES, scope)
    return ConflictStrategy.INVALID


def _check_parties(rules: tuple[Rule, ...], node: Node, scope: Scope) -> None:
    places = {scope.findings.where(below.place): below.place for below in nodes_below(node)}
    for rule in rules:
        missing = [name for name in ("assigner", "assignee") if not getattr(rule, f"{name}s")]
        if missing:
            message = f"a rule of an Agreement has no {' and no '.join(quoted(name) for name in missing)}"
            scope.findings.error("P316", places[rule.where], message)
