"""Assets and parties of a rule: one, a collection, a refined part of a collection (ODRL IM 2.2 and 2.3)."""

from dataclasses import dataclass
from typing import Final

from smalti.policy.document.nodes import Name, Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import MOST_IN_STEM, file_stem
from smalti.policy.model.model import Asset, Condition, Membership, Party, Where
from smalti.policy.read.properties import Place, check_properties
from smalti.policy.read.reading import Claim, Reading
from smalti.policy.read.reading_conditions import ConditionContext, ConditionPlace, read_conditions
from smalti.policy.read.values import (
    Scope,
    bare_name,
    iri_is_good,
    node_name,
    odrl_name,
    one_value,
    reference,
    values_of,
)
from smalti.vocab.terms import (
    ASSIGNEE,
    ASSIGNEE_OF,
    ASSIGNER_OF,
    BELONGS_TO,
    HAS_POLICY,
    IRI,
    OUTPUT,
    PART_OF,
    REFINEMENT,
    SOURCE,
)

_TYPES: Final = {
    Place.ASSET: frozenset({"Asset", "AssetCollection"}),
    Place.PARTY: frozenset({"Party", "PartyCollection"}),
}
_REFINED: Final = {Place.ASSET: ConditionPlace.ASSET, Place.PARTY: ConditionPlace.PARTY}
CLAIMS: Final = {HAS_POLICY: "target", ASSIGNER_OF: "assigner", ASSIGNEE_OF: "assignee"}


@dataclass(frozen=True, slots=True)
class _Named:
    """An asset or a party where the document names it."""

    iri: IRI
    refinements: tuple[Condition, ...]
    name: Name
    where: Where


def read_assets(prop: Property | None, reading: Reading) -> tuple[Asset, ...]:
    """The assets that a property names, sorted by IRI; repetitions have no effect."""
    assets: dict[IRI, Asset] = {}
    for named in _read_all(prop, Place.ASSET, reading):
        asset = Asset(named.iri, named.refinements, named.where)
        if assets.setdefault(asset.iri, asset) != asset:
            message = f"{quoted(named.name.written)} is already a target, with other refinements"
            help_ = "write one rule for each part of the collection"
            reading.scope.findings.error("P304", named.name.place, message, help_)
    return tuple(assets[iri] for iri in sorted(assets))


def read_parties(prop: Property | None, reading: Reading) -> tuple[Party, ...]:
    """The parties that a property names, sorted by IRI; repetitions have no effect."""
    parties = [Party(n.iri, n.refinements, n.where) for n in _read_all(prop, Place.PARTY, reading)]
    return tuple(sorted(dict.fromkeys(parties), key=lambda party: party.iri))


def read_output(rule: Node, reading: Reading) -> IRI | None:
    """The asset that a rule produces; None when there is none, or after an error."""
    value = one_value(rule, OUTPUT, reading.scope)
    named = _read(value, OUTPUT, Place.ASSET, reading) if value is not None else None
    if named is None or value is None:
        return None
    if isinstance(value, Node) and (value.get(SOURCE) is not None or value.get(REFINEMENT) is not None):
        message = "an output is a new asset, not a part of a collection"
        reading.scope.findings.error("P309", value.place, message, "write its IRI alone")
        return None
    if (length := len(file_stem(named.iri))) > MOST_IN_STEM:
        message = f"the last part of the output's IRI, which names its file, has {length} characters"
        help_ = f"name an asset whose last part has at most {MOST_IN_STEM} characters"
        reading.scope.findings.error("P442", value.place, message, help_)
        return None
    return named.iri


def read_described(node: Node, place: Place, reading: Reading) -> None:
    """Read what a node beside the policy says of an asset or a party: its collections, and its policies."""
    _read(node, PART_OF if place is Place.ASSET else ASSIGNEE, place, reading)


def _read_all(prop: Property | None, place: Place, reading: Reading) -> list[_Named]:
    if prop is None:
        return []
    values = values_of(prop, reading.scope)
    entries = [_read(value, prop.iri, place, reading) for value in values]
    return [named for named in entries if named is not None]


