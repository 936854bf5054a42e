"""The values of a policy as JSON Schema: words, IRIs, numbers, columns, in the forms that JSON-LD has."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from generators.property_meanings import MEANINGS
from smalti.policy.document.spellings import IRI_PATTERN, escape, pattern, short, term, written
from smalti.policy.findings.codes import BY_CODE
from smalti.policy.read.properties import ALL_REMARKS, Place
from smalti.policy.read.values import LARGEST
from smalti.vocab.remarks import PREFERRED
from smalti.vocab.terms import DCT, ODRL, RDFS, UID, XSD
from smalti.vocab.words import BY_IRI, METHODS, Limits, Range, Word

Schema = dict[str, object]
"""A JSON Schema (draft 2020-12). `$comment` names the codes of the findings that it leads to."""

TEXT: Final[Schema] = {"type": "string", "pattern": r"\S"}
WHOLE_KINDS: Final = "integer|int|long|short|nonNegativeInteger|positiveInteger|unsignedInt"
FRACTIONAL_KINDS: Final = "decimal|double|float"

_NUMBER: Final = r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
MISSPELT_METHOD: Final = "1-diversity"  # as printed in D5.1, Figure 2.6


def coded(codes: str, schema: Schema) -> Schema:
    """A schema that leads to findings with these codes, the first of which an editor shows."""
    first = BY_CODE[codes.split(maxsplit=1)[0]]
    return noted(codes, schema) | {"errorMessage": f"{first.code}: {first.title}; {first.explanation}"}


def noted(codes: str, schema: Schema) -> Schema:
    """A schema that leads to findings with these codes, about which an editor has words of its own."""
    assert all(code in BY_CODE for code in codes.split()), codes  # noqa: S101 (a fault of ours)
    return schema | {"$comment": " ".join(filter(None, (codes, str(schema.get("$comment", "")))))}


def refused(code: str) -> Schema:
    """What stands under a property that is refused by name."""
    return coded(code, {"not": {}}) | {"doNotSuggest": True}


def name_node(name: Schema) -> Schema:
    """An object that says nothing but a name."""
    either = closed({"@id": name, "uid": name | {"doNotSuggest": True}})
    return either | {"minProperties": 1, "maxProperties": 1}


def reference(name: str) -> Schema:
    """What stands under a name in `$defs`."""
    return {"$ref": f"#/$defs/{name}"}


def closed(properties: dict[str, object], required: Iterable[str] = ()) -> Schema:
    """An object with these keys and no other."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def any_number(item: Schema) -> Schema:
    """The same, or an empty list, which means absence."""
    empty: Schema = {"type": "array", "maxItems": 0}
    return {"anyOf": [many(item), empty | {"doNotSuggest": True}]}


def many(item: Schema, most: int | None = None) -> Schema:
    """One value or several, in any of the forms that JSON-LD has for that."""
    several: Schema = {"type": "array", "items": item, "minItems": 1}
    if most is not None:
        several["maxItems"] = most
    several = coded("P421" if most is None else "P304 P421", several)
    either: Schema = {"anyOf": [item, several]}
    wrapped = closed({"@set": either, "@list": either}) | {"minProperties": 1, "maxProperties": 1}
    return {"anyOf": [item, several, wrapped | {"doNotSuggest": True}]}


def single(item: Schema) -> Schema:
    """Exactly one value, which may stand in a list."""
    return many(item, most=1)


def each(schema: Schema) -> Schema:
    """What holds of each of some values, where they stand alone or in a plain list."""
    alone: Schema = {"type": "object", "not": {"anyOf": [{"required": ["@set"]}, {"required": ["@list"]}]}}
    return {"allOf": [{"if": alone, "then": schema}, {"if": {"type": "array"}, "then": {"items": schema}}]}


