"""The shipped vocabularies of data spaces: their profiles and left operands. They count always.

`catenax-2025-9.ttl`, `dspace-2025-1.ttl` and `edc.ttl` say the same in Turtle: `turtle` writes them, and a
test fails where one differs. The actions are in `odrl.ACTION_PARENTS`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from smalti.vocab.contexts import EDC_CONTEXT, EDC_CONTEXT_2, EDC_DATASPACE_CONTEXT
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.odrl import Measured
from smalti.vocab.terms import CATENAX, DSPACE, EDC, IRI


@dataclass(frozen=True, slots=True)
class Market:
    """The vocabulary of one data space."""

    title: str
    file: str
    """In Turtle, beside this module."""
    namespace: str
    prefix: str
    profiles: tuple[IRI, ...] = ()
    actions: tuple[IRI, ...] = ()
    operands: tuple[OperandDeclaration, ...] = ()


_EQ: Final = frozenset({"eq"})
_ANY: Final = frozenset({"isAnyOf"})
_ALL: Final = frozenset({"isAllOf"})
_EITHER: Final = _EQ | _ANY
_FACT: Final = OperandKind.FACT
_CLAUSE: Final = OperandKind.CLAUSE


def _catenax(
    name: str,
    operators: frozenset[str],
    definition: str,
    kind: OperandKind = _CLAUSE,
    range_: Measured = Measured.TEXT,
) -> OperandDeclaration:
    return OperandDeclaration(IRI(CATENAX + name), kind, range_, operators, definition=definition)


_CATENAX_OPERANDS: Final = (
    _catenax("Membership", _EQ, "Whether the party is a member of the data space: `active`.", _FACT),
    _catenax("FrameworkAgreement", _EQ, "A framework agreement that the party signed: `Name:version`.",
             _FACT),
    _catenax("UsagePurpose", _ANY, "What the data is used for, by ids such as `cx.pcf.base:1`.", _FACT),
    _catenax("BusinessPartnerNumber", _ANY, "The party's number: `BPNL` and 12 characters.", _FACT),
    _catenax("BusinessPartnerGroup", _ANY, "A group into which the owner put the party's number.", _FACT),
    _catenax("AffiliatesBpnl", _ANY, "Affiliates that the party may pass the data to, by number."),
    _catenax("AffiliatesRegion", _ANY, "Where such affiliates are, by ids such as `cx.region.europe:1`."),
    _catenax("ManagedLegalEntityBpnl", _ANY, "Legal entities that the party manages, by number."),
    _catenax("ManagedLegalEntityRegion", _ANY, "Where such entities are, by ids of regions."),
    _catenax("ContractReference", _ALL, "Contracts of the two parties that apply besides."),
    _catenax("UsageRestriction", _ALL, "What the party must not do with the data."),
    _catenax("JurisdictionLocation", _EQ, "The place whose courts decide."),
    _catenax("JurisdictionLocationReference", _EITHER, "To whom that place belongs."),
    _catenax("DataProvisioningEndDate", _EQ, "Until when data is provided.", range_=Measured.MOMENT),
    _catenax("DataProvisioningEndDurationDays", _EQ, "For how many days data is provided.",
             range_=Measured.WHOLE_NUMBER),
    _catenax("DataUsageEndDate", _EQ, "Until when the data is used.", range_=Measured.MOMENT),
    _catenax("DataUsageEndDurationDays", _EQ, "For how many days the data is used.",
             range_=Measured.WHOLE_NUMBER),
    _catenax("DataUsageEndDefinition", _EITHER, "When the use of the data ends, in words."),
    _catenax("DataFrequency", _EITHER, "How often data is provided."),
    _catenax("ExclusiveUsage", _EITHER, "That nobody else gets the data."),
    _catenax("ContractTermination", _EITHER, "How the contract is ended."),
    _catenax("Liability", _EITHER, "Who is liable for what."),
    _catenax("Precedence", _EITHER, "Which contract comes first."),
    _catenax("VersionChanges", _EITHER, "What happens when the data's form changes."),
    _catenax("Warranty", _EITHER, "What the provider warrants."),
    _catenax("WarrantyDefinition", _EITHER, "How long, in words."),
    _catenax("WarrantyDurationMonths", _EQ, "For how many months.", range_=Measured.WHOLE_NUMBER),
    _catenax("ConfidentialInformationMeasures", _EITHER, "How confidential data is protected."),
    _catenax("ConfidentialInformationSharing", _EITHER, "With whom confidential data is shared."),
)  # fmt: skip

IN_FORCE_DATE: Final = IRI(EDC + "inForceDate")

MARKETS: Final = (
    Market(
        "Catena-X 2025-9", "catenax-2025-9.ttl", CATENAX, "cx-policy",
        profiles=(IRI(CATENAX), IRI(CATENAX + "profile2509")),
        actions=(IRI(CATENAX + "access"),),
        operands=_CATENAX_OPERANDS,
    ),
    Market(
        "Dataspace Protocol 2025-1", "dspace-2025-1.ttl", DSPACE, "dspace",
        profiles=(IRI(DSPACE + "odrl-profile"), IRI(DSPACE + "odrl-profile.jsonld")),
    ),
    Market(
        "Eclipse Dataspace Components", "edc.ttl", EDC, "edc",
        operands=(
            OperandDeclaration(
                IN_FORCE_DATE, OperandKind.CLOCK, Measured.MOMENT,
                definition="The time of the request; compared with a time, or with a duration from the"
                " agreement such as `contractAgreement+30d`.",
            ),
        ),
    ),
)  # fmt: skip
"""In the order of the documentation."""

PROFILES: Final = frozenset(profile for market in MARKETS for profile in market.profiles)
OPERANDS: Final = MappingProxyType({
    operand.iri: operand for market in MARKETS for operand in market.operands
})  # fmt: skip
NAMESPACES: Final = tuple(market.namespace for market in MARKETS if market.namespace != EDC)
"""What nobody else may declare words in. EDC's is none of them: connectors write the words of all markets
in it (`@vocab`), so that a market may declare those that EDC does not define."""


@cache
def words_of_edc() -> frozenset[str]:
    """The words that EDC defines itself, and its namespace: those of its contexts, scoped ones included."""
    contexts = (EDC_CONTEXT, EDC_CONTEXT_2, EDC_DATASPACE_CONTEXT)
    names = {name for path in contexts for name in _names(json.loads(path.read_text(encoding="utf-8")))}
    types = {"Constraint", "LogicalConstraint", "AtomicConstraint"}
    return frozenset(EDC + name for name in names | types | {""})


def _names(part: object) -> Iterator[str]:
    """The names in EDC's namespace that a context, or a part of it, mentions."""
    if isinstance(part, str) and part.startswith("edc:"):
        yield part.removeprefix("edc:")
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _names(inner)


