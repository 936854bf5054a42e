"""A requirement and an algorithm that live in tests alone; one line of a table makes each of them known."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from smalti import transforms
from smalti.engine.anonymization import side_judges
from smalti.engine.anonymization.side_judge import SideJudge
from smalti.engine.anonymization.sides import LineCounts
from smalti.engine.backends.relations import Relations
from smalti.engine.verify import recounts
from smalti.engine.verify.recount import Edges, Recount
from smalti.transforms import algorithms
from smalti.transforms.base import STRICT_MONDRIAN, Asked, CutTerms, Guarantee, Requirement, Transform
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.mondrian.kernel import meets_requirements
from smalti.transforms.partitions.held import OneClass
from smalti.transforms.problem import Flags, Problem
from smalti.transforms.requirements import registry
from smalti.transforms.requirements.judge import ClassJudge

EVEN = "an even number of values"


class EvenValues(ClassJudge):
    """Each sensitive column has an even number of different values: merging breaks it, counts tell it."""

    __slots__ = ()

    name: ClassVar[str] = EVEN
    limits: ClassVar[tuple[str, ...]] = ("anything at all",)

    def statement(self, counted: str) -> str:
        return "each sensitive column by itself has an even number of different values"

    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        return not sensitive

    def meets(self, held: OneClass) -> bool:
        return not any(len(set(column.values.tolist())) % 2 for column in held.columns)


class EvenValuesOnSides(SideJudge):
    """The same for cuts in SQL."""

    __slots__ = ()

    name: ClassVar[str] = EVEN

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        return True

    def allowed(self, counts: LineCounts) -> Flags:
        odd = [number % 2 == 1 for values in counts.values for number in values]
        return ~np.any(odd, axis=0) if odd else counts.everywhere

    def whole_meets(self, relations: Relations, *, has_respondents: bool, sensitive: int) -> bool:
        found = [
            relations.take(f"SELECT count(DISTINCT v{i}) AS n FROM facts").column("n")[0].as_py()
            for i in range(sensitive)
        ]
        return not any(number % 2 for number in found)


class RecountedEvenValues(Recount):
    """The same for the verifier."""

    __slots__ = ()

    name: ClassVar[str] = EVEN
    looks_at_classes: ClassVar[bool] = True

    def meets(self, edges: Edges) -> bool:
        pairs = set(zip(edges.classes.tolist(), edges.values.tolist(), strict=True))
        _, values = np.unique([number for number, _ in pairs], return_counts=True)
        return not (values % 2).any()


class Halves(Algorithm):
    """Cuts the tuples, in the order of their codes, at the first place that leaves two allowed halves."""

    __slots__ = ()

    name: ClassVar[str] = "halves"

    def generalised(self, problem: Problem) -> Generalised | None:
        count = len(problem.weights)
        order = np.lexsort(problem.codes.T[::-1])
        for place in (*range(1, count), 0):  # 0: all in one class
            if not count:
                break
            classes = np.empty(count, np.int64)
            classes[order] = np.arange(count) >= place if place else 0
            portions = Portions(np.arange(count), classes, problem.weights)
            if meets_requirements(problem, portions).all():
                return Generalised.by_class(portions, len(problem.attributes))
        return None


@dataclass(frozen=True, slots=True)
class EvenAnonymity(Transform):
    """k respondents, none of whose values all hold, and an even number of values; by any algorithm."""

    method: ClassVar[str] = "even-anonymity"
    algorithm: ClassVar[str] = "any"

    k: int
    names: tuple[str, ...]
    kept: tuple[str, ...]
    cut_threshold: int
    maker: str = field(default=STRICT_MONDRIAN)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.method, self.k, None, (Requirement(EVEN),))

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.names

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.kept

    @property
    def class_maker(self) -> str:
        return self.maker

    @property
    def cut_terms(self) -> CutTerms:
        return CutTerms(self.cut_threshold)

    @classmethod
    def of(cls, asked: Asked) -> "EvenAnonymity":
        return cls(asked.k, asked.quasi_identifiers, asked.sensitive, asked.cut_threshold)


class EvenKAnonymity(EvenAnonymity):
    """The same where a policy requires k-anonymity by Mondrian: for runs of whole policies."""

    __slots__ = ()

    method: ClassVar[str] = "k-anonymity"
    algorithm: ClassVar[str] = "mondrian"


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are known while a test runs: a line for each table."""
    monkeypatch.setattr(registry, "REQUIREMENTS", (*registry.REQUIREMENTS, EvenValues))
    monkeypatch.setattr(side_judges, "SIDE_JUDGES", (*side_judges.SIDE_JUDGES, EvenValuesOnSides))
    monkeypatch.setattr(recounts, "RECOUNTS", (*recounts.RECOUNTS, RecountedEvenValues))
    monkeypatch.setattr(algorithms, "ALGORITHMS", (*algorithms.ALGORITHMS, Halves()))
    monkeypatch.setattr(transforms, "ALL_TRANSFORMS", (*transforms.ALL_TRANSFORMS, EvenAnonymity))
