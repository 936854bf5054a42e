"""Other spellings of words that existing policies use, and the one spelling that the code knows.

Aliases are applied to words (properties, operands, operators, actions, purposes, profiles, types) after
JSON-LD expansion, never to the names of assets, parties or columns.
"""

from typing import Final

from smalti.vocab.terms import ANONYMIZE, DPV, DPV_ODRL, IDSC, MOSAICROWN, ODRL, PURPOSE, READ, USE

NAMESPACES: Final[tuple[tuple[str, str], ...]] = (
    ("http://localhost:8000/ns/mosaicrown/", MOSAICROWN),
    ("https://localhost:8000/ns/mosaicrown/", MOSAICROWN),
    ("http://www.mosaicrown.eu/ns/mosaicrown/1/", MOSAICROWN),
    ("http://localhost:8000/mosaicrown_definitions/", MOSAICROWN),
    ("https://www.w3.org/ns/odrl/2/", ODRL),
    ("https://w3id.org/dpv/mappings/odrl#", DPV_ODRL),
)
"""Namespaces that mean another one."""

DEPRECATED: Final[dict[str, str]] = {
    ODRL + old: ODRL + new
    for old, new in (
        ("append", "modify"),
        ("appendTo", "modify"),
        ("write", "modify"),
        ("writeTo", "modify"),
        ("copy", "reproduce"),
        ("export", "transform"),
        ("license", "grantUse"),
        ("pay", "compensate"),
        ("payeeParty", "compensatedParty"),
        ("device", "systemDevice"),
        ("system", "systemDevice"),
    )
}
"""The deprecated words of ODRL 2.2 with the words that its ontology matches exactly (`skos:exactMatch`)."""

WORDS: Final[dict[str, str]] = {
    **DEPRECATED,
    ODRL + "neg": ODRL + "neq",  # a fault of the W3C context until 2025-04-10 (w3c/poe#311)
    ODRL + "industry:": ODRL + "industry",
    ODRL + "datatype": ODRL + "dataType",
    MOSAICROWN + "read": READ,
    MOSAICROWN + "use": USE,
    DPV + "Anonymise": ANONYMIZE,
    IDSC + "ANONYMIZE": ANONYMIZE,
    DPV_ODRL + "Purpose": PURPOSE,
}
"""Words that mean another one, in the namespaces that `NAMESPACES` leads to."""


def canonical(iri: str) -> str:
    """The spelling of a word that the code knows; `iri` itself when it is no alias.

    >>> canonical("http://localhost:8000/ns/mosaicrown/read")
    'http://www.w3.org/ns/odrl/2/read'
    """
    for alias, namespace in NAMESPACES:
        if iri.startswith(alias):
            iri = namespace + iri.removeprefix(alias)
            break
    return WORDS.get(iri, iri)
