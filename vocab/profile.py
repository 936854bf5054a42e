"""The profile in Turtle, written from the tables of words; `make generate` writes it.

A test fails when `profile.ttl` is not what this module writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from smalti.vocab.certificate_terms import CERTIFICATE_CLASSES, CERTIFICATE_TERMS
from smalti.vocab.odrl import ACTION_PARENTS
from smalti.vocab.purposes import EXACT_MATCHES
from smalti.vocab.terms import ANONYMIZE, DPV, IDSC, IRI, MARKETING, MOSAICROWN, ODRL, SMALTI
from smalti.vocab.words import WORDS, Kind, Range, Scope, Word

_SCHEME: Final = "<https://w3id.org/smalti#>"
_PREFIXES: Final = (("odrl", ODRL), ("m", MOSAICROWN), ("s", SMALTI), ("dpv", DPV), ("idsc", IDSC))

_HEAD: Final = """\
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix m: <https://www.mosaicrown.eu/ns/mosaicrown/1/> .
@prefix s: <https://w3id.org/smalti#> .
@prefix dpv: <https://w3id.org/dpv#> .
@prefix idsc: <https://w3id.org/idsa/code/> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

# The profile of ODRL 2.2 that smalti understands. Written by vocab/profile.py from tables: do not edit.

<https://w3id.org/smalti#> a owl:Ontology, skos:ConceptScheme ;
    dct:title "smalti: an ODRL profile for sanitization"@en ;
    rdfs:comment "Words for ODRL policies that require how persons are protected in a dataset."@en .

s:Method a rdfs:Class ; rdfs:label "Method" ; rdfs:comment "A privacy model: a value of m:method."@en .
s:Algorithm a rdfs:Class ; rdfs:label "Algorithm" ; rdfs:comment "A technique: a value of s:algorithm."@en .
s:operator a owl:AnnotationProperty ; rdfs:comment "An ODRL operator that is allowed with a left operand."@en .
s:range a owl:AnnotationProperty ; rdfs:comment "What a left operand is compared with."@en .
s:minimum a owl:AnnotationProperty ; rdfs:comment "The smallest number that a left operand may have."@en .
s:exclusiveMinimum a owl:AnnotationProperty ; rdfs:comment "A left operand is above this number."@en .
s:maximum a owl:AnnotationProperty ; rdfs:comment "The largest number that a left operand may have."@en .
s:exclusiveMaximum a owl:AnnotationProperty ; rdfs:comment "A left operand is below this number."@en .
s:name a owl:AnnotationProperty ; rdfs:comment "A name that is allowed as the value of a left operand."@en .
s:form a owl:AnnotationProperty ; rdfs:comment "A regular expression that the whole of a name must match."@en .
s:refines a owl:AnnotationProperty ; rdfs:comment "An action that a left operand refines."@en .
s:goesWithMethod a owl:AnnotationProperty ; rdfs:comment "A method that allows a left operand; without one, every method."@en .
s:goesWithAlgorithm a owl:AnnotationProperty ; rdfs:comment "An algorithm that allows a left operand; without one, every algorithm."@en .
s:appliesTo a owl:AnnotationProperty ; rdfs:comment "Whether a parameter is for the whole output, for one column (with s:column, in an odrl:and), or for either."@en .
s:needs a owl:AnnotationProperty ; rdfs:comment "Another left operand that is required with this one."@en .
s:implemented a owl:AnnotationProperty ; rdfs:comment "Whether this version implements the word; if not, a run refuses it by its name."@en .
s:operandKind a owl:AnnotationProperty ; rdfs:comment "Who knows the value of a market's left operand: one of the kinds."@en .
s:statedBy a owl:AnnotationProperty ; rdfs:comment "A party on whose word a fact counts."@en .
s:OperandKind a rdfs:Class ; rdfs:label "Kind of left operand" ; rdfs:comment "Who knows its value."@en .
s:Fact a s:OperandKind ; rdfs:label "fact" ; rdfs:comment "The request states it."@en .
s:Clock a s:OperandKind ; rdfs:label "clock" ; rdfs:comment "It is the time of the request."@en .
s:Count a s:OperandKind ; rdfs:label "count" ; rdfs:comment "The registry counts outputs made for the requester."@en .
s:Clause a s:OperandKind ; rdfs:label "clause" ; rdfs:comment "An obligation between people, which no machine decides."@en .

