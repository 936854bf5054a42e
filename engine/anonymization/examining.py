"""An output examined for its owner: what it lost, and what attacks achieve, there and without protection.

Classes are made again from the staged rows, as a sweep makes them; they are those of the output.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from smalti.engine.anonymization.class_measures import ClassMeasures, MeasuredClasses, kept_names
from smalti.engine.anonymization.codebooks import codebook_of
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.examination import AttackFigures, Examination, TableAttack
from smalti.engine.plan.plan import Plan
from smalti.engine.plan.serialize import plan_digest
from smalti.transforms.attacks.class_facts import ClassFacts
from smalti.transforms.attacks.disclosure import (
    background_knowledge,
    homogeneity,
    identity,
    similarity_of_nodes,
    similarity_of_numbers,
    skewness,
)
from smalti.transforms.attacks.minimality import UncutClasses, minimality
from smalti.transforms.attacks.naive_bayes import Published, guessed_values, most_frequent_values
from smalti.transforms.base import RESPONDENTS, STRICT_MONDRIAN
from smalti.transforms.measures.queries import QueryKind, query_errors
from smalti.transforms.mondrian.cuts import Table
from smalti.transforms.mondrian.kernel import Search, tuples_that_meet
from smalti.transforms.partitions.layout import Batch, order_by
from smalti.transforms.problem import (
    SCALE,
    Attribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    Problem,
    SensitiveIncidence,
)

_SEED_DIGITS: Final = 16
"""Of the plan's digest, in base 16."""
_TOO_MANY: Final = "classes hold too many different values of it"


def examine(plan: Plan, table: StagedTable, hierarchies: Hierarchies) -> Examination:
    """Measure the classes of a plan and attack them.

    Random queries and draws of attacks come from the plan's digest: the same plan on the same data is
    examined alike.

    Args:
        plan: without a population table.
        table: the rows that take part.
        hierarchies: those that the plan has the digests of.

    Raises:
        GuaranteeError, PlanError: as `ClassMeasures.figures`.
    """
    classes = ClassMeasures(table, hierarchies, counts_values=True).classes(plan)
    seed = int(plan_digest(plan).rpartition(":")[2][:_SEED_DIGITS], 16)
    attacked = _Attacked(plan, table, hierarchies, classes, seed)
    return Examination(
        classes.figures,
        attacked.people(attacked.exact).respondent_count,
        tuple(query_errors(classes.labelled, kind, seed) for kind in QueryKind),
        tuple(attacked.figures()),
    )


@dataclass(frozen=True, slots=True)
class _Attacked:
    """Classes that attacks are tried on, and the exact combinations of the same rows."""

    plan: Plan
    table: StagedTable
    hierarchies: Hierarchies
    measured: MeasuredClasses
    seed: int

    @property
    def exact(self) -> Integers:
        """By portion, the class that it has in the table as it came."""
        _, numbers = np.unique(self.measured.problem.codes, axis=0, return_inverse=True)
        exact: Integers = numbers.reshape(-1).astype(np.int64)
        return exact

    def figures(self) -> Iterator[AttackFigures]:
        mine, exact = self.people(self.measured.classes), self.people(self.exact)
        yield AttackFigures(TableAttack.IDENTITY, None, identity(mine), identity(exact))
        columns = zip(kept_names(self.plan), self.measured.problem.sensitive, strict=True)
        for place, (name, column) in enumerate(columns):
            yield from self._of_column(place, name, column)

    def people(self, classes: Integers) -> ClassFacts:
        """Who is in which class."""
        problem, people = self.measured.problem, self.measured.problem.respondents
        if people is None:
            kept = classes >= 0
            return ClassFacts.of(classes[kept], classes[kept] * 0, None, problem.weights[kept])
        of_people = classes[people.tuples]
        kept = of_people >= 0
        return ClassFacts.of(of_people[kept], of_people[kept] * 0, people.items[kept], people.items[kept])

    def _of_column(self, place: int, name: str, column: SensitiveIncidence) -> Iterator[AttackFigures]:
        mine, exact = _facts(column, self.measured.classes), _facts(column, self.exact)
        for attack, run in (
            (TableAttack.HOMOGENEITY, homogeneity),
            (TableAttack.BACKGROUND_KNOWLEDGE, background_knowledge),
            (TableAttack.SKEWNESS, skewness),
        ):
            hits, unprotected = run(mine), run(exact)
            note = _TOO_MANY if hits is None or unprotected is None else ""
            yield AttackFigures(attack, name, hits, unprotected, note=note)
        yield self._similarity(name, mine, exact)
        yield self._minimality(place, name, column)
        yield self._de_finetti(name, column)

    def _similarity(self, name: str, mine: ClassFacts, exact: ClassFacts) -> AttackFigures:
        attribute = self._attribute(name)
        if isinstance(attribute, OrderedAttribute):
            hits, unprotected = (
                similarity_of_numbers(facts, attribute.positions, SCALE) for facts in (mine, exact)
            )
            return AttackFigures(TableAttack.SIMILARITY, name, hits, unprotected)
        if isinstance(attribute, HierarchicalAttribute) and len(attribute.nodes) > 2:
            hits, unprotected = (similarity_of_nodes(facts, attribute.nodes[1]) for facts in (mine, exact))
            return AttackFigures(TableAttack.SIMILARITY, name, hits, unprotected)
        note = "nothing says which of its texts mean the same: its description has no hierarchy"
        return AttackFigures(TableAttack.SIMILARITY, name, None, None, note=note)

    def _attribute(self, name: str) -> Attribute | None:
        """What the numbers of a sensitive column are of, where they have an order or a hierarchy."""
        column = self.plan.column(name)
        if name not in self.plan.apply.transform.sensitive:
            return None
        if not column.datatype.is_ordered and column.hierarchy is None:
            return None
        texts, has_missing = self.table.texts(name), self.table.misses(name)
        return codebook_of(self.plan, name, texts, self.hierarchies, has_missing=has_missing).attribute

    def _minimality(self, place: int, name: str, column: SensitiveIncidence) -> AttackFigures:
        transform, problem = self.plan.apply.transform, self.measured.problem
        note = ""
        if place >= len(transform.sensitive):
            note = "nothing is promised of it, so no class was left whole for its sake"
        elif len(transform.sensitive) > 1:
            note = "several columns are sensitive, and each may be why a class was left whole"
        elif transform.class_maker != STRICT_MONDRIAN or problem.respondents is not None:
            note = "it is worked out for strict Mondrian, where each row is about another person"
        if note:
            return AttackFigures(TableAttack.MINIMALITY, name, None, None, note=note)
        uncut = _uncut(problem, self.measured.classes, column)
        hits = minimality(uncut, lambda values: _allowed(problem, uncut, values), self.seed)
        return AttackFigures(TableAttack.MINIMALITY, name, int(np.count_nonzero(hits)), None)

    def _de_finetti(self, name: str, column: SensitiveIncidence) -> AttackFigures:
        kept = self.measured.kept
        published = _published(self.measured.problem, column, self.measured.classes, kept)
        exact = _published(self.measured.problem, column, self.exact, np.ones(len(kept), np.bool_))
        guessed = guessed_values(published)
        if guessed is None:
            return AttackFigures(TableAttack.DE_FINETTI, name, None, None, note=_TOO_MANY)
        hits, without = (
            _rightly_guessed(self.measured.problem, column, kept, values)
            for values in (guessed, most_frequent_values(published))
        )
        everybody = np.ones(len(kept), np.bool_)
        unprotected = _rightly_guessed(
            self.measured.problem, column, everybody, most_frequent_values(exact)
        )
        return AttackFigures(TableAttack.DE_FINETTI, name, hits, unprotected, without)


