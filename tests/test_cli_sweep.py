"""`smalti sweep`: risk against loss with many numbers; for owners alone, read once, and nothing stays."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import kind_worlds as worlds
import pytest
from shell import (
    CUSTOMER,
    OWNER,
    USER,
    listing,
    request,
    small_document,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

import smalti as api
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.kinds import Kind
from smalti.engine.run.trial import Varied
from smalti.errors import ProblemsError, SmaltiError, UsageError
from smalti.sweeping import read_points

VALUES = {row[1] for row in small_rows()} | {"Rome", "Oslo", "Bern", "flu", "gout", "asthma", "cold"}
OTHER = "http://example.com/party/other"
DRAWING = [kind for kind in Kind if kind is not Kind.ANONYMIZATION]


def binding(folder: Path) -> list[str]:
    return ["--data", f"{CUSTOMER}={folder / 'people.csv'}"]


def prepare(folder: Path, **changes: Any) -> Path:
    small_table(folder)
    return small_policy(folder, **changes)


DIVERSE: dict[str, Any] = {"method": ("eq", "l-diversity"), "k": ("gteq", 2), "l": ("gteq", 2)}


def swept(folder: Path, policy: Path, *vary: str, **choices: Any) -> "api.Sweep":
    return api.sweep(policy, data={CUSTOMER: folder / "people.csv"}, vary=vary, **choices)


# --- Points


def test_each_point_has_the_figures_and_the_digest_of_a_run_with_its_words(tmp_path: Path) -> None:
    policy = prepare(tmp_path, **DIVERSE)
    sweep = swept(tmp_path, policy, "k=2,3,4", "l=2,3")
    assert [tuple(varied.number for varied in point.numbers) for point in sweep.points] == [
        (2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3),
    ]  # fmt: skip
    for point in sweep.points:
        options = [part for word in point.words for part in ("--with", word)]
        registry = f"{'-'.join(point.words)}.sqlite"  # one each, or they would be releases together
        asked = (*request(tmp_path / "people.csv"), *options, "--registry", registry)
        planned = smalti("plan", policy, *asked, "--format", "json", cwd=tmp_path)
        out = f"out-{'-'.join(point.words)}"
        alone = ("--registry", f"{out}.sqlite")  # or it is held together with the points before
        ran = smalti("run", policy, *asked, "--out", out, *alone, "--format", "json", cwd=tmp_path)
        if point.refused:
            assert planned.code == ran.code == 1
            assert (point.numbers[0].number, point.numbers[1].number) == (2, 3)
            continue
        assert planned.json["digest"] == point.plan_digest
        certificate = (tmp_path / out / "certificate.jsonld").read_text(encoding="utf-8")
        assert point.plan_digest is not None
        assert point.plan_digest.removeprefix("sha256:") in certificate
        report, figures = ran.json["ownerReport"], point.figures
        assert figures is not None
        assert (figures.k, figures.classes, figures.rows) == (
            report["k"], report["classes"], report["rowsOut"],
        )  # fmt: skip
        assert float(figures.loss) == report["loss"]
        assert figures.respondents == report["respondents"]


def test_numbers_that_the_policy_does_not_permit_are_measured_and_said_to_be_so(tmp_path: Path) -> None:
    policy = prepare(tmp_path, **{**DIVERSE, "k": ("gteq", 4)})
    weaker, plain, stands = swept(tmp_path, policy, "k=2,4", "l=1,2").points[1:]
    assert (weaker.numbers, plain.numbers) == (
        (Varied("k", 2), Varied("l", 2)), (Varied("k", 4), Varied("l", 1)),
    )  # fmt: skip
    for point in (weaker, plain):
        assert point.figures is not None
        assert point.refused
    assert stands.figures is not None
    assert not stands.refused
    # Such a point has the plan of a policy that states its numbers.
    small_policy(tmp_path, file="weaker.jsonld", **DIVERSE)
    small_policy(tmp_path, file="plain.jsonld", k=("gteq", 4))
    for name, point in (("weaker", weaker), ("plain", plain)):
        asked = request(tmp_path / "people.csv")
        planned = smalti("plan", f"{name}.jsonld", *asked, "--format", "json", cwd=tmp_path)
        assert planned.json["digest"] == point.plan_digest


def test_plain_k_anonymity_with_sensitive_columns_is_swept_over_l(tmp_path: Path) -> None:
    plain, diverse = swept(tmp_path, prepare(tmp_path), "l=1,2").points
    assert not plain.refused
    assert plain.words == ()
    assert "it does not mention `l`" in diverse.refused
    assert diverse.figures is not None
    small_policy(tmp_path, sensitive=None)
    assert "states no l" in swept(tmp_path, tmp_path / "policy.jsonld", "l=2").points[0].problem


def test_a_point_that_cannot_be_met_says_why_to_the_owner(tmp_path: Path) -> None:
    policy = prepare(tmp_path, **DIVERSE)
    met, impossible, contradicted = (
        swept(tmp_path, policy, "k=2,13", "l=2").points + swept(tmp_path, policy, "k=2", "l=4").points
    )
    assert met.figures is not None
    assert impossible.figures is None
    assert impossible.plan_digest is not None
    assert (
        impossible.problem
        == "the data cannot meet it: everything in one class has 12 respondents; illness: l = 4"
    )
    assert contradicted.figures is None
    assert "k is below l" in contradicted.problem
    vary = ("--vary", "k=2,3,13,14", "--vary", "l=1,2,3")
    shown = smalti("sweep", policy, *binding(tmp_path), *vary, cwd=tmp_path)
    assert shown.code == 0
    said = " ".join(shown.out.split())
    assert "note k = 13, 14 and l = 1, 2, 3: the data cannot meet it: everything in one class has" in said
    assert said.count("12 respondents") == said.count("`run` refuses it") == 1
    assert "note k = 2, 3 and l = 1: `run` refuses it as the policy stands: " in said
    assert "\u2026" not in shown.out, "the table fits"
    none = smalti("sweep", policy, *binding(tmp_path), "--vary", "k=13", cwd=tmp_path)
    assert none.code == 1


def test_an_exact_bound_is_varied_too(tmp_path: Path) -> None:
    lower, stands, higher = swept(tmp_path, prepare(tmp_path, k=("eq", 3)), "k=2,3,4").points
    assert not stands.refused
    assert lower.refused
    assert "its refinement `k eq 3` is unsatisfied" in higher.refused
    assert lower.figures is not None
    assert higher.figures is not None


def test_people_with_several_rows_are_counted_once(tmp_path: Path) -> None:
    rows = [[f"p{n % 6}", *row[1:]] for n, row in enumerate(small_rows())]
    small_table(tmp_path, rows, respondent="who")
    (point,) = swept(tmp_path, small_policy(tmp_path), "k=2").points
    assert point.figures is not None
    assert point.figures.respondents == 6
    assert point.figures.rows == 12
    (impossible,) = swept(tmp_path, tmp_path / "policy.jsonld", "k=7").points
    assert "one class has 6 respondents" in impossible.problem


def test_the_data_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, opened = prepare(tmp_path), list[object]()
    real = LocalBackend.open

    def counting(self: LocalBackend, *arguments: Any) -> Any:
        opened.append(arguments)
        return real(self, *arguments)

    monkeypatch.setattr(LocalBackend, "open", counting)
    monkeypatch.setattr("smalti.engine.anonymization.capability.execute", None)
    monkeypatch.setattr("smalti.engine.anonymization.capability.verify_run", None)
    assert len(swept(tmp_path, policy, "k=2,3,4,5,6").points) == 5
    assert len(opened) == 1


# --- What comes out


def test_nothing_stays_and_no_value_comes_out(tmp_path: Path) -> None:
    policy, work = prepare(tmp_path, **DIVERSE), tmp_path / "work"
    work.mkdir()
    before = listing(tmp_path)
    vary = ("--vary", "k=2,3", "--vary", "l=1,2", "--workspace", work)
    shown = smalti("sweep", policy, *binding(tmp_path), *vary, cwd=tmp_path)
    assert shown.code == 0, shown
    assert listing(tmp_path) == before
    assert "no point is verified" in " ".join(shown.out.split())
    document = smalti("sweep", policy, *binding(tmp_path), *vary, "--format", "json", cwd=tmp_path)
    points = document.json["points"]
    assert [(point["k"], point["l"]) for point in points] == [(2, 1), (2, 2), (3, 1), (3, 2)]
    assert points[1]["with"] == ["k=2", "l=2"]
    assert document.json["recorded"] is document.json["verified"] is False
    for text in (shown.out, document.out):
        assert not {value for value in VALUES if f'"{value}"' in text}
        assert "Rome" not in text


def test_the_page_stands_alone_and_is_for_the_owner(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    policy = prepare(tmp_path, **DIVERSE)
    options = ("--vary", "k=2,3,13", "--vary", "l=1,2", "--page", "s.html", "--report", "s.json")
    assert smalti("sweep", policy, *binding(tmp_path), *options, cwd=tmp_path).code == 0
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    for name in ("s.html", "s.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert "<svg" in page
    assert "<script" not in page
    references = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'\s>)]+)""", page)
    assert all(reference.startswith("#") for reference in references), references
    assert page.count("12 respondents") == 1
    assert not any(value in page for value in VALUES if not value.isdigit())
    again = smalti("sweep", policy, *binding(tmp_path), *options, cwd=tmp_path)
    assert again.code == 2, "an existing file is not replaced"


