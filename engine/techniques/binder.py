"""From the parameters of one column to the node of its technique."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pyarrow as pa

from smalti.engine.backends.faults import cell, first_fault
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.ladders import column_ladders
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    Recoded,
)
from smalti.engine.plan.nodes import node_of
from smalti.engine.plan.plan import Column
from smalti.engine.tables.description import Source
from smalti.engine.techniques.mechanisms import noise_of
from smalti.engine.techniques.microaggregated import microaggregated
from smalti.engine.techniques.terms import MaskingTerms, Said, short_word
from smalti.errors import DataError, PlanError, SmaltiError
from smalti.policy.model.model import Day, Instant, Number, Text, Value, Where
from smalti.transforms.base import Datatype
from smalti.transforms.class_models import Distance
from smalti.transforms.masking.coding import are_apart
from smalti.transforms.masking.recoding import equal_width
from smalti.transforms.microaggregation.transform import MOST_COMBINATIONS
from smalti.transforms.values.texts import (
    LEXICAL_FORMS,
    ValueFormError,
    check_values,
    infer_datatype,
    make_codebook,
    unit_places,
)
from smalti.vocab import terms
from smalti.vocab.techniques import CODING
from smalti.vocab.terms import IRI

_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_FIGURES: Final = ("mean", "median")
_DISTANCES: Final = (*_NUMBERS, Datatype.DATE)
_ORDERED: Final = (*_DISTANCES, Datatype.DATETIME)
_IN_WORDS: Final = {
    _NUMBERS: "numbers",
    _DISTANCES: "numbers or dates",
    _ORDERED: "numbers, dates or date-times",
}
_FINER: Final = 2
"""Decimal places that noise has beyond those of its scale, where no unit is declared."""
MOST_DIGITS: Final = 100
"""Of a figure, behind the point."""
_Parameters = Mapping[IRI, Said]


@dataclass(frozen=True, slots=True)
class BoundTechnique:
    """A column as it is read for its technique, and what is done to it."""

    column: Column
    node: MaskedColumn | None
    """None after problems."""


class TechniqueBinder:
    """Binds columns to techniques, and collects problems."""

    def __init__(
        self, source: Source, table: StagedTable, allowed: MaskingTerms, problems: list[SmaltiError]
    ) -> None:
        self._source, self._table, self._allowed, self._problems = source, table, allowed, problems

    def bound(self, technique: str, column: Column, said: _Parameters) -> BoundTechnique:
        """The technique of a column, by what is said of it; problems are recorded as `PlanError`.

        Args:
            technique: one of the values of `vocab.techniques.TECHNIQUE_OF`, or `pseudonymization`.
            column: as it is declared; where nothing is, its datatype is that of texts.
            said: its parameters, all of this technique.
        """
        return self._makers[technique](column, said)

    @property
    def _makers(self) -> Mapping[str, Callable[[Column, _Parameters], BoundTechnique]]:
        return {
            CODING: self._coded,
            terms.GENERALIZATION: self._at_level,
            terms.GLOBAL_RECODING: self._recoded,
            terms.NOISE_ADDITION: self._noisy,
            terms.MDAV: self._averaged,
            terms.PSEUDONYMIZATION: self._pseudonymized,
            terms.CELL_SUPPRESSION: self._rare_cells,
        }

    # --- Techniques

    def _coded(self, column: Column, said: _Parameters) -> BoundTechnique:
        column, fits = self._typed(column, said, _ORDERED)
        if not fits:
            return BoundTechnique(column, None)
        top, bottom = (
            self._threshold(column, said[operand]) if operand in said else None
            for operand in (terms.TOP_CODE, terms.BOTTOM_CODE)
        )
        if len([text for text in (top, bottom) if text is not None]) < len(said):
            return BoundTechnique(column, None)
        if top is None:
            return BoundTechnique(column, Coded(column.name, top, bottom, "bottom-coding"))
        if bottom is None:
            return BoundTechnique(column, Coded(column.name, top, bottom, "top-coding"))
        if not are_apart(top, bottom, column.datatype, column.time_zone):
            self._problem(
                said[terms.BOTTOM_CODE].where,
                f"the thresholds of the column `{column.name}` cross",
                "a `smalti:bottomCode` below the `smalti:topCode`",
                "exchange or correct them",
            )
        return BoundTechnique(column, Coded(column.name, top, bottom, "top- and bottom-coding"))

    def _threshold(self, column: Column, said: Said) -> str | None:
        """A threshold as a text of the column's datatype; None after having said why it is none."""
        text = _text_of(said.comparison.values[0])
        try:
            # Together with the values: date-times must all state a zone, or none.
            values = self._table.texts(column.name).cast(pa.large_string())
            texts = pa.concat_arrays([values, pa.array([text], pa.large_string())])
            check_values(texts, column.datatype, column.time_zone)
        except ValueFormError:
            self._problem(
                said.where,
                f"the threshold of the column `{column.name}` is no {column.datatype} that its values can"
                " be compared with",
                f"a {column.datatype}; of date-times all with a zone, or none",
                "correct the threshold, or the datatype in the description",
            )
            return None
        return text

    def _at_level(self, column: Column, said: _Parameters) -> BoundTechnique:
        level, hierarchy = said[terms.LEVEL], self._source.description.column(column.name).hierarchy
        if hierarchy is None:
            self._problem(
                level.where,
                f"the column `{column.name}` has no hierarchy",
                "`smalti:hierarchy` of the column in the description",
                f"declare one, or use `{terms.GLOBAL_RECODING}`",
            )
            return BoundTechnique(column, None)
        if level.whole > hierarchy.stated.levels:
            self._problem(
                level.where,
                f"the level of the column `{column.name}` is above its hierarchy",
                f"a level from 1 to {hierarchy.stated.levels}",
                "lower it",
            )
            return BoundTechnique(column, None)
        column = replace(column, hierarchy=hierarchy.in_plan)
        if self._values_fit(column):
            self._check_places(column, hierarchy)
        return BoundTechnique(column, AtLevel(column.name, level.whole))

    def _check_places(self, column: Column, hierarchy: DeclaredHierarchy) -> None:
        """Refuse values without a place in the hierarchy of their column."""
        try:
            column_ladders(column, self._values_of(column), hierarchy.stated)
        except DataError as error:
            where = f"{self._source.description.source}, column `{column.name}`, hierarchy"
            self._problems.append(PlanError(where, error.problem, error.expected, error.way_out))

    def _values_of(self, column: Column) -> pa.Array:
        """The different values of a column, each in one spelling."""
        texts = self._table.texts(column.name)
        return make_codebook(texts, column.datatype, column.time_zone, has_missing=False).texts

    def _recoded(self, column: Column, said: _Parameters) -> BoundTechnique:
        column, fits = self._typed(column, said, _DISTANCES)
        width, count = said.get(terms.INTERVAL_WIDTH), said.get(terms.INTERVALS)
        if width is not None and count is not None:
            self._problem(
                count.where,
                f"the intervals of the column `{column.name}` are stated by width and by number",
                "one of `smalti:intervalWidth` and `smalti:intervals`",
                "keep one of them",
            )
        elif fits and count is not None:
            return BoundTechnique(column, self._in_intervals(column, count))
        elif fits and width is not None and width.number is not None:
            return BoundTechnique(column, self._of_width(column, width, width.number))
        return BoundTechnique(column, None)

    def _of_width(self, column: Column, said: Said, width: Decimal) -> Recoded | None:
        if column.datatype in (Datatype.INTEGER, Datatype.DATE) and width % 1:
            self._problem(
                said.where,
                f"the intervals of the column `{column.name}` have no whole width",
                "a whole number for whole numbers and for days",
                "round it",
            )
            return None
        if column.datatype is Datatype.DATE:
            return Recoded(column.name, normal(width), "0", measure="days")
        lower = self._source.description.column(column.name).lower
        if lower is None:
            return Recoded(column.name, normal(width), "0")
        is_between = column.datatype is Datatype.INTEGER and lower % 1  # no end of whole numbers
        return Recoded(column.name, normal(width), "0" if is_between else format(normal(lower), "f"))

    def _in_intervals(self, column: Column, said: Said) -> Recoded | None:
        described = self._source.description.column(column.name)
        lower, upper = described.lower, described.upper
        if column.datatype is not Datatype.INTEGER or lower is None or upper is None or lower % 1:
            self._problem(
                said.where,
                f"`smalti:intervals` needs public bounds, and the column `{column.name}` has none of whole"
                " numbers",
                "an integer with `minimum` and `maximum` in the description",
                "declare them, or state `smalti:intervalWidth`",
            )
            return None
        width = equal_width(Fraction(lower), Fraction(upper), said.whole)
        if width is None:
            self._problem(
                said.where,
                f"the bounds of the column `{column.name}` cannot be divided into so many intervals",
                "a number that divides how many whole numbers there are from bound to bound",
                "state another number, or `smalti:intervalWidth`",
            )
            return None
        if any(not lower <= Decimal(text) <= upper for text in self._table.texts(column.name).to_pylist()):
            self._problem(
                said.where,
                f"values of the column `{column.name}` are beyond its public bounds",
                "values between `minimum` and `maximum`",
                "correct the data or the description, or state `smalti:intervalWidth`",
            )
        return Recoded(column.name, Decimal(int(width)), format(normal(lower), "f"))

    def _noisy(self, column: Column, said: _Parameters) -> BoundTechnique:
        is_declared = column.datatype is Datatype.INTEGER
        column, fits = self._typed(column, said, _NUMBERS)
        scale = said.get(terms.NOISE_SCALE)
        if scale is None or scale.number is None:
            self._problem(
                next(iter(said.values())).where,
                f"noise is added to the column `{column.name}`, and no scale is stated for it",
                "`smalti:noiseScale` above 0, together with `smalti:column`",
                "state one",
            )
            return BoundTechnique(column, None)
        if not fits:
            return BoundTechnique(column, None)
        shape = said.get(terms.NOISE_DISTRIBUTION)
        name = self._allowed.distribution if shape is None else shape.name
        described = self._source.description.column(column.name)
        noisy = Noisy(
            column.name,
            "uniform" if name == "uniform" else "normal",
            normal(scale.number),
            described.unit or _unit(scale.number, is_whole=is_declared),
            described.lower,
            described.upper,
        )
        try:
            noise_of(noisy)
        except ValueError:
            self._problem(
                scale.where,
                f"the noise of the column `{column.name}` is out of range",
                "at most 2^50 units (uniform: below 2^31), and bounds of at most 2^60 units",
                "declare a larger `smalti:unit`, or other bounds",
            )
        return BoundTechnique(column, noisy)

    def _averaged(self, column: Column, said: _Parameters) -> BoundTechnique:
        first = next(iter(said.values()))
        form, distance = (_named(said.get(word)) for word in (terms.OUTPUT_FORM, terms.DISTANCE))
        hierarchy = self._source.description.column(column.name).hierarchy
        is_figure = form is not None and form[0] in _FIGURES and distance is None
        # A hierarchy of a column without a datatype is one of texts.
        is_of_texts = hierarchy is not None and self._is_undeclared(column.name)
        column = column if is_of_texts else self._inferred(column)
        if hierarchy is not None and (is_of_texts or not is_figure):
            column = replace(column, hierarchy=hierarchy.in_plan)
        near = None if distance is None else (Distance(distance[0]), distance[1])
        others = len(self._problems)
        column = microaggregated(column, form, near, first.where, self._problems)
        shown = column.form
        if shown is None or len(self._problems) > others or not self._values_fit(column):
            return BoundTechnique(column, None)
        if column.hierarchy is not None and hierarchy is not None:
            self._check_places(column, hierarchy)
        if shown.is_of_categories:
            self._check_few(column, first)
        else:
            places = unit_places(self._table.texts(column.name), column.datatype)
            column = replace(column, decimals=min(max(places, 0), MOST_DIGITS))
        if self._allowed.k is None:
            return BoundTechnique(column, None)
        fields = {"k": self._allowed.k, "figure": shown.value}
        distance_in_plan = None if column.distance is None else column.distance.value
        node = node_of(Averaged, {"column": column.name, **fields, "distance": distance_in_plan})
        return BoundTechnique(column, node)

    def _check_few(self, column: Column, said: Said) -> None:
        """Refuse so many categories that comparing all with all would take too long."""
        if column.has_places or len(self._values_of(column)) <= MOST_COMBINATIONS:
            return
        self._problem(
            said.where,
            f"the column `{column.name}` has too many different values to be grouped by their distances",
            f"at most {MOST_COMBINATIONS:,}",
            f"declare numbers or a list, or use `{terms.GENERALIZATION}` or `{terms.CELL_SUPPRESSION}`",
        )

    def _pseudonymized(self, column: Column, said: _Parameters) -> BoundTechnique:
        del said
        if column.datatype is Datatype.DATETIME:
            self._problem(
                self._allowed.pseudonyms[0].where,
                f"the column `{column.name}` has date-times, which have no pseudonyms",
                "texts, numbers or dates",
                "declare it as a string: then each spelling has a pseudonym of its own",
            )
        if not self._values_fit(column) or self._allowed.key is None:
            return BoundTechnique(column, None)
        return BoundTechnique(column, Pseudonymized(column.name, self._allowed.key))

    def _rare_cells(self, column: Column, said: _Parameters) -> BoundTechnique:
        self._values_fit(column)
        return BoundTechnique(column, RareCells(column.name, said[terms.MINIMUM_FREQUENCY].whole))

    # --- Values

    def _typed(
        self, column: Column, said: _Parameters, fitting: tuple[Datatype, ...]
    ) -> tuple[Column, bool]:
        """The column with the datatype that is declared or inferred, and whether it and its values fit."""
        column = self._inferred(column)
        if column.datatype in fitting:
            return column, self._values_fit(column)
        operand, first = next(iter(said.items()))
        self._problem(
            first.where,
            f"`{short_word(operand)}` is for {_IN_WORDS[fitting]}, and the column `{column.name}` is a"
            f" {column.datatype}",
            f"a column of {_IN_WORDS[fitting]}",
            "leave it out, or correct the data or the datatype in the description",
        )
        return column, False

    def _inferred(self, column: Column) -> Column:
        """The column with the datatype that its values have, where none is declared."""
        if column.datatype is not Datatype.STRING or not self._is_undeclared(column.name):
            return column
        inferred = infer_datatype(self._table.texts(column.name), column.time_zone)
        return replace(column, datatype=inferred, is_inferred=True)

    def _is_undeclared(self, name: str) -> bool:
        index = self._table.contents.header.index(name)
        declared = self._source.description.column(name).datatype
        return (declared or self._table.contents.datatypes[index]) is None

    def _values_fit(self, column: Column) -> bool:
        if not column.datatype.is_ordered:
            return True
        try:
            check_values(self._table.texts(column.name), column.datatype, column.time_zone)
        except ValueFormError:
            row = first_fault(self._table, column.name, column.datatype, column.time_zone)
            place = cell(self._source, self._table.contents, column.name, row)
            self._problems.append(PlanError(*not_of_type(place, column.datatype)))
            return False
        return True

    def _problem(self, where: Where, problem: str, expected: str, way_out: str) -> None:
        self._problems.append(PlanError(str(where), problem, expected, way_out))