# Meanings that the standard leaves open.
odrl:isAllOf skos:scopeNote "In this profile: the set of values is exactly the listed set; order and repetitions do not matter."@en .
odrl:isAnyOf skos:scopeNote "In this profile: some value is among the listed ones, or narrower than one of them."@en .
odrl:isNoneOf skos:scopeNote "In this profile: there is a value, and none is among the listed ones or narrower than one of them."@en .
odrl:andSequence skos:scopeNote "In this profile: the same as odrl:and; a decision is made at one point in time."@en .
odrl:purpose skos:scopeNote "In this profile: the purpose that a request states. A request that states none satisfies no limit on the purpose, whatever the operator, and escapes no prohibition. A narrower purpose satisfies a limit to a broader one."@en .
"""  # noqa: E501 (Turtle)

_CERTIFICATES: Final = "# Words of certificates and audit reports.\n"

_CLASSES: Final[Mapping[Kind, str]] = MappingProxyType({
    Kind.ACTION: "odrl:Action",
    Kind.REFINEMENT: "odrl:LeftOperand",
    Kind.CONSTRAINT: "odrl:LeftOperand",
    Kind.METHOD: "s:Method",
    Kind.ALGORITHM: "s:Algorithm",
    Kind.PURPOSE: "dpv:Purpose",
})  # fmt: skip

_DEIDENTIFICATION: Final = IRI(DPV + "Deidentification")
_LINKS: Final[Mapping[IRI, tuple[tuple[str, IRI], ...]]] = MappingProxyType({
    ANONYMIZE: (("skos:exactMatch", IRI(DPV + "Anonymise")), ("skos:exactMatch", IRI(IDSC + "ANONYMIZE"))),
    MARKETING: (("skos:exactMatch", EXACT_MATCHES[MARKETING]),),
    **dict.fromkeys(
        (word.iri for word in WORDS if word.kind is Kind.METHOD and "privacy" not in word.name),
        (("skos:broader", _DEIDENTIFICATION),),
    ),
    IRI(SMALTI + "differential-privacy"): (("skos:related", IRI(DPV + "DifferentialPrivacy")),),
    IRI(SMALTI + "local-differential-privacy"): (("skos:related", IRI(DPV + "DifferentialPrivacy")),),
    IRI(SMALTI + "pseudonym"): (("skos:related", IRI(DPV + "Pseudonymisation")),),
})  # fmt: skip
"""The relations of words to those of DPV and IDS."""


def profile() -> str:
    """The whole profile as Turtle."""
    return "\n".join([_HEAD, *map(_word, WORDS), _CERTIFICATES, *_certificate_terms(), ""])


def _certificate_terms() -> Iterator[str]:
    for kind, terms in (("rdfs:Class", CERTIFICATE_CLASSES), ("rdf:Property", CERTIFICATE_TERMS)):
        for name, meaning in terms.items():
            annotations = f'rdfs:label "{name}" ; rdfs:comment "{meaning[0].upper()}{meaning[1:]}."@en'
            yield f"s:{name} a {kind} ; {annotations} ; rdfs:isDefinedBy {_SCHEME} ."


def _word(word: Word) -> str:
    kinds = [*([_CLASSES[word.kind]] if word.kind in _CLASSES else []), "skos:Concept"]
    lines = [
        f"{_short(word.iri)} a {', '.join(kinds)} ;",
        *(f"    {statement} ;" for statement in _statements(word)),
    ]
    return "\n".join(lines).removesuffix(" ;") + " .\n"


def _statements(word: Word) -> Iterator[str]:
    yield f"skos:inScheme {_SCHEME}"
    yield f'rdfs:label "{word.name}"'
    yield f'skos:definition "{word.meaning[0].upper()}{word.meaning[1:]}."@en'
    if word.kind is Kind.ACTION:
        yield f"odrl:includedIn {', '.join(map(_short, ACTION_PARENTS[word.iri]))}"
    for relation, other in _LINKS.get(word.iri, ()):
        yield f"{relation} {_short(other)}"
    if word.operators:
        yield f"s:operator {', '.join(f'odrl:{name}' for name in sorted(word.operators))}"
    if word.range is not Range.NONE:
        yield f'''s:range "{word.range}"'''
    yield from _limits(word)
    yield from _texts("s:name", word.names)
    if word.form:
        yield f's:form "{word.form}"'
    if word.actions:
        yield f"s:refines {', '.join(map(_short, sorted(word.actions)))}"
    yield from _texts("s:goesWithMethod", sorted(word.methods))
    yield from _texts("s:goesWithAlgorithm", sorted(word.algorithms))
    if word.scope is not Scope.TABLE:
        yield f'''s:appliesTo "{word.scope}"'''
    if word.needs:
        yield f"s:needs {', '.join(map(_short, sorted(word.needs)))}"
    yield f"s:implemented {str(word.implemented).lower()}"


def _limits(word: Word) -> Iterator[str]:
    limits = word.limits
    if limits.minimum is not None:
        yield f"s:{'exclusiveMinimum' if limits.excludes_minimum else 'minimum'} {_number(limits.minimum)}"
    if limits.maximum is not None:
        yield f"s:{'exclusiveMaximum' if limits.excludes_maximum else 'maximum'} {_number(limits.maximum)}"


def _number(number: Decimal) -> str:
    return f"{number:f}"


def _texts(relation: str, texts: Iterable[str]) -> Iterator[str]:
    listed = ", ".join(f'"{text}"' for text in texts)
    if listed:
        yield f"{relation} {listed}"


def _short(iri: str) -> str:
    prefix, namespace = next(pair for pair in _PREFIXES if iri.startswith(pair[1]))
    return f"{prefix}:{iri.removeprefix(namespace)}"
