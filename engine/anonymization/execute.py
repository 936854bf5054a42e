"""A plan on a bound table: the one way from rows to a staged output, for every backend."""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from smalti.engine.anonymization.alike_labels import check_alike
from smalti.engine.anonymization.attainable import attainable
from smalti.engine.anonymization.codebooks import codebook_of, tree_of
from smalti.engine.anonymization.fragments import Fragments
from smalti.engine.anonymization.label_sizes import check_labels, label_bytes
from smalti.engine.anonymization.population_problem import PopulationProblem, population_problem
from smalti.engine.backends.staged import Coded, Frequencies, Holders, Recoding, StagedTable
from smalti.engine.binding.ladders import NO_HIERARCHIES, Hierarchies
from smalti.engine.plan.phase import Phase
from smalti.engine.plan.plan import Plan, RespondentColumn
from smalti.errors import OWNER_CAN, GuaranteeError, InternalError, PlanError
from smalti.transforms.algorithms import algorithm_of
from smalti.transforms.mondrian.algorithm import LEFT_OUT, Generalised
from smalti.transforms.partitions.merging import merged
from smalti.transforms.problem import (
    MISSING,
    Incidence,
    Integers,
    Problem,
    Reference,
    RegionAttribute,
    RowWeights,
    SensitiveIncidence,
)
from smalti.transforms.requirements.registry import judges_of, weighs_values
from smalti.transforms.values.labels import class_labels, level_labels, range_labels
from smalti.transforms.values.metrics import certainty_penalty
from smalti.transforms.values.regions import region_texts
from smalti.transforms.values.texts import Codebook


@dataclass(frozen=True, slots=True)
class InformationLoss:
    """What the owner may know of what the generalisation cost."""

    by_column: tuple[tuple[str, Fraction], ...]
    """The normalised certainty penalty of each quasi-identifier, from 0 to 1."""
    warnings: tuple[str, ...] = ()
    """What else the owner should know of the labels."""
    node: tuple[int, ...] = ()
    """The level of each quasi-identifier, where one counts for the whole table."""
    minimal: tuple[tuple[int, ...], ...] = ()
    """All levels that could not be finer."""

    @property
    def global_certainty_penalty(self) -> Fraction:
        """The mean over the quasi-identifiers (GCP)."""
        return sum((loss for _, loss in self.by_column), Fraction(0)) / len(self.by_column)


def execute(  # noqa: PLR0913, PLR0917 (a run, and its population)
    plan: Plan,
    table: StagedTable,
    output: Path,
    link: Path,
    phase: Phase,
    hierarchies: Hierarchies = NO_HIERARCHIES,
    population: StagedTable | None = None,
) -> InformationLoss:
    """Write the plan's output, and the private link from published row to input row.

    The output is the file of that name, or parts beside where that would be (`parts.part_of`).

    Args:
        plan: what to do.
        table: the rows that take part.
        output: of the published rows.
        link: of the private link.
        phase: is told what is going on.
        hierarchies: those that the plan has the digests of.
        population: the table of all persons, where the plan names one.

    Raises:
        GuaranteeError: not even the whole table in one class meets what the plan promises.
        DataError: values have no place in their hierarchy.
        PlanError: the labels would be far longer than what they stand for (see `label_sizes`), or the
            table has more different combinations than the transform takes.
        BackendError: the machine.
    """
    phase("frequencies")
    algorithm = algorithm_of(plan.apply.transform)
    # Regions follow from the cuts of the whole table, which one kernel makes.
    if plan.read.population is None and not plan.has_regions:
        fragments = Fragments(plan, algorithm, table, hierarchies)
        loss = _execute_in_fragments(plan, fragments, table, output, link, phase)
        if loss is not None:
            return loss
    frequencies, tabled = _tabled(plan, table, hierarchies, population)
    problem, books = tabled.problem, tabled.books
    phase("generalise")
    generalised = algorithm.generalised(problem) if len(frequencies.rows) else None
    if generalised is None:
        raise cannot_be_met(plan, problem)
    phase("write")
    problem = replace(problem, weights=tabled.published)
    recoding, warnings = _recoding(plan, table, problem, books, generalised, tabled.row_weights)
    check_alike(plan, tabled.problem, generalised.portions, recoding.labels)
    classes = generalised.portions.classes[tabled.tuple_of]
    table.write(plan, replace(recoding, classes=classes), frequencies, output, link)
    kept = (generalised.portions.classes != LEFT_OUT) & (tabled.published > 0)
    losses = (certainty_penalty(problem, i, parts, kept) for i, parts in enumerate(generalised.parts))
    return InformationLoss(
        tuple(zip(plan.apply.transform.quasi_identifiers, losses, strict=True)),
        warnings,
        generalised.levels,
        generalised.minimal,
    )


