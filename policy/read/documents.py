"""One expanded policy to a `Policy` (ODRL IM 2.1, 2.2, 2.8 to 2.10)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.document.expansion import UNRESOLVED
from smalti.policy.document.nodes import Node, nodes_below
from smalti.policy.findings.findings import quoted
from smalti.policy.model.circles import on_circles
from smalti.policy.model.model import (
    ConflictStrategy,
    Duty,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Shared,
)
from smalti.policy.read.beside import claims_on, read_beside, with_claims
from smalti.policy.read.compact import is_bounded, joined, read_shared, with_shared
from smalti.policy.read.core_words import word_outside_core
from smalti.policy.read.inheritance import Inherited, check_uids, check_validity, fill
from smalti.policy.read.properties import Place, check_properties
from smalti.policy.read.reading import Kind, Reading
from smalti.policy.read.rules import (
    NEEDED_PARTIES,
    read_obligations,
    read_permissions,
    read_prohibitions,
    read_uid,
    rule_nodes,
)
from smalti.policy.read.unimplemented import note_unimplemented
from smalti.policy.read.validity import read_valid
from smalti.policy.read.values import (
    Scope,
    bare_name,
    canonical_word,
    odrl_name,
    one_value,
    unknown_word,
    values_of,
)
from smalti.vocab.aliases import canonical
from smalti.vocab.contexts import CATENAX_CONTEXT, DATASPACE_ODRL_CONTEXT, MOSAICROWN_CONTEXT
from smalti.vocab.markets import MARKETS
from smalti.vocab.odrl import CONFLICT_STRATEGIES, POLICY_TYPES
from smalti.vocab.terms import (
    AGREEMENT,
    CATENAX,
    CONFLICT,
    DSPACE,
    INHERIT_FROM,
    IRI,
    IS_REPLACED_BY,
    MOSAICROWN,
    OBLIGATION,
    OFFER,
    OUTPUT,
    PERMISSION,
    POLICY,
    PROFILE,
    PROHIBITION,
    SET,
    SMALTI,
    UID,
)

_PROFILE_OF: Final = (
    (MOSAICROWN_CONTEXT, MOSAICROWN),
    (CATENAX_CONTEXT, CATENAX),
    (DATASPACE_ODRL_CONTEXT, f"{DSPACE}odrl-profile"),
)
"""The profile that a context comes with."""
_TYPES: Final[dict[str, PolicyType]] = {
    POLICY: PolicyType.SET,
    SET: PolicyType.SET,
    OFFER: PolicyType.OFFER,
    AGREEMENT: PolicyType.AGREEMENT,
}


def read_policy(node: Node, inherited: Inherited, scope: Scope) -> Policy | None:
    """Read one policy, whose parents are read already; None after an error.

    Its own rules come first, then those of its parents in the order in which they are named.
    """
    type_ = _read_type(node, scope)
    check_properties(node, Place.POLICY, scope)
    _check_replaced(node, scope)
    uid = read_uid(node, "policy", scope)
    _warn_of_missing(node, inherited, scope)
    reading = Reading(scope, uid, type_, inherited.shared, inherited.is_whole)
    shared = joined(read_shared(node, reading), inherited.shared)
    read_beside(node, reading)
    own, taken = _read_rules(node, reading), _filled(inherited, shared)
    policy = Policy(
        uid=uid, document_digest=f"sha256:{scope.digest}", type=type_,
        profiles=_read_profiles(node, inherited, scope),
        inherits=inherited.uids, inherited_digests=inherited.digests,
        conflict=inherited.conflict(_read_conflict(node, scope)), valid=read_valid(node, scope),
        permissions=(*own.permissions, *taken.permissions),
        prohibitions=(*own.prohibitions, *taken.prohibitions),
        obligations=(*own.obligations, *taken.obligations),
        memberships=tuple(sorted({*reading.memberships, *inherited.memberships})),
        inclusions=tuple(sorted({*scope.inclusions, *inherited.inclusions})),
        shared=None if shared == Shared() else shared, where=scope.findings.where(node.place),
    )  # fmt: skip
    _check_rules(node, policy, taken, inherited, scope)
    check_validity(policy.valid, inherited, scope)
    if not scope.findings.has_errors:
        check_uids(own.all, inherited, scope)
        _check_outputs(policy, node, scope)
        _check_claims(reading, policy)
    if scope.findings.has_errors:
        return None
    note_unimplemented(policy, node.place, scope)
    return policy


@dataclass(frozen=True, slots=True)
class _Rules:
    permissions: tuple[Permission, ...] = ()
    prohibitions: tuple[Prohibition, ...] = ()
    obligations: tuple[Duty, ...] = ()

    @property
    def all(self) -> tuple[Rule, ...]:
        return (*self.permissions, *self.prohibitions, *self.obligations)


def _filled(inherited: Inherited, shared: Shared) -> _Rules:
    return _Rules(
        fill(inherited.permissions, shared),
        fill(inherited.prohibitions, shared),
        fill(inherited.obligations, shared),
    )


def check_described_once(policies: list[Node], scope: Scope) -> None:
    """Refuse a uid that two places describe: in RDF the two would be one (escalation across policies)."""
    first: dict[str, int] = {}
    for node in (below for policy in policies for below in nodes_below(policy)):
        if node.name is None or not node.properties:
            continue
        line = scope.findings.where(node.name.place).line
        if node.name.iri in first:
            message = f"{quoted(node.name.written)} is already described at line {first[node.name.iri]}"
            scope.findings.error("P310", node.name.place, message, "give each rule and policy its own uid")
        first.setdefault(node.name.iri, line)


def _read_rules(node: Node, reading: Reading) -> _Rules:
    claims = claims_on(node, reading.uid)
    if not is_bounded(node, reading.scope, len(claims)):
        return _Rules()

    def rules(word: str, kind: Kind) -> Iterable[Node]:
        nodes = rule_nodes(node.get(word), kind, reading.scope)
        return (with_claims(with_shared(rule, node), claims) for rule in nodes)

    return _Rules(
        tuple(r for rule in rules(PERMISSION, Kind.PERMISSION) for r in read_permissions(rule, reading)),
        tuple(r for rule in rules(PROHIBITION, Kind.PROHIBITION) for r in read_prohibitions(rule, reading)),
        tuple(r for rule in rules(OBLIGATION, Kind.OBLIGATION) for r in read_obligations(rule, reading)),
    )


def _check_rules(node: Node, policy: Policy, taken: _Rules, inherited: Inherited, scope: Scope) -> None:
    written = any(node.get(word) is not None for word in (PERMISSION, PROHIBITION, OBLIGATION))
    if not written and not policy.rules and node.is_complete and inherited.is_whole:
        message = "the policy has no permission, no prohibition and no obligation"
        scope.findings.error("P302", node.place, message)
    for name in NEEDED_PARTIES.get(policy.type, ()):
        if inherited.place is not None and not all(getattr(rule, f"{name}s") for rule in taken.all):
            code = "P316" if policy.type is PolicyType.AGREEMENT else "P324"
            message = f"an inherited rule has no {quoted(name)}"
            scope.findings.error(code, inherited.place, message, "write it once on the policy")


def _read_type(node: Node, scope: Scope) -> PolicyType:
    """The policy's type: Offer and Agreement are Sets with more to them, and exclude each other."""
    type_ = PolicyType.SET
    for name in node.types:
        iri = canonical_word(name, scope)
        if iri not in _TYPES and odrl_name(iri) in POLICY_TYPES:
            scope.findings.not_implemented(name.place, f"the policy type {quoted(name.written)}")
        elif iri not in _TYPES:
            unknown_word("P301", name, "policy type", POLICY_TYPES, scope)
        elif PolicyType.SET not in {type_, _TYPES[iri]} and type_ is not _TYPES[iri]:
            message = f"a policy cannot be both {type_} and {_TYPES[iri]}"
            scope.findings.error("P323", name.place, message, "keep one of the types")
        elif _TYPES[iri] is not PolicyType.SET:
            type_ = _TYPES[iri]
            if type_ is PolicyType.OFFER:
                message = "an Offer grants nothing; it proposes an Agreement"
                scope.findings.warning("P506", name.place, message)
    return type_


