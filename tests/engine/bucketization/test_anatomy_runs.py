"""Whole runs of Anatomy by a policy: what is published, and what is refused by name, without a trace."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hospital import FIGURE_3_4_COUNTS, FIGURE_3_4_GROUPS, HOSPITAL
from shell import OWNER, ROOT, USER, Ran
from shell import smalti as command
from tables import read_csv, write_csv

import smalti
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.registry.registry import Registry

TARGET = "http://example.com/patients"
HEADER = ("who", "age", "city", "illness")
ROWS = [[f"p{n}", str(30 + n % 7), "RO"[n % 2], ["flu", "gout", "cold", ""][n % 4]] for n in range(24)]
MORE = [[f"q{n}", "1", "R", "flu"] for n in range(9)]
MANY_ALIKE = [[*row[:3], "flu"] if n < 9 else row for n, row in enumerate(ROWS)]
REQUEST = (
    "--data", f"{TARGET}=patients.csv", "--as", USER, "--owner", OWNER, "--purpose", "statistical",
)  # fmt: skip
POLICY: Mapping[str, Any] = {
    "policy": "http://example.com/policy/patients",
    "owner": OWNER,
    "party": USER,
    "target": TARGET,
    "purpose": "statistical",
    "method": "l-diversity",
    "algorithm": "anatomy",
    "l": 3,
    "one-row-each": True,
    "identifiers": ["who"],
    "quasi-identifiers": ["age", "city"],
    "sensitive": ["illness"],
    "output": "http://example.com/patients-in-groups",
}


def write(folder: Path, words: Mapping[str, Any], rows: list[list[str]], header: tuple[str, ...]) -> None:
    write_csv(folder / "patients.csv", header, rows)
    stated = {word: value for word, value in {**POLICY, **words}.items() if value is not None}
    lines = (f"{word}: {json.dumps(value)}\n" for word, value in stated.items())
    (folder / "policy.yaml").write_text("".join(lines))


def run(
    folder: Path,
    words: Mapping[str, Any] = {},
    rows: list[list[str]] = ROWS,
    *more: str,
    header: tuple[str, ...] = HEADER,
) -> Ran:
    write(folder, words, rows, header)
    return command(
        "run", "policy.yaml", *REQUEST, "--out", "out", "--registry", "r.sqlite", *more, cwd=folder
    )


def report(folder: Path) -> Any:
    return Registry.open(folder / "r.sqlite").all_versions()[0].report


def assert_nothing_came_of_it(folder: Path) -> None:
    assert not (folder / "out").exists()
    assert Registry.open(folder / "r.sqlite").all_versions() == ()
    assert not list(folder.glob(".smalti*"))


def test_missing_values_are_values_and_names_are_kept_apart(tmp_path: Path) -> None:
    """A column of the data may be called as the numbers of groups are."""
    rows = [[who, age, city, illness] for who, age, city, illness in ROWS]
    done = run(tmp_path, {"l": 4, "quasi-identifiers": ["group", "count"]}, rows,
               header=("who", "group", "count", "illness"))  # fmt: skip
    assert done.code == 0, done
    header, records = read_csv(tmp_path / "out" / "quasi-identifiers.csv")
    assert header == ["group", "count", "group_"]
    values_header, values = read_csv(tmp_path / "out" / "sensitive.csv")
    assert values_header == ["group_", "illness", "count_"]
    assert len(records) == 24
    assert {value for _, value, _ in values} == {"flu", "gout", "cold", ""}
    assert "published exactly, so that no k is promised" in " ".join(done.out.split())


PATIENTS = [line.split(",") for line in HOSPITAL.splitlines()]
OUR_COUNTS = [
    ["achlorhydria", "helicobacter", "stroke"],
    ["dermatitis", "dyspepsia", "epilepsy"],
    ["dermatitis", "dyspepsia", "helicobacter", "retinitis", "stroke"],
    ["epilepsy", "gastritis", "helicobacter"],
    ["gastritis", "helicobacter", "labyrinthitis"],
]


def test_figure_3_4_is_coarser_than_the_groups_of_a_run_and_both_have_three_diseases(
    tmp_path: Path,
) -> None:
    """Its groups are the classes of Figure 3.3; Anatomize takes one record of each of l values."""
    header = ("DoB", "Sex", "ZIP", "Disease")
    words = {"identifiers": None, "quasi-identifiers": ["DoB", "Sex", "ZIP"], "sensitive": ["Disease"]}
    assert run(tmp_path, words, PATIENTS, header=header).code == 0
    _, records = read_csv(tmp_path / "out" / "quasi-identifiers.csv")
    groups: dict[str, Counter[str]] = {}
    for group, disease, count in read_csv(tmp_path / "out" / "sensitive.csv")[1]:
        groups.setdefault(group, Counter())[disease] += int(count)

    classes: dict[tuple[str, ...], list[int]] = {}
    for number, (born, sex, code, _) in enumerate(PATIENTS, 1):
        classes.setdefault((born[:4], sex, code[:3]), []).append(number)
    of_figure = sorted(members for members in classes.values() if len(members) > 1)
    assert of_figure == sorted(map(list, FIGURE_3_4_GROUPS)), "its groups are the classes of Figure 3.3"
    assert [members for members in classes.values() if len(members) == 1] == [[11]]

    # In both: at least l = 3 diseases in each group, as many values as records, each patient's disease in
    # the patient's group, and of all groups the diseases of all patients who are published.
    figure = [
        (members, Counter(counts))
        for members, counts in zip(FIGURE_3_4_GROUPS, FIGURE_3_4_COUNTS, strict=True)
    ]
    numbers = {tuple(row[:3]): number for number, row in enumerate(PATIENTS, 1)}
    ours = [
        (tuple(numbers[row[0], row[1], row[2]] for row in records if row[3] == group), counts)
        for group, counts in groups.items()
    ]
    for name, published, left_out in (("figure", figure, [11]), ("run", ours, [])):
        assert all(len(counts) >= 3 for _, counts in published), name
        assert all(counts.total() == len(members) for members, counts in published), name
        assert all(PATIENTS[member - 1][3] in counts for members, counts in published for member in members)
        together = sum((counts for _, counts in published), Counter())
        diseases = Counter(row[3] for number, row in enumerate(PATIENTS, 1) if number not in left_out)
        assert together == diseases, name
    assert len(records) == 17

    # What differs.
    assert sorted(len(members) for members, _ in figure) == [4, 4, 4, 4]
    assert sorted(len(members) for members, _ in ours) == [3, 3, 3, 3, 5]
    assert max(max(counts.values()) / counts.total() for _, counts in figure) == 1 / 2
    assert max(max(counts.values()) / counts.total() for _, counts in ours) == 1 / 3
    assert sorted(sorted(counts) for _, counts in ours) == OUR_COUNTS


def test_the_certificate_promises_distinct_l_and_nothing_of_the_data(tmp_path: Path) -> None:
    assert run(tmp_path, {"suppression-limit": 0.5}, [*ROWS, *MORE]).code == 0
    certificate = (tmp_path / "out" / "certificate.jsonld").read_text()
    guarantee = json.loads(certificate)["guarantee"]
    assert (guarantee["model"], guarantee["technique"], guarantee["l"]) == ("l-diversity", "anatomy", 3)
    assert "k" not in guarantee
    assert "distinct l-diversity" in guarantee["statement"]
    assert "no k is promised" in guarantee["statement"]
    assert guarantee["suppressionLimit"] == "1/2"
    left_out = report(tmp_path).rows_suppressed
    assert left_out == 33 - report(tmp_path).rows_out > 0
    assert "suppressed" not in certificate.replace("suppressionLimit", "")


@pytest.mark.parametrize(
    ("words", "rows", "problem"),
    [
        ({}, MANY_ALIKE, "cannot make groups of"),
        ({"suppression-limit": 0.01}, MANY_ALIKE, "beyond those that may be left out"),
        ({"l": 5}, ROWS, "groups of 5 different values"),
        ({"l": 30}, ROWS, "groups of 30 different values"),
        ({}, [], "cannot make groups of"),
        ({"sensitive": ["illness", "city"], "quasi-identifiers": ["age"]}, ROWS, "several sensitive"),
        ({"alpha": 0.5}, ROWS, "`alpha` is not implemented yet for the algorithm `anatomy`"),
        ({"diversity": "entropy"}, ROWS, "`diversity` is not implemented yet for the algorithm"),
        ({"k": 5}, ROWS, "has no refinement"),
        ({"method": "k-anonymity", "l": None, "k": 5}, ROWS, "the algorithm `anatomy` cannot meet"),
        ({"one-row-each": None, "respondent": "who"}, [*ROWS, ROWS[0]], "with several rows"),
        ({"one-row-each": None, "respondent": "city"}, ROWS, "would be published exactly"),
        ({"one-row-each": None}, ROWS, "no respondent is declared"),
        ({"quasi-identifiers": ["age", "town"]}, ROWS, "has no column"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(
    tmp_path: Path, words: Mapping[str, Any], rows: list[list[str]], problem: str
) -> None:
    refused = run(tmp_path, words, rows)
    assert refused.code == 1, refused
    text = " ".join((refused.out + refused.err).split())
    assert problem in text
    assert "flu" not in text
    assert_nothing_came_of_it(tmp_path)


def test_two_spellings_of_a_limit_have_one_plan(tmp_path: Path) -> None:
    plans = []
    for limit in (0.1, 0.10, "1e-1"):
        write(tmp_path, {"suppression-limit": limit}, ROWS, HEADER)
        text = (tmp_path / "policy.yaml").read_text().replace('"1e-1"', "0.100")
        (tmp_path / "policy.yaml").write_text(text)
        planned = smalti.plan(tmp_path / "policy.yaml", data={TARGET: tmp_path / "patients.csv"})
        assert planned.plan is not None
        assert plan_from_json(plan_to_json(planned.plan)) == planned.plan
        plans.append(plan_digest(planned.plan))
    assert len(set(plans)) == 1


def test_options_of_generalised_rows_are_refused(tmp_path: Path) -> None:
    refused = run(tmp_path, {}, ROWS, "--rows-per-part", "5")
    assert refused.code == 2
    assert "apply to generalised rows only" in refused.message
    assert_nothing_came_of_it(tmp_path)


def test_a_diversity_that_is_distinct_says_nothing_new(tmp_path: Path) -> None:
    assert run(tmp_path, {"diversity": "distinct"}).code == 0


@pytest.mark.parametrize(("stated", "asked", "code"), [(3, "4", 0), (3, "2", 1), ({"exactly": 3}, "4", 1)])
def test_a_run_may_ask_for_more(tmp_path: Path, stated: Any, asked: str, code: int) -> None:
    done = run(tmp_path, {"l": stated}, ROWS, "--with", f"l={asked}")
    assert done.code == code, done
    if code == 0:
        assert report(tmp_path).diversity[0].l == 4


def test_the_owner_is_told_what_the_data_can_meet(tmp_path: Path) -> None:
    refused = run(tmp_path, {}, MANY_ALIKE)
    tried = command("try", "policy.yaml", *REQUEST, cwd=tmp_path)
    assert tried.code == 1
    assert "illness: l = 2 with all of them" in tried.message
    assert "l = 2" not in refused.out + refused.err
    write(tmp_path, {}, ROWS, HEADER)
    varied = ("--vary", "l=2", "--vary", "l=1", "--vary", "k=5")
    done = command("try", "policy.yaml", *REQUEST, *varied, "--format", "json", cwd=tmp_path)
    two, one, k = done.json["variations"]
    assert two["ownerReport"]["groups"] == 12
    assert (one["problem"], k["problem"]) == ("l = 1 promises nothing", "the policy states no k")


def prohibition(target: str, *refinements: dict[str, Any]) -> dict[str, Any]:
    action = [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [*refinements]}]
    return {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld"],
        "@type": "Set",
        "uid": "http://example.com/policy/no",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        "prohibition": [
            {
                "uid": "http://example.com/policy/no/1",
                "target": target,
                "assignee": USER,
                "action": action if refinements else "odrl:use",
            }
        ],
    }


WEAK = {
    "any": (),
    "k": ({"leftOperand": "mosaicrown:k", "operator": "lt", "rightOperand": 10},),
    "l": ({"leftOperand": "mosaicrown:l", "operator": "lt", "rightOperand": 3},),
}


@pytest.mark.parametrize("limit", [*WEAK])
@pytest.mark.parametrize(("column", "denied"), [("age", "any k l"), ("illness", "any k"), ("who", "")])
def test_prohibitions_on_columns_are_kept(tmp_path: Path, limit: str, column: str, denied: str) -> None:
    """A quasi-identifier is published as it is: the l of the transformation is not about it."""
    is_denied, refinements = limit in denied, WEAK[limit]
    write(tmp_path, {}, ROWS, HEADER)
    document = json.dumps(prohibition(f"{TARGET}/{column}", *refinements)).encode()
    (tmp_path / "no.jsonld").write_bytes(document)
    added = command("policy", "add", "no.jsonld", "--as", OWNER, "--registry", "r.sqlite", cwd=tmp_path)
    assert added.code == 0, added
    done = run(tmp_path)
    assert done.code == int(is_denied), done
    if is_denied:
        assert_nothing_came_of_it(tmp_path)


def test_the_example_policy_runs(tmp_path: Path) -> None:
    survey = "http://example.com/survey/contraceptive"
    outcome = smalti.run(
        ROOT / "examples" / "policies" / "contraceptive-anatomy.jsonld",
        data={survey: ROOT / "examples" / "data" / "contraceptive.csv"},
        party="http://example.com/party/researcher",
        owner=OWNER,
        purpose="statistical",
        out=tmp_path / "out",
        registry=tmp_path / "r.sqlite",
    )
    assert outcome.version is not None
    header, records = read_csv(tmp_path / "out" / "quasi-identifiers.csv")
    assert (header, len(records)) == (["age", "education", "children", "group"], 1473)
    counts = [int(count) for _, _, count in read_csv(tmp_path / "out" / "sensitive.csv")[1]]
    assert (sum(counts), max(counts)) == (1473, 1)
    assert len({record[-1] for record in records}) == 736


def test_check_says_in_one_sentence_what_is_not_promised(tmp_path: Path) -> None:
    write(tmp_path, {}, ROWS, HEADER)
    checked = command("check", "policy.yaml", cwd=tmp_path)
    assert checked.code == 0
    text = " ".join(checked.out.split())
    assert "`anatomy` publishes quasi-identifiers exactly: it promises distinct l, and no k" in text
    assert "2 published exactly, 1 published apart" in text


def test_rows_that_are_not_granted_and_people_who_withdrew_are_in_no_group(tmp_path: Path) -> None:
    words = {"one-row-each": None, "respondent": "who"}
    assert run(tmp_path, words).code == 0
    (tmp_path / "gone.txt").write_text("p0\np4\np8\n")
    left = command("targets", "withdraw", TARGET, "--from", "gone.txt", "--as", OWNER,
                   "--registry", "r.sqlite", cwd=tmp_path)  # fmt: skip
    assert left.code == 0, left
    (tmp_path / "out").rename(tmp_path / "first")
    beside = run(tmp_path, words)
    assert "this kind of output is not held together with earlier releases" in beside.message
    output = str(POLICY["output"])
    part = command("targets", "discard", f"{output}/sensitive", "--as", OWNER, "--registry", "r.sqlite",
                   cwd=tmp_path)  # fmt: skip
    assert f"it is one of several tables of `{output}`" in part.message
    discarded = command("targets", "discard", output, "--as", OWNER, "--registry", "r.sqlite", cwd=tmp_path)
    assert discarded.code == 0, discarded
    stood = Registry.open(tmp_path / "r.sqlite").all_versions()
    assert len(stood) == 3
    assert all(version.discarded_at is not None for version in stood)
    assert run(tmp_path, words).code == 0
    assert len(read_csv(tmp_path / "out" / "quasi-identifiers.csv")[1]) == 21
    second = Registry.open(tmp_path / "r.sqlite").versions("http://example.com/patients-in-groups")[1]
    assert (second.report.rows_withdrawn, second.report.respondents_listed) == (3, 3)
    assert smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite", data=tmp_path / "patients.csv")
