"""Bind requested statistics to columns and their public domains."""

from fractions import Fraction
from typing import Final

from smalti.engine.binding.bound_columns import BoundColumns
from smalti.engine.plan.reads import Key, Measure, Mechanism
from smalti.engine.releases.calibrate import Wish
from smalti.engine.releases.plan import Statistic, StatisticKind
from smalti.engine.releases.public_domains import (
    PublicColumn,
    cells,
    public_candidates,
    public_key,
    public_measure,
)
from smalti.engine.releases.query import WantedKey, WantedStatistic, asked_column
from smalti.engine.releases.terms import ReleaseTerms
from smalti.policy.model.model import Anonymization, ColumnReference, Where

_OF_NUMBERS: Final = frozenset({
    StatisticKind.SUM, StatisticKind.MEAN, StatisticKind.VARIANCE, StatisticKind.QUANTILE,
})  # fmt: skip
_OF_KEYS: Final = frozenset({StatisticKind.HISTOGRAM, StatisticKind.CONTINGENCY, StatisticKind.MODE})
_CHOICES: Final = frozenset({StatisticKind.QUANTILE, StatisticKind.MODE})
_NOISES: Final = frozenset({Mechanism.LAPLACE, Mechanism.GAUSSIAN})


class BoundStatistic:
    """One statistic of a query, bound to columns."""

    def __init__(
        self,
        columns: BoundColumns[Anonymization],
        terms: ReleaseTerms,
        wanted: WantedStatistic,
        where: str,
        is_filtered: bool,
    ) -> None:
        """Bind it.

        Args:
            columns: of the table; takes problems.
            terms: what may be used.
            wanted: the statistic.
            where: the query's name, for messages.
            is_filtered: whether some rows take no part, whatever the statistic.
        """
        self._columns, self._terms, self._wanted = columns, terms, wanted
        self._where = Where(where, 0, 0, node=f"statistic `{wanted.name}`")
        self._is_filtered = is_filtered
        self.cells = 0
        """Public combinations of keys, and candidates."""
        before = len(columns.problems)
        wish = self._wish()
        self.wish: Wish | None = None if len(columns.problems) > before else wish
        """None after a problem."""

    @property
    def place(self) -> str:
        """The place of the statistic, for messages."""
        return str(self._where)

    def _wish(self) -> Wish:
        wanted = self._wanted
        measures = wanted.measures if wanted.kind in _OF_KEYS else ()
        keys = self._keys((*wanted.group_by, *measures), len(measures))
        measure = self._measure() if wanted.kind in _OF_NUMBERS else None
        candidates = self._candidates(measure) if wanted.kind is StatisticKind.QUANTILE else ()
        counted = self._column(wanted.measures[0]) if wanted.kind is StatisticKind.DISTINCT_COUNT else None
        self._check_mechanism()
        self.cells = cells(keys) * max(len(candidates) * len(wanted.levels), 1)
        statistic = Statistic(
            wanted.name,
            wanted.kind,
            keys,
            parts=(),
            measure=measure,
            counted=None if counted is None else counted.name,
            candidates=candidates,
            choices=len(measures) if wanted.kind is StatisticKind.MODE else 0,
        )
        is_filtered = self._is_filtered or bool(keys or wanted.measures)
        return Wish(statistic, Fraction(wanted.share), wanted.levels, is_filtered)

    def _column(self, wanted: WantedKey) -> PublicColumn | None:
        iri = asked_column(wanted.column, self._columns.source.target)
        facts = self._columns.facts(ColumnReference(iri, self._where))
        if facts is None:
            return None
        return PublicColumn(facts, self._columns.source.description.column(facts.name))

    def _keys(self, wanted: tuple[WantedKey, ...], measures: int) -> tuple[Key, ...]:
        """The groups, and then the measures that are counted by their values."""
        has_delta = self._terms.allowed.delta > 0
        is_choice = self._wanted.kind is StatisticKind.MODE
        keys: list[Key] = []
        for place, wanted_key in enumerate(wanted):
            column = self._column(wanted_key)
            if column is None:
                continue
            if column.name in {key.column for key in keys}:
                self._problem(
                    f"the column `{column.name}` is used as a key twice", "each column once", "remove one"
                )
                continue
            # Candidates that only the data has would tell of it by being there.
            may_be_private = has_delta and not (is_choice and place >= len(wanted) - measures)
            key = public_key(column, wanted_key, may_be_private, self._problem)
            keys += [] if key is None else [key]
        return tuple(keys)

    def _measure(self) -> Measure | None:
        column = self._column(self._wanted.measures[0])
        return None if column is None else public_measure(column, self._wanted, self._problem)

    def _candidates(self, measure: Measure | None) -> tuple[str, ...]:
        return () if measure is None else public_candidates(measure, self._wanted.candidates, self._problem)

    def _check_mechanism(self) -> None:
        usable = self._terms.allowed.mechanisms
        if self._wanted.kind in _CHOICES and Mechanism.EXPONENTIAL not in usable:
            self._problem(
                "it is chosen from candidates, but the policy does not permit the exponential mechanism",
                "`exponential` among the values of `smalti:mechanism`, or no such refinement",
                "request another statistic, or permit the mechanism in the policy",
            )
        elif self._wanted.kind not in _CHOICES and not usable & _NOISES:
            self._problem(
                "it is a number, but the policy permits no noise for numbers",
                "`laplace` or `gaussian` among the values of `smalti:mechanism`, or no such refinement",
                "request another statistic, or permit one of them in the policy",
            )

    def _problem(self, problem: str, expected: str, way_out: str) -> None:
        self._columns.problem(self.place, problem, expected, way_out)
