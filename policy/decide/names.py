"""Words and IRIs outside of documents: on the command line, or in a call."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from smalti.errors import UsageError
from smalti.policy.model.iris import iri_problem, misspelt_iri, respelled
from smalti.policy.model.suggest import did_you_mean
from smalti.vocab.aliases import canonical
from smalti.vocab.markets import MARKETS, OPERANDS
from smalti.vocab.odrl import ACTION_PARENTS, LEFT_OPERANDS
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import DPV, DPV_ODRL, IDSC, IRI, MOSAICROWN, ODRL, SMALTI
from smalti.vocab.words import WORDS, Kind

_PREFIXES: Final = {
    "odrl": ODRL,
    "mosaicrown": MOSAICROWN,
    "m": MOSAICROWN,
    "smalti": SMALTI,
    "s": SMALTI,
    "dpv": DPV,
    "dpv-odrl": DPV_ODRL,
    "idsc": IDSC,
    **{market.prefix: market.namespace for market in MARKETS},
}
_VOCABULARIES: Final = tuple(_PREFIXES.values())
_MOST_LISTED: Final = 24


def word(kind: Kind, written: str, where: str) -> IRI:
    """The IRI of an action, a purpose or an operand: by its name, with a prefix, or in full.

    >>> word(Kind.PURPOSE, "marketing", "--purpose")
    'https://www.mosaicrown.eu/ns/mosaicrown/1/marketing'
    >>> word(Kind.PURPOSE, "DirectMarketing", "--purpose")
    'https://w3id.org/dpv#DirectMarketing'
    >>> word(Kind.ACTION, "odrl:read", "--action")
    'http://www.w3.org/ns/odrl/2/read'

    Raises:
        UsageError: it is neither a known name nor an IRI, its vocabulary has no such word, or the IRI has
            another spelling than smalti accepts.
    """
    names = _names(kind)
    if written in names:
        return names[written]
    prefix, colon, name = written.partition(":")
    full = respelled(_PREFIXES[prefix] + name if colon and prefix in _PREFIXES else written)
    canonical_iri = IRI(canonical(full))
    if canonical_iri in names.values():
        return canonical_iri
    if not iri_problem(full) and not canonical_iri.startswith(_VOCABULARIES):
        return canonical_iri
    if misspelt_iri(full):
        return iri(full, where)  # raises, with the spelling that is accepted
    local = full.rpartition("#")[2].rpartition("/")[2]
    way_out = did_you_mean(local, names) or "write the name, or the full IRI"
    raise UsageError(where, f"`{written}` is not a known {_what(kind)}", _expected(kind), way_out)


@cache
def _names(kind: Kind) -> Mapping[str, IRI]:
    """The words of a kind by name; of two vocabularies with the name, ODRL's."""
    words = [entry.iri for entry in WORDS if entry.kind is kind]
    match kind:
        case Kind.ACTION:
            words += sorted(ACTION_PARENTS, key=lambda iri: (not iri.startswith(ODRL), iri))
        case Kind.PURPOSE:
            words += sorted(PURPOSES)
        case Kind.REFINEMENT | Kind.CONSTRAINT:
            words += [IRI(ODRL + name) for name in sorted(LEFT_OPERANDS)]
            words += sorted(OPERANDS) if kind is Kind.CONSTRAINT else []
    first: dict[str, IRI] = {}
    for iri in words:
        first.setdefault(iri.rpartition("#")[2].rpartition("/")[2], iri)
    others = {iri: iri for iri in words}
    return first | others


def _what(kind: Kind) -> str:
    return kind if kind in {Kind.ACTION, Kind.PURPOSE} else "operand"


def _expected(kind: Kind) -> str:
    names = sorted(entry.name for entry in WORDS if entry.kind is kind)
    others = {Kind.ACTION: ["one of ODRL's"], Kind.PURPOSE: ["one of DPV's"]}.get(kind, [])
    more = ["and others"] if len(names) > _MOST_LISTED else []
    return f"one of {', '.join([*names[:_MOST_LISTED], *others, *more])}, or an IRI"


def iri(written: str, where: str) -> IRI:
    """An absolute IRI as it was written.

    Raises:
        UsageError: it is not an absolute IRI.
    """
    written = respelled(written)
    problem = iri_problem(written)
    if problem:
        raise UsageError(
            where, f"`{written}` {problem}", "an absolute IRI such as http://example.com/party/a"
        )
    return IRI(written)
