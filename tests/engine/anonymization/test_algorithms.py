"""The contract of algorithms, for each entry of their table and for one that lives in tests alone."""

import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mondrian_oracle import Row, make_problem, renamed
from tables import HEADER, HERE, QUASI_IDENTIFIERS, TARGET, TYPES, write_csv
from toys import EVEN, EvenAnonymity, EvenValuesOnSides, Halves, toys

from smalti.engine.anonymization import first_cuts, side_judges
from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import execute
from smalti.engine.anonymization.explain import explain
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Options
from smalti.engine.plan.plan import Apply, OutputFormat, Plan
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError, InternalError
from smalti.policy.model.model import Anonymization, Asset, Bound, ColumnReference, Operator, Permission
from smalti.transforms import ALL_TRANSFORMS
from smalti.transforms.algorithms import ALGORITHMS, algorithm_of
from smalti.transforms.base import (
    MICROAGGREGATION,
    Asked,
    CutTerms,
    Datatype,
    Requirement,
    Transform,
    class_requirements,
)
from smalti.transforms.class_models import ClassModels
from smalti.transforms.mondrian.algorithm import Algorithm
from smalti.transforms.partitions.held import OneClass, OneColumn
from smalti.transforms.problem import Problem
from smalti.transforms.requirements.registry import judges_of
from smalti.vocab.terms import ANONYMIZE, IRI

__all__ = ["toys"]
pytestmark = pytest.mark.usefixtures("toys")

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
EVERY = (*ALGORITHMS, Halves())
each_algorithm = pytest.mark.parametrize("algorithm", EVERY, ids=lambda one: one.name)
PROMISES = {
    "k": class_requirements(2),
    "l": class_requirements(3, 3),
    "even": (*class_requirements(2), Requirement(EVEN)),
    "even alone": (Requirement(EVEN),),
}


# --- From problems to classes


