"""What tells the people of a table apart, before there is a policy: an assessment, for the data's owner.

It holds counts and names of columns, and never a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.run.column_names import Hint, hint_of
from smalti.engine.run.profiling import ColumnProfile, LookedAt, Profile, looked_at
from smalti.engine.tables.addresses import Location
from smalti.engine.tables.description import Description
from smalti.errors import DataError, SmaltiError, UsageError, raise_all
from smalti.policy.model.suggest import did_you_mean
from smalti.transforms.base import Datatype
from smalti.transforms.uniqueness.column_sets import (
    Integers,
    People,
    SetFigures,
    every_set,
    minimal_unique,
    number_of_sets,
    set_figures,
)
from smalti.transforms.uniqueness.linking import LinkedRisks, NotWithin, linked_risks
from smalti.transforms.uniqueness.population_uniques import CONFIDENCE, UniquesBetween, population_uniques

DEFAULT_SIZE: Final = 3
DEFAULT_THRESHOLD: Final = Decimal("0.2")
SMALLEST_THRESHOLD: Final = Decimal("1e-9")
MOST_PEOPLE: Final = 10**11
"""Estimates for larger populations are not exact enough."""
MOST_SETS: Final = 20_000
"""More sets of columns than this are not looked at."""
_TELLS_APART: Final = Fraction(95, 100)
"""A column of texts or integers is a key where at least this share of respondents is unique by it."""
_ROWS_OF_KEY: Final = 20
_PEOPLE_OF_KEY: Final = 2
"""A column with more rows or people for each value than these, on average, is no key, whatever its name."""
_KEY_TYPES: Final = (None, Datatype.STRING, Datatype.INTEGER)
_DATES: Final = (Datatype.DATE, Datatype.DATETIME)


@dataclass(frozen=True, slots=True)
class Questions:
    """What an assessment is asked for."""

    respondent: str | None = None
    """The column that tells people apart; None: the description says it, or nobody does."""
    one_row_each: bool = False
    """True: each row is about another person."""
    quasi_identifiers: tuple[str, ...] = ()
    """The columns that others may know, judged together; none: those that are proposed."""
    released: tuple[str, ...] = ()
    """Columns that will be published as they are, so that others know them, too."""
    left_out: tuple[str, ...] = ()
    """Columns that have another role, and are in no set."""
    size: int = DEFAULT_SIZE
    """Columns of the largest sets."""
    threshold: Decimal = DEFAULT_THRESHOLD
    """The risk that is still accepted."""
    population: Location | None = None
    """The table of all people that those of the data come from."""
    sample_of: int | None = None
    """How many people there are, of whom those of the data were drawn at random."""


class Proposed(StrEnum):
    """What a column may be; people decide."""

    RESPONDENT = "respondent"
    IDENTIFIER = "identifier"
    """Its name says that it names people, or it is a key: almost each respondent has a text or integer
    there that nobody else has, or its name says so and it has many values."""
    KEY = "identifier or respondent"
    """A key, where nobody said who the person is."""
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    """Its name says so."""
    CONSTANT = "constant"
    """It is the same in all rows."""
    UNDECIDED = "undecided"
    """Others were chosen as quasi-identifiers."""
    CHOSEN = "chosen"
    """The caller says that it has another role."""


@dataclass(frozen=True, slots=True)
class ColumnAssessment:
    """A column, with what it may be."""

    profile: ColumnProfile
    unique_share: float
    """The share of its different values that a single row has; 0 where there are none."""
    proposed: "Proposed"
    is_open: bool = False
    """Whether nothing but counts speaks for what is proposed, so that people have to decide."""

    @property
    def proposal(self) -> str:
        """What is proposed, in words."""
        return f"{self.proposed} (decide)" if self.is_open else str(self.proposed)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What an owner may know before there is a policy."""

    profile: Profile
    counts_people: bool
    """Whether respondents are counted; False: nobody said who the person is, and rows are."""
    respondent: str | None
    """The column that tells people apart; None: each row counts."""
    without_respondent: int
    """Rows that have no respondent, and are left out."""
    columns: tuple[ColumnAssessment, ...]
    threshold: Decimal
    size: int
    names: tuple[str, ...]
    """Of the columns that sets are of; `SetFigures.columns` are places in it."""
    sets: tuple[SetFigures, ...]
    """Of each set of at most `size` columns."""
    minimal: tuple[SetFigures, ...]
    """The smallest sets that tell all apart."""
    together: SetFigures | None
    """Of the quasi-identifiers together; None where there are none."""
    linked: LinkedRisks | None
    """Beside the population table; None without it."""
    sample_of: int | None
    uniques: UniquesBetween | None
    """Of the population, where the data is a sample; None where it is not, or nothing can be said."""
    confidence: float = CONFIDENCE

    @property
    def population_remarks(self) -> tuple[str, ...]:
        """What is to be said of figures of the population: why one has no range, or an end says nothing."""
        uniques, remarks = self.uniques, []
        if uniques is None:
            return ()
        if uniques.least == 0:
            remarks.append(
                "the lower end is 0 since without a model the sample does not exclude a population in which"
                " nobody is unique"
            )
        if uniques.pitman is not None:
            remarks.append(
                "Pitman's estimate has no range of its own: how far its model is from this population"
                " cannot be told from the sample, and the bounds hold without it"
            )
        return tuple(remarks)

    def named(self, figures: SetFigures) -> tuple[str, ...]:
        """The columns of a set."""
        return tuple(self.names[place] for place in figures.columns)

    def proposed(self, role: Proposed) -> tuple[str, ...]:
        """The columns with a role."""
        return tuple(column.profile.name for column in self.columns if column.proposed == role)


