"""Which refinements of an action are compatible, and which each method requires."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Comparison, Condition, Logical, LogicalOperator, Number, Operator
from smalti.policy.read.columns import Column
from smalti.policy.read.combined_techniques import (
    check_algorithms,
    check_techniques,
    listed_names,
    may_name,
)
from smalti.policy.read.stated_refinements import Refinement, Refinements
from smalti.policy.read.values import Scope
from smalti.vocab.techniques import BESIDE
from smalti.vocab.terms import (
    ALGORITHM,
    ANATOMY,
    BUDGET_DELTA,
    BUDGET_EPSILON,
    CUT_SCORE,
    DELTA,
    DIFFERENTIAL_PRIVACY,
    DIMENSIONALITY,
    DISTANCE,
    DIVERSITY,
    EPSILON,
    FRAGMENT_COLUMN,
    GLOBAL_RECODING,
    GROUP_BY,
    IDENTIFIER,
    INTERVAL_WIDTH,
    INTERVALS,
    IRI,
    K_ANONYMITY,
    L_DIVERSITY,
    LOCAL_DIFFERENTIAL_PRIVACY,
    MASKING,
    MDAV,
    MEASURE,
    MECHANISM,
    MEMBERSHIP_ADVANTAGE,
    METHOD,
    OUTPUT_FORM,
    PARTITIONING,
    PIXEL_NEIGHBORHOOD,
    PIXEL_SIZE,
    POSTERIOR_BELIEF,
    PRESENCE,
    PSEUDONYM,
    PSEUDONYMIZATION,
    QUASI_IDENTIFIER,
    RELEASED,
    SENSITIVE,
    STATISTIC,
    T_CLOSENESS,
    C,
    K,
    L,
)
from smalti.vocab.words import (
    ALGORITHM_NEEDS,
    BY_IRI,
    METHOD_NEEDS,
    OF_ONE_COLUMN,
    PURE_MECHANISMS,
)

_ROLES: Final = (IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, RELEASED, PSEUDONYM)
_STATISTICS: Final = (MEASURE, GROUP_BY)
LOSSES: Final = (EPSILON, POSTERIOR_BELIEF, MEMBERSHIP_ADVANTAGE)
"""The words that bound the privacy loss: of an action, one of them at most."""
_GAUSSIAN: Final = "gaussian"
_PIXELATION: Final = "pixelation"
_MECHANISMS: Final = {
    DIFFERENTIAL_PRIVACY: frozenset({"laplace", _GAUSSIAN, "exponential"}),
    LOCAL_DIFFERENTIAL_PRIVACY: frozenset({"randomized-response", "laplace", _GAUSSIAN, _PIXELATION}),
}
"""By method, of statistics and of records."""
_COUNT: Final = "count"
_GROUPED: Final = frozenset({"histogram", "contingency"})
"""Statistics whose groups are values of their measures."""
_CONJUNCTIONS: Final = frozenset({LogicalOperator.AND, LogicalOperator.AND_SEQUENCE})
_OF_MASKING: Final[Mapping[str, tuple[tuple[IRI, ...], ...]]] = {
    GLOBAL_RECODING: ((INTERVAL_WIDTH, INTERVALS),),
    MDAV: ((K,), (OUTPUT_FORM, DISTANCE)),
    PSEUDONYMIZATION: ((PSEUDONYM,),),
}
"""What single techniques require beside `ALGORITHM_NEEDS` where nothing else does: one of some operands.