def _check_replaced(node: Node, scope: Scope) -> None:
    prop = node.get(IS_REPLACED_BY)
    if prop is not None:
        message = f"the policy is void: {quoted(prop.word)} names the policy that replaces it"
        scope.findings.error("P318", prop.key, message, "use the policy that replaces it")


def _warn_of_missing(node: Node, inherited: Inherited, scope: Scope) -> None:
    if node.name is None and node.get(UID) is None:
        message = "the policy has no `uid`; smalti derives one from the document's digest"
        scope.findings.warning("P501", node.place, message, 'add "uid": "http://..."')
    named = node.get(PROFILE) is not None or bool(inherited.profiles) or not inherited.is_whole
    if not named and (word := word_outside_core(node)) is not None:
        message = f"the policy names no `profile`, and {quoted(word.written)} is outside ODRL's core"
        profile = _profile_with(word.iri, scope)
        help_ = f'add "profile": "{profile}"' if profile else "add the `profile` that defines the word"
        scope.findings.warning("P502", node.place, message, help_)


def _profile_with(word: str, scope: Scope) -> str:
    """The profile that declares a word; for one of ODRL's, that of a context. Empty: none that is known."""
    market = next((market for market in MARKETS if word.startswith(market.namespace)), None)
    if market is not None:
        return next(iter(market.profiles), "")
    if word.startswith((MOSAICROWN, SMALTI)):
        return MOSAICROWN
    if not odrl_name(word) and not word.startswith(UNRESOLVED):
        return ""
    return next((iri for context, iri in _PROFILE_OF if context in scope.terms.contexts), MOSAICROWN)


