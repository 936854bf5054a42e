"""`smalti audit generative`: members found where samples copy them, and chance where they copy others."""

import json
import re
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from shell import Ran, smalti

from smalti.cli.auditing_generative import generative
from smalti.cli.performing import perform
from smalti.engine.jobs.requests import GenerativeAudit
from smalti.engine.registry.job_entries import JobResult
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.distances import DistanceName

RECORDS, WIDTH, SIZE = 60, 6, 10


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("world"), np.random.default_rng(1)
    members, others, elsewhere = draw.normal(size=(3, RECORDS, WIDTH))
    for name, records in {
        "members": members,
        "others": others,
        "copies": np.tile(members, (3, 1)),
        "elsewhere": np.tile(elsewhere, (3, 1)),
        "narrow": members[:, 1:],
        "transposed": members.reshape(-1, 2, 3),
        "constant": np.ones((50, WIDTH)),
        "one": members[:1],
        "few": members[: SIZE - 1],
    }.items():
        np.save(folder / f"{name}.npy", records)
    (folder / "text.csv").write_text("age,city\n31,Graz\n4,Linz\n")
    return folder


def audit(folder: Path, samples: str | None, *more: str, members: str = "members.npy",
          others: str = "others.npy", attack: str = "monte-carlo") -> Ran:  # fmt: skip
    return smalti(
        "audit", "generative", "--members", members, "--others", others, "--size", str(SIZE),
        "--attack", attack, *([] if samples is None else ["--samples", f"{samples}.npy"]), *more,
        cwd=folder,
    )  # fmt: skip


def test_members_are_found_where_samples_copy_them_and_not_where_they_copy_others(world: Path) -> None:
    files = world / "page.html", world / "report.json"
    more = ("--attack", "mc-distance", "--attack", "kernel-density")
    ran = audit(world, "copies", *more, "--page", str(files[0]), "--report", str(files[1]))
    assert ran.code == 0, ran.err
    assert "The best attack (monte-carlo, plain) is right about 100.0% of single records" in ran.out
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert "nothing was registered" in files[0].read_text()
    told = audit(world, "copies", *more, "--format", "json")
    assert files[1].read_text() == told.out
    shown = told.json
    assert (shown["members"], shown["others"], shown["samples"]) == (RECORDS, RECORDS, 3 * RECORDS)
    for each in shown["attacks"]:
        single, sets = each["singleMembership"], each["setMembership"]
        assert min(sets["value"], sets["average"]) == 1, each["attack"]
        assert min(single["value"], single["average"]) > (0.9 if "kernel" in each["attack"] else 0.99)
        assert single["lower"] > 0.5
        assert sets["lower"] == pytest.approx(0.05 ** (1 / 6)), "Clopper and Pearson"
    for each in audit(world, "elsewhere", *more, "--format", "json").json["attacks"]:
        single = each["singleMembership"]
        assert abs(single["value"] - 0.5) < 0.25, "120 records, 5 deviations"
        assert single["lower"] < 0.5 < single["upper"]


def test_a_command_is_a_sampler_and_others_are_a_reference(world: Path) -> None:
    script = "import sys,shutil; shutil.copy('copies.npy', sys.argv[1])"
    shown = audit(
        world, None, "--command", f'"{sys.executable}" -c "{script}" {{file}}.npy', "--number", "150",
        "--distance", "pca", "--format", "json",
    ).json  # fmt: skip
    assert (shown["model"], shown["samples"]) == ("the sampling command", 150)
    assert (shown["members"], shown["reference"]) == (45, 15), "a quarter of the others"
    assert shown["attacks"][0]["attack"] == "monte-carlo, pca"
    assert shown["attacks"][0]["singleMembership"]["value"] > 0.9