def assessed(
    data: Location, questions: Questions, nulls: Sequence[str] = (), *, has_header: bool = False
) -> Assessment:
    """Look at a table, and count what tells its people apart.

    All columns that are compared are held in memory, as numbers.

    Raises:
        UsageError: a question cannot be answered: a column is not there, a number is out of range, or there
            are more than `MOST_SETS` sets. It is raised before values are looked at.
        DataError: the data cannot be read, has no rows, or is no part of the population.
        BackendError: the machine, or a server.
    """
    raise_all(list(_out_of_range(questions)))

    def check(names: Sequence[str], description: Description) -> None:
        raise_all(list(_wrong_names(questions, names, description)))
        _check_number(questions, names, description)

    with looked_at(data, nulls, has_header=has_header, check=check) as table:
        return _assessed(table, questions)


def _assessed(table: LookedAt, questions: Questions) -> Assessment:
    respondent, counts_people = _person(questions, table.description)
    profile, threshold = table.profile, Fraction(questions.threshold)
    names = tuple(
        column.name
        for column in profile.columns
        if column.name != respondent and column.name not in questions.left_out
    )
    coded, without = _coded(table, names, respondent)
    sets = tuple(every_set(coded, questions.size, threshold))
    singles = {names[single.columns[0]]: single for single in sets if len(single.columns) == 1}
    columns = tuple(
        ColumnAssessment(
            column,
            _unique_share(profile, column),
            *_role(column, questions, singles, respondent, counts_people=counts_people),
        )
        for column in profile.columns
    )
    chosen = [
        names.index(column.profile.name)
        for column in columns
        if column.proposed is Proposed.QUASI_IDENTIFIER
    ]
    together = set_figures(coded, chosen, threshold) if chosen else None
    linked = None
    if questions.population is not None:
        linked = _linked(
            table, questions.population, [names[place] for place in chosen], respondent, threshold
        )
    return Assessment(
        table.profile,
        counts_people,
        respondent,
        without,
        columns,
        questions.threshold,
        questions.size,
        names,
        sets,
        minimal_unique(sets),
        together,
        linked,
        questions.sample_of,
        _uniques(together, questions.sample_of),
    )


# --- What is asked


def _out_of_range(questions: Questions) -> Iterator[SmaltiError]:
    if questions.size < 1:
        yield UsageError("size", "it is below 1", "a whole number of at least 1", "leave it out, for 3")
    if not SMALLEST_THRESHOLD <= questions.threshold < 1:
        yield UsageError(
            "threshold",
            "it is no risk that can be accepted",
            f"a number of at least {SMALLEST_THRESHOLD:f} and below 1",
            "0.2 accepts combinations that 5 people share",
        )
    if questions.sample_of is not None and not 1 <= questions.sample_of <= MOST_PEOPLE:
        yield UsageError(
            "sample of",
            "it is no number of people",
            f"the number of people in the population, at most {MOST_PEOPLE:,}",
            "correct it",
        )
    if questions.respondent is not None and questions.one_row_each:
        yield UsageError(
            "respondent", "one row each says that each row is about another person", "one of both"
        )
    if questions.population is not None and not questions.quasi_identifiers:
        yield UsageError(
            "population",
            "nothing says which of its columns others know",
            "quasi-identifiers, which both tables have",
            "name them",
        )


