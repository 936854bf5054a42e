"""The verifier's count of the persons of a population table whom each published class covers.

The population table and the published labels are held in memory. A class covers the persons whose
quasi-identifiers each of its labels covers, by the verifier's own reading of labels; nothing that the run
says of classes is believed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import Plan, RespondentColumn
from smalti.engine.verify.classes import group
from smalti.engine.verify.columns import Coded, Codes, Table, broken, numbered
from smalti.engine.verify.labels import Coverage, canonical
from smalti.engine.verify.nodes import coverage
from smalti.engine.verify.promise import PopulationCount, Promise
from smalti.engine.verify.read import Original, read_original
from smalti.engine.verify.rows import IsWithdrawn, restricted, still_participating
from smalti.engine.verify.stage import StagedColumn, StagedTable
from smalti.transforms.base import POPULATION_RESPONDENTS, PRESENCE, Requirement


@dataclass(frozen=True, slots=True)
class OriginalPopulation:
    """The owner's table of all persons."""

    files: Original
    header: tuple[str, ...]
    is_withdrawn: IsWithdrawn | None = None
    """Tells whose rows do not count; None: nobody withdrew."""


@dataclass(frozen=True, slots=True)
class _Persons:
    """The different combinations of quasi-identifiers of the population, and who has them."""

    columns: tuple[Codes, ...]
    """By combination the code of its value, for each quasi-identifier."""
    combinations: Codes
    """By pair, ascending: a combination."""
    people: Codes | None
    """By pair: who has it; None where each row is another."""
    rows: Codes
    """By combination: its rows."""

    def having(self, combinations: Codes) -> tuple[int, Codes]:
        """How many persons have one of some combinations, and who they are, where they are told apart."""
        if self.people is None:
            return int(self.rows[combinations].sum()), combinations
        wanted = np.zeros(len(self.rows), bool)
        wanted[combinations] = True
        people = np.unique(self.people[wanted[self.combinations]])
        return len(people), people


def check_population(
    plan: Plan,
    promise: Promise,
    published: StagedTable,
    respondents: Coded | None,
    population: OriginalPopulation,
    hierarchies: Mapping[str, DeclaredHierarchy],
) -> PopulationCount:
    """Count the persons of a population table that published classes cover, and hold promises against that.

    Args:
        plan: what was promised; says how columns are read.
        promise: the same of the published bytes.
        published: the published rows.
        respondents: whom each of them is about, as the original says it; None: each is another person.
        population: the owner's table of all persons.
        hierarchies: by column, those that the plan has the digests of.

    Raises:
        GuaranteeError: a promise is broken, or a respondent is not among the persons that its row covers.
        DataError: the table cannot be read as the plan says.
    """
    table = _read(plan, promise, population)
    names = promise.quasi_identifiers
    labels = [_by_row(published, published.columns[name]) for name in names]
    if not published.rows:
        return PopulationCount(table.digests)
    classes = group([label.codes for label in labels])
    first = classes.first_rows()
    covers = [
        _looking(
            coverage(plan.column(name), _each(table.columns[name]), _each(label), hierarchies.get(name))
        )
        for name, label in zip(names, labels, strict=True)
    ]
    theirs, mine = _people(plan, table, respondents)
    persons = _persons([table.columns[name].codes for name in names], theirs)
    order = np.lexsort([label.codes[first] for label in reversed(labels)])
    of_classes = [label.codes[first][order] for label in labels]
    in_table = _published_people(classes.ids, mine, classes.count)
    counts: list[tuple[int, int]] = []
    covered = np.zeros(len(persons.rows), np.int64)
    for place, combinations in _covered(of_classes, covers, persons.columns):
        here = in_table[int(order[place])]
        number, people = persons.having(combinations)
        if (here > number) if isinstance(here, int) else not np.isin(here, people).all():
            raise _foreign()
        counts.append((here if isinstance(here, int) else len(here), number))
        covered[combinations] += 1
    for requirement in promise.guarantee.requirements:
        problem = _problem(requirement, counts, covered)
        if problem is not None:
            raise broken(
                "published output", f"{promise.guarantee.model}: {problem}", "what the plan guarantees"
            )
    shares = [Fraction(*pair) for pair in counts]
    return PopulationCount(table.digests, min(number for _, number in counts), (min(shares), max(shares)))


def _foreign() -> Exception:
    return broken(
        "published output",
        "a respondent is not among the persons of the population whom its row covers",
        "respondents who are in the population table, with the same quasi-identifiers",
    )


