"""The refinements of an `odrl:anonymize` action: the requirements, and the roles of columns."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from smalti.policy.document.nodes import Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Condition,
    Logical,
    LogicalOperator,
    Text,
    Where,
)
from smalti.policy.read.columns import read_column
from smalti.policy.read.combinations import check_combinations
from smalti.policy.read.comparisons import described, logical_parts
from smalti.policy.read.reading_conditions import read_logical
from smalti.policy.read.reading_refinements import read_refinement, read_refinements
from smalti.policy.read.stated_refinements import Refinement, Refinements, stated_respondent, whole_bound
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place
from smalti.vocab.techniques import CLASS_MAKERS, MODELS_BESIDE
from smalti.vocab.terms import (
    ALGORITHM,
    ANONYMIZE,
    COLUMN,
    IDENTIFIER,
    IRI,
    METHOD,
    ODRL,
    QUASI_IDENTIFIER,
    RELEASED,
    RESPONDENT,
    SENSITIVE,
    SMALTI,
    K,
    L,
)
from smalti.vocab.words import BY_IRI, Kind, words
from smalti.vocab.words import Scope as WordScope

_FIELDS: Final = frozenset(
    {METHOD, ALGORITHM, K, L, IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, RELEASED, RESPONDENT}
)
"""The words that have fields of their own in `Anonymization`."""


def read_anonymization(
    prop: Property,
    targets: tuple[IRI, ...],
    place: Place,
    scope: Scope,
    constraints: tuple[Condition, ...] = (),
) -> Anonymization | None:
    """Read and check all refinements of an anonymize action; None after an error.

    Args:
        prop: the property that holds the refinements.
        targets: of the rule; bare names of columns stand for columns of its one target.
        place: of the action.
        scope: where findings go.
        constraints: of the rule.
    """
    refinements = Refinements(place, targets, constraints)
    read_refinements(prop, refinements, lambda value: _read_refinement(value, targets, scope), scope)
    check_combinations(refinements, scope)
    return _assemble(refinements, scope) if refinements.is_whole and not scope.findings.has_errors else None


def unimplemented_words(anonymization: Anonymization) -> tuple[tuple[str, Where], ...]:
    """The words that `run` refuses by their names until they are implemented, with their places.

    Each name is as a message would show it: `mosaicrown:method` with its value, or the word alone.
    """
    refused: list[tuple[str, Where]] = []
    algorithms = ((Kind.ALGORITHM, name) for name in anonymization.algorithms)
    names = {(Kind.METHOD, anonymization.method), *algorithms}
    for kind in (Kind.METHOD, Kind.ALGORITHM):
        missing = {word.name for word in words(kind) if not word.implemented}
        refused += [
            (f"the {kind} `{name}`", anonymization.where)
            for of, name in sorted(names)
            if of is kind and name in missing
        ]
    for parameter in anonymization.parameters:
        comparison = _comparison_of(parameter)
        word = BY_IRI.get(comparison.operand)
        if word is None or not word.implemented:
            refused.append((f"`{shortened(comparison.operand)}`", comparison.where))
        elif later := word.later.intersection(map(_name_of, comparison.values)):
            listed = ", ".join(f"`{name}`" for name in sorted(later))
            refused.append((f"{listed} of `{shortened(comparison.operand)}`", comparison.where))
    return tuple(dict.fromkeys(refused))


def unimplemented_limits(constraints: Iterable[Condition]) -> tuple[tuple[str, Where], ...]:
    """The words among a rule's constraints that `run` refuses by their names, with their places."""
    refused: list[tuple[str, Where]] = []
    for condition in constraints:
        if isinstance(condition, Logical):
            refused += unimplemented_limits(condition.operands)
        elif isinstance(condition, Comparison):
            word = BY_IRI.get(condition.operand)
            if word is not None and not word.implemented:
                refused.append((f"`{shortened(condition.operand)}`", condition.where))
    return tuple(dict.fromkeys(refused))


def _name_of(value: object) -> str | None:
    return value.text if isinstance(value, Text) else None


def _comparison_of(parameter: Condition) -> Comparison:
    """The comparison of a parameter, without the column that it is for."""
    if isinstance(parameter, Logical):
        return next(
            part for part in parameter.operands if isinstance(part, Comparison) and part.operand != COLUMN
        )
    assert isinstance(parameter, Comparison)  # noqa: S101 (no other condition is among parameters)
    return parameter


def shortened(iri: IRI) -> str:
    """A word with its prefix; an IRI of no vocabulary as it is."""
    for prefix, namespace in (("smalti", SMALTI), ("odrl", ODRL)):
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


