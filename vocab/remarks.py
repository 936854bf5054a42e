"""Words of other vocabularies that describe a policy, an asset or a party, and bind nobody.

Documents may use them, and they have no effect. Only listed words count: a word that is not listed may
limit or permit something, as `cc:prohibits` does, and is refused.
"""

from typing import Final

from smalti.vocab.terms import CC, DCT, DSPACE, EDC, FOAF, IRI, ODRL, RDFS, SCHEMA, SKOS, VCARD


def _words(namespaces: tuple[str, ...], names: str) -> frozenset[IRI]:
    return frozenset(IRI(namespace + name) for namespace in namespaces for name in names.split())


DESCRIPTION: Final = IRI(ODRL + "description")
"""No word of ODRL, but often written where `dct:description` is meant."""

_PREFERRED_NAMES: Final = "title description creator publisher issued modified"
PREFERRED: Final = _words((DCT,), _PREFERRED_NAMES) | _words((RDFS,), "label comment")
"""Those that ODRL recommends (IM 2.8) and RDF's own, which editors offer."""

_SCHEMA: Final = _words(
    (SCHEMA, SCHEMA.replace("http:", "https:")),
    "name alternateName description identifier url version dateCreated dateModified datePublished",
)

REMARKS: Final = (
    PREFERRED
    | _words(
        (DCT,),
        """
        abstract alternative contributor created date hasVersion identifier language license source
        subject""",
    )
    | _words((RDFS,), "seeAlso isDefinedBy")
    | _words(
        (SKOS,),
        """
        altLabel hiddenLabel prefLabel changeNote definition editorialNote example historyNote note
        scopeNote notation inScheme topConceptOf hasTopConcept broader broaderTransitive narrower
        narrowerTransitive related semanticRelation mappingRelation broadMatch closeMatch exactMatch
        narrowMatch relatedMatch member memberList""",
    )
    | _words(
        (CC, CC.replace("http:", "https:")),
        """
        attributionName attributionURL deprecatedOn jurisdiction legalcode license morePermissions
        useGuidelines""",
    )
    | _SCHEMA
    | {DESCRIPTION, IRI(EDC + "createdAt"), IRI(DSPACE + "timestamp")}
)
"""Of policies, and of their rules."""

OF_ASSETS: Final = PREFERRED | _SCHEMA | _words(
    (DCT,),
    """
    abstract alternative contributor created date extent format hasVersion identifier language medium
    source subject type""",
)  # fmt: skip
"""Of assets: none that could place an asset in a collection, or say who may use it."""

OF_PARTIES: Final = (
    PREFERRED
    | _SCHEMA
    | _words((DCT,), "identifier")
    | _words((FOAF,), "account familyName firstName givenName homepage lastName mbox name nick phone title")
    | _words(
        (VCARD,),
        """
        additional-name adr anniversary bday email family-name fn given-name hasAdditionalName hasAddress
        hasEmail hasFamilyName hasFN hasGivenName hasLogo hasName hasNickname hasNote hasOrganizationName
        hasOrganizationUnit hasPhoto hasRole hasTelephone hasTitle hasUID hasURL honorific-prefix
        honorific-suffix latitude longitude nickname note org organization-name organization-unit rev role
        street-address locality region postal-code country-name tel title tz uid url hasStreetAddress
        hasLocality hasRegion hasPostalCode hasCountryName hasValue value""",
    )
)
"""Of parties, and of the values of remarks: who somebody is, and how to reach them."""

BINDING: Final = _words((CC, CC.replace("http:", "https:")), "permits requires prohibits")
"""Words of Creative Commons that are rules: they are refused, and never ignored."""