def _wrong_names(
    questions: Questions, names: Sequence[str], description: Description
) -> Iterator[SmaltiError]:
    column, _ = _person(questions, description)
    respondent = () if column is None else (column,)
    chosen = (
        *(("respondent", name) for name in respondent),
        *(("quasi-identifiers", name) for name in questions.quasi_identifiers),
        *(("released", name) for name in questions.released),
        *(("columns with another role", name) for name in questions.left_out),
    )
    for where, name in chosen:
        if name not in names:
            yield UsageError(
                where, f"the data has no column `{name}`", "a column of the data", did_you_mean(name, names)
            )
    others = {*respondent, *questions.left_out}
    for name in (*questions.quasi_identifiers, *questions.released):
        if name in others:
            yield UsageError("columns", f"the column `{name}` has two roles", "a single role for each")


def _check_number(questions: Questions, names: Sequence[str], description: Description) -> None:
    out = {*questions.left_out, _person(questions, description)[0]}
    count = sum(name not in out for name in names)
    if not count:
        raise UsageError(
            "columns", "none is left to look at", "one that others may know", "give fewer of them a role"
        )
    sets = number_of_sets(count, questions.size)
    if sets > MOST_SETS:
        raise UsageError(
            "size",
            f"{count} columns have {sets:,} sets of at most {questions.size}",
            f"at most {MOST_SETS:,} sets",
            "ask for smaller sets, or give columns that nobody knows another role, which leaves them out",
        )


def _person(questions: Questions, description: Description) -> tuple[str | None, bool]:
    """The column of people, if any, and whether anybody says who the person is."""
    if questions.respondent is not None:
        return questions.respondent, True
    if questions.one_row_each:
        return None, True
    return description.respondent, description.one_row_each or description.respondent is not None


# --- Columns


def _role(
    column: ColumnProfile,
    questions: Questions,
    singles: Mapping[str, SetFigures],
    respondent: str | None,
    *,
    counts_people: bool,
) -> tuple[Proposed, bool]:
    """What a column may be, and whether people have to decide, since counts alone speak for it."""
    if column.name == respondent:
        return Proposed.RESPONDENT, False
    if column.name not in singles:
        return Proposed.CHOSEN, False
    if column.name in questions.quasi_identifiers or column.name in questions.released:
        return Proposed.QUASI_IDENTIFIER, False
    single = singles[column.name]
    if single.combinations == 1:
        return Proposed.CONSTANT, False
    role, is_open = _role_by_figures(column, single, counts_people=counts_people)
    if role is Proposed.QUASI_IDENTIFIER and questions.quasi_identifiers:
        return Proposed.UNDECIDED, False
    return role, is_open


def _role_by_figures(
    column: ColumnProfile, single: SetFigures, *, counts_people: bool
) -> tuple[Proposed, bool]:
    """The same, of a column of which the caller says nothing."""
    hint = hint_of(column.name)
    if hint is Hint.NAMES_PEOPLE:
        return Proposed.IDENTIFIER, False
    tells_apart = single.unique >= _TELLS_APART * single.respondents
    if _is_key(column, hint, single, tells_apart=tells_apart, counts_people=counts_people):
        key = Proposed.IDENTIFIER if counts_people else Proposed.KEY
        return key, not (tells_apart and hint is Hint.KEY)
    if hint is Hint.SENSITIVE:
        return Proposed.SENSITIVE, False
    return Proposed.QUASI_IDENTIFIER, hint is not Hint.KNOWN and column.datatype not in _DATES


def _is_key(
    column: ColumnProfile, hint: Hint | None, single: SetFigures, *, tells_apart: bool, counts_people: bool
) -> bool:
    """Whether a column tells people or records apart, and is not what others know of them."""
    if column.datatype not in _KEY_TYPES or hint is Hint.KNOWN:
        return False
    values, most = single.combinations, _PEOPLE_OF_KEY if counts_people else _ROWS_OF_KEY
    has_many = values * most > single.facts and values**2 >= single.facts
    return tells_apart or (hint is Hint.KEY and has_many)