@st.composite
def atoms(draw: st.DrawFn) -> tuple[list[Row], bool, Problem]:
    """Rows of which those with equal codes have equal values, so that tuples may be divided."""
    one_row_each = draw(st.booleans())
    code = st.tuples(st.integers(0, 5), st.integers(0, 3))
    drawn = draw(st.lists(st.tuples(code, st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=24))
    value_of = {codes: value for codes, _, value in drawn}
    rows: list[Row] = [(codes, who, (value_of[codes],)) for codes, who, _ in drawn]
    threshold = draw(st.sampled_from([0, 4, 256]))
    return rows, one_row_each, make_problem(rows, one_row_each, k=2, l=1, cut_threshold=threshold)


def held(rows: list[tuple[int, int]], one_row_each: bool) -> OneClass:
    """What a class of (respondent, value) rows holds."""
    if one_row_each:
        return OneClass(len(rows), (OneColumn(np.unique([value for _, value in rows]), None),))
    who, values = (np.array(column) for column in zip(*sorted(set(rows)), strict=True))
    return OneClass(len(set(who.tolist())), (OneColumn(values, who),))


def is_allowed(rows: list[tuple[int, int]], problem: Problem, one_row_each: bool) -> bool:
    return all(judge.meets(held(rows, one_row_each)) for judge in judges_of(problem.requirements))


def members(
    algorithm: Algorithm, problem: Problem
) -> Counter[frozenset[tuple[tuple[int, ...], int]]] | None:
    """How often there is a class with so many rows of these codes."""
    found = algorithm.generalised(problem)
    if found is None:
        return None
    classes: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    portions = found.portions
    for atom, number, rows in zip(
        portions.atoms.tolist(), portions.classes.tolist(), portions.rows.tolist(), strict=True
    ):
        classes.setdefault(number, []).append((tuple(problem.codes[atom].tolist()), rows))
    return Counter(map(frozenset, classes.values()))


@each_algorithm
@pytest.mark.parametrize("promise", PROMISES)
def test_classes_meet_what_is_promised(algorithm: Algorithm, promise: str) -> None:
    some: list[bool] = []

    @settings(max_examples=examples(40, full=2000), suppress_health_check=SLOW)
    @given(atoms())
    def law(table: tuple[list[Row], bool, Problem]) -> None:
        rows, one_row_each, problem = table
        problem = replace(problem, requirements=PROMISES[promise])
        found = algorithm.generalised(problem)
        some.append(found is not None)
        of_row = [(who, values[0]) for _, who, values in rows]
        if found is None:
            assert not is_allowed(of_row, problem, one_row_each)
            return
        portions, codes = found.portions, list(map(tuple, problem.codes.tolist()))
        assert (np.diff(portions.atoms) >= 0).all()
        assert (portions.rows > 0).all()
        assert np.bincount(portions.atoms, portions.rows).tolist() == problem.weights.tolist()
        assert set(portions.classes.tolist()) == set(range(int(portions.classes.max()) + 1))
        assert len(found.parts) == len(problem.attributes)
        if algorithm.takes_first_cuts or algorithm.divides_tuples:
            assert all(np.array_equal(part, portions.classes) for part in found.parts)
        if not algorithm.divides_tuples:
            assert portions.atoms.tolist() == list(range(len(problem.weights)))
        waiting = {code: [row for row in rows if row[0] == code] for code in codes}
        classes: dict[int, list[tuple[int, int]]] = {}
        labels: dict[int, set[tuple[int, ...]]] = {}
        for place, (atom, number) in enumerate(
            zip(portions.atoms.tolist(), portions.classes.tolist(), strict=True)
        ):
            taken = [waiting[codes[atom]].pop() for _ in range(portions.rows[place])]
            classes.setdefault(number, []).extend((who, values[0]) for _, who, values in taken)
            labels.setdefault(number, set()).add(tuple(int(part[place]) for part in found.parts))
        assert all(is_allowed(one, problem, one_row_each) for one in classes.values())
        assert all(len(one) == 1 for one in labels.values()), "a class has one label in each column"

    law()
    assert {True, False} <= set(some)


@each_algorithm
@pytest.mark.parametrize("promise", ["l", "even"])
def test_order_of_tuples_and_names_of_respondents_do_not_matter(algorithm: Algorithm, promise: str) -> None:
    @settings(max_examples=examples(20, full=500), suppress_health_check=SLOW)
    @given(atoms(), st.randoms())
    def law(table: tuple[list[Row], bool, Problem], random: "st.DataObject") -> None:
        problem = replace(table[2], requirements=PROMISES[promise])
        order = list(range(len(problem.weights)))
        if not algorithm.divides_tuples:  # whose tuples come in their canonical order
            random.shuffle(order)  # type: ignore[attr-defined]
        assert members(algorithm, renamed(problem, order)) == members(algorithm, problem)

    law()


@each_algorithm
def test_an_algorithm_travels_and_has_a_name(algorithm: Algorithm) -> None:
    assert type(pickle.loads(pickle.dumps(algorithm))) is type(algorithm)
    assert [one.name for one in EVERY].count(algorithm.name) == 1


def test_an_algorithm_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InternalError):
        algorithm_of(EvenAnonymity(2, ("a",), (), 256, "unknown"))


# --- Transforms


@pytest.mark.parametrize("kind", [*ALL_TRANSFORMS, EvenAnonymity], ids=lambda kind: kind.__name__)
def test_a_transform_is_made_of_what_is_asked(kind: type[Transform]) -> None:
    least = 2 if kind.method == "l-diversity" else 1
    models = ClassModels(t=Fraction(1, 2) if kind.method == "t-closeness" else None)
    sensitive = () if kind.method in {"k-map", "delta-presence"} else ("c",)
    asked = Asked(3, least, ("a", "b"), sensitive, 7, models=models)
    made = kind.of(asked)
    assert (made.quasi_identifiers, made.sensitive) == (("a", "b"), sensitive)
    assert made.guarantee.k == (1 if kind.method == "delta-presence" else 3)
    assert made.guarantee.model == made.method
    cuts = not made.generalises_whole_domains and made.class_maker != MICROAGGREGATION
    assert made.cut_terms.threshold == (7 if cuts else CutTerms().threshold)
    assert made.technique
    assert algorithm_of(made) in ALGORITHMS
    assert judges_of(made.guarantee.requirements)


# --- From a policy to published bytes

Rows = list[list[str]]


def rows_of(people: int) -> Rows:
    """Several rows for each respondent; the respondents of a class differ in two illnesses, or in four."""
    random = np.random.default_rng(11)
    return [
        [
            f"p{i % people}",
            "x",
            str(random.integers(1, 60)),
            str(np.datetime64("1990-01-01") + random.integers(0, 3000)),
            f"c{random.integers(0, 6)}",
            ("flu", "gout", "asthma", "cold")[random.integers(0, 4)],
            "1",
        ]
        for i in range(3 * people)
    ]


