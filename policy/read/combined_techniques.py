"""Which algorithms stand beside each other in an action, and what single techniques may change."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Day, Instant, Number, Value
from smalti.policy.read.columns import Column
from smalti.policy.read.stated_refinements import Refinement, Refinements
from smalti.policy.read.values import Scope
from smalti.vocab.techniques import BESIDE, CLASS_MAKERS, CODING, MODELS_BESIDE, TECHNIQUE_OF
from smalti.vocab.terms import (
    ALGORITHM,
    BOTTOM_CODE,
    CHARGED_METHODS,
    INCOGNITO,
    IRI,
    LABEL_BOUNDS,
    MASKING,
    MDAV,
    MINIMUM_FREQUENCY,
    MONDRIAN,
    NOISE_ADDITION,
    OUTPUT_FORM,
    PSEUDONYM,
    PSEUDONYMIZATION,
    QUASI_IDENTIFIER,
    RECORD_SUPPRESSION,
    RELEASED,
    SENSITIVE,
    TOP_CODE,
)
from smalti.vocab.words import ALGORITHM_METHODS, BY_IRI

_PUBLISHED: Final = (QUASI_IDENTIFIER, SENSITIVE, RELEASED)
_INSTEAD: Final[Mapping[str, str]] = {
    RECORD_SUPPRESSION: f"write `smalti:suppressionLimit` with the algorithm `{INCOGNITO}`: it leaves out"
    " records whose classes would be too small",
}
"""What stands in the place of a technique beside classes."""
_REPRESENTATIVES: Final = frozenset({"mean", "median", "mode", "medoid"})
"""What may stand for the groups of one microaggregated column."""
_NOISY: Final = (
    "what the noise makes would count as different values: leave it out of `mosaicrown:sensitive`, code"
    " the values, or publish them as they are"
)


def listed_names(names: Iterable[str]) -> str:
    """Names as alternatives, in backticks."""
    return " or ".join(f"`{name}`" for name in sorted(names))


# --- Algorithms


def may_name(refinements: Refinements, algorithm: str) -> bool:
    """Whether an action may name an algorithm: it meets the method, or stands beside what does."""
    method = refinements.method
    stands_beside = method in MODELS_BESIDE and algorithm in BESIDE
    return method in ALGORITHM_METHODS[algorithm] or stands_beside


def check_algorithms(refinements: Refinements, scope: Scope) -> bool:
    """Report algorithms that do not fit the method, or each other.

    Returns:
        Whether those are known that are meant: none was reported, here or when it was read.
    """
    refinement, method = refinements.get(ALGORITHM), refinements.method
    if refinement is None or method is None:
        return refinement is not None or refinements.is_whole
    unfit = [name for name in sorted(refinement.names) if not may_name(refinements, name)]
    for name in unfit:
        message = f"the algorithm `{name}` cannot meet the requirements of the method `{method}`"
        scope.findings.error("P431", refinement.place_of(name), message, _way_out(name, method))
    if unfit or method == MASKING:
        return not unfit
    makers = [name for name in sorted(refinement.names) if method in ALGORITHM_METHODS[name]]
    techniques = sorted(refinement.names - set(makers))
    if not makers:
        name = techniques[0]
        message = f"the algorithm `{name}` cannot meet the requirements of the method `{method}` alone"
        help_ = f"write one that makes classes beside it, such as `{MONDRIAN}`; or the method `{MASKING}`"
        scope.findings.error("P431", refinement.place_of(name), message, help_)
    elif len(makers) > 1:
        message = f"the method `{method}` takes one algorithm that meets it, and the policy names"
        help_ = f"keep one of {listed_names(makers)}"
        place = refinement.place_of(makers[1])
        scope.findings.error("P431", place, f"{message} {len(makers)}", help_)
    elif techniques and makers[0] not in CLASS_MAKERS:
        name = techniques[0]
        message = f"the algorithm `{name}` does not stand beside `{makers[0]}`"
        help_ = f"remove one of the two, or write {listed_names(CLASS_MAKERS)} in the place of the latter"
        scope.findings.error("P431", refinement.place_of(name), message, help_)
    else:
        return True
    return False


def _way_out(algorithm: str, method: str) -> str:
    if method in CHARGED_METHODS:
        return "differential privacy requires a `smalti:mechanism`"
    if method in MODELS_BESIDE and algorithm in _INSTEAD:
        return _INSTEAD[algorithm]
    return f"use it with the method {listed_names(ALGORITHM_METHODS[algorithm])}"


# --- Columns


def check_techniques(refinements: Refinements, scope: Scope) -> None:
    """Report columns with several techniques, or with one that their role does not have."""
    roles = {
        normalised_column(column.iri): role
        for role in _PUBLISHED
        for column in refinements.columns.get(role, ())
    }
    for iri, parameters in _by_column(refinements).items():
        techniques = dict(_techniques(parameters, refinements))
        for column in refinements.columns.get(PSEUDONYM, ()):
            if techniques and normalised_column(column.iri) == iri:
                techniques[PSEUDONYMIZATION] = column
        if len(techniques) > 1:
            first, second, *_ = sorted(techniques)
            _report(techniques[second], f"two techniques: `{first}` and `{second}`", scope)
        elif techniques:
            ((name, column),) = techniques.items()
            _check_role(name, column, roles.get(iri), refinements, scope)
            if name == CODING and roles.get(iri) == QUASI_IDENTIFIER:
                _check_open_ranges(column, refinements, scope)
        _check_thresholds(parameters, scope)
    if refinements.method == MASKING:
        _check_forms_of_masking(refinements, scope)


def _by_column(refinements: Refinements) -> Mapping[IRI, list[Refinement]]:
    by_column: dict[IRI, list[Refinement]] = {}
    for refinement in refinements.by_key.values():
        if refinement.column is not None and refinement.operand in TECHNIQUE_OF:
            by_column.setdefault(normalised_column(refinement.column.iri), []).append(refinement)
    return by_column


def _techniques(parameters: Iterable[Refinement], refinements: Refinements) -> Iterator[tuple[str, Column]]:
    """The techniques of one column that the action names, each with the column as it is written there."""
    for refinement in parameters:
        name, word = TECHNIQUE_OF[refinement.operand], refinement.word
        if word is None or (word.algorithms and word.algorithms.isdisjoint(refinements.algorithms)):
            continue
        is_of_records = (
            refinement.operand == MINIMUM_FREQUENCY and RECORD_SUPPRESSION in refinements.algorithms
        )
        is_of_classes = name == MDAV and (
            refinements.method != MASKING or MDAV not in refinements.algorithms
        )
        if refinement.column is not None and not is_of_records and not is_of_classes:
            yield name, refinement.column


def _check_role(
    name: str, column: Column, role: IRI | None, refinements: Refinements, scope: Scope
) -> None:
    if role == RELEASED:
        _report(column, f"two roles: `{BY_IRI[role].name}` and `{name}`", scope)
    elif role is not None and refinements.method in MODELS_BESIDE and role not in BESIDE[name].roles:
        message = f"the column {quoted(column.written)} is `{BY_IRI[role].name}`, and has `{name}`"
        help_ = _NOISY if (name, role) == (NOISE_ADDITION, SENSITIVE) else "keep one of them"
        scope.findings.error("P407", column.place, message, help_)


def _check_open_ranges(column: Column, refinements: Refinements, scope: Scope) -> None:
    """Coded quasi-identifiers are published as ranges that may be open, which no other labels are."""
    if refinements.method not in MODELS_BESIDE:
        return
    shown = f"the column {quoted(column.written)} is coded"
    for operand, fitting in ((OUTPUT_FORM, "range"), (LABEL_BOUNDS, "observed")):
        stated = _stated(operand, column, refinements)
        if stated is not None and stated.names != {fitting}:
            message = f"{shown}, and {quoted(stated.shown)} states labels without an open end"
            way_out = f"write `{fitting}` for it, or leave out one of the two"
            scope.findings.error("P407", stated.value_place, message, way_out)
    for name in sorted({INCOGNITO, MDAV} & set(refinements.algorithms)):
        message = f"{shown}, and the algorithm `{name}` makes no labels with an open end"
        help_ = f"leave out the code, or write the algorithm `{MONDRIAN}`"
        scope.findings.error("P407", column.place, message, help_)


def _stated(operand: IRI, column: Column, refinements: Refinements) -> Refinement | None:
    """What is stated for a column, or else for all of them."""
    stated = [each for each in refinements.by_key.values() if each.operand == operand]
    own, name = None, normalised_column(column.iri)
    for refinement in stated:
        if refinement.column is not None and normalised_column(refinement.column.iri) == name:
            own = refinement
    return own or next((each for each in stated if each.column is None), None)


def _check_forms_of_masking(refinements: Refinements, scope: Scope) -> None:
    """An output form is what stands for groups of one column: no other technique has a choice."""
    for refinement in refinements.by_key.values():
        is_of_groups = refinement.column is not None and refinement.names <= _REPRESENTATIVES
        if refinement.operand == OUTPUT_FORM and MDAV in refinements.algorithms and not is_of_groups:
            message = f"{quoted(refinement.shown)} is not what stands for groups of one column"
            help_ = f"write {listed_names(_REPRESENTATIVES)} together with `smalti:column`, or leave it out"
            place = refinement.place if refinement.column is None else refinement.value_place
            scope.findings.error("P423", place, message, help_)


def _report(column: Column, what: str, scope: Scope) -> None:
    message = f"the column {quoted(column.written)} has {what}"
    scope.findings.error("P407", column.place, message, "keep one of them; top- and bottom-coding are one")


def _check_thresholds(parameters: Iterable[Refinement], scope: Scope) -> None:
    stated = {refinement.operand: refinement for refinement in parameters}
    if not {TOP_CODE, BOTTOM_CODE} <= stated.keys():
        return
    top, bottom = (stated[operand].comparison.values[0] for operand in (TOP_CODE, BOTTOM_CODE))
    if _is_below(top, bottom) or top == bottom:
        lower, upper = (quoted(stated[operand].shown) for operand in (BOTTOM_CODE, TOP_CODE))
        message = f"the thresholds of one column cross: {lower} is not below {upper}"
        place = stated[BOTTOM_CODE].value_place
        scope.findings.error("P429", place, message, "exchange or correct them")


def _is_below(first: Value, second: Value) -> bool:
    """Whether one value is less than another one of its kind; of different kinds the data decides."""
    match first, second:
        case Number(number), Number(other):
            return number < other
        case Day(day), Day(another):
            return day < another
        case Instant(time), Instant(later):
            return (time.tzinfo is None) is (later.tzinfo is None) and time < later
    return False
