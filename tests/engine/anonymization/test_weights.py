"""Requirements of how values are distributed: kernel, cuts in SQL and verifier against their definitions.

Here a class is a set of rows. A respondent weighs 1, spread evenly over all its rows in the table.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mondrian_oracle import Row, classes_of, make_problem
from tables import HEADER, HERE, QUASI_IDENTIFIERS, TARGET, TYPES, write_csv
from weighing_oracle import WeighingOracle, Weights, is_met, tree_distance

from smalti import transforms
from smalti.engine.anonymization import first_cuts
from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import execute
from smalti.engine.anonymization.stated_requirements import requirement_from_object, requirement_to_object
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Options
from smalti.engine.plan.hierarchies import DeclaredHierarchy, Intervals, Masking
from smalti.engine.plan.nodes import fields_of, node_of
from smalti.engine.plan.plan import Apply, OutputFormat, Plan
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.verify.distributions import DistributionRecount, Held, RecountedCloseness
from smalti.engine.verify.recounts import recounts_of
from smalti.engine.verify.verifier import Original, Output, Verification, verify_against, verify_run
from smalti.errors import GuaranteeError, SmaltiError
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnReference,
    Comparison,
    Condition,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Permission,
    Text,
)
from smalti.transforms.base import (
    ALPHA,
    CLOSENESS,
    ENTROPY_DIVERSITY,
    RECURSIVE_DIVERSITY,
    STRICT_MONDRIAN,
    Asked,
    CutTerms,
    Datatype,
    Guarantee,
    Requirement,
    Transform,
    class_requirements,
)
from smalti.transforms.class_models import ClassModels, ColumnModel, Distance, Diversity
from smalti.transforms.lattice.full_domain import SUPPRESSED, full_domain
from smalti.transforms.lattice.measures import Measure
from smalti.transforms.mondrian.transform import (
    Dimensionality,
    MondrianKAnonymity,
    MondrianLDiversity,
    MondrianTCloseness,
    Partitioning,
)
from smalti.transforms.requirements.distributions import HierarchicalDistance, compare_powers
from smalti.transforms.requirements.registry import REQUIREMENTS, judges_of
from smalti.transforms.values.levels import Levels
from smalti.vocab import terms
from smalti.vocab.terms import ANONYMIZE, COLUMN, DISTANCE, IRI

SLOW = list(HealthCheck)
T = Fraction(1, 5)
EXAMPLES = [
    pytest.param(Requirement(kind.name, parameters), id=f"{kind.name} {' '.join(map(str, parameters))}")
    for kind in REQUIREMENTS
    if kind.weighs
    for parameters in kind.examples
]
OF_ONE = Requirement(CLOSENESS, (Fraction(1, 4), "ordered"), "second", 1)
each_requirement = pytest.mark.parametrize("requirement", EXAMPLES)


@st.composite
def tables(draw: st.DrawFn, most: int = 20) -> tuple[list[Row], bool]:
    row = st.tuples(
        st.tuples(st.integers(0, 6), st.integers(0, 3)),
        st.integers(0, 9),
        st.tuples(st.integers(0, 3), st.integers(0, 3)),
    )
    return draw(st.lists(row, min_size=most // 3, max_size=most)), draw(st.booleans())


# --- The kernel


@pytest.mark.parametrize("requirement", [*EXAMPLES, pytest.param(OF_ONE, id="of one column")])
def test_the_kernel_cuts_as_the_definitions_allow(requirement: Requirement) -> None:
    seen: Counter[bool] = Counter()

    @settings(max_examples=examples(60, full=3000), suppress_health_check=SLOW, deadline=None)
    @given(tables(), st.sampled_from([0, 4, 256]))
    def law(table: tuple[list[Row], bool], threshold: int) -> None:
        rows, one_row_each = table
        problem = make_problem(rows, one_row_each, k=2, l=1, cut_threshold=threshold)
        problem = replace(problem, requirements=(*class_requirements(2), requirement))
        expected = WeighingOracle(rows, problem, one_row_each).answer()
        assert classes_of(problem) == expected
        seen[expected is None] += 1

    law()
    assert seen[True]
    assert seen[False]


@each_requirement
def test_the_lattice_meets_the_definitions(requirement: Requirement) -> None:
    """Of every node; with a limit, what merging keeps is not what pruning may use."""

    @settings(max_examples=examples(40, full=2000), suppress_health_check=SLOW, deadline=None)
    @given(tables(most=8), st.sampled_from([0, 1, 2]))
    def law(table: tuple[list[Row], bool], quarters: int) -> None:
        rows, one_row_each = table
        problem = make_problem(rows, one_row_each, k=2, l=1, cut_threshold=0)
        problem = replace(problem, requirements=(*class_requirements(2), requirement))
        levels = (
            Levels((np.arange(7), np.array([0, 1, 1, 2, 2, 3, 3]), np.zeros(7, np.int64))),
            Levels((np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, np.int64))),
        )
        found = full_domain(problem, levels, Fraction(quarters, 4), Measure.NON_UNIFORM_ENTROPY)
        people = len(rows) if one_row_each else len({who for _, who, _ in rows})
        oracle = WeighingOracle(rows, problem, one_row_each)
        meeting = []
        for node in ((a, b) for a in range(3) for b in range(3)):
            classes: dict[tuple[int, ...], list[tuple[int, Row]]] = defaultdict(list)
            for i, row in enumerate(rows):
                value = tuple(
                    int(of.values[n][code]) for of, n, code in zip(levels, node, row[0], strict=True)
                )
                classes[value].append((i if one_row_each else row[1], row))
            kept = {value: oracle.allowed([row for _, row in some]) for value, some in classes.items()}
            lost = {who for value, some in classes.items() if not kept[value] for who, _ in some}
            if any(kept.values()) and 4 * len(lost) <= quarters * people:
                meeting.append(node)
        minimal = [n for n in meeting if not any(m != n and all(map(int.__le__, m, n)) for m in meeting)]
        assert (list(found.minimal) if found else []) == minimal
        if found:
            assert (found.classes == SUPPRESSED).any() == (found.suppressed > 0)

    law()


@each_requirement
def test_a_judge_of_weights_says_what_it_does_not_protect(requirement: Requirement) -> None:
    (judge,) = judges_of([requirement])
    for words in (judge.statement("respondents"), judge.statement("rows"), judge.parameters, *judge.limits):
        assert words
        assert not words.endswith(".")


@pytest.mark.parametrize(
    ("left", "right", "sign"),
    [
        ({10**9 + 7: 3}, {10**9 + 7: 2}, 1),
        ({6: 4}, {2: 4, 3: 4}, 0),
        ({2: 10**6}, {3: 630_930}, -1),
        ({2: 10**6}, {3: 630_929}, 1),
        ({1: 5}, {}, 0),
    ],
)
def test_products_of_powers_are_compared_exactly(
    left: dict[int, int], right: dict[int, int], sign: int
) -> None:
    assert compare_powers(left, right) == sign
    assert compare_powers(right, left) == -sign


# --- The verifier by itself


@pytest.mark.parametrize(
    "requirement", [each for each in EXAMPLES if not (each.id or "").startswith("presence")]
)
def test_the_verifier_means_what_the_definitions_say(requirement: Requirement) -> None:
    (recount,) = recounts_of([requirement])
    assert isinstance(recount, DistributionRecount)
    seen: Counter[bool] = Counter()

    @settings(max_examples=examples(60, full=3000), suppress_health_check=SLOW, deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(1, 4), st.integers(1, 5)),
            min_size=6,
        )
    )
    def law(entries: list[tuple[int, int, int, int]]) -> None:
        classes, values, totals, rows = (np.array(column) for column in zip(*sorted(entries), strict=True))
        numbers = np.unique(values, return_inverse=True)[1].reshape(-1)
        table = Held(np.zeros_like(classes), numbers, totals, rows)
        count = int(numbers.max()) + 1

        def of(some: np.ndarray) -> Weights:
            weights = [Fraction(0)] * count
            for value, total, often in zip(numbers[some], totals[some], rows[some], strict=True):
                weights[value] += Fraction(int(often), int(total))
            return weights

        whole = of(np.ones(len(classes), np.bool_))
        expected = all(is_met(requirement, of(classes == c), whole) for c in set(classes.tolist()))
        assert recount.is_met(Held(classes, numbers, totals, rows), table) == expected
        seen[expected] += 1

    law()
    assert seen[True]
    assert seen[False]


# --- From a policy to published bytes


@dataclass(frozen=True, slots=True)
class Weighing(Transform):
    """Mondrian with k = 3 and one requirement of distributions."""

    method: ClassVar[str] = "weighing"
    algorithm: ClassVar[str] = "any"

    names: tuple[str, ...]
    kept: tuple[str, ...]
    cut_threshold: int
    requirement: Requirement | None = None

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(self.method, 3, None, () if self.requirement is None else (self.requirement,))

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return self.names

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.kept

    @property
    def class_maker(self) -> str:
        return STRICT_MONDRIAN

    @property
    def cut_terms(self) -> CutTerms:
        return CutTerms(self.cut_threshold)

    @classmethod
    def of(cls, asked: Asked) -> "Weighing":
        return cls(asked.quasi_identifiers, asked.sensitive, asked.cut_threshold)


REAL = [
    Requirement(ENTROPY_DIVERSITY, (3,)),
    Requirement(RECURSIVE_DIVERSITY, (Fraction(3, 2), 2)),
    Requirement(ALPHA, (Fraction(1, 2),)),
    Requirement(CLOSENESS, (Fraction(1, 5), "equal")),
    Requirement(CLOSENESS, (Fraction(3, 20), "ordered")),
]


def rows_of(people: int, rows_each: int) -> list[list[str]]:
    random = np.random.default_rng(11)
    return [
        [
            f"p{i % people}",
            "x",
            str(random.integers(1, 60)),
            str(np.datetime64("1990-01-01") + random.integers(0, 3000)),
            f"c{random.integers(0, 6)}",
            str(random.integers(0, 4)),
            "1",
        ]
        for i in range(rows_each * people)
    ]


def run(
    folder: Path,
    rows: list[list[str]],
    fragments: int,
    promised: Requirement,
    carried_out: Requirement | None,
    backend: Backend | None = None,
) -> tuple[Plan, bytes, Verification]:
    """Carry out a plan with one requirement, and verify it by another."""
    return carry_out(
        folder,
        rows,
        fragments,
        permission(),
        lambda plan: (with_requirement(plan, promised), with_requirement(plan, carried_out)),
        backend,
    )


def carry_out(
    folder: Path,
    rows: list[list[str]],
    fragments: int,
    asked: Permission,
    changed: Callable[[Plan], tuple[Plan, Plan]],
    backend: Backend | None = None,
    hierarchies: Mapping[str, DeclaredHierarchy] = {},
) -> tuple[Plan, bytes, Verification]:
    """Compile a plan, and change it to what is promised and what is carried out."""
    folder.mkdir()
    (folder / "work").mkdir()
    write_csv(folder / "people.csv", HEADER, rows)
    types = {**TYPES, "illness": "integer"}
    described = Description(
        tuple(
            ColumnDescription(
                name,
                None,
                Datatype(types[name]) if name in types else None,
                None,
                hierarchy=hierarchies.get(name),
            )
            for name in HEADER
        )
    )
    source = Source(TARGET, folder / "people.csv", OutputFormat.CSV, described)
    output, link = folder / "out.csv", folder / "link.npy"
    engine = backend or LocalBackend(fragments)
    with closing(engine.open(source, folder / "work")) as bound:
        plan = compile_plan(asked, source, bound, Options(8))
        promise, done = changed(plan)
        execute(done, bound, output, link, lambda _: None, hierarchies)
    original = Original(source.path, source.format, source.parts)
    written = Output(folder, OutputFormat.CSV, (output,))
    verified = verify_run(promise, original, written, link, hierarchies=hierarchies)
    again = verify_against(promise, original, written, hierarchies=hierarchies)
    assert again.classes == verified.classes
    if isinstance(again, Verification):
        figures = [[figure for _, _, figure in each.reached] for each in (again, verified)]
        assert figures[0] == pytest.approx(figures[1])
    return plan, output.read_bytes(), verified


def with_requirement(plan: Plan, requirement: Requirement | None) -> Plan:
    return replace(plan, apply=Apply(replace(plan.apply.transform, requirement=requirement)))  # type: ignore[type-var]


def permission() -> Permission:
    def columns(*names: str) -> tuple[ColumnReference, ...]:
        return tuple(ColumnReference(IRI(f"{TARGET}/{name}"), HERE) for name in names)

    wanted = Anonymization(
        method=Weighing.method, algorithm=Weighing.algorithm, k=Bound(Operator.GTEQ, 3, HERE),
        l=None, identifiers=(), quasi_identifiers=columns(*QUASI_IDENTIFIERS), sensitive=columns("illness"),
        released=(), respondent=columns("who")[0], one_row_each=False, parameters=(), where=HERE,
    )  # fmt: skip
    return Permission(
        uid=IRI("urn:rule:1"), action=ANONYMIZE, targets=(Asset(TARGET),), where=HERE,
        output=IRI("http://example.com/out"), anonymization=wanted,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "ALL_TRANSFORMS", (*transforms.ALL_TRANSFORMS, Weighing))


@pytest.mark.parametrize("requirement", REAL, ids=str)
def test_every_number_of_fragments_publishes_the_same_and_it_is_verified(
    requirement: Requirement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[int] = []
    real: Callable[..., int] = first_cuts.FirstCuts.cut
    monkeypatch.setattr(first_cuts, "WINDOW", 8)
    monkeypatch.setattr(
        first_cuts.FirstCuts, "cut", lambda self, most: cut.append(real(self, most)) or cut[-1]
    )
    rows = rows_of(300, 3)
    runs = [run(tmp_path / str(n), rows, n, requirement, requirement) for n in (1, 2, 7)]
    assert {published for _, published, _ in runs} == {runs[0][1]}
    assert runs[0][2].classes > 3
    assert cut[0] == 2
    assert cut[1] > 2


@pytest.mark.slow
@pytest.mark.spark
def test_spark_publishes_the_same(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    rows, requirement = rows_of(60, 3), REAL[-1]
    engine = SparkBackend(spark, 3)  # type: ignore[arg-type]
    (_, here, _), (_, there, _) = (
        run(tmp_path / name, rows, 3, requirement, requirement, backend)
        for name, backend in (("local", None), ("spark", engine))
    )
    assert there == here


def of_illness(kind: Callable[..., Transform], least: int, **models: Any) -> Transform:
    return kind(3, least, QUASI_IDENTIFIERS, ("illness",), models=ClassModels(**models))


MODELS = [
    of_illness(MondrianKAnonymity, 1, alpha=Fraction(1, 2)),
    of_illness(MondrianLDiversity, 3, diversity=Diversity.ENTROPY),
    of_illness(MondrianLDiversity, 2, diversity=Diversity.RECURSIVE, c=Fraction(2)),
    of_illness(MondrianTCloseness, 1, t=Fraction(1, 5), distance=Distance.ORDERED),
]


@pytest.mark.parametrize("transform", MODELS, ids=lambda transform: str(transform.guarantee.more[0]))
def test_a_model_is_in_the_plan_as_it_is_read_again(transform: Transform) -> None:
    assert node_of(type(transform), fields_of(transform)) == transform
    assert transform.guarantee.more == transform.guarantee.requirements[-1:]


def test_a_plan_without_a_model_does_not_mention_its_parameters() -> None:
    fields = fields_of(MondrianKAnonymity(3, 1, QUASI_IDENTIFIERS, ("illness",)))
    assert "models" not in fields


@pytest.mark.parametrize("transform", MODELS, ids=lambda transform: str(transform.guarantee.more[0]))
@pytest.mark.parametrize(
    "variant",
    [{"partitioning": Partitioning.RELAXED}, {"dimensionality": Dimensionality.SINGLE}],
    ids=["relaxed", "single"],
)
def test_every_variant_meets_each_model(
    transform: MondrianKAnonymity, variant: dict[str, Any], tmp_path: Path
) -> None:
    """Of rows that are each about another person, which relaxed cuts divide."""
    rows = [[str(i), row[1], str(int(row[2]) % 4), *row[3:]] for i, row in enumerate(rows_of(200, 1))]
    asked = permission()
    assert asked.anonymization is not None
    wanted = replace(asked.anonymization, respondent=None, one_row_each=True)
    apply = Apply(replace(transform, cut_threshold=8, **variant))

    def changed(plan: Plan) -> tuple[Plan, Plan]:
        return (replace(plan, apply=apply),) * 2

    runs = [
        carry_out(tmp_path / str(n), rows, n, replace(asked, anonymization=wanted), changed) for n in (1, 3)
    ]
    assert runs[0][1] == runs[1][1]
    assert runs[0][2].classes > 1


@pytest.mark.parametrize(
    "asked",
    [
        {"t": Fraction(0)}, {"t": Fraction(1)}, {"t": T, "alpha": Fraction(1)}, {"t": T, "c": Fraction(2)},
        {"distance": Distance.ORDERED}, {"t": T, "diversity": Diversity.ENTROPY}, {},
        {"t": T, "of_columns": (ColumnModel("age", T),)}, {"of_columns": (ColumnModel("illness", T),)},
        {"t": T, "of_columns": (ColumnModel("illness", t=Fraction(2)),)},
        {"t": T, "of_columns": (ColumnModel("illness", T), ColumnModel("illness", T))},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_are_of_no_model_are_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=" "):
        MondrianTCloseness.of(Asked(3, 1, QUASI_IDENTIFIERS, ("illness",), models=ClassModels(**asked)))


@pytest.mark.parametrize("requirement", REAL, ids=str)
def test_the_verifier_refuses_classes_that_miss_it(requirement: Requirement, tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="does not meet the promise about `illness`"):
        run(tmp_path / "run", rows_of(60, 3), 1, requirement, None)


# --- Models of single columns


def two_columns(*parameters: Condition, method: str = "t-closeness") -> Permission:
    """Sensitive are the illness, a number, and the note, a text."""
    asked = permission()
    assert asked.anonymization is not None
    wanted = replace(
        asked.anonymization,
        method=method,
        algorithm=None,
        sensitive=tuple(ColumnReference(IRI(f"{TARGET}/{name}"), HERE) for name in ("illness", "note")),
        parameters=parameters,
    )
    return replace(asked, anonymization=wanted)


def at_most(word: IRI, number: str) -> Comparison:
    return Comparison(word, Operator.LTEQ, (Number(Decimal(number)),), where=HERE)


def of_column(name: str, parameter: Comparison) -> Logical:
    column = Comparison(COLUMN, Operator.EQ, (Named(IRI(f"{TARGET}/{name}")),), where=HERE)
    return Logical(LogicalOperator.AND, (column, parameter), HERE)


def distance(name: str) -> Comparison:
    return Comparison(DISTANCE, Operator.EQ, (Text(name),), where=HERE)


def noted(people: int) -> list[list[str]]:
    return [[*row[:1], f"n{i % 5}", *row[2:]] for i, row in enumerate(rows_of(people, 2))]


def as_compiled(plan: Plan) -> tuple[Plan, Plan]:
    return plan, plan


def test_each_column_meets_its_own_model_on_each_number_of_fragments(tmp_path: Path) -> None:
    asked = two_columns(
        at_most(terms.T, "0.4"),
        of_column("illness", distance("ordered")),
        of_column("illness", at_most(terms.T, "0.2")),
        of_column("note", at_most(terms.ALPHA, "0.4")),
        of_column("note", at_most(terms.T, "0.5")),  # the smaller one counts, that of all columns
    )
    runs = [carry_out(tmp_path / str(n), noted(200), n, asked, as_compiled) for n in (1, 3)]
    (plan, published, verified), (_, again, _) = runs
    assert published == again
    expected = {
        Requirement(ALPHA, (Fraction(2, 5),), "note"),
        Requirement(CLOSENESS, (Fraction(1, 5), "ordered"), "illness"),
        Requirement(CLOSENESS, (Fraction(2, 5), "equal"), "note"),
    }
    assert set(plan.apply.transform.guarantee.more) == expected
    reached = {(name, requirement): figure for name, requirement, figure in verified.reached}
    assert {requirement for _, requirement in reached} == expected
    for (name, requirement), figure in reached.items():
        assert requirement.column == name
        assert 0 < figure <= float(requirement.parameters[0])


def test_a_model_of_one_column_binds_no_other(tmp_path: Path) -> None:
    both = two_columns(at_most(terms.ALPHA, "0.3"), method="k-anonymity")
    of_note = two_columns(of_column("note", at_most(terms.ALPHA, "0.3")), method="k-anonymity")
    classes = [
        carry_out(tmp_path / name, noted(200), 1, asked, as_compiled)[2].classes
        for name, asked in (("both", both), ("note", of_note))
    ]
    assert classes[0] < classes[1]  # a quarter of the illnesses are alike, so that these stand in the way


def test_the_verifier_refuses_a_column_that_misses_its_own_model(tmp_path: Path) -> None:
    asked = two_columns(of_column("note", at_most(terms.ALPHA, "0.3")), method="k-anonymity")

    def unmet(plan: Plan) -> tuple[Plan, Plan]:
        return plan, replace(plan, apply=Apply(replace(plan.apply.transform, models=ClassModels())))  # type: ignore[type-var]

    with pytest.raises(GuaranteeError, match="does not meet the promise about `note`"):
        carry_out(tmp_path / "run", noted(200), 1, asked, unmet)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((at_most(terms.T, "0.2"), distance("ordered")), "`ordered`, and .* `note` has texts"),
        ((of_column("illness", at_most(terms.T, "0.2")),), "the sensitive column `note` has no t"),
        ((at_most(terms.T, "0.2"), of_column("age", at_most(terms.T, "0.1"))), "that is not sensitive"),
        ((at_most(terms.T, "0.2"), distance("hierarchical")), "column `illness` has no hierarchy"),
    ],
)  # fmt: skip
def test_a_model_that_does_not_fit_its_column_is_refused(
    parameters: tuple[Condition, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SmaltiError, match=message):
        carry_out(tmp_path / "run", noted(20), 1, two_columns(*parameters), as_compiled)


TREES = {
    "illness": DeclaredHierarchy(Intervals(Decimal(2), "0", (2,))),
    "note": DeclaredHierarchy(Masking(3)),
}


def test_distances_along_hierarchies_are_kept_on_each_number_of_fragments(tmp_path: Path) -> None:
    asked = two_columns(at_most(terms.T, "0.15"), distance("hierarchical"))
    rows = [[*row[:5], "" if i % 9 == 0 else row[5], row[6]] for i, row in enumerate(noted(200))]
    runs = [carry_out(tmp_path / str(n), rows, n, asked, as_compiled, hierarchies=TREES) for n in (1, 3)]
    (plan, published, verified), (_, again, _) = runs
    assert published == again
    assert plan.column("illness").hierarchy is not None
    assert verified.classes > 1
    assert {name for name, _, _ in verified.reached} == {"illness", "note"}
    assert all(0 < figure <= 0.15 for _, _, figure in verified.reached)

    def unmet(plan: Plan) -> tuple[Plan, Plan]:
        models = replace(plan.apply.transform.models, t=Fraction(9, 10))  # type: ignore[attr-defined]
        return plan, replace(plan, apply=Apply(replace(plan.apply.transform, models=models)))  # type: ignore[type-var]

    with pytest.raises(GuaranteeError, match="does not meet the promise"):
        carry_out(tmp_path / "unmet", rows, 1, asked, unmet, hierarchies=TREES)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_keeps_distances_along_hierarchies(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (absent without the extra)

    asked = two_columns(at_most(terms.T, "0.15"), distance("hierarchical"))
    engine = SparkBackend(spark, 3)  # type: ignore[arg-type]
    here, there = (
        carry_out(tmp_path / name, noted(60), 3, asked, as_compiled, backend, TREES)[1]
        for name, backend in (("local", None), ("spark", engine))
    )
    assert there == here


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_distances_along_trees_are_what_moving_costs(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    tree = [list(range(size))]
    for _ in range(data.draw(st.integers(0, 2))):
        is_new = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
        starts = [i == 0 or (is_new[i] and tree[-1][i] != tree[-1][i - 1]) for i in range(size)]
        tree.append([sum(starts[: i + 1]) for i in range(size)])
    tree.append([0] * size)
    weights = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    held, table = data.draw(weights), data.draw(weights)
    expected = tree_distance([Fraction(n) for n in held], [Fraction(n) for n in table], tree)
    nodes = np.array(tree)
    for t in (expected, expected - Fraction(1, 10**9)):
        model = HierarchicalDistance(t, nodes)
        assert model.holds(held, table) is (t == expected)
        shares, reference = np.array([held]) / sum(held), np.array(table) / sum(table)
        assert model.margins(shares, reference) == pytest.approx(float(t - expected), abs=1e-12)
        recount = RecountedCloseness(Requirement(CLOSENESS, (t, "hierarchical")))
        places, ones = np.arange(size), np.ones(size, np.int64)
        judged = recount.judged(
            Held(np.zeros(size, np.int64), places, ones, np.array(held)),
            Held(np.zeros(size, np.int64), places, ones, np.array(table)),
            nodes,
        )
        assert judged.is_met is (t == expected)
        assert judged.reached == pytest.approx(float(expected), abs=1e-12)


def test_a_certificate_names_the_column_of_a_model() -> None:
    requirement = Requirement(CLOSENESS, (Fraction(1, 5), "equal"), "note")
    stated = requirement_to_object(requirement)
    assert requirement_from_object(stated, ("illness", "note")) == requirement
    with pytest.raises(GuaranteeError, match="a column that is not sensitive"):
        requirement_from_object(stated, ("illness",))