def permission() -> Permission:
    def columns(*names: str) -> tuple[ColumnReference, ...]:
        return tuple(ColumnReference(IRI(f"{TARGET}/{name}"), HERE) for name in names)

    wanted = Anonymization(
        method=EvenAnonymity.method, algorithm=EvenAnonymity.algorithm, k=Bound(Operator.GTEQ, 3, HERE),
        l=None, identifiers=(), quasi_identifiers=columns(*QUASI_IDENTIFIERS), sensitive=columns("illness"),
        released=(), respondent=columns("who")[0], one_row_each=False, parameters=(), where=HERE,
    )  # fmt: skip
    return Permission(
        uid=IRI("urn:rule:1"), action=ANONYMIZE, targets=(Asset(TARGET),), where=HERE,
        output=IRI("http://example.com/out"), anonymization=wanted,
    )  # fmt: skip


def run(
    folder: Path, rows: Rows, fragments: int, change: Callable[[Plan], Plan] = lambda plan: plan
) -> tuple[Plan, bytes, Verification]:
    """Compile a policy with the toy's words, carry it out, and verify it by what the policy promised."""
    folder.mkdir()
    (folder / "work").mkdir()
    write_csv(folder / "people.csv", HEADER, rows)
    described = Description(
        tuple(
            ColumnDescription(name, None, Datatype(TYPES[name]) if name in TYPES else None, None)
            for name in HEADER
        )
    )
    source = Source(TARGET, folder / "people.csv", OutputFormat.CSV, described)
    output, link = folder / "out.csv", folder / "link.npy"
    with closing(LocalBackend(fragments).open(source, folder / "work")) as bound:
        plan = compile_plan(permission(), source, bound, Options(8))
        execute(change(plan), bound, output, link, lambda _: None)
    original = Original(source.path, source.format, source.parts)
    written = Output(folder, OutputFormat.CSV, (output,))
    return plan, output.read_bytes(), verify_run(plan, original, written, link)


def made_by(maker: str) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, apply=Apply(replace(plan.apply.transform, maker=maker)))  # type: ignore[type-var]


@each_algorithm
def test_each_algorithm_publishes_what_keeps_a_requirement_of_tests(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    plan, _, verified = run(tmp_path / "run", rows_of(60), 1, made_by(algorithm.name))
    assert verified.k >= 3
    assert verified.classes > 1
    assert plan_from_json(plan_to_json(plan)) == plan
    assert "an even number of different values" in explain(plan).promise


@pytest.mark.parametrize("window", [8, 4096])
def test_first_cuts_keep_a_requirement_of_tests(tmp_path: Path, window: int) -> None:
    made: list[int] = []
    real = first_cuts.FirstCuts.cut
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_cuts, "WINDOW", window)
        patch.setattr(
            first_cuts.FirstCuts, "cut", lambda self, most: made.append(real(self, most)) or made[-1]
        )
        whole, pieces = (run(tmp_path / str(n), rows_of(400), n) for n in (1, 6))
    assert made == [6]
    assert pieces[1] == whole[1]
    assert whole[2].classes > 20


def test_without_a_judge_of_sides_one_kernel_takes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(tmp_path / "whole", rows_of(100), 1)
    judges = tuple(kind for kind in side_judges.SIDE_JUDGES if kind is not EvenValuesOnSides)
    monkeypatch.setattr(side_judges, "SIDE_JUDGES", judges)
    monkeypatch.setattr(first_cuts.FirstCuts, "cut", None)
    assert run(tmp_path / "pieces", rows_of(100), 6)[1] == whole[1]


def test_a_table_that_misses_it_as_a_whole_is_refused_by_its_words(tmp_path: Path) -> None:
    rows = [[*row[:5], ("flu", "gout", "asthma")[i % 3], row[6]] for i, row in enumerate(rows_of(60))]
    with pytest.raises(GuaranteeError) as caught:
        run(tmp_path / "run", rows, 1)
    assert "cannot meet even-anonymity with k = 3, with each sensitive column by itself" in str(
        caught.value
    )


def test_the_verifier_refuses_classes_that_miss_it(tmp_path: Path) -> None:
    """Classes by a plan that does not promise it, judged by the one that does."""

    def forgetful(plan: Plan) -> Plan:
        mondrian = ALL_TRANSFORMS[0].of(Asked(3, 1, QUASI_IDENTIFIERS, ("illness",), 8))
        return replace(plan, apply=Apply(mondrian))

    with pytest.raises(GuaranteeError, match=f"does not meet the promise about `illness` .{EVEN}."):
        run(tmp_path / "run", rows_of(60), 1, forgetful)