def word(iris: Sequence[str], codes: str, *, with_terms: bool = True, others: str = "") -> Schema:
    """A word: in its best spelling, which editors offer, in any other one, or as a node with `@id`.

    Args:
        iris: the words.
        codes: what any other word leads to.
        with_terms: whether JSON-LD reads terms at the place.
        others: a pattern of further IRIs that may stand there.
    """
    texts = named(iris, codes, with_terms=with_terms, others=others)
    node = name_node({"anyOf": named(iris, codes, with_terms=False, others=others)})
    return {"anyOf": [*(texts if with_terms else ()), node]}


def named(iris: Sequence[str], codes: str, *, with_terms: bool, others: str = "") -> list[Schema]:
    """The spellings of a word as texts: the best one first, for the completion of editors."""
    best = term if with_terms else short
    meanings = {best(iri): _meaning(iri) for iri in reversed(iris)}
    offered: Schema = {"enum": list(dict.fromkeys(best(iri) for iri in iris))}
    if any(meanings.values()):
        offered["enumDescriptions"] = [meanings[text] for text in dict.fromkeys(best(iri) for iri in iris)]
    spelled: Schema = {"type": "string", "pattern": pattern(iris, with_terms=with_terms)}
    foreign: list[Schema] = [{"type": "string", "pattern": others}] if others else []
    return [coded(codes, offered), spelled, *foreign]


def _meaning(iri: str) -> str:
    term = BY_IRI.get(iri)
    return "" if term is None else term.meaning + ("" if term.implemented else " (not implemented yet)")


def is_word(iri: str, *, with_terms: bool = True) -> Schema:
    """The condition that a value is this word, in whatever spelling."""
    texts: Schema = {"type": "string", "pattern": pattern([iri], with_terms=with_terms)}
    node: Schema = {
        "type": "object",
        "properties": {"@id": {"type": "string", "pattern": pattern([iri], with_terms=False)}},
        "required": ["@id"],
    }
    either: list[Schema] = [texts, node] if with_terms else [node]
    listed: Schema = {"type": "array", "minItems": 1, "maxItems": 1, "items": {"anyOf": either}}
    return {"anyOf": [*either, listed]}


def literal(text: Schema, kinds: str) -> Schema:
    """A value object with a text and one of some datatypes of XML Schema."""
    datatype = rf"^(?:xsd:|{XSD.replace('.', chr(92) + '.')})(?:{kinds})$"
    return closed({"@value": text, "@type": {"type": "string", "pattern": datatype}}, ["@value"])


def text_of(allowed: Schema) -> Schema:
    """A text, plain or typed."""
    return {"anyOf": [allowed, literal(allowed, "string") | {"doNotSuggest": True}]}


def iri(codes: str = "P209 P211 P212 P314") -> Schema:
    """The IRI of an asset or a party: absolute, or with a prefix."""
    return coded(codes, {"type": "string", "pattern": IRI_PATTERN})


def column() -> Schema:
    """A column: its bare name, or its IRI."""
    bare = r"^[^:]*[^:\s][^:]*$"
    text = coded("P416", {"type": "string", "pattern": f"(?:{bare})|(?:{IRI_PATTERN})"})
    node = name_node(iri("P209 P211 P212")) | {"doNotSuggest": True}
    typed = literal(text, "string|anyURI") | {"doNotSuggest": True}
    return {"anyOf": [text, node, typed]}


def value_of(term: Word) -> Schema:
    """What stands on the right of a word of the profile."""
    match term.range:
        case Range.INTEGER | Range.DECIMAL:
            return single(number(term))
        case Range.COLUMN:
            return single(column())
        case Range.COLUMNS:
            return many(column())
        case Range.DATASET:
            return single({"anyOf": [iri(), name_node(iri())]})
        case Range.NAME:
            return (single if term.operators == {"eq"} else many)(_name(term))
    return reference("values")


def _name(term: Word) -> Schema:
    if not term.names:
        form: Schema = {"pattern": f"^{term.form}$"} if term.form else {}
        return text_of(coded("P422", TEXT | form))
    names = coded("P401" if term.names == METHODS else "P402", {"enum": list(term.names)})
    also: list[Schema] = [{"const": MISSPELT_METHOD}] if term.names == METHODS else []
    return text_of({"anyOf": [names, *also]}) if also else text_of(names)


