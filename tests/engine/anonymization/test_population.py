"""k-map and delta-presence: classes are held against a table of all persons, from policy to output."""

import csv
import json
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import smalti as cli
from tables import covers, write_csv

import smalti
from smalti.engine.binding.run_request import Watch
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.registry.review import reviews
from smalti.engine.verify.population import OriginalPopulation
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.errors import GuaranteeError, SmaltiError
from smalti.vocab.terms import IRI

SICK, EVERYBODY, OWNER, PARTY = "http://org/sick", "http://org/all", "http://org/owner", "http://org/party"
HEADER, OF_ALL = ["id", "age", "city", "illness"], ["id", "age", "city"]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
K_MAP: dict[str, Any] = {"method": "k-map", "k": 3}
DESCRIPTION = json.dumps({
    "@context": "http://www.w3.org/ns/csvw", "url": "sick.csv",
    "tableSchema": {"columns": [{"name": "age", "titles": "age", "datatype": "integer"}]},
})  # fmt: skip
Rows = list[list[str]]


def policy(folder: Path, words: Mapping[str, Any], respondent: str = "respondent: id") -> Path:
    stated = "\n".join(f"{word}: {value}" for word, value in words.items())
    place = folder / "policy.yaml"
    place.write_text(
        f"policy: http://org/policy\nowner: {OWNER}\nparty: {PARTY}\ntarget: {SICK}\npurpose: statistical\n"
        f"population: {EVERYBODY}\n{respondent}\nquasi-identifiers: [age, city]\nreleased: [illness]\n"
        f"output: http://org/out\n{stated}\n"
    )
    return place


def run(folder: Path, words: Mapping[str, Any], **choices: Any) -> smalti.Outcome:
    named = {
        "party": PARTY,
        "owner": OWNER,
        "purpose": "statistical",
        "registry": folder / "registry.sqlite",
        "population": folder / "all.csv",
        **choices,
    }
    said, out = named.pop("said", "respondent: id"), named.pop("out", folder / "out")
    document = named.pop("document", None) or policy(folder, words, said)
    data = {named.pop("target", SICK): folder / named.pop("file", "sick.csv")}
    return smalti.run(document, data=data, out=out, **named)


def tables(folder: Path, everybody: Rows, sick: Rows) -> None:
    write_csv(folder / "all.csv", OF_ALL, everybody)
    write_csv(folder / "sick.csv", HEADER, sick)


def some_people(folder: Path, count: int = 40, every: int = 4) -> tuple[Rows, Rows]:
    everybody = [[f"p{i}", str(20 + i * 7 % 31), "ABC"[i * i % 3]] for i in range(count)]
    sick = [[*row, f"i{place % 3}"] for place, row in enumerate(everybody[::every])]
    tables(folder, everybody, sick)
    return everybody, sick