def _read_profiles(node: Node, inherited: Inherited, scope: Scope) -> tuple[IRI, ...]:
    """The policy's profiles and its parents', sorted; an unknown one must stop processing (ODRL IM 3.2).

    A check is no processing: there it is a warning, and the policy grants nothing.
    """
    profiles, known_profiles = set(inherited.profiles), scope.hierarchies.profiles
    prop = node.get(PROFILE)
    for value in values_of(prop, scope) if prop is not None else ():
        name = bare_name(value, "the profile", scope)
        iri = canonical_word(name, scope) if name is not None else ""
        if name is None:
            continue
        profiles.add(IRI(iri))
        if iri not in known_profiles:
            report = scope.findings.error if scope.stops_at_profiles else scope.findings.warning
            message = f"the profile {quoted(name.written)} is unknown, so its words have no meaning here"
            way_out = "add a vocabulary that defines it"
            help_ = scope.findings.did_you_mean(name.written, sorted(known_profiles)) or way_out
            report("P317", name.place, message, help_)
    return tuple(sorted(profiles))


def names_unknown_profile(node: Node, hierarchies: Hierarchies) -> bool:
    """Whether a policy names a profile that no vocabulary here defines."""
    prop = node.get(PROFILE)
    names = [value.name for value in prop.values if isinstance(value, Node)] if prop is not None else []
    return any(canonical(name.iri) not in hierarchies.profiles for name in names if name is not None)


def _read_conflict(node: Node, scope: Scope) -> ConflictStrategy | None:
    """The strategy that the policy itself names; None where its parents determine it."""
    value = one_value(node, CONFLICT, scope)
    name = bare_name(value, "the conflict strategy", scope) if value is not None else None
    if name is None:  # ODRL IM 2.10: `invalid` is the default
        return ConflictStrategy.INVALID if node.get(INHERIT_FROM) is None else None
    strategy = odrl_name(canonical_word(name, scope))
    if strategy in CONFLICT_STRATEGIES:
        return ConflictStrategy(strategy)
    unknown_word("P315", name, "conflict strategy", CONFLICT_STRATEGIES, scope)
    return ConflictStrategy.INVALID


def _check_claims(reading: Reading, policy: Policy) -> None:
    """`hasPolicy`, `assignerOf` and `assigneeOf` may repeat every rule, and add nothing."""
    everywhere: dict[str, set[IRI]] = {}
    for claim in reading.claims:
        if claim.part not in everywhere:
            named = [{part.iri for part in getattr(rule, f"{claim.part}s")} for rule in policy.rules]
            everywhere[claim.part] = set.intersection(*named)
        if claim.iri not in everywhere[claim.part]:
            feature = f"{quoted(claim.word)} where some rule has another {claim.part}"
            help_ = f"write `{claim.part}` on the policy, for all its rules"
            reading.scope.findings.not_implemented(claim.place, feature, help_)


def _check_outputs(policy: Policy, node: Node, scope: Scope) -> None:
    """Refuse outputs that lead back to their source: no run may overwrite what another one reads."""
    sources: dict[IRI, set[IRI]] = {}
    for output, source in _outputs_with_targets(policy):
        sources.setdefault(output, set()).add(source)
    circular = on_circles(sources)
    for below in nodes_below(node) if circular else ():
        prop = below.get(OUTPUT)
        for value in prop.values if prop is not None else ():
            name = value.name if isinstance(value, Node) else None
            if name is not None and name.iri in circular:
                message = f"the output {quoted(name.written)} is its own source, by way of other rules"
                help_ = "name a new asset: a run never overwrites its input"
                scope.findings.error("P413", name.place, message, help_)


def _outputs_with_targets(policy: Policy) -> Iterator[tuple[IRI, IRI]]:
    """Each output with each target that it is produced from."""
    for rule in policy.rules:
        for nested in _with_nested(rule):
            if isinstance(nested, Permission | Duty) and nested.output is not None:
                for target in nested.targets:
                    yield nested.output, target.iri


def _with_nested(rule: object) -> Iterator[object]:
    yield rule
    for part in ("duties", "remedies", "consequences"):
        for duty in getattr(rule, part, ()):
            yield from _with_nested(duty)
