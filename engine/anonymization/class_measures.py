"""Plans that differ in their numbers, measured on rows that are counted once; nothing is written.

What is measured are the classes themselves, and not bytes that were published: see decision 59.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.engine.anonymization.alike_labels import numbers_of_labels
from smalti.engine.anonymization.execute import (
    cannot_be_met,
    merged_spellings,
    problem_of,
    sensitive_incidence,
    too_many_combinations,
    weights_of_rows,
)
from smalti.engine.anonymization.fragments import Fragments
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.class_figures import ClassFigures, GeneralisedColumn, KeptColumn
from smalti.engine.plan.plan import OutputForm, Plan
from smalti.errors import InternalError, PlanError
from smalti.transforms.algorithms import algorithm_of
from smalti.transforms.base import NOT_HELD_BY_ALL, Requirement
from smalti.transforms.measures.loss import LabelledColumn, average_class, discernibility
from smalti.transforms.mondrian.algorithm import LEFT_OUT, Algorithm, Generalised
from smalti.transforms.mondrian.kernel import tuples_that_meet
from smalti.transforms.partitions.merging import merged
from smalti.transforms.problem import Flags, Integers, Problem, RowWeights, SensitiveIncidence
from smalti.transforms.requirements.registry import weighs_values
from smalti.transforms.uniqueness.column_sets import People, SetFigures, set_figures
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.metrics import certainty_penalty
from smalti.transforms.values.texts import Codebook

_ANY_THRESHOLD: Final = Fraction(1, 2)
"""Of a figure that nobody asks for."""


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The rows of a table as the kernel takes them, and what else is measured of them."""

    problem: Problem
    books: tuple[Codebook, ...]
    released: tuple[SensitiveIncidence, ...]
    """Of each column that is published on the policy author's word."""
    weights: RowWeights | None
    """How much rows of respondents weigh, where labels depend on it."""


class ClassMeasures:
    """Measures plans of one permission on one table."""

    def __init__(
        self, table: StagedTable, hierarchies: Hierarchies, *, counts_values: bool = False
    ) -> None:
        """Begin with nothing counted.

        Args:
            table: the rows that take part, as the first plan left them.
            hierarchies: those that the plans have the digests of.
            counts_values: whether rows of values are counted, also where no requirement asks for it.
        """
        self._table, self._hierarchies, self._counts_values = table, hierarchies, counts_values
        self._counted: dict[tuple[object, ...], CountedRows] = {}

    def figures(self, plan: Plan) -> ClassFigures:
        """What the classes of a plan cost, and what risk they leave.

        Args:
            plan: it differs from earlier ones in the numbers of its guarantee.

        Raises:
            GuaranteeError: not even the whole table in one class meets what the plan promises.
            PlanError: the table has more different combinations than the transform takes; or the plan has a
                population table, or first cuts from a sample.
        """
        return self.classes(plan).figures

    def classes(self, plan: Plan) -> "MeasuredClasses":
        """The classes of a plan; as `figures`."""
        _refuse(plan)
        algorithm = algorithm_of(plan.apply.transform)
        counted = self._rows_of(plan, algorithm)
        problem = replace(counted.problem, requirements=plan.apply.transform.guarantee.requirements)
        generalised = algorithm.generalised(problem) if len(problem.weights) else None
        if generalised is None:
            raise cannot_be_met(plan, problem)
        return MeasuredClasses.of(plan, counted, generalised, divides=algorithm.divides_tuples)

    def _rows_of(self, plan: Plan, algorithm: Algorithm) -> CountedRows:
        transform = plan.apply.transform
        weighs = weighs_values(transform.guarantee.requirements)
        key = (weighs, algorithm.name, plan.read, plan.write.columns, transform.quasi_identifiers)
        if key not in self._counted:
            count = self._atoms if algorithm.divides_tuples else self._tuples
            self._counted[key] = count(plan, algorithm)
        return self._counted[key]

    def _tuples(self, plan: Plan, algorithm: Algorithm) -> CountedRows:
        del algorithm
        transform = plan.apply.transform
        frequencies = self._table.frequencies(
            plan,
            counts_values=self._counts_values or weighs_values(transform.guarantee.requirements),
            counts_respondents=plan.has_figures,
            beside=plan.released,
        )
        count = len(transform.sensitive)
        beside = tuple(
            sensitive_incidence(plan, name, holders, self._hierarchies)[0]
            for name, holders in zip(plan.released, frequencies.sensitive[count:], strict=True)
        )
        frequencies = replace(frequencies, sensitive=frequencies.sensitive[:count])
        whole, books = problem_of(plan, frequencies, self._hierarchies)
        problem, tuple_of = merged_spellings(replace(whole, sensitive=(*whole.sensitive, *beside)), books)
        weights = weights_of_rows(plan, whole, frequencies.respondent_rows, tuple_of)
        return CountedRows(
            replace(problem, sensitive=problem.sensitive[:count]),
            tuple(books),
            problem.sensitive[count:],
            weights,
        )

    def _atoms(self, plan: Plan, algorithm: Algorithm) -> CountedRows:
        fragments = Fragments(plan, algorithm, self._table, self._hierarchies)
        atoms = fragments.atoms()
        most = plan.most_combinations
        if most is not None and fragments.combinations() > most:
            raise too_many_combinations(plan)
        retained = [name for name in plan.write.columns if name in kept_names(plan)]
        by_name = dict(zip(retained, atoms.kept, strict=True))
        released = tuple(_of_atoms(atoms.problem, by_name[name]) for name in plan.released)
        return CountedRows(atoms.problem, fragments.books, released, atoms.weights)