def published(folder: Path) -> list[dict[str, str]]:
    with (folder / "out" / "out.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def counted(folder: Path, everybody: Rows, sick: Rows) -> list[tuple[int, int]]:
    """By class: how many of its persons are in the table, and how many there are in the population."""
    labels = sorted({(row["age"], row["city"]) for row in published(folder)})

    def persons(rows: Rows, label: tuple[str, str]) -> set[str]:
        pairs = [(row[0], list(zip(label, row[1:3], strict=True))) for row in rows]
        return {
            person for person, pair in pairs if all(one == "*" or covers(one, its) for one, its in pair)
        }

    return [(len(persons(sick, label)), len(persons(everybody, label))) for label in labels]


@st.composite
def populations(draw: st.DrawFn) -> tuple[Rows, Rows, bool]:
    """A population, the rows of some of its persons, and whether each has one combination."""
    is_single = draw(st.booleans())
    ages, cities = (
        st.sampled_from(["30", "31", "31.0", "45", "60", ""]),
        st.sampled_from(["A", "B", "C", ""]),
    )
    everybody: Rows = []
    for person in range(draw(st.integers(1, 14))):
        combinations = draw(st.lists(st.tuples(ages, cities), min_size=1, max_size=1 if is_single else 3))
        everybody += [[f"p{person}", age, city] for age, city in combinations]
    rows = draw(st.lists(st.sampled_from(everybody), min_size=1, max_size=10))
    return everybody, [[*row, "x"] for row in rows], is_single


WAYS: list[dict[str, Any]] = [
    {"method": "k-map", "k": 2},
    {"method": "k-map", "k": 4, "dimensionality": "single"},
    {"method": "k-map", "k": 3, "algorithm": "incognito"},
    {"method": "delta-presence", "presence": "{at-most: 0.6}"},
    {"method": "delta-presence", "presence": "{at-least: 0.1, at-most: 0.75}", "algorithm": "incognito"},
    {"method": "delta-presence", "presence": "{at-least: 0.2, at-most: 0.8}"},
]


@settings(max_examples=examples(8, full=200), suppress_health_check=SLOW, deadline=None)
@given(populations(), st.sampled_from(WAYS), st.randoms(use_true_random=False))
def test_the_population_covers_each_class_as_promised(
    people: tuple[Rows, Rows, bool], words: dict[str, Any], shuffled: Any
) -> None:
    everybody, sick, is_single = people
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables(folder, everybody, sick)
        problem = problem_of(folder, words)
        if problem:
            check_refusal(problem, words, everybody, sick, is_single=is_single)
            return
        assert sorted(row["illness"] for row in published(folder)) == ["x"] * len(sick)
        counts = counted(folder, everybody, sick)
        if words["method"] == "k-map":
            assert min(persons for _, persons in counts) >= words["k"]
        else:
            low = Fraction(words["presence"].partition("at-least: ")[2][:3] or 0)
            high = Fraction(words["presence"].partition("at-most: ")[2].rstrip("}"))
            assert all(low <= Fraction(here, persons) <= high for here, persons in counts)
            if low:
                assert sum(persons for _, persons in counts) == len({row[0] for row in everybody})
        bytes_ = (folder / "out" / "out.csv").read_bytes()
        shuffled.shuffle(everybody)
        shuffled.shuffle(sick)
        other = folder / "other"
        other.mkdir()
        tables(other, everybody, sick)
        run(other, words, fragments=7)
        assert (other / "out" / "out.csv").read_bytes() == bytes_


def problem_of(folder: Path, words: Mapping[str, Any]) -> str:
    try:
        run(folder, words)
    except SmaltiError as refused:
        return str(refused)
    return ""


def check_refusal(
    problem: str, words: Mapping[str, Any], everybody: Rows, sick: Rows, *, is_single: bool
) -> None:
    """A refusal is right: with everybody in one class the promise does not hold."""
    persons, here = len({row[0] for row in everybody}), len({row[0] for row in sick})
    if "several combinations" in problem:
        assert not is_single
        return
    assert "cannot meet" in problem
    if words["method"] == "k-map":
        assert persons < words["k"]
    else:
        low = Fraction(words["presence"].partition("at-least: ")[2][:3] or 0)
        high = Fraction(words["presence"].partition("at-most: ")[2].rstrip("}"))
        assert not low <= Fraction(here, persons) <= high


@pytest.mark.spark
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(K_MAP, id="k-map", marks=pytest.mark.slow),
        pytest.param(WAYS[5], id="delta-presence", marks=pytest.mark.slow),
    ],
)
def test_spark_publishes_the_same_bytes(words: dict[str, Any], tmp_path: Path) -> None:
    for engine in ("local", "spark"):
        folder = tmp_path / engine
        folder.mkdir()
        some_people(folder)
        run(folder, words, engine=engine)
    local, spark = ((tmp_path / engine / "out" / "out.csv").read_bytes() for engine in ("local", "spark"))
    assert local == spark


