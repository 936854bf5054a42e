"""The risks of a generative model of tables: singling out, linkability and inference, as samples pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.transforms.generative.linking import Inference, Linkability, Targets, divisions_of
from smalti.transforms.generative.results import RiskFigures
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.generative.sampler import Numbers, labels_of
from smalti.transforms.generative.singling_out import SinglingOut
from smalti.transforms.generative.tables import TableColumns
from smalti.transforms.membership.gower import MixedColumns

SINGLING_OUT: Final = "singling-out"
LINKABILITY: Final = "linkability"
INFERENCE: Final = "attribute-inference"


@dataclass(frozen=True, slots=True, eq=False)
class AuditedTable:
    """The records of an audit as rows of a table. Private."""

    columns: TableColumns
    targets: Targets
    secrets: tuple[str, ...] = ()
    """That are inferred; none: each column in turn."""
    side: tuple[str, ...] = ()
    """The columns of one of two tables that are linked; none: see `divisions_of`."""

    def without(self, label: str | None) -> MixedColumns:
        """What distances are measured by, but for labels."""
        kept = np.array([name != label for name in self.columns.names])
        own = self.targets.columns
        return MixedColumns(own.lowest[kept], own.ranges[kept], own.ordered[kept])


def numbers_of_rows(
    columns: TableColumns, where: str, block: pa.RecordBatch, label: str | None, classes: tuple[str, ...]
) -> Numbers:
    """Rows for attacks by Gower's distance, without their label.

    Args:
        columns: of the table.
        where: for messages.
        block: of rows.
        label: the column of labels, if there is one.
        classes: the labels of the training records.

    Raises:
        DataError: a column of numbers holds others.
    """
    kept = [place for place, name in enumerate(columns.names) if name != label]
    features = columns.encoded(where, block)[:, kept].astype(np.float32)
    return Numbers(features, labels_of(block, label, classes))


class RiskAttacks:
    """Some of the attacks, to which all samples are passed block by block."""

    def __init__(self, table: AuditedTable, attacks: Sequence[str], draw: np.random.Generator) -> None:
        """No sample has passed.

        Args:
            table: what is attacked.
            attacks: names of this module.
            draw: draws guesses and naive guesses.
        """
        self._table, self._draw = table, draw
        self._singling = SinglingOut(table.targets, draw) if SINGLING_OUT in attacks else None
        self._linking = Linkability(table.targets, _divisions(table)) if LINKABILITY in attacks else None
        self._guessing = Inference(table.targets, table.secrets or None) if INFERENCE in attacks else None

    def add(self, where: str, block: pa.RecordBatch) -> None:
        """Take a block of samples.

        Args:
            where: for messages.
            block: of the form of the records.

        Raises:
            DataError: a column of numbers holds others.
        """
        attacks = [each for each in (self._singling, self._linking, self._guessing) if each is not None]
        if attacks:
            records = self._table.columns.encoded(where, block)
            for attack in attacks:
                attack.add(records)

    def attempts(self) -> Mapping[str, tuple[Attempts, ...]]:
        """By attack: what it achieved."""
        results = {}
        if self._singling is not None:
            results[SINGLING_OUT] = self._singling.attempts()
        if self._linking is not None:
            results[LINKABILITY] = self._linking.attempts(self._draw)
        if self._guessing is not None:
            results[INFERENCE] = self._guessing.attempts(self._draw)
        return results


def _divisions(table: AuditedTable) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    names, side = table.targets.names, {*table.side}
    if not side:
        return divisions_of(names)
    inside, outside = (tuple(name for name in names if (name in side) is is_in) for is_in in (True, False))
    return ((inside, outside),)


def risk_figures(results: Mapping[str, tuple[Attempts, ...]], confidence: float) -> tuple[RiskFigures, ...]:
    """Figures with limits, for people and programs.

    Args:
        results: by attack.
        confidence: of each limit.
    """
    return tuple(
        RiskFigures(
            attack,
            attempts.about,
            attempts.outcomes.members,
            attempts.outcomes.non_members,
            attempts.outcomes.recall(confidence),
            attempts.outcomes.false_positive_rate(confidence),
            attempts.naive_rate(confidence),
            attempts.risk(confidence),
            attempts.succeeds,
        )
        for attack, several in results.items()
        for attempts in several
    )