def _execute_in_fragments(
    plan: Plan,
    fragments: Fragments,
    table: StagedTable,
    output: Path,
    link: Path,
    phase: Phase,
) -> InformationLoss | None:
    """The same from facts, with several kernels; None where one kernel takes the frequency table."""
    most, algorithm = 1, algorithm_of(plan.apply.transform)
    if algorithm.takes_first_cuts:
        most = plan.apply.transform.cut_terms.sampled_fragments or table.most_fragments(plan)
    count = fragments.cut(most) if most > 1 or algorithm.divides_tuples else 1
    if count == 1 and not algorithm.divides_tuples:
        return None
    most_combinations = plan.most_combinations
    if most_combinations is not None and fragments.combinations() > most_combinations:
        raise too_many_combinations(plan)
    phase("generalise")
    penalties = fragments.generalise()
    if penalties is None:
        raise cannot_be_met(plan, _whole(plan, table, fragments.hierarchies)[0])
    phase("write")
    warnings = check_labels(plan, table, fragments.label_bytes)
    fragments.write(output, link)
    named = tuple(zip(plan.apply.transform.quasi_identifiers, penalties, strict=True))
    return InformationLoss(named, warnings)


def too_many_combinations(plan: Plan) -> PlanError:
    """The refusal of a table. It says which bound, not by how much it is exceeded."""
    transform = plan.apply.transform
    count = transform.grouping_terms.blocks
    return PlanError(
        plan.read.target,
        "the table has more different combinations of quasi-identifiers than"
        f" {transform.class_maker} takes {'as a whole' if count == 1 else f'in {count} blocks'}",
        f"at most {plan.most_combinations or 0:,}",
        "ask for a policy that states a larger `smalti:blocks`: each block is grouped by itself, and a"
        " little more is lost",
    )


def _tabled(
    plan: Plan, table: StagedTable, hierarchies: Hierarchies, population: StagedTable | None
) -> tuple[Frequencies, PopulationProblem]:
    """The frequency table of all rows, and the problem that classes are made from."""
    if plan.read.population is None:
        whole, books, frequencies = _whole(plan, table, hierarchies)
        problem, tuple_of = merged_spellings(whole, books)
        weights = weights_of_rows(plan, whole, frequencies.respondent_rows, tuple_of)
        return frequencies, PopulationProblem(problem, books, tuple_of, problem.weights, weights)
    if population is None:
        raise InternalError("a plan with a population table was run without it")
    frequencies = table.frequencies(plan)
    everybody = population.frequencies(plan)
    return frequencies, population_problem(
        plan, frequencies, everybody, lambda counted: problem_of(plan, counted, hierarchies)
    )


def _whole(
    plan: Plan, table: StagedTable, hierarchies: Hierarchies
) -> tuple[Problem, list[Codebook], Frequencies]:
    """The frequency table of all rows."""
    weighs = weighs_values(plan.apply.transform.guarantee.requirements)
    frequencies = table.frequencies(plan, counts_values=weighs, counts_respondents=plan.has_figures)
    return *problem_of(plan, frequencies, hierarchies), frequencies