def _refuse(plan: Plan) -> None:
    """Refuse plans whose classes come from more than the frequency table of their rows."""
    if plan.read.population is not None:
        raise PlanError(
            plan.read.target,
            "the policy names a population table, and classes against it are neither swept nor examined",
            "a policy of k-anonymity, l-diversity or t-closeness",
            "leave it out; `smalti try --vary` tries single numbers",
        )
    if plan.apply.transform.cut_terms.sampled_fragments is not None:
        raise PlanError(
            plan.read.target,
            "first cuts come from a sample, and such classes are neither swept nor examined",
            "exact first cuts",
            "leave out --first-cuts",
        )


def kept_names(plan: Plan) -> tuple[str, ...]:
    """The columns that are published as they are, the sensitive ones first."""
    return (*plan.apply.transform.sensitive, *plan.released)


def _of_atoms(problem: Problem, numbers: Integers) -> SensitiveIncidence:
    """Who holds which value, of a column in which all rows of an atom agree."""
    people = problem.respondents
    if people is None:
        return SensitiveIncidence(np.arange(len(numbers)), numbers, None)
    return SensitiveIncidence(people.tuples, numbers[people.tuples], people.items)


@dataclass(frozen=True, slots=True)
class MeasuredClasses:
    """One division of rows into classes."""

    plan: Plan
    problem: Problem
    """By portion of a tuple, with all columns that are published as they are."""
    generalised: Generalised
    classes: Integers
    """By portion what readers take for one class, or `LEFT_OUT`."""

    @classmethod
    def of(
        cls, plan: Plan, counted: CountedRows, generalised: Generalised, *, divides: bool
    ) -> "MeasuredClasses":
        problem = replace(counted.problem, sensitive=(*counted.problem.sensitive, *counted.released))
        portions = generalised.portions
        is_whole = len(portions.atoms) == len(problem.weights)
        if not is_whole:
            problem = _divided(problem, portions.atoms, portions.rows)
        names, classes = plan.apply.transform.quasi_identifiers, portions.classes
        has_prefixes = any(plan.column(name).form is OutputForm.PREFIX for name in names)
        if divides or plan.has_figures or has_prefixes:
            weights = counted.weights
            if weights is None or problem.respondents is None:
                weights = RowWeights.one_each(portions.rows)
            classes = _shown_alike(problem, counted.books, classes, weights)
        return cls(plan, problem, generalised, classes)

    @property
    def kept(self) -> Flags:
        """By portion: whether it is published."""
        kept: Flags = self.classes != LEFT_OUT
        return kept

    @property
    def figures(self) -> ClassFigures:
        problem, kept, count = self.problem, self.kept, int(self.classes.max()) + 1
        left_out = int(problem.weights[~kept].sum())
        by_class = merged(
            problem, np.zeros((count + 1, 0), np.int64), np.where(kept, self.classes, count)
        ) if left_out else merged(problem, np.zeros((count, 0), np.int64), self.classes)  # fmt: skip
        sizes = by_class.weights[:count]
        risks = _risks(by_class, count)
        kept_columns, homogeneous = self._kept_columns(by_class, count)
        return ClassFigures(
            rows=int(sizes.sum()),
            rows_suppressed=left_out,
            respondents=risks.respondents,
            respondents_suppressed=_people_of(by_class, count) if left_out else 0,
            classes=count,
            k=risks.fewest,
            average_class=average_class(int(sizes.sum()), count),
            discernibility=discernibility(sizes.tolist(), left_out),
            average_risk=risks.average_risk,
            homogeneous_classes=homogeneous,
            generalised=self._generalised_columns(),
            kept=kept_columns,
        )

    @property
    def labelled(self) -> tuple[LabelledColumn, ...]:
        """The quasi-identifiers, in the plan's order."""
        generalised, problem = self.generalised, self.problem
        columns = zip_longest(problem.attributes, generalised.parts, generalised.levels)
        return tuple(
            LabelledColumn(
                attribute, problem.codes[:, place], problem.weights, parts, self.kept, level,
                generalised.has_part_at_root,
            )
            for place, (attribute, parts, level) in enumerate(columns)
        )  # fmt: skip

    def _generalised_columns(self) -> tuple[GeneralisedColumn, ...]:
        names = self.plan.apply.transform.quasi_identifiers
        return tuple(
            GeneralisedColumn(
                name,
                certainty_penalty(self.problem, place, column.parts, self.kept),
                column.entropy_loss,
                column.exact_rows,
                column.squared_error,
            )
            for place, (name, column) in enumerate(zip(names, self.labelled, strict=True))
        )

    def _kept_columns(self, by_class: Problem, count: int) -> tuple[tuple[KeptColumn, ...], int]:
        """What classes tell of each column, and how many tell something of any."""
        names, columns = kept_names(self.plan), []
        disclosing = np.zeros(count, np.bool_)
        for name, column in zip(names, by_class.sensitive, strict=True):
            homogeneous = _homogeneous(by_class, column)[:count]
            disclosing |= homogeneous
            columns.append(
                KeptColumn(
                    name,
                    name in self.plan.apply.transform.sensitive,
                    int(np.count_nonzero(homogeneous)),
                    _people_in(by_class, homogeneous),
                )
            )
        return tuple(columns), int(np.count_nonzero(disclosing))


