"""The rows that take part in a statistic, and their sums on an engine."""

# ruff: noqa: S608 (queries are put together from names and whole numbers of ours)

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.backends.staged import STAGED, StagedTable
from smalti.engine.losses.contributions import bounded
from smalti.engine.losses.readings import (
    OUTSIDE,
    bins,
    identities,
    in_units,
    key_labels,
    positions,
    whole_units,
)
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.plan.reads import Key, Measure
from smalti.engine.releases.digits import Digits
from smalti.engine.releases.plan import Quantity, ReleasePlan, Statistic
from smalti.errors import InternalError

_GROUP: Final = "g"
"""The number of a combination of public keys."""
_INNER: Final = "z"
"""What tells rows of a group apart: the number of a candidate, or a place among candidates."""
_COUNTED: Final = "v"
_RESPONDENT: Final = "u"
ROWS: Final = "n"
"""The number of rows in the sums of a cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What was added up of rows that a statistic does not tell apart."""

    labels: tuple[str, ...]
    """Of the group."""
    inner: int
    """The candidate of a choice, or a place among a quantile's (`readings.positions`); else 0."""
    sums: Mapping[str, int]
    """By column: digits, `ROWS` and, where values are counted, `DISTINCT`."""


DISTINCT: Final = _COUNTED
PERSON: Final = "person"
GROUP: Final = "group"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a statistic by their use."""

    groups: tuple[Key, ...]
    choice: tuple[Key, ...]

    @classmethod
    def of(cls, statistic: Statistic) -> "Keys":
        """Take the candidates of a choice from the groups."""
        grouping = len(statistic.keys) - statistic.choices
        choice = statistic.keys[grouping:]
        if any(key.is_private for key in choice):
            raise InternalError("a choice among candidates that are not public")
        return cls(statistic.keys[:grouping], choice)

    @property
    def has_private(self) -> bool:
        return any(key.is_private for key in self.groups)

    @property
    def public_labels(self) -> list[tuple[str, ...]]:
        """By public key of the groups its labels."""
        return [key_labels(key) for key in self.groups if not key.is_private]


def summed(statistic: Statistic) -> dict[Quantity, Digits]:
    """What is added up of a measure: numbers of units, and their squares."""
    measure = statistic.measure
    wanted = {part.quantity for part in statistic.parts}
    if measure is None:
        return {}
    ends = measure.least, measure.most
    digits = {
        Quantity.SUM: Digits("s", *ends),
        Quantity.SQUARES: Digits("q", 0, max(end * end for end in ends)),
    }
    return {quantity: split for quantity, split in digits.items() if quantity in wanted}


class Participation:
    """Rows with a respondent, each of the keys, and a value of what is measured or counted.

    Of these, what contribution bounds allow; a group is a combination of all keys there, those of a choice
    too. To be used in `contextlib.closing`.
    """

    def __init__(self, plan: ReleasePlan, statistic: Statistic, table: StagedTable) -> None:
        self._plan, self._statistic, self._table = plan, statistic, table
        self._keys = Keys.of(statistic)
        self._key_labels = [() if key.is_private else key_labels(key) for key in self._keys.groups]
        self._relations: list[str] = []
        self._joins: list[str] = []
        self._conditions: list[str] = []
        self._columns: dict[str, str] = {"row": f"{STAGED}.row"}
        """By name the expression."""
        self._summed: list[str] = []
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        self._columns[_GROUP] = self._index(self._keys.groups, "k")
        if self._keys.choice:
            self._columns[_INNER] = self._index(self._keys.choice, "j")
        if self._statistic.measure is not None:
            self._read_measure(self._statistic.measure)
        if self._statistic.counted is not None:
            self._tell_apart(_COUNTED, self._statistic.counted)
        if isinstance(self._plan.read.respondent, RespondentColumn):
            self._tell_apart(_RESPONDENT, self._plan.read.respondent.column)

    def close(self) -> None:
        """Drop the relations of this statistic."""
        for name in self._relations:
            self._table.relations.drop(name)

    # --- Columns

    def _index(self, keys: Sequence[Key], prefix: str) -> str:
        """Public keys as one number, the last one changing fastest; each private one by itself."""
        index = "CAST(0 AS BIGINT)"
        for i, key in enumerate(keys):
            if key.is_private:
                self._columns[f"p{i}"], present = self._table.present(key.column)
                self._conditions.append(present)
            else:
                self._read_public(key, f"{prefix}{i}")
                index = f"({index} * {key.size} + {prefix}{i})"
        return index

    def _read_public(self, key: Key, name: str) -> None:
        if not key.edges:
            # INVARIANT: each text is there once, so no row is joined twice, and counted twice.
            if len(set(key.values)) < len(key.values):
                raise InternalError("a key with the same value twice")
            texts, numbers = pa.array(key.values, pa.string()), np.arange(len(key.values))
        else:
            texts = self._table.texts(key.column)
            places = bins(texts, key.edges, self._plan.read.column(key.column))
            inside = np.flatnonzero(places != OUTSIDE)
            texts, numbers = texts.take(pa.array(inside)), places[inside]
        self._beside(key.column, texts, {name: pa.array(numbers, pa.int64())})

    def _read_measure(self, measure: Measure) -> None:
        texts, digits = self._table.texts(measure.column), summed(self._statistic)
        candidates = [whole_units(text, measure) for text in self._statistic.candidates]
        if sorted(set(candidates)) != candidates:
            raise InternalError("candidates that do not ascend")

        def values(units: list[int]) -> dict[str, pa.Array]:
            columns: dict[str, pa.Array] = {}
            if Quantity.SUM in digits:
                columns |= digits[Quantity.SUM].split(units)
            if Quantity.SQUARES in digits:
                columns |= digits[Quantity.SQUARES].split([number * number for number in units])
            if candidates:
                columns[_INNER] = pa.array(positions(units, candidates), pa.int64())
            return columns

        read = in_units(texts, measure, self._plan.read.column(measure.column).datatype)
        parts = [values([]), *map(values, read)]
        joined = {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}
        self._beside(measure.column, texts, joined)
        self._columns |= {name: name for name in joined}
        self._summed = [name for name in joined if name != _INNER]

    def _tell_apart(self, name: str, column: str) -> None:
        """A column of numbers or texts that are equal where values are; rows without one take no part."""
        where = self._plan.read.column(column)
        # Texts that are told apart as such need not come here.
        texts = self._table.texts(column) if where.datatype.is_ordered else None
        same = None if texts is None else identities(texts, where)
        if same is None:
            self._columns[name], present = self._table.present(column)
            self._conditions.append(present)
        else:
            self._beside(column, texts, {f"same_{name}": pa.array(same, pa.int64())})
            self._columns[name] = f"same_{name}"

    def _beside(self, column: str, texts: pa.Array, values: Mapping[str, pa.Array]) -> None:
        """Bring values to rows by their text; rows with another one take no part."""
        name = f"beside{len(self._relations)}"
        self._relations.append(name)
        self._joins.append(self._table.beside(name, column, texts, values))

    # --- Queries

    def cells(self) -> Iterator[Cell]:
        """What is added up, in no order; cells without rows are left out."""
        apart = [_INNER] if _INNER in self._columns else []
        counted = [_COUNTED] if _COUNTED in self._columns else []
        sums = [f"CAST(sum({name}) AS BIGINT) AS {name}" for name in self._summed]
        sums += [f"count(DISTINCT {name}) AS {name}" for name in counted]
        yield from self._added_up([*apart, *self._summed, *counted], apart, sums)

    def respondents(self) -> dict[tuple[str, ...], int]:
        """By group the number of its respondents; groups without any are left out."""
        name, sums = ROWS, []
        if _RESPONDENT in self._columns:
            name, sums = _RESPONDENT, [f"count(DISTINCT {_RESPONDENT}) AS {_RESPONDENT}"]
        return {cell.labels: cell.sums[name] for cell in self._added_up([], [], sums)}

    def of_people(self) -> pa.Table:
        """What is added up by respondent and group, each pair once; for the owner alone.

        Returns:
            `PERSON`, which tells respondents apart as in all statistics of the table, `GROUP`, the number
            of the combination of public keys, labels of private keys in `p0`, ..., `ROWS`, and digits.
        """
        private = {f"p{i}": key for i, key in enumerate(self._keys.groups) if key.is_private}
        groups, wanted = [_GROUP, *private], [_GROUP, *private, *self._summed]
        if _RESPONDENT in self._columns:
            person, rows = _RESPONDENT, self._counting(groups, self._summed)
        else:
            person, rows = "row", self._selecting(["row", *wanted])
        listed = ", ".join([person, *groups])
        sums = [f"CAST(sum({name}) AS BIGINT) AS {name}" for name in self._summed]
        added = ", ".join([f"count(*) AS {ROWS}", *sums])
        people = self._table.relations.take(
            f"SELECT {listed}, {added} FROM ({rows}) AS used GROUP BY {listed}"
        )
        for name, key in private.items():
            labels = self._table.written(key.column, people.column(name).combine_chunks())
            people = people.set_column(people.column_names.index(name), name, labels)
        names = {person: PERSON, _GROUP: GROUP}
        return people.rename_columns([names.get(name, name) for name in people.column_names])

    def _added_up(self, wanted: Sequence[str], apart: Sequence[str], sums: Sequence[str]) -> Iterator[Cell]:
        private = {f"p{i}": key for i, key in enumerate(self._keys.groups) if key.is_private}
        groups = [_GROUP, *private]
        listed = ", ".join([*groups, *apart])
        added = ", ".join([listed, f"count(*) AS {ROWS}", *sums])
        rows = self._counting(groups, wanted)
        counts = self._table.relations.take(f"SELECT {added} FROM ({rows}) AS used GROUP BY {listed}")
        texts = {
            name: self._table.written(key.column, counts.column(name).combine_chunks()).to_pylist()
            for name, key in private.items()
        }
        numbers = {
            name: counts.column(name).to_pylist() for name in counts.column_names if name not in private
        }
        index, inner = numbers.pop(_GROUP), numbers.pop(_INNER, [0] * counts.num_rows)
        for row in range(counts.num_rows):
            labels = self._labels(index[row], {name: column[row] for name, column in texts.items()})
            yield Cell(labels, inner[row], {name: column[row] for name, column in numbers.items()})

    def _counting(self, groups: Sequence[str], wanted: Sequence[str]) -> str:
        """A query for the rows that count."""
        if _RESPONDENT not in self._columns:
            return self._selecting([*groups, *wanted])
        told_apart = [*groups, *([_INNER] if self._keys.choice else [])]
        columns = list(dict.fromkeys([*told_apart, *wanted]))
        rows = self._selecting(["row", _RESPONDENT, *columns])
        return bounded(rows, columns, told_apart if self._statistic.keys else [], self._plan.bound)

    def _selecting(self, wanted: Sequence[str]) -> str:
        selected = ", ".join(f"{self._columns[name]} AS {name}" for name in wanted)
        where = f" WHERE {' AND '.join(self._conditions)}" if self._conditions else ""
        return f"SELECT {selected} FROM {STAGED} {' '.join(self._joins)}{where}"

    def _labels(self, index: int, private: Mapping[str, str]) -> tuple[str, ...]:
        labels: list[str] = []
        for i, key in reversed([*enumerate(self._keys.groups)]):
            if key.is_private:
                labels.append(private[f"p{i}"])
            else:
                index, place = divmod(index, key.size)
                labels.append(self._key_labels[i][place])
        return tuple(reversed(labels))
