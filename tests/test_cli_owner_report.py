"""`smalti run --page --report`: what attacks achieve on an output; made in the run, for its owner alone."""

import csv
import json
import random
import re
import stat
from collections import defaultdict
from pathlib import Path
from typing import Any

import kind_worlds as worlds
import pytest
from shell import CUSTOMER, OWNER, USER, listing, request, small_policy, small_table, smalti

import smalti as api
from smalti.engine.plan.examination import AttackFigures, Examination, TableAttack
from smalti.engine.plan.kinds import Kind
from smalti.errors import InternalError, UsageError

OTHER = "http://example.com/party/other"
ILLNESSES = ("flu", "gout", "asthma", "cold")
REPORTS = ("--page", "o.html", "--report", "o.json")


def table(folder: Path, *, several: bool = False, count: int = 60) -> Path:
    """People of whom the young mostly have the flu; with `several`, two rows each."""
    draw = random.Random(5)
    rows = []
    for number in range(count):
        person, age = number // 2 if several else number, 20 + draw.randrange(30)
        illness = "flu" if age < 30 and draw.random() < 0.7 else draw.choice(ILLNESSES)
        rows.append([f"p{person}", str(age), draw.choice(["Rome", "Oslo", "Bern"]), illness])
    return small_table(folder, rows, respondent="who" if several else None)


def examined(folder: Path, policy: Path, name: str = "out", **choices: Any) -> tuple[Examination, Path]:
    outcome = api.run(
        policy, data={CUSTOMER: folder / "people.csv"}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / name, registry=folder / f"{name}.sqlite", examine=True, **choices,
    )  # fmt: skip
    assert outcome.examination is not None
    return outcome.examination, folder / name / "anonCustomer.csv"


def by_name(examination: Examination) -> dict[TableAttack, AttackFigures]:
    return {figures.attack: figures for figures in examination.attacks}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("several", [False, True], ids=["one row each", "two rows each"])
def test_attacks_hit_whom_they_hit_in_the_published_table(tmp_path: Path, several: bool) -> None:
    """What the published rows show suffices where each row is about another person."""
    table(tmp_path, several=several)
    examination, output = examined(tmp_path, small_policy(tmp_path, k=("gteq", 3)))
    rows, original = read(output), read(tmp_path / "people.csv")
    attacks, people = by_name(examination), {row["who"] for row in original}
    assert examination.respondents == len(people)
    classes, exact = defaultdict(list), defaultdict(list)
    for row in rows:
        classes[row["age"], row["city"]].append(row["illness"])
    for row in original:
        exact[row["age"], row["city"]].append((row["who"], row["illness"]))
    assert examination.figures.classes == len(classes)
    alone = [holders for holders in exact.values() if len({who for who, _ in holders}) == 1]
    assert attacks[TableAttack.IDENTITY].unprotected == len({who for held in alone for who, _ in held})
    assert attacks[TableAttack.IDENTITY].hits == 0
    assert attacks[TableAttack.HOMOGENEITY].hits == 0
    if several:
        return
    told = [held for held in exact.values() if len({illness for _, illness in held}) == 1]
    assert attacks[TableAttack.HOMOGENEITY].unprotected == sum(map(len, told))
    two = [held for held in classes.values() if len(set(held)) <= 2]
    assert attacks[TableAttack.BACKGROUND_KNOWLEDGE].hits == sum(map(len, two))
    shares = {name: sum(row["illness"] == name for row in rows) / len(rows) for name in ILLNESSES}
    skewed = sum(
        held.count(name)
        for held in classes.values()
        for name in set(held)
        if held.count(name) / len(held) >= max(0.5, 2 * shares[name])
    )
    assert attacks[TableAttack.SKEWNESS].hits == skewed
    most = sum(max(map(held.count, held)) for held in classes.values())
    de_finetti = attacks[TableAttack.DE_FINETTI]
    assert de_finetti.without is not None
    assert de_finetti.hits is not None
    assert de_finetti.without <= most
    assert attacks[TableAttack.SIMILARITY].note


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    place = table(tmp_path)
    policy = small_policy(tmp_path, method=("eq", "l-diversity"), k=("gteq", 3), l=("gteq", 2))
    first, _ = examined(tmp_path, policy)
    header, *rows = place.read_text(encoding="utf-8").splitlines()
    random.Random(1).shuffle(rows)
    place.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    again, _ = examined(tmp_path, policy, "again")
    assert first == again
    assert by_name(first)[TableAttack.MINIMALITY].hits is not None