Which columns are suppressed is said with identifiers, which the public part of a policy leaves out: the
plan asks for them."""
_RECURSIVE: Final = "recursive"
_SINGLE: Final = "single"
_FIT_ONE_DIMENSION: Final = {PARTITIONING: "strict", CUT_SCORE: "certainty-penalty", FRAGMENT_COLUMN: ""}
"""The one value of each word that is compatible with cuts through whole domains; none of the last."""


def check_combinations(refinements: Refinements, scope: Scope) -> None:
    """Report incompatible refinements and, if all refinements were read, missing ones."""
    _check_roles(refinements, scope)
    _check_parameters_of_columns(refinements, scope)
    fits = check_algorithms(refinements, scope)
    check_techniques(refinements, scope)
    _check_words(refinements, scope, has_algorithms=fits)
    if fits:
        _check_distances(refinements, scope)
    _check_dimensionality(refinements, scope)
    _check_l_fits_k(refinements, scope)
    _check_presence(refinements, scope)
    if refinements.method in _MECHANISMS:
        check_losses(refinements, scope)
    _check_mechanism(refinements, scope)
    _check_recursive(refinements, scope)
    if refinements.method in _MECHANISMS:
        check_budget(refinements, scope)
    if refinements.is_whole:
        _check_measures(refinements, scope)
        _check_first_cut(refinements, scope)
        _check_needs(refinements, scope)


# --- Columns


def _check_roles(refinements: Refinements, scope: Scope) -> None:
    role_of: dict[IRI, IRI] = {}
    for role in _ROLES:
        for column in refinements.columns.get(role, ()):
            first = role_of.setdefault(column.iri, role)
            if first != role:
                report_two_roles(column, first, role, scope)
    dropped = {column.iri for column in refinements.columns.get(IDENTIFIER, ())}
    for role in _STATISTICS:
        for column in refinements.columns.get(role, ()):
            if column.iri in dropped:
                report_two_roles(column, IDENTIFIER, role, scope)


def report_two_roles(column: Column, first: IRI, second: IRI, scope: Scope) -> None:
    """Report a column that has two roles which exclude each other."""
    message = f"the column {quoted(column.written)} has two roles: {_local(first)} and {_local(second)}"
    scope.findings.error("P407", column.place, message, "keep one of them")


def _local(role: IRI) -> str:
    return quoted(BY_IRI[role].name)


def _check_first_cut(refinements: Refinements, scope: Scope) -> None:
    listed = {column.iri for column in refinements.columns.get(QUASI_IDENTIFIER, ())}
    for column in refinements.columns.get(FRAGMENT_COLUMN, ()):
        if listed and column.iri not in listed:
            message = f"the column {quoted(column.written)} is cut first, but is not a `quasi-identifier`"
            help_ = "name a quasi-identifier, or remove the refinement: no other column is cut"
            scope.findings.error("P436", column.place, message, help_)


def _check_parameters_of_columns(refinements: Refinements, scope: Scope) -> None:
    dropped = {column.iri for column in refinements.columns.get(IDENTIFIER, ())}
    for refinement in refinements.by_key.values():
        if refinement.column is not None and refinement.column.iri in dropped:
            shown = quoted(refinement.column.written)
            message = f"{quoted(refinement.shown)} applies to {shown}, which is dropped as `identifier`"
            scope.findings.error("P425", refinement.column.place, message, "remove one of the two")


# --- Words that do not fit the method, the algorithm or the mechanism


def _check_words(refinements: Refinements, scope: Scope, *, has_algorithms: bool) -> None:
    """Report words that do not fit; those of algorithms where it is known which ones are meant."""
    method, algorithms = refinements.method, refinements.algorithms
    for refinement in refinements.by_key.values():
        word = refinement.word
        if word is None or method is None:
            continue
        shown = quoted(refinement.shown)
        if word.methods and method not in word.methods:
            if (method, word.iri) == (K_ANONYMITY, L):
                message = f"the method `{K_ANONYMITY}` has no parameter {shown}"
                scope.findings.error(
                    "P409", refinement.place, message, f"did you mean the method `{L_DIVERSITY}`?"
                )
                continue
            message = f"the method `{method}` has no refinement {shown}"
            help_ = f"remove it, or write the method {listed_names(word.methods)}"
            scope.findings.error("P423", refinement.place, message, help_)
        elif has_algorithms and word.algorithms and word.algorithms.isdisjoint(algorithms):
            help_ = f"remove it, or write the algorithm {listed_names(word.algorithms)}"
            message = f"{_owner(algorithms)} no refinement {shown}"
            scope.findings.error("P423", refinement.place, message, help_)


def _owner(algorithms: Sequence[str]) -> str:
    """The subject of a sentence about algorithms, with its verb."""
    named = " and ".join(f"`{name}`" for name in algorithms)
    if not algorithms:
        return "an action without an algorithm has"
    return f"the algorithm {named} has" if len(algorithms) == 1 else f"the algorithms {named} have"


def _check_distances(refinements: Refinements, scope: Scope) -> None:
    """Without t-closeness, a distance is one between the values of a column that is microaggregated."""
    if refinements.method not in OF_ONE_COLUMN[DISTANCE]:
        return
    grouped = {column.iri for column in refinements.columns.get(QUASI_IDENTIFIER, ())}
    for refinement in refinements.by_key.values():
        if refinement.word is None or refinement.word.iri != DISTANCE:
            continue
        shown = quoted(refinement.shown)
        if MDAV not in refinements.algorithms:
            message = f"the method `{refinements.method}` has no refinement {shown}"
            help_ = f"remove it, or write the method `{T_CLOSENESS}` or the algorithm `{MDAV}`"
            scope.findings.error("P423", refinement.place, message, help_)
        elif refinement.column is None or (grouped and refinement.column.iri not in grouped):
            message = f"{shown} is of one column that is microaggregated, and here of none"
            role = "" if refinements.method == MASKING else ", a `quasi-identifier`"
            help_ = f"write it together with `smalti:column`{role}"
            scope.findings.error("P423", refinement.place, message, help_)


def _check_dimensionality(refinements: Refinements, scope: Scope) -> None:
    dimensionality = refinements.get(DIMENSIONALITY)
    if dimensionality is None or dimensionality.names != {_SINGLE}:
        return
    for operand, fitting in _FIT_ONE_DIMENSION.items():
        refinement = refinements.get(operand)
        if refinement is not None and refinement.names != {fitting}:
            message = f"`{_SINGLE}` cuts whole domains, but {quoted(refinement.shown)} concerns partitions"
            help_ = "remove one of the two" + (f", or write `{fitting}`" if fitting else "")
            scope.findings.error("P437", refinement.value_place, message, help_)


def _check_mechanism(refinements: Refinements, scope: Scope) -> None:
    refinement, delta = refinements.get(MECHANISM), refinements.get(DELTA)
    names = refinement.names if refinement is not None else frozenset[str]()
    usable = _MECHANISMS.get(refinements.method or "", names)
    if refinement is not None and names and not names & usable:
        message = f"the method `{refinements.method}` does not support the mechanism {listed_names(names)}"
        scope.findings.error("P435", refinement.value_place, message, f"write {listed_names(usable)}")
    elif refinement is not None and names & usable == {_GAUSSIAN}:
        _check_gaussian(refinement, delta, refinements, scope)
    needs_none = bool(names) and names & usable <= PURE_MECHANISMS
    if delta is not None and needs_none and not _may_select_groups(refinements):
        message = (
            f"{quoted(delta.shown)} does not fit {listed_names(names)}, which never loses more than epsilon"
        )
        help_ = "remove it, or write the mechanism `gaussian`"
        scope.findings.error("P435", delta.place, message, help_)
    if names and refinements.method == LOCAL_DIFFERENTIAL_PRIVACY:
        for operand in (PIXEL_SIZE, PIXEL_NEIGHBORHOOD):
            _check_pixels(operand, names, refinements, scope)


def _check_pixels(operand: IRI, mechanisms: frozenset[str], refinements: Refinements, scope: Scope) -> None:
    pixels = refinements.get(operand)
    if pixels is not None and _PIXELATION not in mechanisms:
        message = f"{quoted(pixels.shown)} belongs to the mechanism `pixelation`"
        scope.findings.error("P423", pixels.place, message, "remove it, or write that mechanism")
    if pixels is None and _PIXELATION in mechanisms:
        message = f"the mechanism `pixelation` requires a refinement with {shown_word(operand, scope)}"
        scope.findings.error("P411", refinements.place, message)


def _may_select_groups(refinements: Refinements) -> bool:
    """Whether statistics may be grouped by values from the data alone, which requires a delta."""
    statistic = refinements.get(STATISTIC)
    has_keys = statistic is not None and bool(statistic.names & _GROUPED)
    return has_keys or bool(refinements.columns.get(GROUP_BY))


def _check_gaussian(
    refinement: Refinement, delta: Refinement | None, refinements: Refinements, scope: Scope
) -> None:
    if delta is None and refinements.is_whole:
        message = "the mechanism `gaussian` requires a refinement with `smalti:delta`"
        scope.findings.error("P411", refinement.value_place, message)
    elif delta is not None and delta.number == 0:
        message = "the mechanism `gaussian` cannot have a delta of 0"
        scope.findings.error("P435", delta.value_place, message, "write a delta above 0, or `laplace`")


def _check_recursive(refinements: Refinements, scope: Scope) -> None:
    c, diversity = refinements.get(C), refinements.get(DIVERSITY)
    if c is not None and diversity is not None and diversity.names != {_RECURSIVE}:
        message = (
            f"{quoted(c.shown)} belongs to recursive diversity, but the policy names another diversity"
        )
        scope.findings.error("P423", c.place, message, "write the diversity `recursive`, or remove it")
    if c is None and diversity is not None and diversity.names == {_RECURSIVE} and refinements.is_whole:
        message = "recursive diversity requires a refinement with `smalti:c`"
        scope.findings.error("P411", diversity.value_place, message)


# --- Incompatible numbers


def _check_l_fits_k(refinements: Refinements, scope: Scope) -> None:
    stated_k, stated_l = refinements.get(K), refinements.get(L)
    if stated_k is None or stated_l is None or refinements.method == K_ANONYMITY:
        return
    k, least = stated_k.number, stated_l.number
    if k is not None and least is not None and stated_k.comparison.operator is Operator.EQ and least > k:
        message = f"l is {least} and k is exactly {k}: k respondents have at most k different values"
        scope.findings.error("P410", stated_l.value_place, message, "lower l, or write `gteq` for k")


def _check_presence(refinements: Refinements, scope: Scope) -> None:
    low = refinements.by_key.get((PRESENCE, "", str(Operator.GTEQ)))
    high = refinements.by_key.get((PRESENCE, "", str(Operator.LTEQ)))
    if low and high and low.number is not None and high.number is not None and low.number > high.number:
        message = f"no chance of presence is at least {low.number} and at most {high.number}"
        scope.findings.error("P429", high.value_place, message, "exchange the two bounds")


def check_losses(refinements: Refinements, scope: Scope) -> None:
    """Report a privacy loss with two bounds."""
    losses = [refinement for operand in LOSSES if (refinement := refinements.get(operand)) is not None]
    for refinement in losses[1:]:
        first = quoted(losses[0].shown)
        message = f"the privacy loss is bounded twice: by {first} and {quoted(refinement.shown)}"
        scope.findings.error("P428", refinement.place, message, "keep one: each determines the others")


def check_budget(refinements: Refinements, scope: Scope) -> None:
    """Report a release whose delta exceeds that of the budget: it never fits into it."""
    delta, ceilings = refinements.get(DELTA), _ceilings(refinements.constraints)
    if delta is None or delta.number is None or not ceilings:
        return
    least = min((number for operand, number in ceilings if operand == BUDGET_DELTA), default=Decimal(0))
    if delta.number > least:
        has_one = any(operand == BUDGET_DELTA for operand, _ in ceilings)
        budget = f"`smalti:budgetDelta` is {least}" if has_one else "no `smalti:budgetDelta` is stated"
        message = f"a release may lose a delta of {delta.number}, but {budget}"
        scope.findings.error("P438", delta.value_place, message, "raise the budget, or lower the delta")


def _ceilings(conditions: Iterable[Condition]) -> list[tuple[IRI, Decimal]]:
    """The budgets that must hold."""
    ceilings: list[tuple[IRI, Decimal]] = []
    for condition in conditions:
        if isinstance(condition, Logical) and condition.operator in _CONJUNCTIONS:
            ceilings += _ceilings(condition.operands)
        elif isinstance(condition, Comparison) and condition.operand in (BUDGET_EPSILON, BUDGET_DELTA):
            ceilings += [
                (condition.operand, value.value) for value in condition.values if isinstance(value, Number)
            ]
    return ceilings


# --- Missing refinements


def _check_needs(refinements: Refinements, scope: Scope) -> None:
    method = refinements.method
    if method is None:
        wanted = " and ".join(shown_word(iri, scope) for iri in (METHOD, K) if refinements.get(iri) is None)
        message = f"an anonymize action requires a refinement with {wanted}"
        scope.findings.error("P411", refinements.place, message)
        _check_columns_are_named(refinements, K_ANONYMITY, scope)
        return
    needs = [need for need in METHOD_NEEDS[method] if not is_met(need, refinements)]
    if ANATOMY in refinements.algorithms:
        needs = [need for need in needs if need != (K,)]
    if method == DIFFERENTIAL_PRIVACY:
        needs += [] if refinements.get(STATISTIC) is not None else [(STATISTIC,)]
    plain = [need for need in needs if need not in {(SENSITIVE,), (QUASI_IDENTIFIER,)}]
    if plain:
        listed = " and ".join(" or ".join(shown_word(iri, scope) for iri in need) for need in plain)
        message = f"the method `{method}` requires a refinement with {listed}"
        scope.findings.error("P411", refinements.place, message)
    _check_columns_are_named(refinements, method, scope)
    _check_needs_of_algorithm(refinements, scope)
    check_needs_of_words(refinements, scope)


def is_met(need: tuple[IRI, ...], refinements: Refinements) -> bool:
    """Whether one of some operands has a refinement."""
    return any(refinements.get(iri) is not None for iri in need)


def shown_word(iri: IRI, scope: Scope) -> str:
    """A word as the document would write it, in backticks."""
    return quoted(scope.terms.shorten(iri))


def _check_columns_are_named(refinements: Refinements, method: str, scope: Scope) -> None:
    needs = METHOD_NEEDS[method]
    if (SENSITIVE,) in needs and not refinements.columns.get(SENSITIVE):
        message = f"{method} requires a `sensitive` column, and the policy names none"
        scope.findings.error(
            "P408", refinements.place, message, "list the columns with `mosaicrown:sensitive`"
        )
    if (QUASI_IDENTIFIER,) in needs and not refinements.columns.get(QUASI_IDENTIFIER):
        message = "no column is a `quasi-identifier`, so the method promises nothing"
        help_ = "list the columns with `mosaicrown:quasi-identifier`"
        scope.findings.error("P417", refinements.place, message, help_)


def _check_measures(refinements: Refinements, scope: Scope) -> None:
    """All statistics but counts measure a column; columns that are not permitted are denied."""
    refinement = refinements.get(STATISTIC)
    if (
        refinement is None
        or refinements.method != DIFFERENTIAL_PRIVACY
        or refinements.get(MEASURE) is not None
    ):
        return
    lacking = sorted(refinement.names - {_COUNT})
    if lacking:
        listed = " and ".join(f"`{name}`" for name in lacking)
        message = (
            f"{listed} requires a refinement with {shown_word(MEASURE, scope)}: no column is permitted"
        )
        scope.findings.error(
            "P411", refinement.value_place, message, "list the columns, or permit only counts"
        )


def _check_needs_of_algorithm(refinements: Refinements, scope: Scope) -> None:
    refinement = refinements.get(ALGORITHM)
    for algorithm in refinements.algorithms if refinement is not None else ():
        if refinement is None or not may_name(refinements, algorithm):
            continue
        needs: list[tuple[IRI, ...]] = [(iri,) for iri in ALGORITHM_NEEDS.get(algorithm, ())]
        is_technique = refinements.method == MASKING or algorithm in BESIDE
        needs += _OF_MASKING.get(algorithm, ()) if is_technique else ()
        missing = [
            " or ".join(shown_word(iri, scope) for iri in need)
            for need in needs
            if not is_met(need, refinements)
        ]
        if missing:
            message = f"the algorithm `{algorithm}` requires a refinement with {' and '.join(missing)}"
            help_ = f"state {'them' if len(missing) > 1 else 'it'}, or leave the algorithm out"
            scope.findings.error("P411", refinement.place_of(algorithm), message, help_)


def check_needs_of_words(refinements: Refinements, scope: Scope) -> None:
    """Report words without the refinements that they require."""
    for refinement in refinements.by_key.values():
        needs = refinement.word.needs if refinement.word is not None else frozenset[IRI]()
        missing = [shown_word(iri, scope) for iri in sorted(needs) if refinements.get(iri) is None]
        if missing and not (
            refinement.word
            and refinement.word.methods
            and refinements.method not in refinement.word.methods
        ):
            message = f"{quoted(refinement.shown)} requires a refinement with {' and '.join(missing)}"
            scope.findings.error("P411", refinement.place, message)