def number(term: Word) -> Schema:
    """A number in the range of a word: as JSON writes it, or typed."""
    whole = term.range is Range.INTEGER
    plain: Schema = coded("P403", {"type": "integer", "maximum": LARGEST} if whole else {"type": "number"})
    bounds = _bounds(term.limits)
    if bounds:
        plain = {"allOf": [plain, coded("P404" if whole else "P424", bounds)]}
    digits: Schema = {"type": "string", "pattern": r"^\s*[+-]?[0-9]+\s*$"}
    any_number: Schema = {
        "type": "string",
        "pattern": r"^\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$",
    }
    typed = [
        literal({"anyOf": [plain, digits]}, WHOLE_KINDS) | {"required": ["@value", "@type"]},
        literal({"anyOf": [plain, any_number]}, FRACTIONAL_KINDS) | {"required": ["@value", "@type"]},
        closed({"@value": plain}, ["@value"]),
    ]
    return {"anyOf": [plain, *(schema | {"doNotSuggest": True} for schema in typed)]}


def _bounds(limits: Limits) -> Schema:
    names = {
        ("exclusiveMinimum" if limits.excludes_minimum else "minimum"): limits.minimum,
        ("exclusiveMaximum" if limits.excludes_maximum else "maximum"): limits.maximum,
    }
    return {name: _plain(bound) for name, bound in names.items() if bound is not None}


def _plain(bound: Decimal) -> int | float:
    return int(bound) if bound == bound.to_integral_value() else float(bound)


def place_object(
    place: Place,
    values: Mapping[str, Schema],
    types: Schema,
    *,
    keys: Mapping[str, Schema] | None = None,
) -> Schema:
    """A node at a place: its properties under each of their keys, and no other.

    Args:
        place: the place, with the properties that are refused there by name.
        values: what stands under each property; properties that are remarks need none.
        types: what stands under `@type`.
        keys: what stands under further keys.
    """
    properties: dict[str, object] = dict(keys or {})
    patterns: dict[str, object] = {}
    others = (place.understood & ALL_REMARKS) - PREFERRED
    if others:
        patterns[pattern(sorted(others), with_terms=True)] = reference("remark") | {"doNotSuggest": True}
    for name in sorted((place.understood | place.later) - others, key=_order):
        patterns[_other_keys(name)] = schema = _property(name, place, values)
        if name != UID:  # the term `uid` is JSON-LD's `@id`
            properties[term(name)] = schema
    uid = properties.setdefault("@id", iri() | {"description": MEANINGS[UID]})
    properties["uid"] = uid
    properties |= {"@type": types, "type": types | {"doNotSuggest": True}}
    keys_twice = [["uid", "@id"], ["@type", "type"]]
    keys_twice += [
        [term(name), short(name)] for name in place.understood - others if term(name) != short(name)
    ]
    twice = [{"not": {"required": pair}} for pair in sorted(keys_twice)]
    schema = closed(properties) | {"patternProperties": patterns}
    return noted("P206 P309", schema) | {"allOf": [coded("P213", {"allOf": twice})]}


def _property(name: str, place: Place, values: Mapping[str, Schema]) -> Schema:
    described: Schema = {"description": MEANINGS[name]}
    if name == UID:
        return {"anyOf": [name_node(iri())]} | described
    if name in place.later:
        return refused("P390") | described
    return values.get(name, reference("remark")) | described


def _order(name: str) -> tuple[bool, bool, str]:
    """ODRL's words first, then others, remarks last."""
    return name.startswith((DCT, RDFS)), not name.startswith(ODRL), name


def _other_keys(name: str) -> str:
    """A pattern of all keys of a property but for the best one."""
    return pattern([name], with_terms=True).replace("^", f"^(?!{escape(term(name))}$)", 1)


def requires(iri: str) -> Schema:
    """An object with a property, under whatever key."""
    return {"anyOf": [{"required": [key]} for key in written(iri, with_terms=True)]}