@pytest.mark.parametrize(
    "engine_words", ["partitioning: relaxed", "algorithm: mdav", "algorithm: incognito"]
)
def test_what_is_examined_is_what_was_written(tmp_path: Path, engine_words: str) -> None:
    table(tmp_path)
    (tmp_path / "policy.yaml").write_text(
        f"policy: http://example.com/policy/small\nowner: {OWNER}\nparty: {USER}\ntarget: {CUSTOMER}\n"
        f"purpose: marketing\nmethod: k-anonymity\nk: 4\none-row-each: true\n{engine_words}\n"
        "quasi-identifiers: [age]\nsensitive: [illness]\nreleased: [city]\noutput: http://example/anonCustomer\n",
        encoding="utf-8",
    )
    examination, output = examined(tmp_path, tmp_path / "policy.yaml")
    assert examination.figures.rows == len(read(output))
    assert {figures.column for figures in examination.attacks} == {None, "illness", "city"}
    notes = {each.note for each in examination.attacks if each.attack is TableAttack.MINIMALITY}
    assert "it is worked out for strict Mondrian, where each row is about another person" in notes


def test_other_classes_than_were_written_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace  # noqa: PLC0415

    from smalti.engine.anonymization import capability  # noqa: PLC0415

    real = capability.examine

    def other(*arguments: Any) -> Examination:
        examination = real(*arguments)
        return replace(examination, figures=replace(examination.figures, classes=1))

    table(tmp_path)
    monkeypatch.setattr(capability, "examine", other)
    with pytest.raises(InternalError, match="other classes were examined"):
        examined(tmp_path, small_policy(tmp_path))
    assert not (tmp_path / "out").exists()


# --- Who sees it, and where it is


def test_both_files_are_the_owners_and_nothing_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    table(tmp_path)
    policy = small_policy(tmp_path, k=("gteq", 3))
    ran = smalti("run", policy, *request(tmp_path / "people.csv"), "--out", "out", *REPORTS, cwd=tmp_path)
    assert ran.code == 0, ran
    assert "attacks      identity hits 0, " in ran.out
    for name in ("o.html", "o.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert "deFinetti" in page
    assert not re.findall(r"""(?:src|href)\s*=""", page)
    assert not any(value in page for value in ("Rome", *ILLNESSES))
    document = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert document["ownerReport"]["k"] == document["examination"]["figures"]["k"]
    assert [each["queries"] for each in document["examination"]["queries"]] == [500, 500]
    recorded = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name not in ("o.html", "o.json")
    ]
    assert not [path for path in recorded if b"deFinetti" in path.read_bytes()]


def test_without_the_options_nothing_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path)
    monkeypatch.setattr("smalti.engine.anonymization.capability.examine", None)
    policy = small_policy(tmp_path)
    ran = smalti("run", policy, *request(tmp_path / "people.csv"), "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran


def test_others_than_the_owner_are_refused_by_name(tmp_path: Path) -> None:
    table(tmp_path)
    policy = small_policy(tmp_path)
    data = request(tmp_path / "people.csv")
    assert smalti("run", policy, *data, "--out", "out", cwd=tmp_path).code == 0
    before = listing(tmp_path)
    stranger = request(tmp_path / "people.csv", owner=None)
    refused = smalti("run", policy, *stranger, "--out", "o", *REPORTS, cwd=tmp_path)
    assert refused.code == 2, refused
    assert f"{USER} does not own all of" in " ".join(refused.err.split())
    assert listing(tmp_path) == before


@pytest.mark.parametrize("more", [("--dry-run",), ()])
def test_what_cannot_be_written_is_refused_before_the_run(tmp_path: Path, more: tuple[str, ...]) -> None:
    table(tmp_path)
    if not more:
        (tmp_path / "o.json").write_text("kept")
    policy = small_policy(tmp_path)
    options = ("--out", "out", "--report", "o.json", "--page", "nowhere/o.html", *more)
    refused = smalti("run", policy, *request(tmp_path / "people.csv"), *options, cwd=tmp_path)
    assert refused.code == 2
    assert refused.err.count("expected") == 2, "both problems at once"
    assert not (tmp_path / "out").exists()
    assert more or (tmp_path / "o.json").read_text() == "kept"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.ANONYMIZATION])
def test_other_kinds_have_no_classes_to_attack(tmp_path: Path, kind: Kind) -> None:
    policy = worlds.write(tmp_path, kind)
    with pytest.raises(UsageError, match="no classes of generalised rows"):
        api.run(policy, out=tmp_path / "out", examine=True, **worlds.asked(tmp_path, kind))
    assert not (tmp_path / "out").exists()
