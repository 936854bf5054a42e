"""A plan on a bound table: the one way from rows to a staged output, for every backend."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from smalti.engine.backends.base import BoundTable, Frequencies, Recoding
from smalti.engine.plan import Plan, RespondentColumn
from smalti.errors import DataError, GuaranteeError, InternalError
from smalti.transforms.kernel import partition
from smalti.transforms.labels import class_labels
from smalti.transforms.metrics import certainty_penalties
from smalti.transforms.mondrian import MondrianKAnonymity, MondrianLDiversity
from smalti.transforms.problem import Incidence, Problem, SensitiveIncidence
from smalti.transforms.values import Codebook, ValueFormError, encode


@dataclass(frozen=True, slots=True)
class InformationLoss:
    """What the owner may know of what the generalisation cost."""

    by_column: tuple[tuple[str, Fraction], ...]
    """The normalised certainty penalty of each quasi-identifier, from 0 to 1."""

    @property
    def global_certainty_penalty(self) -> Fraction:
        """The mean over the quasi-identifiers (GCP)."""
        return sum((loss for _, loss in self.by_column), Fraction(0)) / len(self.by_column)


Phase = Callable[[str], Any]
"""Told of each phase as it begins; names only, no figures."""


def execute(plan: Plan, table: BoundTable, output: Path, link: Path, phase: Phase) -> InformationLoss:
    """Write the plan's output, and the private link from published row to input row.

    Raises:
        GuaranteeError: not even the whole table in one class meets what the plan promises.
        BackendError: the machine.
    """
    phase("frequencies")
    problem, books = _problem(plan, table.frequencies(plan))
    phase("generalise")
    classes = partition(problem)
    if classes is None:
        raise _cannot_be_met(plan)
    phase("write")
    table.write(plan, _recoding(plan, problem, books, classes), output, link)
    names = plan.apply.transform.quasi_identifiers
    return InformationLoss(tuple(zip(names, certainty_penalties(problem, classes), strict=True)))


def _cannot_be_met(plan: Plan) -> GuaranteeError:
    """Says which rule, not by how much: the requester is not to learn figures from a refusal."""
    promised = plan.apply.transform.guarantee
    rule = f"{promised.model} with k = {promised.k}" + (f" and l = {promised.l}" if promised.l else "")
    if plan.apply.transform.sensitive and promised.l is None:
        rule += ", with no sensitive value that all respondents of a class hold"
    return GuaranteeError(
        plan.read.target,
        f"the data cannot meet {rule}, even with everything in one class",
        "at least k respondents, and enough different sensitive values among them",
        "ask the data's owner, who can bind more data or offer a policy with lower bounds",
    )


def _recoding(plan: Plan, problem: Problem, books: list[Codebook], classes: NDArray[np.int64]) -> Recoding:
    names = plan.apply.transform.quasi_identifiers
    labels = [class_labels(book, problem.codes[:, i], classes) for i, book in enumerate(books)]
    return Recoding(classes, pa.table(labels, names=list(names)))


def _problem(plan: Plan, frequencies: Frequencies) -> tuple[Problem, list[Codebook]]:
    transform = plan.apply.transform
    if not isinstance(transform, MondrianKAnonymity | MondrianLDiversity):
        raise InternalError("a transform that the kernel does not run reached it")
    tuples = frequencies.tuples
    encoded = [_encoded(plan, name, tuples.column(name)) for name in transform.quasi_identifiers]
    problem = Problem(
        np.column_stack([codes for _, codes in encoded]).astype(np.int64),
        frequencies.rows,
        tuple(book.attribute for book, _ in encoded),
        frequencies.respondents and _incidence(plan, frequencies.respondents),
        tuple(
            _sensitive(plan, name, table)
            for name, table in zip(transform.sensitive, frequencies.sensitive, strict=True)
        ),
        transform.k,
        transform.l,
        transform.cut_threshold,
    )
    return problem, [book for book, _ in encoded]


def _encoded(plan: Plan, name: str, texts: pa.ChunkedArray) -> tuple[Codebook, NDArray[np.int64]]:
    column = plan.column(name)
    try:
        return encode(texts, column.datatype, column.time_zone)
    except ValueFormError:
        raise DataError(
            f"column `{name}`", f"a value is no {column.datatype}", "the plan's datatype"
        ) from None


def _incidence(plan: Plan, pairs: pa.Table) -> Incidence:
    return Incidence(_integers(pairs.column("tuple")), _respondents(plan, pairs))


def _sensitive(plan: Plan, name: str, table: pa.Table) -> SensitiveIncidence:
    who = _respondents(plan, table) if "respondent" in table.column_names else None
    return SensitiveIncidence(
        _integers(table.column("tuple")), _by_value(plan, name, table.column("value")), who
    )


def _respondents(plan: Plan, table: pa.Table) -> NDArray[np.int64]:
    respondent = plan.read.respondent
    if not isinstance(respondent, RespondentColumn):
        raise InternalError("respondents were counted where each row is another")
    return _by_value(plan, respondent.column, table.column("respondent"))


def _by_value(plan: Plan, name: str, texts: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each distinct value: `1` and `1.0` are one, where the datatype says so."""
    if plan.column(name).datatype.is_ordered:
        return _encoded(plan, name, texts)[1]
    return _numbers(texts)


def _integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return numbers


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each distinct text; missing is a value of its own. Which number does not matter."""
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    numbers: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