def cannot_be_met(plan: Plan, problem: Problem) -> GuaranteeError:
    """The refusal of a plan. It says which rule, not by how much: a requester is to learn no figures."""
    promised = plan.apply.transform.guarantee
    judges = judges_of(promised.requirements)
    rule = f"{promised.model} with {' and '.join(judge.parameters for judge in judges if judge.parameters)}"
    if plan.apply.transform.sensitive and judges[-1].parameters is None:
        rule += f", with {judges[-1].rule}"
    fixed = plan.apply.transform.lattice_terms.node
    expected = "at least k respondents, and enough different sensitive values among them"
    if plan.read.population is not None:
        expected = "a target and a population table of which this holds as wholes"
    at = "at the levels of the earlier release"
    rate = "" if plan.sampling_rate is None else "a larger `smalti:samplingRate` or "
    refusal = GuaranteeError(
        plan.read.target,
        f"the data cannot meet {rule}, {at if fixed else 'even with everything in one class'}",
        expected,
        "wait for more people, or leave out --recoding-of"
        if fixed
        else f"{OWNER_CAN} bind more data or offer a policy with {rate}lower bounds",
    )
    if not fixed:  # what everybody has in one class says nothing of classes at levels that are fixed
        refusal.attainable = attainable(problem, plan.apply.transform.sensitive)
    return refusal


def weights_of_rows(
    plan: Plan, whole: Problem, rows: Integers | None, tuple_of: Integers
) -> RowWeights | None:
    """How much rows weigh in figures, where there are some.

    Args:
        plan: of the run.
        whole: the problem with a tuple for each spelling.
        rows: of its pairs of tuple and respondent.
        tuple_of: by tuple, the one for all spellings.
    """
    if not plan.has_figures:
        return None
    if whole.respondents is None:
        return RowWeights.one_each(whole.weights).of_merged(tuple_of)
    if rows is None:
        raise InternalError("the rows of respondents were not counted")
    return RowWeights.by_respondent(whole.respondents.tuples, whole.respondents.items, rows).of_merged(
        tuple_of
    )


def _recoding(
    plan: Plan,
    table: StagedTable,
    problem: Problem,
    books: list[Codebook],
    generalised: Generalised,
    weights: RowWeights | None,
) -> tuple[Recoding, tuple[str, ...]]:
    """What becomes of each tuple, and what the owner should know of the labels."""
    numbers, some_tuple = np.unique(generalised.portions.classes, return_index=True)
    some_tuple = some_tuple[numbers != LEFT_OUT]
    of_parts = [
        (_labels(book, problem.codes[:, i], generalised, i, weights), parts)
        for i, (book, parts) in enumerate(zip(books, generalised.parts, strict=True))
    ]
    size = sum(label_bytes(labels, parts, problem.weights) for labels, parts in of_parts)
    warnings = check_labels(plan, table, size)
    columns = [labels.take(pa.array(parts[some_tuple])) for labels, parts in of_parts]
    names = plan.apply.transform.quasi_identifiers
    return Recoding(generalised.portions.classes, pa.table(columns, names=list(names))), warnings


def _labels(
    book: Codebook, codes: Integers, generalised: Generalised, number: int, weights: RowWeights | None
) -> pa.Array:
    """The label of each part: of a level's node, of the region between cuts, or of what it holds."""
    parts, level, tree = generalised.parts[number], generalised.levels[number : number + 1], tree_of(book)
    if isinstance(book.attribute, RegionAttribute):
        around = generalised.cuts_around[number]
        if around is None:
            raise InternalError("a column has regions, and nothing is known of its cuts")
        return range_labels(*region_texts(book.attribute, codes, parts, around)).cast(pa.string())
    if not level or tree is None:
        return class_labels(book, codes, parts, weights)
    _, some_tuple = np.unique(parts, return_index=True)
    labels = level_labels(book, level[0]).take(pa.array(tree[level[0], codes[some_tuple]]))
    if not generalised.has_part_at_root:
        return labels
    root = level_labels(book, len(tree) - 1).slice(0, 1)
    return pa.concat_arrays([labels.slice(0, len(labels) - 1), root])