def _unique_share(profile: Profile, column: ColumnProfile) -> float:
    unique = profile.rows - column.missing - column.repeated
    return unique / column.distinct if column.distinct else 0.0


def _coded(table: LookedAt, names: Sequence[str], respondent: str | None) -> tuple[People, int]:
    """The table as numbers, and how many rows have no respondent."""
    texts = _texts(table, names, respondent)
    without = table.profile.rows - texts.num_rows
    if not texts.num_rows:
        raise DataError(
            _place(table.profile),
            "it has no rows" if not table.profile.rows else "no row has a respondent",
            "at least one row about a person",
            "check that this is the right file",
        )
    return _people([texts.column(place) for place in range(len(names))], texts, respondent), without


def _texts(table: LookedAt, names: Sequence[str], respondent: str | None) -> pa.Table:
    """The texts of some columns, and at the end of the respondents where there are any."""
    header = [column.name for column in table.profile.columns]
    wanted = [*names, *(() if respondent is None else (respondent,))]
    texts = table.texts([header.index(name) for name in wanted])
    return texts if respondent is None else texts.filter(texts.column(len(names)).is_valid())


def _people(columns: Sequence[pa.ChunkedArray], texts: pa.Table, respondent: str | None) -> People:
    numbered = [_numbers(column) for column in columns]
    sizes = tuple(size for _, size in numbered)
    who = _respondents(texts, respondent)
    if who is None:
        return People(tuple(numbers for numbers, _ in numbered), sizes, None, texts.num_rows)
    order = np.argsort(who, kind="stable")
    return People(tuple(numbers[order] for numbers, _ in numbered), sizes, who[order], texts.num_rows)


def _respondents(texts: pa.Table, respondent: str | None) -> Integers | None:
    """The respondents in the last column, numbered from 0; None where each row is another."""
    return None if respondent is None else _numbers(texts.column(texts.num_columns - 1))[0] - 1


def _numbers(column: pa.ChunkedArray) -> tuple[Integers, int]:
    """Texts as numbers from 1, and 0 where there is none; and above which there is no number."""
    coded = column.combine_chunks().dictionary_encode()
    places = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return places.astype(np.int64) + 1, len(coded.dictionary) + 1


def _place(profile: Profile) -> str:
    return "the data" if profile.file is None else profile.file.name


# --- Beside the population


def _linked(
    table: LookedAt,
    population: Location,
    names: Sequence[str],
    respondent: str | None,
    threshold: Fraction,
) -> LinkedRisks:
    def check(there: Sequence[str], _: Description) -> None:
        wanted = [*names, *(() if respondent is None else (respondent,))]
        raise_all([
            UsageError("population", f"it has no column `{name}`", "the columns that are judged")
            for name in wanted
            if name not in there
        ])  # fmt: skip

    mine = _texts(table, names, respondent)
    with looked_at(population, table.profile.nulls, check=check) as opened:
        theirs = _texts(opened, names, respondent)
    both = [
        pa.chunked_array([*mine.column(place).chunks, *theirs.column(place).chunks], pa.string())
        for place in range(len(names))
    ]
    numbered = [_numbers(column) for column in both]
    sizes = tuple(size for _, size in numbered)

    def side(texts: pa.Table, rows: slice) -> People:
        who = _respondents(texts, respondent)
        return People(tuple(numbers[rows] for numbers, _ in numbered), sizes, who, texts.num_rows)

    result = linked_risks(
        side(mine, slice(mine.num_rows)), side(theirs, slice(mine.num_rows, None)), threshold
    )
    if isinstance(result, NotWithin):
        raise DataError(
            "population",
            f"{result.combinations:,} combinations of the data have fewer people there",
            "a table of all people that those of the data come from, with values spelled alike",
            "leave it out, or correct the table",
        )
    return result


def _uniques(together: SetFigures | None, population: int | None) -> UniquesBetween | None:
    if together is None or population is None:
        return None
    if population < together.respondents:
        raise UsageError(
            "sample of",
            f"the data has {together.respondents:,} people, more than that",
            "the number of people in the whole population",
        )
    if together.facts != together.respondents:
        return None
    return population_uniques(together.by_size, population)