@pytest.mark.parametrize(
    ("samples", "more", "problem"),
    [
        ("narrow", {}, "is 5 numbers; expected 6 numbers"),
        ("transposed", {}, "is 2 x 3 numbers; expected 6 numbers"),
        ("few", {"number": "500"}, "9 samples; expected 500"),
        ("constant", {}, "all samples are the same"),
        ("copies", {"members": "one.npy"}, "there is a single member"),
        ("copies", {"members": "few.npy"}, "too few members or others; expected 10 of each"),
        ("copies", {"others": "narrow.npy"}, "the shape differ"),
        ("copies", {"members": "text.csv", "others": "text.csv"}, "column `city`: some values are missing"),
        ("copies", {"label": "age"}, "labels in a file beside each"),
        ("copies", {"distance": "hog"}, "records are no images"),
        ("copies", {"distance": "manhattan"}, "expected one of plain, pca, hog, colours, gower"),
        ("copies", {"distance": "gower", "attack": "kernel-density"}, "`gower` has no kernel density"),
        ("copies", {"distance": "gower", "members": "text.csv", "others": "text.csv"}, "too few members"),
        ("copies", {"attack": "linkability", "side": "9"}, "there is no column `9`"),
        ("narrow", {"attack": "singling-out"}, "is 5 numbers; expected 6 numbers"),
        ("constant", {"attack": "attribute-inference"}, "all samples are the same"),
        ("copies", {"attack": "linkability", "members": "one.npy"}, "there is a single member"),
        ("few", {"attack": "singling-out", "number": "500"}, "9 samples; expected 500"),
        ("copies", {"attack": "reconstruction"}, "there are samples alone"),
        ("copies", {"model": "x.safetensors"}, "not one thing"),
        (None, {"command": "true"}, "it has no {file}"),
        (None, {"model": "x.safetensors"}, "not a generative model that smalti can read"),
    ],
)  # fmt: skip
def test_what_cannot_be_attacked_ends_clearly(
    world: Path, samples: str | None, more: dict[str, str], problem: str
) -> None:
    names = {name: more[name] for name in ("members", "others", "attack") if name in more}
    options = [word for name, text in more.items() if name not in names for word in (f"--{name}", text)]
    ran = audit(world, samples, *options, **names)
    assert ran.code in {1, 2}, ran.err
    assert problem in re.sub(r"\s+", " ", ran.err)
    assert "Graz" not in ran.err


RISKS = ("singling-out", "linkability", "attribute-inference")


def table(draw: np.random.Generator, count: int) -> list[str]:
    numbers, towns = draw.integers(0, 10**6, (2, count)), draw.choice(["Graz", "Linz", ""], count)
    return [f"{one / 10},{two},{town}" for one, two, town in zip(*numbers, towns, strict=True)]


def test_rows_of_tables_are_compared_by_gowers_distance_and_their_risks_are_shown(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    members, others, elsewhere = (table(draw, count) for count in (60, 90, 60))
    copies = [members[place] for place in draw.permutation(60)]
    for name, rows in {"m": members, "o": others, "copies": copies, "new": elsewhere}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["income,debt,town", *rows, ""]))
    asked = [word for attack in RISKS for word in ("--attack", attack)]
    shown = {}
    for samples in ("copies", "new"):
        ran = smalti(
            "audit", "generative", "--members", "m.csv", "--others", "o.csv", "--samples", f"{samples}.csv",
            "--attack", "nearest-record", "--distance", "gower", "--size", "10", "--side", "income", *asked,
            "--secret", "town", "--secret", "debt", "--format", "json", cwd=tmp_path,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        shown[samples] = ran.json
    assert (shown["new"]["members"], shown["new"]["reference"]) == (60, 30), "ranges are of other records"
    for samples, least, most in (("copies", 0.3, 1), ("new", 0, 0)):
        (nearest,) = shown[samples]["attacks"]
        assert nearest["attack"] == "nearest-record, gower"
        assert (nearest["singleMembership"]["value"] > 0.9) is (samples == "copies")
        risks = {(each["attack"], each["about"]): each for each in shown[samples]["risks"]}
        assert [*risks] == [
            ("singling-out", "univariate"), ("singling-out", "multivariate"),
            ("linkability", "income | debt, town"),
            ("attribute-inference", "debt"), ("attribute-inference", "town"),
        ]  # fmt: skip
        for about, each in risks.items():
            assert least <= each["risk"]["lower"] <= most, about
    ran = smalti(
        "audit", "generative", "--members", "m.csv", "--others", "o.csv", "--samples", "new.csv",
        "--attack", "attribute-inference", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "The greatest risk is attribute-inference" in ran.out
    assert "single membership" not in ran.out


def test_help_names_every_attack_and_distance() -> None:
    texts = {option.name: getattr(option, "help", "") for option in generative.params}
    assert all(name in texts["attacks"] for name in GenerativeAttack)
    assert all(name in texts["distances"] for name in DistanceName)


def test_a_job_audits_samples(world: Path, tmp_path: Path) -> None:
    places = {name: str(world / f"{name}.npy") for name in ("members", "others")}
    request = GenerativeAudit(
        **places, samples=str(world / "copies.npy"), attacks=("monte-carlo",), size=SIZE,
        page=str(tmp_path / "p.html"),
    )  # fmt: skip
    report = tmp_path / "report.json"
    assert perform(request, "r.sqlite", report) == JobResult(0, report=report)
    (attack,) = json.loads(report.read_text())["attacks"]
    assert attack["singleMembership"]["value"] == 1
    assert "monte-carlo" in (tmp_path / "p.html").read_text()