def problem_of(
    plan: Plan, frequencies: Frequencies, hierarchies: Hierarchies
) -> tuple[Problem, list[Codebook]]:
    """The problem of a frequency table, with a tuple for each spelling; and the values of its columns."""
    transform = plan.apply.transform
    encoded = [
        _by_value(plan, name, column, hierarchies)
        for name, column in zip(transform.quasi_identifiers, frequencies.tuples, strict=True)
    ]
    respondents = None
    if frequencies.respondents is not None:
        tuples, people = frequencies.respondents
        respondents = Incidence(tuples, _respondents(plan, people, hierarchies))
    kept = [
        sensitive_incidence(plan, name, holders, hierarchies)
        for name, holders in zip(transform.sensitive, frequencies.sensitive, strict=True)
    ]
    sensitive = tuple(incidence for incidence, _ in kept)
    problem = Problem(
        np.column_stack([codes for _, codes in encoded]).astype(np.int64),
        frequencies.rows,
        tuple(book.attribute for book, _ in encoded),
        respondents,
        sensitive,
        transform.guarantee.requirements,
        transform.cut_terms.threshold,
        transform.cut_terms.score,
        transform.cut_terms.first_attribute,
        tuple(Reference.of(c.values, c.totals, c.rows, tree) for c, tree in kept if c.rows is not None),
        transform.lattice_terms,
        transform.grouping_terms,
    )
    return problem, [book for book, _ in encoded]


def merged_spellings(problem: Problem, books: list[Codebook]) -> tuple[Problem, Integers]:
    """One tuple for all spellings of the same values; and by tuple of texts, which one that is."""
    if all(len(book.codes) == len(book.texts) for book in books):
        return problem, np.arange(len(problem.weights))
    codes, tuple_of = np.unique(problem.codes, axis=0, return_inverse=True)
    tuple_of = tuple_of.reshape(-1)
    return merged(problem, codes, tuple_of), tuple_of


def _by_value(plan: Plan, name: str, column: Coded, hierarchies: Hierarchies) -> tuple[Codebook, Integers]:
    """The codebook of a column, and the code of each of its values: `1` and `1.0` have one code."""
    present, places = _occurring(column.codes)
    has_missing = len(present) > 0 and present[0] == MISSING
    texts = column.texts.take(pa.array(present[int(has_missing) :] - 1))
    book = codebook_of(plan, name, texts, hierarchies, has_missing=has_missing)
    codes = np.concatenate(([MISSING], book.codes)) if has_missing else book.codes
    return book, codes[places]


def _occurring(codes: Integers) -> tuple[Integers, Integers]:
    """The different codes, ascending; and by tuple the place of its code among them."""
    occurs = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def sensitive_incidence(
    plan: Plan, name: str, holders: Holders, hierarchies: Hierarchies
) -> tuple[SensitiveIncidence, Integers | None]:
    """Who holds which value, and the nodes of the values where they have a hierarchy."""
    who = None if holders.respondents is None else _respondents(plan, holders.respondents, hierarchies)
    values, totals, tree = _numbers(plan, name, holders.values, hierarchies), None, None
    if plan.column(name).hierarchy is not None:
        book, values = _by_value(plan, name, holders.values, hierarchies)
        tree = tree_of(book)
    if holders.rows is not None and who is not None:
        of_person = np.zeros(int(who.max(initial=0)) + 1, np.int64)
        np.add.at(of_person, who, holders.rows)  # each row is of one value
        totals = of_person[who]
    return SensitiveIncidence(holders.tuples, values, who, holders.rows, totals), tree


def _respondents(plan: Plan, people: Coded, hierarchies: Hierarchies) -> Integers:
    respondent = plan.read.respondent
    if not isinstance(respondent, RespondentColumn):
        raise InternalError("respondents were counted where each row is another")
    return _numbers(plan, respondent.column, people, hierarchies)


def _numbers(plan: Plan, name: str, column: Coded, hierarchies: Hierarchies) -> Integers:
    """A number for each distinct value; missing is a value of its own. Which number does not matter."""
    if plan.column(name).datatype.is_ordered:
        return _by_value(plan, name, column, hierarchies)[1]
    return column.codes
