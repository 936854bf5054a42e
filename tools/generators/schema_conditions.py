"""Constraints and refinements as JSON Schema, with what the profile says of each word."""

from collections.abc import Iterable
from typing import Final, cast

from generators.schema_values import (
    Schema,
    closed,
    coded,
    each,
    iri,
    is_word,
    many,
    name_node,
    named,
    place_object,
    reference,
    refused,
    requires,
    single,
    value_of,
    word,
)
from smalti.policy.document.spellings import foreign_pattern, pattern
from smalti.policy.read.combinations import LOSSES
from smalti.policy.read.properties import Place
from smalti.vocab.odrl import (
    LEFT_OPERAND_KINDS,
    LOGICAL_OPERANDS,
    OPERATORS,
    OPERATORS_OF,
    OPERATORS_OF_PERIODS,
)
from smalti.vocab.terms import (
    ALGORITHM,
    ANONYMIZE,
    AUDIT,
    DATA_TYPE,
    IRI,
    K_ANONYMITY,
    LEFT_OPERAND,
    METHOD,
    ODRL,
    ODRL_PURPOSE,
    OPERATOR,
    QUASI_IDENTIFIER,
    RIGHT_OPERAND,
    SENSITIVE,
    TRAIN,
    UNIT,
    L,
)
from smalti.vocab.words import (
    ACTION_NEEDS,
    ALGORITHM_METHODS,
    ALGORITHM_NEEDS,
    ALGORITHMS,
    BY_IRI,
    METHOD_NEEDS,
    METHODS,
    OF_ONE_COLUMN,
    WORDS,
    Kind,
    Scope,
    Word,
)

_LOGICAL: Final = [ODRL + name for name in sorted(LOGICAL_OPERANDS)]
_OPERATORS: Final = [ODRL + name for name in sorted(OPERATORS)]
_OPERANDS: Final = [ODRL + name for name in sorted(LEFT_OPERAND_KINDS)]
REFINEMENTS: Final = [term for term in WORDS if term.kind is Kind.REFINEMENT]
_CONSTRAINTS: Final = [term for term in WORDS if term.kind is Kind.CONSTRAINT]
NEED_CODES: Final = {SENSITIVE: "P408", QUASI_IDENTIFIER: "P417"}
"""Of refinements whose absence has a code of its own."""
NEED_DEFAULT: Final = "P411"
TOGETHER: Final = {ANONYMIZE: "anonymization", TRAIN: "training", AUDIT: "audit"}
"""The actions whose refinements are read together, with their names in `$defs`."""
UNFIT: Final = "P423"
"""Of words that do not go with a method or an algorithm."""


def condition_definitions() -> dict[str, object]:
    """The entries of `$defs` about constraints and refinements."""
    return {
        "constraint": _condition("constraint", [*_OPERANDS, *_iris(_CONSTRAINTS)]),
        "refinement": _condition("refinement", [*_iris(REFINEMENTS), *_OPERANDS]),
        "forbidden": _condition("forbidden", [*_iris(REFINEMENTS), *_OPERANDS], is_bounded=False),
        "membership": _condition("membership", _OPERANDS),
        **{name: _refined(action) for action, name in TOGETHER.items()},
        "values": many(reference("value")),
        "value": _value(),
        "words": {"allOf": [*map(_about, (term for term in WORDS if term.operators)), *_about_operands()]},
    }


def _iris(terms: Iterable[Word]) -> list[str]:
    return [term.iri for term in terms]


def _condition(name: str, operands: list[str], *, is_bounded: bool = True) -> Schema:
    """A comparison or a logical constraint.

    Args:
        name: in `$defs`.
        operands: the words that may be compared.
        is_bounded: whether the operator must be one that promises something; what is forbidden may be
            bounded from any side.
    """
    values: dict[str, Schema] = {
        LEFT_OPERAND: single(word(operands, "P307", others=foreign_pattern())),
        OPERATOR: single(word(_OPERATORS, "P306")),
        RIGHT_OPERAND: reference("values"),
        UNIT: single({"anyOf": [iri(), name_node(iri())]}),
        DATA_TYPE: single({"type": ["string", "object"]}),
        **dict.fromkeys(_LOGICAL, many(reference(name))),
    }
    types = [ODRL + "Constraint", ODRL + "LogicalConstraint"]
    older: Schema = {"type": "string", "pattern": "(?:^|[:/])AtomicConstraint$", "doNotSuggest": True}
    kinds = many({"anyOf": [*named(types, "P320", with_terms=True), older]})
    schema = place_object(Place.CONSTRAINT, values, kinds, keys={"rightOperandReference": refused("P321")})
    parts = [requires(part) for part in (LEFT_OPERAND, OPERATOR, RIGHT_OPERAND)]
    logical = [requires(operator) for operator in _LOGICAL]
    return schema | {
        "title": "constraint" if name == "constraint" else "refinement",
        "if": {"anyOf": logical},
        "then": coded("P308", {"oneOf": logical, "not": {"anyOf": parts}}),
        "else": coded("P308", {"allOf": parts}),
        "allOf": [*cast("list[Schema]", schema["allOf"]), *([reference("words")] if is_bounded else [])],
    }