def test_one_row_each_is_counted_by_rows(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    outcome = run(tmp_path, K_MAP, said="one-row-each: true")
    assert outcome.report is not None
    assert min(persons for _, persons in counted(tmp_path, everybody, sick)) >= 3


def test_certificate_and_record_name_the_population(tmp_path: Path) -> None:
    some_people(tmp_path)
    outcome = run(tmp_path, K_MAP)
    assert outcome.version is not None
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert certificate["guarantee"]["population"] == EVERYBODY
    assert certificate["wasDerivedFrom"] == [SICK, EVERYBODY]
    assert certificate["guarantee"]["requirements"] == [
        {"name": "respondents of the population", "parameters": [3]}
    ]
    assert "at least 3 persons of the population table" in certificate["guarantee"]["statement"]
    assert [entry.iri for entry in outcome.version.inputs] == [SICK, EVERYBODY]
    seen = smalti.verify(
        tmp_path / "out",
        registry=tmp_path / "registry.sqlite",
        data=tmp_path / "sick.csv",
        population=tmp_path / "all.csv",
    )
    assert seen.is_repeated
    with pytest.raises(SmaltiError, match="names a population table"):
        smalti.verify(tmp_path / "out", registry=tmp_path / "registry.sqlite", data=tmp_path / "sick.csv")


def test_delta_presence_states_no_k(tmp_path: Path) -> None:
    some_people(tmp_path)
    run(tmp_path, WAYS[5])
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert "k" not in certificate["guarantee"]
    assert certificate["guarantee"]["requirements"] == [{"name": "presence", "parameters": ["1/5", "4/5"]}]


# --- Bad input


def refusal(folder: Path, words: Mapping[str, Any] = K_MAP, **choices: Any) -> str:
    with pytest.raises(SmaltiError) as refused:
        run(folder, words, **choices)
    assert not (folder / "out").exists()
    return str(refused.value)


def test_a_population_that_is_not_bound_is_refused(tmp_path: Path) -> None:
    some_people(tmp_path)
    assert "no data is bound to it" in refusal(tmp_path, population=None)


def test_a_target_is_no_population_of_itself(tmp_path: Path) -> None:
    some_people(tmp_path)
    document = policy(tmp_path, K_MAP)
    document.write_text(document.read_text().replace(EVERYBODY, SICK))
    assert "the population is the target itself" in refusal(tmp_path, document=document)


def test_a_population_beside_another_method_is_refused(tmp_path: Path) -> None:
    some_people(tmp_path)
    document = policy(tmp_path, {"method": "k-anonymity", "k": 2})
    document.write_text(document.read_text().replace(f"population: {EVERYBODY}\n", ""))
    assert "names no population table" in refusal(tmp_path, document=document)


@pytest.mark.parametrize("said", ["respondent: id", "one-row-each: true"])
def test_a_population_that_lacks_a_respondent_is_refused(tmp_path: Path, said: str) -> None:
    everybody, sick = some_people(tmp_path)
    tables(tmp_path, [row for row in everybody if row[0] != sick[3][0]], sick)
    if said == "one-row-each: true":
        alike = [row for row in everybody if row[1:] != sick[3][1:3]]
        tables(tmp_path, alike, sick)
    message = refusal(tmp_path, said=said)
    assert "lacks a respondent" in message
    assert sick[3][0] not in message


def test_a_respondent_with_other_values_in_the_population_is_refused(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    sick[2][1] = everybody[1][1]
    tables(tmp_path, everybody, sick)
    assert "lacks a respondent" in refusal(tmp_path)


def test_columns_and_values_of_the_population_fit_those_of_the_target(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    tables(tmp_path, everybody, sick)
    write_csv(tmp_path / "all.csv", ["id", "age"], [row[:2] for row in everybody])
    assert "no column `city`" in refusal(tmp_path)
    write_csv(tmp_path / "all.csv", ["age", "city"], [row[1:] for row in everybody])
    assert "no column `id`" in refusal(tmp_path)
    (tmp_path / "sick.csv-metadata.json").write_text(DESCRIPTION)
    write_csv(tmp_path / "all.csv", OF_ALL, [*everybody, ["p99", "old", "A"]])
    assert "not a valid integer" in refusal(tmp_path)
    write_csv(tmp_path / "all.csv", OF_ALL, [*everybody, ["", "33", "A"]])
    assert "a row has no respondent" in refusal(tmp_path)


def test_an_inferred_datatype_may_have_to_be_declared(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    tables(tmp_path, everybody, sick)
    described = DESCRIPTION.replace("sick.csv", "all.csv").replace('"integer"', '"double"')
    (tmp_path / "all.csv-metadata.json").write_text(described)
    message = refusal(tmp_path)
    assert "declared as double, and that of the target is integer (inferred)" in message
    assert "declare it as double in the target's description" in message.lower()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            {**K_MAP, "sensitive": "[illness]", "released": "[]"},
            "`sensitive` is not implemented",
        ),
        ({**K_MAP, "partitioning": "relaxed"}, "this `partitioning` is not implemented"),
        ({**K_MAP, "algorithm": "incognito", "suppression-limit": 0.1}, "`suppression-limit`"),
        (
            {**K_MAP, "per-column": "{age: {output-form: mean}}"},
            "a prefix, mean or median as `output-form` is not implemented",
        ),
    ],
    ids=["sensitive", "relaxed", "suppression", "figures"],
)
def test_what_is_not_implemented_beside_a_population_is_named(
    words: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    some_people(tmp_path)
    place = policy(tmp_path, words)
    text = place.read_text().replace("released: [illness]\n", "", 1)
    place.write_text(text.replace("released: []\n", ""))
    assert problem in refusal(tmp_path, document=place)


def test_delta_presence_of_persons_with_several_combinations_is_refused(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    tables(tmp_path, [*everybody, ["p1", "60", "A"]], sick)
    assert "several combinations" in refusal(tmp_path, WAYS[5])


# --- Authority


def prohibit(folder: Path, target: str, **limited: Any) -> None:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://org/prohibition",
        "prohibition": [{"target": target, "action": "use", "assigner": OWNER, **limited}],
    }
    registry = smalti.Registry.open(folder / "registry.sqlite")
    registry.add_policy(json.dumps(document).encode(), "prohibition", IRI(OWNER))


@pytest.mark.parametrize("part", ["", "/age", "/id"], ids=["all", "age", "respondent"])
def test_what_its_owner_prohibits_about_the_population_holds(part: str, tmp_path: Path) -> None:
    some_people(tmp_path)
    assert run(tmp_path, K_MAP).decision.is_permitted
    prohibit(tmp_path, EVERYBODY + part)
    again = run(tmp_path, K_MAP, out=tmp_path / "again")
    assert not again.decision.is_permitted
    assert any("a prohibition on" in reason.text for reason in again.decision.reasons)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("part", ["", "/age"], ids=["all", "age"])
def test_what_the_policy_itself_prohibits_about_the_population_holds(part: str, tmp_path: Path) -> None:
    some_people(tmp_path)
    document = policy(tmp_path, K_MAP)
    document.write_text(
        document.read_text() + f"prohibit:\n  - action: use\n    target: {EVERYBODY}{part}\n"
    )
    denied = run(tmp_path, K_MAP, document=document)
    assert not denied.decision.is_permitted
    assert any("a prohibition on" in reason.text for reason in denied.decision.reasons)


@pytest.mark.parametrize("part", ["", "/age"], ids=["all", "age"])
def test_a_plan_for_nobody_warns_of_what_the_policy_prohibits_about_the_population(
    part: str, tmp_path: Path
) -> None:
    some_people(tmp_path)
    document = policy(tmp_path, K_MAP)
    document.write_text(
        document.read_text() + f"prohibit:\n  - action: use\n    target: {EVERYBODY}{part}\n"
    )
    planned = smalti.plan(document, data={SICK: tmp_path / "sick.csv"}, population=tmp_path / "all.csv")
    assert any(f"the population table, `{EVERYBODY}{part}`" in warning for warning in planned.warnings)


DECLARED = "http://terms.org/city"


def describe_population(folder: Path) -> None:
    column = {"name": "city", "titles": "city", "propertyUrl": DECLARED}
    described = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "all.csv",
        "tableSchema": {"columns": [column]},
    }
    (folder / "all.csv-metadata.json").write_text(json.dumps(described))


def test_a_prohibited_column_has_the_iri_that_the_populations_description_declares(tmp_path: Path) -> None:
    some_people(tmp_path)
    describe_population(tmp_path)
    document = policy(tmp_path, K_MAP)
    document.write_text(document.read_text() + f"prohibit:\n  - action: use\n    target: {DECLARED}\n")
    denied = run(tmp_path, K_MAP, document=document)
    assert not denied.decision.is_permitted
    assert not (tmp_path / "out").exists()


def test_a_column_of_a_population_is_known_by_what_earlier_runs_called_it(tmp_path: Path) -> None:
    some_people(tmp_path)
    describe_population(tmp_path)
    assert run(tmp_path, K_MAP).decision.is_permitted
    prohibit(tmp_path, DECLARED)
    (review,) = reviews(smalti.Registry.open(tmp_path / "registry.sqlite"))
    assert any("prohibits the use of a column" in reason for reason in review.reasons)
    (tmp_path / "all.csv-metadata.json").unlink()
    assert not run(tmp_path, K_MAP, out=tmp_path / "again").decision.is_permitted


@pytest.mark.parametrize("part", ["", "/age", None], ids=["all", "age", "declared"])
def test_what_is_prohibited_of_the_population_during_a_run_is_not_published(
    part: str | None, tmp_path: Path
) -> None:
    class Prohibiting(Watch):
        def phase(self, name: str) -> None:
            if name == "register":
                prohibit(tmp_path, DECLARED if part is None else EVERYBODY + part)
            super().phase(name)

    some_people(tmp_path)
    describe_population(tmp_path)
    with pytest.raises(SmaltiError, match="no longer permitted: a prohibition on"):
        run(tmp_path, K_MAP, watch=Prohibiting())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("forbidden", [None, EVERYBODY, EVERYBODY + "/age", DECLARED])
def test_a_policy_test_expects_no_plan_that_the_population_denies(
    forbidden: str | None, tmp_path: Path
) -> None:
    some_people(tmp_path)
    describe_population(tmp_path)
    document = policy(tmp_path, K_MAP)
    if forbidden is not None:
        document.write_text(document.read_text() + f"prohibit:\n  - action: use\n    target: {forbidden}\n")
    asked = {"party": PARTY, "action": "anonymize", "target": SICK, "purpose": "statistical"}
    expected = {"effect": "permit", "plan": {"data": "sick.csv", "population": "all.csv"}}
    cases = {
        "policies": ["policy.yaml"],
        "tests": [{"name": "run", "request": asked, "expect": expected}],
    }
    (tmp_path / "tests.json").write_text(json.dumps(cases))
    done = cli("test", str(tmp_path / "tests.json"), cwd=tmp_path)
    assert done.code == (forbidden is not None)
    assert ("a prohibition on `http://org/all` applies" in done.out + done.err) == (forbidden is not None)


def test_a_prohibition_for_another_purpose_does_not_apply(tmp_path: Path) -> None:
    some_people(tmp_path)
    run(tmp_path, K_MAP)
    marketing = "https://www.mosaicrown.eu/ns/mosaicrown/1/marketing"
    prohibit(
        tmp_path,
        EVERYBODY,
        constraint=[{"leftOperand": "purpose", "operator": "eq", "rightOperand": {"@id": marketing}}],
    )
    assert run(tmp_path, K_MAP, out=tmp_path / "again").decision.is_permitted


def test_a_population_is_bound_by_who_owns_it(tmp_path: Path) -> None:
    some_people(tmp_path)
    run(tmp_path, K_MAP)
    stranger = tmp_path / "stranger.yaml"
    text = (
        policy(tmp_path, K_MAP).read_text().replace(SICK, "http://org/mine").replace(OWNER, "http://org/s")
    )
    stranger.write_text(text.replace("org/policy", "org/other").replace("org/out", "org/theirs"))
    (tmp_path / "mine.csv").write_bytes((tmp_path / "sick.csv").read_bytes() + b"p0,20,A,i9\n")
    choices: dict[str, Any] = {
        "document": stranger, "owner": "http://org/s", "out": tmp_path / "theirs",
        "target": "http://org/mine", "file": "mine.csv",
    }  # fmt: skip
    with pytest.raises(SmaltiError, match="does not own `http://org/all`"):
        run(tmp_path, K_MAP, **choices)
    stranger.write_text(stranger.read_text().replace(EVERYBODY, "http://org/copy"))
    with pytest.raises(SmaltiError, match="registered under another IRI"):
        run(tmp_path, K_MAP, **choices)


def test_who_withdrew_from_the_population_is_not_counted(tmp_path: Path) -> None:
    some_people(tmp_path, count=13, every=6)
    run(tmp_path, {**K_MAP, "k": 13})
    registry = smalti.Registry.open(tmp_path / "registry.sqlite")
    registry.withdraw(IRI(EVERYBODY), ["p1"], by=IRI(OWNER), column="id")
    with pytest.raises(SmaltiError, match="cannot meet k-map"):
        run(tmp_path, {**K_MAP, "k": 13}, out=tmp_path / "again")
    run(tmp_path, {**K_MAP, "k": 12}, out=tmp_path / "again")


# --- The verifier


def test_the_verifier_refuses_what_the_population_does_not_cover(tmp_path: Path) -> None:
    everybody, sick = some_people(tmp_path)
    plan = run(tmp_path, K_MAP).plan
    assert isinstance(plan, Plan)
    link = linked(tmp_path, sick)

    def verified(population: Rows) -> None:
        write_csv(tmp_path / "other.csv", OF_ALL, population)
        verify_run(
            plan,
            Original(tmp_path / "sick.csv", OutputFormat.CSV),
            Output(tmp_path / "out", OutputFormat.CSV, (tmp_path / "out" / "out.csv",)),
            link,
            population=OriginalPopulation(
                Original(tmp_path / "other.csv", OutputFormat.CSV), tuple(OF_ALL)
            ),
        )

    verified(everybody)
    needed = {row[0] for row in sick}
    with pytest.raises(GuaranteeError, match="covers too few persons"):
        verified([row for row in everybody if row[0] in needed])
    with pytest.raises(GuaranteeError, match="not among the persons"):
        verified([row for row in everybody if row[0] != sick[0][0]])


def test_the_verifier_refuses_classes_that_cover_a_person_twice(tmp_path: Path) -> None:
    """A label that is too wide keeps its original and every share, and is no share of anybody."""
    _, sick = some_people(tmp_path)
    plan = run(tmp_path, {"method": "delta-presence", "presence": "{at-most: 1}"}).plan
    assert isinstance(plan, Plan)
    link = np.load(linked(tmp_path, sick))
    rows = [list(row.values()) for row in published(tmp_path)]
    rows[0][0] = "[20..50]"
    order = sorted(range(len(rows)), key=lambda place: [text.encode() for text in rows[place]])
    (tmp_path / "wide").mkdir()
    write_csv(tmp_path / "wide" / "out.csv", ["age", "city", "illness"], [rows[place] for place in order])
    np.save(tmp_path / "link.npy", link[order])
    with pytest.raises(GuaranteeError, match="several classes cover one person"):
        verify_run(
            plan,
            Original(tmp_path / "sick.csv", OutputFormat.CSV),
            Output(tmp_path / "wide", OutputFormat.CSV, (tmp_path / "wide" / "out.csv",)),
            tmp_path / "link.npy",
            population=OriginalPopulation(Original(tmp_path / "all.csv", OutputFormat.CSV), tuple(OF_ALL)),
        )


def linked(folder: Path, sick: Rows) -> Path:
    """A link from published rows to rows of the target."""
    free, link = list(range(len(sick))), []
    for row in published(folder):
        place = next(
            place for place in free
            if sick[place][3] == row["illness"]
            and covers(row["age"], sick[place][1]) and covers(row["city"], sick[place][2])
        )  # fmt: skip
        free.remove(place)
        link.append(place)
    np.save(folder / "link.npy", np.array(link, np.int64))
    return folder / "link.npy"