_RANGES: Final = {
    Measured.TEXT: "xsd:string",
    Measured.MOMENT: "xsd:dateTime",
    Measured.WHOLE_NUMBER: "xsd:nonNegativeInteger",
}


def turtle(market: Market) -> str:
    """A shipped vocabulary as a market would write its own."""
    return "\n".join(_lines(market)) + "\n"


def _lines(market: Market) -> Iterator[str]:
    yield f"# {market.title}, as smalti reads it. Written from vocab/markets.py: do not edit."
    for prefix, namespace in (
        ("odrl", "http://www.w3.org/ns/odrl/2/"),
        ("smalti", "https://w3id.org/smalti#"),
        ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ("skos", "http://www.w3.org/2004/02/skos/core#"),
        ("xsd", "http://www.w3.org/2001/XMLSchema#"),
        (market.prefix, market.namespace),
    ):
        yield f"@prefix {prefix}: <{namespace}> ."
    members = [*market.actions, *(operand.iri for operand in market.operands)]
    for profile in market.profiles:
        listed = f" ;\n    skos:member {', '.join(f'<{iri}>' for iri in members)}" if members else ""
        yield f'\n<{profile}> a skos:Collection ;\n    skos:prefLabel "{market.title}"{listed} .'
    for action in market.actions:
        yield f"\n<{action}> a odrl:Action ;\n    odrl:includedIn odrl:use ."
    for operand in market.operands:
        operators = ", ".join(f"odrl:{name}" for name in sorted(operand.only_operators))
        allowed = f"\n    smalti:operator {operators} ;" if operators else ""
        yield (
            f"\n<{operand.iri}> a odrl:LeftOperand ;"
            f"\n    smalti:operandKind smalti:{operand.kind.capitalize()} ;"
            f"\n    rdfs:range {_RANGES[operand.range]} ;{allowed}"
            f'\n    skos:definition "{operand.definition}" .'
        )


def main() -> None:
    """Write each vocabulary."""
    from pathlib import Path  # noqa: PLC0415

    for market in MARKETS:
        (Path(__file__).parent / market.file).write_text(turtle(market), encoding="utf-8")


if __name__ == "__main__":
    main()