def _value() -> Schema:
    plain: Schema = {"type": ["string", "number", "boolean"]}
    keys: dict[str, object] = {
        "@value": plain,
        "@type": {"type": "string"},
        "@language": {"type": "string"},
    }
    node = name_node(iri("P209 P211 P212"))
    return {
        "anyOf": [plain, *({"doNotSuggest": True} | schema for schema in (closed(keys, ["@value"]), node))]
    }


# --- What holds of a comparison with a word


def _about(term: Word) -> Schema:
    codes = "P406 P405" if is_one_sided(term) else "P405"
    schema = _comparison(term.iri, term.operators, codes, value_of(term))
    return schema | {"then": cast(Schema, schema["then"]) | coded("P434", {"not": requires(UNIT)})}


def is_one_sided(term: Word) -> bool:
    """Whether a bound from the other side would be no promise."""
    return len(term.operators & {"gteq", "lteq"}) == 1


def _about_operands() -> Iterable[Schema]:
    for name, kind in LEFT_OPERAND_KINDS.items():
        operators = OPERATORS_OF_PERIODS.get(name, OPERATORS_OF[kind])
        if ODRL + name != ODRL_PURPOSE:
            yield _comparison(ODRL + name, operators, "P405", reference("values"))


def _comparison(operand: str, operators: Iterable[str], codes: str, values: Schema) -> Schema:
    return {
        "if": {"properties": {"leftOperand": is_word(operand)}, "required": ["leftOperand"]},
        "then": {
            "properties": {
                "operator": single(word([ODRL + name for name in sorted(operators)], codes)),
                "rightOperand": values,
            }
        },
    }


# --- What holds of all refinements of an action


def refined_action() -> Iterable[Schema]:
    """Of an action with refinements: each of these refines such an action."""
    special = sorted(frozenset[str]().union(*(term.actions for term in REFINEMENTS)))
    conditions = [_is_action(iri) for iri in special]
    for action, condition in zip(special, conditions, strict=True):
        others = [term for term in REFINEMENTS if action not in term.actions]
        yield {"if": condition, "then": _no_refinement(others)}
    yield {"if": {"not": {"anyOf": conditions}}, "then": _no_refinement(REFINEMENTS)}


def _is_action(action: str) -> Schema:
    value = {"rdf:value": is_word(action, with_terms=False)}
    return {"properties": value, "required": ["rdf:value"]}


def _no_refinement(words: Iterable[Word]) -> Schema:
    names: Schema = {"type": "string", "pattern": pattern(_iris(words), with_terms=True)}
    operand = {"leftOperand": coded("P419", {"not": names})}
    return {"properties": {"refinement": each({"properties": operand})}}


# --- What holds of all refinements of an action to anonymize, to train or to audit


def _refined(action: IRI) -> Schema:
    """Of a list of refinements; one alone cannot be enough."""
    own = [term for term in REFINEMENTS if action in term.actions]
    rules = [
        *(_anonymization() if action == ANONYMIZE else _of_action(action)),
        _without([term for term in REFINEMENTS if term not in own], "P419"),
        _without(_CONSTRAINTS, "P419"),
        *(_needed_by(term) for term in own if term.needs),
        *map(_once, own),
    ]
    return {"if": {"type": "array"}, "then": {"allOf": rules}}


def _anonymization() -> list[Schema]:
    return [
        _has(METHOD, NEED_DEFAULT),
        _without([term for term in REFINEMENTS if term.scope is Scope.COLUMN], "P425"),
        *map(_of_method, METHODS),
        *map(_of_algorithm, ALGORITHMS),
    ]


def _of_action(action: IRI) -> list[Schema]:
    needs = [
        coded(NEED_DEFAULT, {"anyOf": [_contains(BY_IRI[name]) for name in needed]})
        for needed in ACTION_NEEDS[action]
    ]
    return [*needs, _at_most_one(LOSSES)] if action == TRAIN else needs


