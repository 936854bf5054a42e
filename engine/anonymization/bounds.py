"""The numbers of a plan's guarantee: the policy's bounds, or stronger ones that a run asks for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

from smalti.engine.anonymization.population import stated_presence
from smalti.engine.binding.asked_bounds import AskedBounds
from smalti.engine.binding.bound_columns import parameter_parts
from smalti.engine.plan.plan import Column
from smalti.errors import InternalError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.decide.transformations import effective_bounds
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Number,
    Operator,
    Text,
    Value,
)
from smalti.transforms.class_models import PLAIN, ClassModels, ColumnModel, Distance, Diversity
from smalti.vocab.terms import (
    ALPHA,
    DELTA_PRESENCE,
    DISTANCE,
    DIVERSITY,
    IRI,
    MDAV,
    T_CLOSENESS,
    C,
    K,
    L,
    T,
)
from smalti.vocab.words import BY_IRI, has_usable_size

_AT_MOST: Final = (C, ALPHA, T)
"""Words that bound a number from above."""
_OF_MODELS: Final = frozenset({*_AT_MOST, DIVERSITY, DISTANCE})


@dataclass(frozen=True, slots=True)
class ChosenBounds:
    """What a plan promises."""

    k: int
    l: int  # noqa: E741 (the literature's name)
    """1 where only k is promised."""
    models: ClassModels
    presence: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    """Of delta-presence."""


def chosen_bounds(
    wanted: Anonymization, sensitive: Sequence[Column], asks: Iterable[Fact], problems: list[SmaltiError]
) -> ChosenBounds:
    """The numbers that are taken.

    The bound itself, where nothing is asked for; otherwise what is stronger. `eq` takes no other value.
    What they come to is what the decision judged prohibitions by (`effective_bounds`): where
    the policy's l is larger than k, and k may rise, k rises to it. An l that is asked for and is larger
    than both is refused: who asks for it names the larger k, too.

    Args:
        wanted: by the policy.
        sensitive: the columns that are kept under the guarantee.
        asks: by the run, under the operands of refinements.
        problems: takes a `PlanError` for each ask that cannot be met, and for each model that does not fit
            its column.
    """
    asked = {fact.operand: fact for fact in asks}
    chooser = AskedBounds(wanted, problems)
    if wanted.method == DELTA_PRESENCE:
        for operand in sorted(asked):
            chooser.problem(f"a run cannot request `{operand}`", "the bounds of the policy")
        return ChosenBounds(1, 1, PLAIN, stated_presence(wanted))
    if wanted.k is None:
        raise InternalError("a method without k reached the compiler")
    asked_k = chooser.asked("k", wanted.k, asked.pop(K, None))
    stated_l = asked.pop(L, None)
    asked_l = None if wanted.l is None else chooser.asked("l", wanted.l, stated_l)
    if wanted.l is None and stated_l is not None:
        chooser.problem(
            "requested l, but the policy does not promise l-diversity",
            "a policy with the method l-diversity",
        )
    models = _Models(wanted, sensitive, asked, chooser).chosen()
    for operand in sorted(asked):
        usable = ", ".join(f"`{bound}`" for bound in (K, L, *_AT_MOST))
        chooser.problem(f"a run cannot request `{operand}`", f"a bound of the policy among {usable}")
    unraised, _ = effective_bounds(wanted.k, None, asked_k)
    k, least = effective_bounds(wanted.k, wanted.l, asked_k, asked_l)
    if asked_l is not None and least > max(unraised, wanted.l.value if wanted.l else 1):
        expected = f"l of at most {unraised}, or a larger k"
        chooser.problem(f"requested l = {least} with k = {unraised}", expected)
    elif k < least:
        chooser.problem(f"the policy requires l = {least} with exactly k = {k}", f"l of at most {k}")
    return ChosenBounds(k, least, models)


_Scoped: TypeAlias = tuple[IRI | None, Comparison]
"""A parameter, and the column that it is for; None: each sensitive one."""


@dataclass(frozen=True, slots=True)
class _Models:
    """Reads the models of distributions."""

    wanted: Anonymization
    sensitive: Sequence[Column]
    asked: dict[IRI, Fact]
    """Those that are used are taken out."""
    chooser: AskedBounds

    def chosen(self) -> ClassModels:
        """The models with their numbers; of no meaning where problems were found."""
        scoped = list(self._scoped())
        of_all = {comparison.operand: comparison for column, comparison in scoped if column is None}
        numbers = {
            operand: self._at_most(of_all[operand], self.asked.pop(operand, None))
            for operand in _AT_MOST
            if operand in of_all
        }
        diversity = Diversity(_name(of_all.get(DIVERSITY)) or Diversity.DISTINCT)
        distance = _name(of_all.get(DISTANCE))
        of_columns = tuple(
            self._of_column(column, {c.operand: c for iri, c in scoped if iri == column.iri})
            for column in self.sensitive
            if any(iri == column.iri for iri, _ in scoped)
        )
        models = ClassModels(
            diversity,
            numbers.get(C),
            numbers.get(ALPHA),
            numbers.get(T),
            Distance(distance or Distance.EQUAL),
            of_columns,
        )
        for column in self.sensitive:
            self._check(column, models.of_column(column.name))
        return models

    def _scoped(self) -> Iterator[_Scoped]:
        """The parameters that are about models, each column by the IRI that the plan has for it."""
        columns = {normalised_column(column.iri): column.iri for column in self.sensitive}
        grouped = {normalised_column(column.iri) for column in self.wanted.quasi_identifiers}
        for parameter in self.wanted.parameters:
            column, comparison = parameter_parts(parameter)
            if comparison is None or comparison.operand not in _OF_MODELS:
                continue
            if (
                comparison.operand == DISTANCE
                and self.wanted.algorithm == MDAV
                and column is not None
                and normalised_column(column) in grouped
            ):
                continue  # of groups: `microaggregated` reads it
            iri = None if column is None else columns.get(normalised_column(column))
            if column is not None and iri is None:
                self.chooser.problem(
                    f"`smalti:{_word(comparison)}` is stated for a column that is not sensitive",
                    "a column under `mosaicrown:sensitive`",
                    "list the column there, or remove the parameter",
                    str(comparison.where),
                )
                continue
            yield iri, comparison

    def _of_column(self, column: Column, stated: Mapping[IRI, Comparison]) -> ColumnModel:
        numbers = {
            operand: self._at_most(comparison, None)
            for operand, comparison in stated.items()
            if operand in _AT_MOST
        }
        distance = _name(stated.get(DISTANCE))
        return ColumnModel(
            column.name, numbers.get(ALPHA), numbers.get(T), Distance(distance) if distance else None
        )

    def _check(self, column: Column, model: ColumnModel) -> None:
        where = str(self.wanted.where)
        if self.wanted.method == T_CLOSENESS and model.t is None:
            self.chooser.problem(
                f"t-closeness is required, and the sensitive column `{column.name}` has no t",
                "`smalti:t` for each sensitive column, or for all of them",
                "state it, or release the column with `smalti:released`",
                where,
            )
        if model.distance is Distance.ORDERED and not column.datatype.is_ordered:
            self.chooser.problem(
                f"the distance is `ordered`, and the sensitive column `{column.name}` has texts",
                "numbers or times, whose datatype the description declares",
                "declare the datatype, or state the distance `equal` for this column",
                where,
            )

    def _at_most(self, stated: Comparison, asked: Fact | None) -> Fraction:
        """The number that a word bounds from above; what is asked for may be smaller."""
        bound = _number(stated.values)
        if bound is None:
            raise InternalError("a bound without a number reached the compiler")
        if asked is None:
            return Fraction(bound)
        limits, number, name = BY_IRI[stated.operand].limits, _number(asked.values), _word(stated)
        if number is None or not has_usable_size(number) or not limits.allow(number):
            self.chooser.problem(f"the requested {name} is not a valid bound", f"a number {limits}")
            return Fraction(bound)
        if stated.operator is Operator.EQ and number != bound:
            self.chooser.problem(
                f"requested {name} = {number}, but the policy requires exactly {bound}", f"{name} = {bound}"
            )
        return Fraction(min(number, bound))


def _word(stated: Comparison) -> str:
    return BY_IRI[stated.operand].name


def _name(stated: Comparison | None) -> str | None:
    """The one value, where it is a name."""
    return stated.values[0].text if stated and isinstance(stated.values[0], Text) else None


def _number(values: Sequence[Value]) -> Decimal | None:
    """The one value, where it is a number."""
    return values[0].value if len(values) == 1 and isinstance(values[0], Number) else None