def _divided(problem: Problem, atoms: Integers, rows: Integers) -> Problem:
    """A problem whose tuples are portions of atoms; each row is about another person."""
    if problem.respondents is not None:
        raise InternalError("rows of respondents were divided between classes")
    sensitive = []
    for column in problem.sensitive:
        of_atom = np.zeros(len(problem.weights), np.int64)
        of_atom[column.tuples] = column.values  # an atom has one value
        sensitive.append(SensitiveIncidence(np.arange(len(atoms)), of_atom[atoms], None, rows))
    return replace(problem, codes=problem.codes[atoms], weights=rows, sensitive=tuple(sensitive))


def _shown_alike(
    problem: Problem, books: tuple[Codebook, ...], classes: Integers, weights: RowWeights
) -> Integers:
    """The classes, those with the same labels as one."""
    if (classes == LEFT_OUT).any():
        raise InternalError("rows were left out of classes that may be shown alike")
    labels = [
        class_labels(book, codes, classes, weights)
        for book, codes in zip(books, problem.codes.T, strict=True)
    ]
    names = [str(place) for place in range(len(labels))]
    return numbers_of_labels(pa.table(labels, names=names))[classes]


def _risks(by_class: Problem, count: int) -> SetFigures:
    """Prosecutor risks by class; what is left out has no part in them."""
    people = by_class.respondents
    if people is None:
        sizes = by_class.weights[:count]
        column, who = np.repeat(np.arange(count), sizes), None
    else:
        published = people.tuples < count
        _, numbers = np.unique(people.items[published], return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        column, who = people.tuples[published][order], numbers.reshape(-1)[order]
    return set_figures(People((column,), (count,), who, len(column)), (0,), _ANY_THRESHOLD)


def _people_of(by_class: Problem, number: int) -> int:
    if by_class.respondents is None:
        return int(by_class.weights[number])
    return int(np.count_nonzero(by_class.respondents.tuples == number))


def _people_in(by_class: Problem, chosen: Flags) -> int:
    """Respondents with a row in one of some classes, the first ones."""
    people = by_class.respondents
    if people is None:
        return int(by_class.weights[: len(chosen)][chosen].sum())
    within = people.tuples < len(chosen)
    return len(np.unique(people.items[within][chosen[people.tuples[within]]]))


def _homogeneous(by_class: Problem, column: SensitiveIncidence) -> Flags:
    """By class: whether a value of a column is held by all of its respondents."""
    single = replace(
        by_class,
        attributes=(),
        sensitive=(SensitiveIncidence(column.tuples, column.values, column.respondents),),
        requirements=(Requirement(NOT_HELD_BY_ALL),),
        references=(),
    )
    return ~tuples_that_meet(single)