def _problem(requirement: Requirement, counts: Sequence[tuple[int, int]], covered: Codes) -> str | None:
    """What is wrong with classes of which so many, of so many persons whom they cover, are in the table.

    Args:
        requirement: of them.
        counts: by class.
        covered: by combination of the population, how many classes cover it.
    """
    if requirement.name == POPULATION_RESPONDENTS:
        few = min(number for _, number in counts) < int(requirement.parameters[0])
        return "a class covers too few persons of the population" if few else None
    if requirement.name != PRESENCE:
        return None
    low, high = (Fraction(bound) for bound in requirement.parameters)
    if (covered > 1).any():
        return "several classes cover one person, so that no share is that person's"
    if low > 0 and not covered.all():
        return "no class covers some persons of the population, who are therefore not in the table"
    within = all(
        low.numerator * number <= here * low.denominator
        and here * high.denominator <= high.numerator * number
        for here, number in counts
    )
    return None if within else "the share of a class that is in the table is outside of the bounds"


def _read(plan: Plan, promise: Promise, population: OriginalPopulation) -> Table:
    wanted = list(promise.quasi_identifiers)
    match plan.read.respondent:
        case RespondentColumn(column) if column not in wanted:
            wanted.append(column)
    table = read_original(population.files, population.header, wanted)
    if population.is_withdrawn is None:
        return table
    return restricted(table, still_participating(plan, table, population.is_withdrawn))


def _by_row(table: StagedTable, column: StagedColumn) -> Coded:
    parts = [
        column.texts(extent.number).take(
            pa.array(np.repeat(np.arange(extent.records), table.repeats(extent)))
        )
        for extent in table.extents
    ]
    return numbered(pa.chunked_array(parts, pa.large_string())).coded


def _each(column: Coded) -> Coded:
    """Each distinct text once."""
    return Coded(np.arange(len(column.values)), column.values)


_Looking = Callable[[int, Codes], Codes]


def _looking(claims: Coverage) -> _Looking:
    """Which of some originals a label covers."""

    def covered(label: int, originals: Codes) -> Codes:
        return np.flatnonzero(claims.claims(np.full(len(originals), label), originals))

    return covered


def _people(plan: Plan, table: Table, respondents: Coded | None) -> tuple[Codes | None, Codes | None]:
    """By row of the population, and by published row, a number for whom it is about."""
    respondent = plan.read.respondent
    if not isinstance(respondent, RespondentColumn) or respondents is None:
        return None, None
    column, theirs = plan.column(respondent.column), table.columns[respondent.column]
    names = canonical(column, pa.concat_arrays([theirs.values, respondents.values]))
    number = numbered(names).coded.codes
    if (theirs.codes < 0).any():
        raise broken("population table", "a row has no respondent", "a respondent for each row")
    return number[: len(theirs.values)][theirs.codes], number[len(theirs.values) :][respondents.codes]


def _published_people(ids: Codes, people: Codes | None, count: int) -> list[int] | list[Codes]:
    """By class: how many rows it has, or whom they are about."""
    if people is None:
        return [int(rows) for rows in np.bincount(ids, minlength=count)]
    order = np.argsort(ids, kind="stable")
    cuts = np.flatnonzero(np.diff(ids[order])) + 1
    return [np.unique(part) for part in np.split(people[order], cuts)]


def _persons(columns: Sequence[Codes], people: Codes | None) -> _Persons:
    combinations = group(columns)
    first = combinations.first_rows()
    rows = np.bincount(combinations.ids, minlength=combinations.count)
    of_each = tuple(codes[first] for codes in columns)
    if people is None:
        return _Persons(of_each, np.zeros(0, np.int64), None, rows)
    pairs = np.unique(np.column_stack((combinations.ids, people)), axis=0)
    return _Persons(of_each, pairs[:, 0], pairs[:, 1], rows)


def _covered(
    classes: Sequence[Codes], covers: Sequence[_Looking], columns: Sequence[Codes]
) -> Iterator[tuple[int, Codes]]:
    """Each class with the combinations that it covers.

    Args:
        classes: by column and class the code of its label; sorted by the columns, one after the other.
        covers: by column, what looks at labels.
        columns: by column and combination the code of its value.
    """
    everything = np.arange(len(columns[0]))
    held: list[Codes] = [everything]
    before: list[int] = []
    for place in range(len(classes[0])):
        labels = [int(codes[place]) for codes in classes]
        same = 0
        while same < len(before) and before[same] == labels[same]:
            same += 1
        # What labels further left cover is taken from the class before.
        del held[same + 1 :]
        for column in range(same, len(labels)):
            candidates = held[column]
            held.append(candidates[covers[column](labels[column], columns[column][candidates])])
        before = labels
        yield place, held[-1]