def not_of_type(place: str, datatype: Datatype) -> tuple[str, str, str, str]:
    """The parts of the error that a value is none of its datatype."""
    return (
        place,
        f"a value is not a valid {datatype}",
        f"texts that match {LEXICAL_FORMS[datatype]}, each a {datatype} that exists",
        "correct the data, or declare another datatype in the description",
    )


def normal(number: Decimal) -> Decimal:
    """The same number in one spelling, so that equal plans have equal digests."""
    return Decimal(format(number.normalize(), "f"))


def _named(said: Said | None) -> tuple[str, Where] | None:
    """A name that is stated, and where."""
    return None if said is None or said.name is None else (said.name, said.where)


def _unit(scale: Decimal, *, is_whole: bool) -> Decimal:
    """What results are multiples of, where nothing is declared; nothing of the data tells it."""
    exponent = scale.normalize().as_tuple().exponent
    places = max(-exponent, 0) if isinstance(exponent, int) else 0
    return Decimal(1) if is_whole else Decimal(1).scaleb(-(places + _FINER))


def _text_of(value: Value) -> str:
    match value:
        case Number(number):
            return format(number, "f")
        case Day(day):
            return day.isoformat()
        case Instant(time):
            return time.isoformat().replace("+00:00", "Z")
        case Text(text):
            return text
        case _:
            return ""