def _rows(column: SensitiveIncidence) -> Integers:
    """How many rows say so; where that is not counted, each entry stands for one."""
    return np.ones_like(column.values) if column.rows is None else column.rows


def _facts(column: SensitiveIncidence, classes: Integers) -> ClassFacts:
    of_column = classes[column.tuples]
    kept = of_column >= 0
    people = None if column.respondents is None else column.respondents[kept]
    return ClassFacts.of(of_column[kept], column.values[kept], people, _rows(column)[kept])


def _published(problem: Problem, column: SensitiveIncidence, classes: Integers, kept: Flags) -> Published:
    """The tuples that are kept, numbered from 0, and what their classes hold."""
    of_column = kept[column.tuples]
    owners, values = classes[column.tuples[of_column]], column.values[of_column]
    order, new = order_by(owners, values)
    rows = np.add.reduceat(_rows(column)[of_column][order], np.flatnonzero(new))
    first = order[new]
    return Published(
        problem.codes[kept], problem.weights[kept], classes[kept], owners[first], values[first], rows
    )


def _rightly_guessed(problem: Problem, column: SensitiveIncidence, kept: Flags, values: Integers) -> int:
    """How many respondents have the value that is guessed of one of their tuples."""
    guess = np.full(len(problem.weights), -1, np.int64)
    guess[kept] = values
    right = guess[column.tuples] == column.values
    if column.respondents is None:
        return int(_rows(column)[right].sum())
    return len(np.unique(column.respondents[right]))


def _uncut(problem: Problem, classes: Integers, column: SensitiveIncidence) -> UncutClasses:
    """The rows of classes that the number of respondents alone would have allowed to be cut."""
    of_k = tuple(each for each in problem.requirements if each.name == RESPONDENTS)
    order, new = order_by(classes)
    batch = Batch(order, np.append(np.flatnonzero(new), len(order)))
    alone = replace(problem, requirements=of_k, sensitive=(), references=())
    cuts = Search(Table.of(alone)).cuts(batch)
    sides = np.full(len(classes), -1, np.int64)
    sides[order] = np.where(cuts.attribute[batch.node] >= 0, 2 * batch.node + ~cuts.left, -1)
    kept = sides[column.tuples] >= 0
    rows = _rows(column)[kept]
    side, values = np.repeat(sides[column.tuples[kept]], rows), np.repeat(column.values[kept], rows)
    by_class = np.lexsort((values, side))  # so that draws do not depend on the order of tuples
    side, values = side[by_class], values[by_class]
    _, numbers = np.unique(side // 2, return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int64)
    return UncutClasses(numbers, 2 * numbers + side % 2, values)


def _allowed(problem: Problem, uncut: UncutClasses, values: Integers) -> Flags:
    """By side: whether it meets all that is required, with these values in its rows."""
    (tuples, held), rows = _counted(uncut.sides, values)
    totals = np.ones_like(rows) if problem.references else None
    sizes = np.bincount(uncut.sides)
    return tuples_that_meet(
        replace(
            problem,
            codes=np.zeros((len(sizes), 0), np.int64),
            weights=sizes,
            attributes=(),
            sensitive=(SensitiveIncidence(tuples, held, None, rows, totals),),
            references=problem.references[:1],
        )
    )


def _counted(sides: Integers, values: Integers) -> tuple[tuple[Integers, Integers], Integers]:
    size = int(values.max()) + 1
    counts = np.bincount(sides * size + values)
    pairs = np.flatnonzero(counts)
    return (pairs // size, pairs % size), counts[pairs]
