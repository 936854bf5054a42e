"""What the profile says of each word, and of all refinements of an action, as SHACL shapes.

The paths here lead along ODRL's own properties, and not along their other spellings: a comparison that is
written with those is accepted unseen, and the shapes are several times as fast.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from generators.schema_conditions import (
    NEED_CODES,
    NEED_DEFAULT,
    REFINEMENTS,
    TOGETHER,
    UNFIT,
    goes_with,
    is_one_sided,
    unfit,
)
from generators.schema_values import FRACTIONAL_KINDS, MISSPELT_METHOD, WHOLE_KINDS
from generators.shape_text import (
    AT_MOST_ONE,
    IS_BLANK,
    NONE,
    SOME,
    a_node,
    along,
    any_of,
    any_path,
    at,
    check,
    contains,
    inverse,
    listed,
    never,
    one_of,
    optional,
    shape,
    spelled,
    spellings,
    text,
    texts,
    with_property,
)
from smalti.policy.read.combinations import LOSSES
from smalti.policy.read.values import LARGEST
from smalti.vocab.odrl import LEFT_OPERAND_KINDS, LOGICAL_OPERANDS, OPERATORS_OF, OPERATORS_OF_PERIODS
from smalti.vocab.techniques import BESIDE, MODELS_BESIDE
from smalti.vocab.terms import (
    ACTION,
    ALGORITHM,
    ANONYMIZE,
    IRI,
    LEFT_OPERAND,
    METHOD,
    ODRL,
    ODRL_PURPOSE,
    OPERATOR,
    PROHIBITION,
    RDF_VALUE,
    REFINEMENT,
    RIGHT_OPERAND,
    TRAIN,
)
from smalti.vocab.words import (
    ACTION_NEEDS,
    ALGORITHM_METHODS,
    ALGORITHM_NEEDS,
    ALGORITHMS,
    BY_IRI,
    METHOD_NEEDS,
    METHODS,
    WORDS,
    Limits,
    Range,
    Word,
)

_USES: Final = inverse(spelled(LEFT_OPERAND))
"""From an operand to the constraints and refinements that compare it."""
_UP: Final = "".join(
    f"[ sh:zeroOrMorePath {any_path(*(inverse(step) for step in ('rdf:rest', 'rdf:first', *steps)))} ]"
    for steps in [[spelled(ODRL + name) for name in sorted(LOGICAL_OPERANDS)]]
)
"""From a comparison to the logical constraint that it stands in."""
_FORBIDDEN: Final = any_of(
    at(
        along(_UP, inverse(spelled(REFINEMENT)), inverse(spelled(ACTION)), inverse(spelled(PROHIBITION))),
        SOME,
    ),
    at(along(_UP, inverse(spelled(REFINEMENT)), inverse(spelled(ACTION)), spelled(PROHIBITION)), SOME),
)
_OTHER_ACTION: Final = any_of(
    at(spelled(REFINEMENT), NONE),
    never(contains(spelled(RDF_VALUE), one_of(*TOGETHER))),
    at(along(inverse(spelled(ACTION)), inverse(spelled(PROHIBITION))), SOME),
    at(along(inverse(spelled(ACTION)), spelled(PROHIBITION)), SOME),
)
_LIST_OR: Final = IS_BLANK
"""A list is looked into by the parser only."""


# --- Each word


def word_shapes() -> Iterable[str]:
    """A shape for each operand."""
    yield shape("Forbidden", (), [_FORBIDDEN])
    yield shape("OtherAction", (), [_OTHER_ACTION])
    for term in WORDS:
        if term.operators:
            yield _operand(term.iri, term.name, term.operators, _values(term))
    for name, kind in LEFT_OPERAND_KINDS.items():
        if ODRL + name != ODRL_PURPOSE:
            yield _operand(ODRL + name, name, OPERATORS_OF_PERIODS.get(name, OPERATORS_OF[kind]), ())


def _operand(iri: str, name: str, operators: Iterable[str], values: Iterable[str]) -> str:
    allowed = set(operators)
    reversed_: set[str] = set()
    if iri in BY_IRI and is_one_sided(
        BY_IRI[IRI(iri)]
    ):  # a bound from the wrong side has a code of its own
        reversed_ = {"lt", "lteq"} if "gteq" in allowed else {"gt", "gteq"}
    checks = [_each_use("P405", OPERATOR, one_of(*(ODRL + name for name in sorted(allowed | reversed_))))]
    if reversed_:
        checks.append(
            _each_use("P406", OPERATOR, never(one_of(*(ODRL + name for name in sorted(reversed_)))))
        )
    kind = "Word" if not iri.startswith(ODRL) else "Operand"
    return shape(
        f"{name}{kind}", [f"sh:targetNode {target}" for target in spellings(iri)], [*checks, *values]
    )


def _each_use(code: str, part: str, *bodies: str) -> str:
    """A check of every comparison but those of what is forbidden, which may be bounded from any side."""
    return check(code, _USES, a_node(any_of(at(spelled(part), *bodies), "s:Forbidden")))


def _values(term: Word) -> Iterable[str]:
    if term.range not in {Range.COLUMNS, Range.PURPOSES} and term.operators <= {"eq", "lteq", "gteq"}:
        yield _each_use("P304", RIGHT_OPERAND, AT_MOST_ONE)
    match term.range:
        case Range.INTEGER | Range.DECIMAL:
            yield from _numbers(term)
        case Range.COLUMN | Range.COLUMNS:
            yield _each_use("P416", RIGHT_OPERAND, _name_or_text())
        case Range.NAME if term.names:
            yield _each_use("P422", RIGHT_OPERAND, any_of(_LIST_OR, "sh:datatype xsd:string"))
            code = "P401" if term.names == METHODS else "P402"
            names = [*term.names, *([MISSPELT_METHOD] if term.names == METHODS else [])]
            yield _each_use(code, RIGHT_OPERAND, any_of(_LIST_OR, f"sh:in {listed(texts(*names))}"))
        case Range.NAME:
            form = f" ; sh:pattern {text(f'^{term.form}$')}" if term.form else ""
            yield _each_use("P422", RIGHT_OPERAND, any_of(_LIST_OR, f"sh:datatype xsd:string{form}"))


def _name_or_text() -> str:
    return any_of("sh:nodeKind sh:BlankNodeOrIRI", "sh:datatype xsd:string", "sh:datatype xsd:anyURI")


def _numbers(term: Word) -> Iterable[str]:
    whole = term.range is Range.INTEGER
    kinds = [f"sh:datatype xsd:{name}" for name in WHOLE_KINDS.split("|")]
    pattern = f" ; sh:pattern {text(_whole())}" if whole else ""
    kinds += [f"sh:datatype xsd:{name}{pattern}" for name in FRACTIONAL_KINDS.split("|")]
    yield _each_use("P403", RIGHT_OPERAND, any_of(_LIST_OR, *kinds))
    if whole:
        largest = any_of(_LIST_OR, f"sh:maxInclusive {LARGEST}")
        yield _each_use("P403", RIGHT_OPERAND, largest)
    limits = _limits(term.limits)
    if limits:
        yield _each_use("P404" if whole else "P424", RIGHT_OPERAND, any_of(_LIST_OR, limits))


def _whole() -> str:
    """A pattern of whole numbers that are written with a point or an exponent."""
    spellings = [rf"(?:\.[0-9]{{0,{e}}}0*)?[eE]\+?0*{e}" for e in range(10)]
    return rf"^\s*[+-]?[0-9]+(?:\.0*|{'|'.join(spellings)})?\s*$"


def _limits(limits: Limits) -> str:
    bounds = {
        "sh:minExclusive" if limits.excludes_minimum else "sh:minInclusive": limits.minimum,
        "sh:maxExclusive" if limits.excludes_maximum else "sh:maxInclusive": limits.maximum,
    }
    return " ; ".join(f"{name} {_number(bound)}" for name, bound in bounds.items() if bound is not None)


def _number(bound: Decimal) -> str:
    return str(bound)


# --- All refinements of an action to anonymize, to train or to audit


def refinement_shapes() -> Iterable[str]:
    """What each way to anonymize, to train or to audit needs, and what does not go with it.

    The focus nodes are words and names: a shape costs nothing in a graph that does not use them.
    Prohibitions are left out: they may forbid some ways to anonymize, and need not name one.
    """
    yield _of_whole(ANONYMIZE, ((METHOD,),))
    for action, needs in ACTION_NEEDS.items():
        yield _of_whole(action, needs)
    for term in REFINEMENTS:
        yield _of_word(term)
    for method in METHODS:
        yield _of_name(method, _of_method(method))
    for algorithm in ALGORITHMS:
        yield _of_name(algorithm, _of_algorithm(algorithm))


def _of_whole(action: IRI, needs: tuple[tuple[IRI, ...], ...]) -> str:
    """What an action needs, whatever else is said of it."""
    path = inverse(spelled(RDF_VALUE))
    checks = [_of_actions(NEED_DEFAULT, path, _mentions(*needed)) for needed in needs]
    if action == TRAIN:
        checks.append(_of_actions("P428", path, _at_most(1, *LOSSES)))
    targets = [f"sh:targetNode {name}" for name in spellings(action)]
    return shape(f"{TOGETHER[action].capitalize()}Shape", targets, checks)


def _of_actions(code: str, path: str, *bodies: str) -> str:
    """A check of the refined actions at the end of a path, but for those that are forbidden."""
    return check(code, path, a_node(any_of(*bodies, "s:OtherAction")))


def _of_word(term: Word) -> str:
    path = along(_USES, inverse(spelled(REFINEMENT)))
    most = 2 if term.operators == {"gteq", "lteq"} else 1
    fits = any_of(at(spelled(RDF_VALUE), NONE), contains(spelled(RDF_VALUE), one_of(*sorted(term.actions))))
    checks = [check("P419", path, a_node(fits)), _of_actions("P412", path, _at_most(most, term.iri))]
    checks += [_of_actions(NEED_DEFAULT, path, _mentions(needed)) for needed in sorted(term.needs)]
    targets = [f"sh:targetNode {target}" for target in spellings(term.iri)]
    return shape(f"{term.name}Refinement", targets, checks)


def _at_most(most: int, *words: str) -> str:
    about = f"sh:qualifiedValueShape [ {at(spelled(LEFT_OPERAND), one_of(*words), SOME)} ]"
    return at(spelled(REFINEMENT), about, f"sh:qualifiedMaxCount {most}")


def _of_name(name: str, checks: Iterable[str]) -> str:
    return shape(f"{name}Name", [f"sh:targetNode {target}" for target in texts(name)], checks)


def _chosen(operand: str, *names: str) -> str:
    """The body of an action with a refinement that chooses one of some names."""
    chosen = with_property(spelled(RIGHT_OPERAND), f"sh:in {listed(texts(*names))}", SOME)
    return contains(
        spelled(REFINEMENT), f"{with_property(spelled(LEFT_OPERAND), one_of(operand), SOME)} ; {chosen}"
    )


def _mentions(*words: str) -> str:
    """The body of an action with a refinement about one of some words, by itself or for one column."""
    steps = (optional(spelled(ODRL + "and")), "[ sh:zeroOrMorePath rdf:rest ]", optional("rdf:first"))
    return contains(along(spelled(REFINEMENT), *steps, spelled(LEFT_OPERAND)), one_of(*words))


def _of_method(method: str) -> Iterable[str]:
    path = along(inverse(spelled(RIGHT_OPERAND)), inverse(spelled(REFINEMENT)))
    condition = never(_chosen(METHOD, method))
    others = [term.iri for term in REFINEMENTS if term.methods and method not in term.methods]
    for code in ("P409", UNFIT):
        named = [iri for iri in others if unfit(method, BY_IRI[iri]) == code]
        if named:
            yield _of_actions(code, path, condition, never(_mentions(*named)))
    # A graph does not tell whether a technique stands alone, or beside an algorithm that makes classes.
    beside = BESIDE if method in MODELS_BESIDE else ()
    unable = [name for name in ALGORITHMS if method not in ALGORITHM_METHODS[name] and name not in beside]
    yield _of_actions("P431", path, condition, never(_chosen(ALGORITHM, *unable)))
    for needed in METHOD_NEEDS[method]:
        unneeded = [name for name in ALGORITHMS if not goes_with(BY_IRI[needed[0]], name)]
        without = [_chosen(ALGORITHM, *unneeded)] if unneeded else []
        code = NEED_CODES.get(needed[0], NEED_DEFAULT)
        yield _of_actions(code, path, condition, *without, _mentions(*needed))
        if len(needed) > 1:
            yield _of_actions("P428", path, condition, _at_most(1, *needed))


def _of_algorithm(algorithm: str) -> Iterable[str]:
    path = along(inverse(spelled(RIGHT_OPERAND)), inverse(spelled(REFINEMENT)))
    condition = never(_chosen(ALGORITHM, algorithm))
    others: dict[frozenset[str], list[str]] = {}
    for term in REFINEMENTS:
        if not goes_with(term, algorithm):
            others.setdefault(term.algorithms, []).append(term.iri)
    for fitting, iris in others.items():
        # With masking, another technique beside this one may take the word.
        beside = [_chosen(ALGORITHM, *(name for name in ALGORITHMS if name in fitting))]
        yield _of_actions(UNFIT, path, condition, *beside, never(_mentions(*iris)))
    for needed in ALGORITHM_NEEDS.get(algorithm, ()):
        yield _of_actions(NEED_DEFAULT, path, condition, _mentions(needed))
