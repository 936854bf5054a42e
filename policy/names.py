"""Words and IRIs that a caller writes outside a document: on the command line, or in a call."""

from typing import Final

from smalti.errors import UsageError
from smalti.policy.iris import iri_problem
from smalti.policy.suggest import did_you_mean
from smalti.vocab.aliases import canonical
from smalti.vocab.terms import DPV, IRI, MOSAICROWN, ODRL, SMALTI
from smalti.vocab.words import WORDS, Kind

_PREFIXES: Final = {
    "odrl": ODRL,
    "mosaicrown": MOSAICROWN,
    "m": MOSAICROWN,
    "smalti": SMALTI,
    "s": SMALTI,
    "dpv": DPV,
}


def word(kind: Kind, written: str, where: str) -> IRI:
    """The IRI of an action or a purpose: by its name, with a prefix, or in full.

    >>> word(Kind.PURPOSE, "marketing", "--purpose")
    'https://www.mosaicrown.eu/ns/mosaicrown/1/marketing'
    >>> word(Kind.ACTION, "odrl:read", "--action")
    'http://www.w3.org/ns/odrl/2/read'

    Raises:
        UsageError: it is neither a known name nor an IRI.
    """
    known = {entry.name: entry.iri for entry in WORDS if entry.kind is kind}
    if written in known:
        return known[written]
    prefix, colon, name = written.partition(":")
    if colon and prefix in _PREFIXES:
        return IRI(canonical(_PREFIXES[prefix] + name))
    if iri_problem(written):
        names = ", ".join(sorted(known))
        way_out = did_you_mean(written, known) or "write the name, or the full IRI"
        raise UsageError(
            where, f"`{written}` is no {kind} that is known", f"one of {names}, or an IRI", way_out
        )
    return IRI(canonical(written))


def iri(written: str, where: str) -> IRI:
    """An absolute IRI as it was written.

    Raises:
        UsageError: it is none.
    """
    problem = iri_problem(written)
    if problem:
        raise UsageError(
            where, f"`{written}` {problem}", "an absolute IRI such as http://example.com/party/a"
        )
    return IRI(written)