def _mentions(term: Word, **right: object) -> Schema:
    """The condition that an item is about a word, by itself or for one column."""
    names: Schema = {"type": "string", "pattern": pattern([term.iri], with_terms=True)}
    plain: Schema = {"properties": {"leftOperand": names, **right}, "required": ["leftOperand", *right]}
    if term.scope is Scope.TABLE:
        return plain
    inside: Schema = {"anyOf": [plain, {"contains": plain, "type": "array"}]}
    listed: Schema = {"properties": {"@list": inside, "@set": inside}, "minProperties": 1}
    either: Schema = {"anyOf": [{"type": "array", "contains": plain}, {"type": "object"} | listed]}
    return {"anyOf": [plain, {"properties": {"and": either}, "required": ["and"]}]}


def _contains(term: Word, **right: object) -> Schema:
    return {"contains": _mentions(term, **right)}


def _has(needed: str, code: str) -> Schema:
    return coded(code, _contains(BY_IRI[needed]))


def _needed_by(term: Word) -> Schema:
    needs = [_has(name, NEED_DEFAULT) for name in sorted(term.needs)]
    return {"if": _contains(term), "then": {"allOf": needs}}


def _once(term: Word) -> Schema:
    plain = {"properties": {"leftOperand": is_word(term.iri)}, "required": ["leftOperand"]}
    most = len(term.operators) if term.operators == {"gteq", "lteq"} else 1
    return coded("P412", {"contains": plain, "minContains": 0, "maxContains": most})


def _of_method(method: str) -> Schema:
    others = [term for term in REFINEMENTS if term.methods and method not in term.methods]
    unable = [name for name in ALGORITHMS if method not in ALGORITHM_METHODS[name]]
    rules = [
        _without([term for term in others if unfit(method, term) == code], code) for code in ("P409", UNFIT)
    ]
    rules.append(_without([BY_IRI[iri] for iri, those in OF_ONE_COLUMN.items() if method in those], UNFIT))
    rules.append(coded("P431", {"not": _contains(BY_IRI[ALGORITHM], rightOperand={"enum": unable})}))
    for needed in METHOD_NEEDS[method]:
        code = NEED_CODES.get(needed[0], NEED_DEFAULT)
        has: Schema = {"anyOf": [_contains(BY_IRI[name]) for name in needed]}
        unneeded = [name for name in ALGORITHMS if not goes_with(BY_IRI[needed[0]], name)]
        without = {"not": _contains(BY_IRI[ALGORITHM], rightOperand={"enum": unneeded})}
        rules.append({"if": without, "then": coded(code, has)} if unneeded else coded(code, has))
        if len(needed) > 1:
            rules.append(_at_most_one(needed))
    return _when_chosen(METHOD, method, [rule for rule in rules if rule])


def unfit(method: str, term: Word) -> str:
    """The code of a word that does not go with a method."""
    return "P409" if (method, term.iri) == (K_ANONYMITY, L) else UNFIT


def _at_most_one(words: Iterable[str]) -> Schema:
    names: Schema = {"type": "string", "pattern": pattern(words, with_terms=True)}
    about: Schema = {"properties": {"leftOperand": names}, "required": ["leftOperand"]}
    return coded("P428", {"contains": about, "minContains": 0, "maxContains": 1})


def goes_with(term: Word, algorithm: str) -> bool:
    """Whether a word goes with an algorithm."""
    return not term.algorithms or algorithm in term.algorithms


def _of_algorithm(algorithm: str) -> Schema:
    needs = [_has(name, NEED_DEFAULT) for name in ALGORITHM_NEEDS.get(algorithm, ())]
    others = [term for term in REFINEMENTS if not goes_with(term, algorithm)]
    return _when_chosen(ALGORITHM, algorithm, [rule for rule in (*needs, _without(others, UNFIT)) if rule])


def _when_chosen(operand: str, name: str, rules: list[Schema]) -> Schema:
    return {"if": _contains(BY_IRI[operand], rightOperand={"const": name}), "then": {"allOf": rules}}


def _without(others: list[Word], code: str) -> Schema:
    if not others:
        return {}
    names: Schema = {"type": "string", "pattern": pattern(_iris(others), with_terms=True)}
    listed: Schema = {"contains": {"properties": {"leftOperand": names}, "required": ["leftOperand"]}}
    return coded(code, {"not": listed})
