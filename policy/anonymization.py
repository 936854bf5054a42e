"""The refinements of an `odrl:anonymize` action: what is promised, and of which columns."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from smalti.policy.columns import read_column
from smalti.policy.combinations import Found, Stated, check_combinations
from smalti.policy.comparisons import described, logical_parts, read_comparison
from smalti.policy.findings import quoted
from smalti.policy.json_text import Place
from smalti.policy.model import (
    Anonymization,
    Bound,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    LogicalOperator,
    Where,
)
from smalti.policy.nodes import Node, Property, Value
from smalti.policy.profile_words import read_profile_word
from smalti.policy.purposes import OPERANDS as PURPOSE_OPERANDS
from smalti.policy.reading_conditions import read_logical, read_odrl_comparison
from smalti.policy.values import Scope, values_of
from smalti.vocab.terms import (
    ALGORITHM,
    ANONYMIZE,
    COLUMN,
    IDENTIFIER,
    IRI,
    METHOD,
    ODRL,
    ONE_ROW_EACH,
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
    refinements: Property,
    targets: tuple[IRI, ...],
    place: Place,
    scope: Scope,
    constraints: tuple[Condition, ...] = (),
) -> Anonymization | None:
    """Read and check all refinements of an anonymize action; None after an error.

    Args:
        refinements: the property that holds them.
        targets: of the rule; bare names of columns stand for columns of its one target.
        place: of the action.
        scope: where findings go.
        constraints: of the rule.
    """
    found = Found(place, targets, constraints)
    found.is_whole = bool(values_of(refinements, scope))
    for value in refinements.values:
        stated = _read_refinement(value, targets, scope)
        found.is_whole &= stated is not None and found.add(stated, scope)
    check_combinations(found, scope)
    return _assemble(found, scope) if found.is_whole and not scope.findings.has_errors else None


def unimplemented_words(anonymization: Anonymization) -> tuple[tuple[str, Where], ...]:
    """The words that `run` refuses by their names until they are implemented, with their places.

    Each name is as a message would show it: `mosaicrown:method` with its value, or the word alone.
    """
    found: list[tuple[str, Where]] = []
    names = {(Kind.METHOD, anonymization.method), (Kind.ALGORITHM, anonymization.algorithm)}
    for kind in (Kind.METHOD, Kind.ALGORITHM):
        missing = {word.name for word in words(kind) if not word.implemented}
        found += [
            (f"the {kind} `{name}`", anonymization.where)
            for of, name in names
            if of is kind and name in missing
        ]
    for parameter in anonymization.parameters:
        comparison = _comparison_of(parameter)
        word = BY_IRI.get(comparison.operand)
        if word is None or not word.implemented:
            found.append((f"`{_shortened(comparison.operand)}`", comparison.where))
    return tuple(dict.fromkeys(found))


def unimplemented_limits(constraints: Iterable[Condition]) -> tuple[tuple[str, Where], ...]:
    """The words among a rule's constraints that `run` refuses by their names, with their places."""
    found: list[tuple[str, Where]] = []
    for condition in constraints:
        if isinstance(condition, Logical):
            found += unimplemented_limits(condition.operands)
        elif isinstance(condition, Comparison):
            word = BY_IRI.get(condition.operand)
            if word is not None and not word.implemented:
                found.append((f"`{_shortened(condition.operand)}`", condition.where))
    return tuple(dict.fromkeys(found))


def _comparison_of(parameter: Condition) -> Comparison:
    """The comparison of a parameter, without the column that it is for."""
    if isinstance(parameter, Logical):
        return next(
            part for part in parameter.operands if isinstance(part, Comparison) and part.operand != COLUMN
        )
    assert isinstance(parameter, Comparison)  # noqa: S101 (no other condition is among parameters)
    return parameter


def _shortened(iri: IRI) -> str:
    for prefix, namespace in (("smalti", SMALTI), ("odrl", ODRL)):
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


# --- Reading


def _read_refinement(value: Value, targets: tuple[IRI, ...], scope: Scope) -> Stated | None:
    node = described(value, "refinement", scope)
    if node is None:
        return None
    if logical_parts(node):
        return _read_column_parameter(node, targets, scope)
    stated = _read_stated(node, targets, scope)
    if stated is not None and stated.word is not None and stated.word.scope is WordScope.COLUMN:
        _for_one_column(stated, scope)
        return None
    return stated


def _for_one_column(stated: Stated, scope: Scope) -> None:
    shown, place = quoted(stated.shown), stated.place
    if stated.operand == COLUMN:
        message = f"{shown} stands alone: it says which column another refinement is for"
        help_ = f'write {{"and": [...]}} with {shown} and the parameter of that column'
    else:
        message = f"{shown} is for one column, and no column is named"
        help_ = f'write {{"and": [...]}} with `smalti:column` and {shown}'
    scope.findings.error("P425", place, message, help_)