def test_a_registry_is_only_read_and_only_owners_sweep(tmp_path: Path) -> None:
    policy = prepare(tmp_path)
    assert smalti("run", policy, *request(tmp_path / "people.csv"), "--out", "o", cwd=tmp_path).code == 0
    before = listing(tmp_path)
    common = ("sweep", policy, *binding(tmp_path), "--vary", "k=2,3", "--registry", "smalti.sqlite")
    assert smalti(*common, "--owner", OWNER, cwd=tmp_path).code == 0
    for more in ((), ("--as", OTHER), ("--as", USER, "--format", "json")):
        refused = smalti(*common, *more, cwd=tmp_path)
        assert refused.code == 2
        assert not any(value in refused.out for value in ("k = 2", '"k"'))
    assert "a sweep shows owners figures" in smalti(*common, "--as", OTHER, cwd=tmp_path).err
    assert listing(tmp_path)["smalti.sqlite"] == before["smalti.sqlite"]


def test_prohibitions_hold_for_all_points(tmp_path: Path) -> None:
    small_table(tmp_path)
    document = small_document()
    document["prohibition"] = [
        {"uid": "http://example.com/policy/small/2", "target": f"{CUSTOMER}/city", "action": "use"}
    ]
    place = tmp_path / "policy.jsonld"
    place.write_text(json.dumps(document))
    denied = smalti("sweep", place, *binding(tmp_path), "--vary", "k=2", cwd=tmp_path)
    assert denied.code == 1
    assert denied.out.startswith("deny: ")