# --- Reading


def _read_refinement(value: Value, targets: tuple[IRI, ...], scope: Scope) -> Refinement | None:
    node = described(value, "refinement", scope)
    if node is None:
        return None
    if logical_parts(node):
        return _read_column_parameter(node, targets, scope)
    refinement = read_refinement(node, ANONYMIZE, targets, scope)
    if refinement is not None and refinement.word is not None and refinement.word.scope is WordScope.COLUMN:
        _for_one_column(refinement, scope)
        return None
    return refinement


def _for_one_column(refinement: Refinement, scope: Scope) -> None:
    shown, place = quoted(refinement.shown), refinement.place
    if refinement.operand == COLUMN:
        message = f"{shown} stands alone: it names the column of another refinement"
        help_ = f'write {{"and": [...]}} with {shown} and the parameter of that column'
    else:
        message = f"{shown} is a parameter of one column, but no column is named"
        help_ = f'write {{"and": [...]}} with `smalti:column` and {shown}'
    scope.findings.error("P425", place, message, help_)


def _read_column_parameter(node: Node, targets: tuple[IRI, ...], scope: Scope) -> Refinement | None:
    """A parameter of one column: `and` of `smalti:column` and the parameter."""
    if logical_parts(node) != (ODRL + "and",):
        word = quoted(node.properties[logical_parts(node)[0]].word)
        message = f"all refinements of an anonymize action apply together, so {word} has no meaning here"
        help_ = "write them beside each other; only `and` with `smalti:column` is allowed here"
        scope.findings.error("P425", node.properties[logical_parts(node)[0]].key, message, help_)
        return None
    parts: list[Refinement] = []

    def read_operand(value: Value) -> Condition | None:
        inner = described(value, "refinement", scope)
        if inner is None or logical_parts(inner):
            if inner is not None:
                _not_one_parameter(inner.place, scope)
            return None
        refinement = read_refinement(inner, ANONYMIZE, targets, scope)
        if refinement is not None:
            parts.append(refinement)
        return None if refinement is None else refinement.comparison

    logical = read_logical(node, "refinement", read_operand, scope)
    return None if logical is None else _column_parameter(logical, parts, node, scope)


def _column_parameter(
    logical: Logical, parts: list[Refinement], node: Node, scope: Scope
) -> Refinement | None:
    columns = [part for part in parts if part.operand == COLUMN]
    others = [part for part in parts if part.operand != COLUMN]
    if len(columns) != 1 or len(others) != 1:
        _not_one_parameter(node.place, scope)
        return None
    column, parameter = columns[0], others[0]
    if parameter.word is None or parameter.word.scope is WordScope.TABLE:
        message = f"{quoted(parameter.shown)} applies to the whole output, not to one column"
        scope.findings.error("P425", parameter.place, message, "write it beside the other refinements")
        return None
    ordered = Logical(LogicalOperator.AND, (column.comparison, parameter.comparison), logical.where)
    of = read_column(column.written.values[0], parameter.targets, scope)
    return None if of is None else replace(parameter, column=of, logical=ordered)


def _not_one_parameter(place: Place, scope: Scope) -> None:
    message = "an `and` among the refinements takes `smalti:column` and exactly one column parameter"
    scope.findings.error("P425", place, message, "write parameters of the whole output beside it")


# --- The result


def _maker(refinements: Refinements) -> str | None:
    """The one that makes the output, beside which others are techniques; None of several techniques."""
    named = refinements.all_names(ALGORITHM)
    is_beside = refinements.method in MODELS_BESIDE and len(named) > 1
    makers = tuple(CLASS_MAKERS.intersection(named)) if is_beside else named
    return makers[0] if len(makers) == 1 else None


def _assemble(refinements: Refinements, scope: Scope) -> Anonymization:
    respondent, one_row_each = stated_respondent(refinements, scope)
    references = {
        role: refinements.references(role, scope)
        for role in (IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, RELEASED)
    }
    algorithms = refinements.all_names(ALGORITHM)
    return Anonymization(
        method=refinements.name(METHOD) or "",
        algorithm=_maker(refinements),
        k=whole_bound(refinements, K, scope),
        l=whole_bound(refinements, L, scope),
        identifiers=references[IDENTIFIER],
        quasi_identifiers=references[QUASI_IDENTIFIER],
        sensitive=references[SENSITIVE],
        released=references[RELEASED],
        respondent=respondent,
        one_row_each=one_row_each,
        parameters=refinements.others(_FIELDS),
        where=scope.findings.where(refinements.place),
        several_algorithms=algorithms if len(algorithms) > 1 else (),
    )