def _read_stated(node: Node, targets: tuple[IRI, ...], scope: Scope) -> Stated | None:
    written = read_comparison(node, "refinement", lambda _: False, scope)
    if written is None:
        return None
    if written.operand in PURPOSE_OPERANDS or (written.word and written.word.kind is Kind.CONSTRAINT):
        message = f"{quoted(written.shown)} is no refinement of an action"
        help_ = "write it as a `constraint` of the rule"
        scope.findings.error("P419", written.operand_name.place, message, help_)
        return None
    if written.word is None:
        comparison = read_odrl_comparison(written, scope)
    elif ANONYMIZE not in written.word.actions:
        actions = " or ".join(f"`{scope.terms.shorten(iri)}`" for iri in sorted(written.word.actions))
        message = f"{quoted(written.shown)} does not refine this action"
        scope.findings.error("P419", written.operand_name.place, message, f"it refines {actions}")
        return None
    else:
        comparison = read_profile_word(written, targets, scope)
    return None if comparison is None else Stated(comparison, written, targets)


def _read_column_parameter(node: Node, targets: tuple[IRI, ...], scope: Scope) -> Stated | None:
    """A parameter of one column: `and` of `smalti:column` and the parameter."""
    if logical_parts(node) != (ODRL + "and",):
        word = quoted(node.properties[logical_parts(node)[0]].word)
        message = f"the refinements of an action to anonymize all hold together, and {word} says otherwise"
        help_ = "write them beside each other; only `and` with `smalti:column` has a meaning here"
        scope.findings.error("P425", node.properties[logical_parts(node)[0]].key, message, help_)
        return None
    parts: list[Stated] = []

    def read_operand(value: Value) -> Condition | None:
        inner = described(value, "refinement", scope)
        if inner is None or logical_parts(inner):
            if inner is not None:
                _not_one_parameter(inner.place, scope)
            return None
        stated = _read_stated(inner, targets, scope)
        if stated is not None:
            parts.append(stated)
        return None if stated is None else stated.comparison

    logical = read_logical(node, "refinement", read_operand, scope)
    return None if logical is None else _column_parameter(logical, parts, node, scope)


def _column_parameter(logical: Logical, parts: list[Stated], node: Node, scope: Scope) -> Stated | None:
    columns = [part for part in parts if part.operand == COLUMN]
    others = [part for part in parts if part.operand != COLUMN]
    if len(columns) != 1 or len(others) != 1:
        _not_one_parameter(node.place, scope)
        return None
    column, parameter = columns[0], others[0]
    if parameter.word is None or parameter.word.scope is WordScope.TABLE:
        message = f"{quoted(parameter.shown)} is for the whole output, and not for one column"
        scope.findings.error("P425", parameter.place, message, "write it beside the other refinements")
        return None
    ordered = Logical(LogicalOperator.AND, (column.comparison, parameter.comparison), logical.where)
    of = read_column(column.written.values[0], parameter.targets, scope)
    return None if of is None else replace(parameter, column=of, logical=ordered)


def _not_one_parameter(place: Place, scope: Scope) -> None:
    message = (
        "an `and` among the refinements is about one column: `smalti:column` and exactly one parameter"
    )
    scope.findings.error("P425", place, message, "write what holds for the whole output beside it")


# --- The result


def _assemble(found: Found, scope: Scope) -> Anonymization:
    respondent = found.columns[RESPONDENT][0] if RESPONDENT in found.columns else None
    one_row_each = respondent is not None and respondent.iri == ONE_ROW_EACH
    references = {
        role: found.references(role, scope) for role in (IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, RELEASED)
    }
    return Anonymization(
        method=found.name(METHOD) or "",
        algorithm=found.name(ALGORITHM),
        k=_bound(found, K, scope),
        l=_bound(found, L, scope),
        identifiers=references[IDENTIFIER],
        quasi_identifiers=references[QUASI_IDENTIFIER],
        sensitive=references[SENSITIVE],
        released=references[RELEASED],
        respondent=(
            ColumnReference(respondent.iri, scope.findings.where(respondent.place))
            if respondent is not None and not one_row_each
            else None
        ),
        one_row_each=one_row_each,
        parameters=tuple(
            stated.logical or stated.comparison
            for key, stated in sorted(found.stated.items())
            if stated.operand not in _FIELDS
        ),
        where=scope.findings.where(found.place),
    )


def _bound(found: Found, operand: IRI, scope: Scope) -> Bound | None:
    stated = found.get(operand)
    if stated is None:
        return None
    number = stated.number
    if number is None:
        return None
    return Bound(
        stated.comparison.operator, int(number), scope.findings.where(stated.written.values[0].place)
    )
