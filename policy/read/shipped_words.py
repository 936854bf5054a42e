"""Which IRIs smalti itself gives a meaning, or ignores: nobody else may declare them.

A policy that was stored with such a word would mean something else afterwards.
"""

import re
from functools import cache
from typing import Final

from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.model.iris import normalised_iri
from smalti.vocab import markets
from smalti.vocab.aliases import canonical
from smalti.vocab.terms import (
    CC,
    CSVW,
    CSVW_EO,
    DCAT,
    DCT,
    DPV,
    DPV_ODRL,
    FOAF,
    IRI,
    MOSAICROWN,
    ODRL,
    PROV,
    RDF,
    RDFS,
    SCHEMA,
    SKOS,
    SMALTI,
    VCARD,
    XSD,
)

_EXTENSIBLE: Final = DPV
"""Purposes of a newer version of it may be declared, and nothing else."""
_NAMESPACES: Final = (
    ODRL, MOSAICROWN, SMALTI, DPV_ODRL, *markets.NAMESPACES,
    CC, CSVW, CSVW_EO, DCAT, DCT, FOAF, PROV, RDF, RDFS, SCHEMA, SKOS, VCARD, XSD,
)  # fmt: skip
"""Those of rules, of remarks, of envelopes, and of what vocabularies are written in."""
_SCHEME: Final = re.compile(r"\A(?i:https?)://(?:(?i:www)\.)?")


def _stem(iri: str) -> str:
    """What spellings and look-alikes of an IRI have in common: without its scheme and final marks."""
    return _SCHEME.sub("//", normalised_iri(canonical(normalised_iri(iri)))).rstrip("/#")


_WITHIN: Final = tuple(_SCHEME.sub("//", namespace) for namespace in _NAMESPACES)
_ALONE: Final = frozenset(map(_stem, (*_NAMESPACES, _EXTENSIBLE)))
_PROFILES: Final = frozenset(map(_stem, STANDARD.profiles))
_WITHIN_EXTENSIBLE: Final = _SCHEME.sub("//", _EXTENSIBLE)


@cache
def _of_edc() -> frozenset[str]:
    return frozenset(map(_stem, markets.words_of_edc()))


def is_shipped(iri: IRI, *, of_purposes: bool = False) -> bool:
    """Whether an IRI is in a namespace whose words smalti reads or ignores, however it is spelled.

    Also what differs from such a word or namespace by its scheme, or by marks at its end, alone.

    Args:
        iri: of a term.
        of_purposes: whether it may be the name of a purpose: a market may know more of DPV's than smalti.
    """
    stem = _stem(iri)
    if stem in _ALONE or stem in _of_edc() or stem.startswith(_WITHIN):
        return True
    return not of_purposes and stem.startswith(_WITHIN_EXTENSIBLE)


def is_shipped_profile(iri: IRI) -> bool:
    """Likewise, whether it is a profile that smalti ships."""
    return _stem(iri) in _PROFILES