# --- Bad input


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ([], "no word is varied"),
        (["m=2"], "`m` cannot be varied"),
        (["k"], "`k` has no numbers"),
        (["k="], "`k` has no numbers"),
        (["k=1"], "`1` is no k"),
        (["l=0"], "`0` is no l"),
        (["k=2,"], "`` is no k"),
        (["k=-2"], "`-2` is no k"),
        (["k=2;3"], "`2;3` is no k"),
        (["k=1e3"], "`1e3` is no k"),
        (["k=" + "9" * 10], "is no k"),
        (["k=2", "k=3"], "`k` is varied in several lists"),
        (["k=" + ",".join(map(str, range(2, 203)))], "at most 200"),
    ],
)
def test_what_cannot_be_varied_is_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_points(texts)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ProblemsError) as refused:
        read_points(["k=1,x", "m=3", "l="])
    assert len(refused.value.problems) == 4


def test_equal_numbers_are_one_point() -> None:
    assert read_points(["k=5,5,2"]) == ((Varied("k", 5),), (Varied("k", 2),))


def test_a_word_is_varied_or_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is varied, and asked for with --with"):
        swept(tmp_path, prepare(tmp_path), "k=2,3", parameters=["k=3"])
    points = swept(tmp_path, prepare(tmp_path, **DIVERSE), "l=2", parameters=["k=4"]).points
    assert points[0].figures is not None
    assert points[0].figures.k >= 4


@pytest.mark.parametrize("kind", DRAWING)
def test_other_kinds_have_no_numbers(tmp_path: Path, kind: Kind) -> None:
    policy = worlds.write(tmp_path, kind)
    asked = worlds.asked(tmp_path, kind) | {"party": None, "owner": None}
    del asked["registry"]
    with pytest.raises(UsageError, match="has no k or l"):
        api.sweep(policy, vary=["k=2"], **asked)


def test_first_cuts_of_a_sample_are_not_swept(tmp_path: Path) -> None:
    (point,) = swept(tmp_path, prepare(tmp_path), "k=2", first_cuts="sampled", fragments=2).points
    assert "first cuts come from a sample" in point.problem


def test_without_respondents_nothing_is_swept(tmp_path: Path) -> None:
    with pytest.raises(SmaltiError, match="--one-row-each"):
        swept(tmp_path, prepare(tmp_path, respondent=None), "k=2")