def _read(value: Value, part: str, place: Place, reading: Reading) -> _Named | None:
    what, scope = f"the {odrl_name(part)}", reading.scope
    if not isinstance(value, Node) or value.is_reference:
        name = reference(value, what, scope)
        return None if name is None else _Named(IRI(name.iri), (), name, scope.findings.where(value.place))
    _check_types(value, place, scope)
    check_properties(value, place, scope)
    name = _identity(value, what, place, reading)
    if name is None:
        return None
    iri = IRI(name.iri)
    refinements = _refinements(value, place, iri, scope)
    _read_memberships(value, iri, place, reading)
    _read_claims(value, iri, reading)
    return _Named(iri, refinements, name, scope.findings.where(value.place))


def _check_types(node: Node, place: Place, scope: Scope) -> None:
    """Types of other vocabularies (`dcat:Dataset`) have no effect; those of ODRL must fit."""
    for name in node.types:
        if odrl_name(name.iri) and odrl_name(name.iri) not in _TYPES[place]:
            message = f"{place.title} cannot have the type {quoted(name.written)}"
            scope.findings.error("P320", name.place, message)
        else:
            iri_is_good(name, "the type", scope)


def _identity(node: Node, what: str, place: Place, reading: Reading) -> Name | None:
    """The name of an asset or a party: its uid, or its source when it is refined (ODRL IM 2.2 and 2.3)."""
    scope = reading.scope
    source = one_value(node, SOURCE, scope)
    named = None if node.name is None or node.name.iri.startswith("_:") else node.name
    if source is not None and named is not None and node.get(REFINEMENT) is not None:
        message = f"the refined collection has both a `source` and the name {quoted(named.written)}"
        scope.findings.error(
            "P326", named.place, message, "keep the `source`, or keep the name without a refinement"
        )
        return None
    if source is not None:
        return _by_source(source, named, what, place, reading)
    if node.get(SOURCE) is not None or (node.name is None and not node.is_complete):
        return None
    if node.get(REFINEMENT) is not None and node.is_complete:
        message = (
            "a refined collection has no `source`: the refinement would apply to the collection itself"
        )
        help_ = 'write "source" instead of "uid", and "@type" AssetCollection or PartyCollection'
        scope.findings.error("P327", node.place, message, help_)
        return None
    name = node_name(node, what, scope)
    return name if name is not None and iri_is_good(name, what, scope) is not None else None


def _by_source(source: Value, named: Name | None, what: str, place: Place, reading: Reading) -> Name | None:
    """The name of a collection that has a source, which is the collection itself."""
    whole = _read(source, SOURCE, place, reading)
    if whole is None or named is None:
        return None if whole is None else whole.name
    if iri_is_good(named, what, reading.scope) is None:
        return None
    _join(IRI(named.iri), whole.iri, place, reading)
    return named


def _join(name: IRI, source: IRI, place: Place, reading: Reading) -> None:
    """A collection that has a name and a source is one collection: each is within the other."""
    for member, collection in ((name, source), (source, name)) if name != source else ():
        reading.memberships[Membership(member, collection, of_parties=place is Place.PARTY)] = None


def _refinements(node: Node, place: Place, iri: IRI, scope: Scope) -> tuple[Condition, ...]:
    prop = node.get(REFINEMENT)
    if prop is None:
        return ()
    return read_conditions(prop, "refinement", ConditionContext(_REFINED[place], targets=(iri,)), scope)


def _read_memberships(node: Node, iri: IRI, place: Place, reading: Reading) -> None:
    for word in (PART_OF, BELONGS_TO):
        prop = node.get(word)
        for value in values_of(prop, reading.scope) if prop is not None else ():
            collection = _read(value, word, place, reading)
            if collection is not None and (collection.refinements or node.get(REFINEMENT) is not None):
                feature = "membership in or of a refined part of a collection"
                reading.scope.findings.not_implemented(value.place, feature)
            elif collection is not None:
                membership = Membership(iri, collection.iri, of_parties=place is Place.PARTY)
                reading.memberships[membership] = None


def _read_claims(node: Node, iri: IRI, reading: Reading) -> None:
    for word, part in CLAIMS.items():
        prop = node.get(word)
        for value in values_of(prop, reading.scope) if prop is not None else ():
            name = bare_name(value, f"the policy of {quoted(odrl_name(word))}", reading.scope)
            if name is not None and prop is not None and name.iri == reading.uid:
                reading.claims.append(Claim(part, iri, prop.word, name.place))
            elif name is not None and prop is not None:
                feature = f"{quoted(prop.word)} with a policy other than this one"
                reading.scope.findings.not_implemented(
                    name.place, feature, f"write `{part}` in that policy"
                )
