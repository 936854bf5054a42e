"""Who plans or runs is told of texts that may have been meant as one person, or as one sensitive value."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from double_world import OWNER, TARGET, write

import smalti
from smalti.engine.anonymization.run_warnings import folded

PEOPLE = ["Ann Lee", "ann lee", "Bob", "Cy", "Di", "Eve"]
ILLNESSES = ["flu", "gout"]


@pytest.mark.parametrize(
    "texts",
    [
        ("Ann", " ann\t"), ("e\u0301", "É"), ("\uff21nn", "ann"), ("a\u200bnn", "ann"),
        ("ann  lee", "Ann\u00a0Lee"),
    ],
)  # fmt: skip
def test_what_a_reader_does_not_see_is_no_difference(texts: tuple[str, str]) -> None:
    assert len(folded(pa.array(texts)).unique()) == 1


def test_what_a_reader_sees_is_one() -> None:
    assert len(folded(pa.array(["ann", "anne", "änn", "a-nn", "7", "7.0"])).unique()) == 6


def tell(
    folder: Path, declared: dict[str, str], people: list[str], illnesses: list[str]
) -> tuple[str, str]:
    """What a plan and a run say of the columns."""
    path = write(folder, [(who, "41", illnesses[i % len(illnesses)]) for i, who in enumerate(people)])
    columns = [
        {"name": "age", "datatype": "double"},
        *({"name": n, "datatype": d} for n, d in declared.items()),
    ]
    described = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": path.name,
        "tableSchema": {"columns": columns},
    }
    (folder / "people.csv-metadata.json").write_text(json.dumps(described))
    request = {"data": {TARGET: path}, "party": OWNER, "registry": folder / "registry.sqlite"}
    planned = smalti.plan(folder / "policy.jsonld", **request)  # type: ignore[arg-type]
    outcome = smalti.run(folder / "policy.jsonld", out=folder / "out", **request)  # type: ignore[arg-type]
    assert outcome.version is not None
    public = (folder / "out" / "certificate.jsonld").read_text()
    assert "Unicode form" not in public
    return "\n".join(planned.warnings), "\n".join(outcome.warnings)


def test_the_columns_are_named_and_only_the_owner_is_told_how_many(tmp_path: Path) -> None:
    planned, ran = tell(tmp_path, {}, PEOPLE, [*ILLNESSES, "Flu "])
    other = smalti.plan(
        tmp_path / "policy.jsonld",
        data={TARGET: tmp_path / "people.csv"},
        party="http://example.com/party/other",
        registry=tmp_path / "registry.sqlite",
    )
    of_others = "\n".join(other.warnings)
    for told in (planned, of_others):
        assert "`who` distinguishes people" in told
        assert "`illness` distinguishes values" in told
    assert "1 of its 6 texts" in ran
    assert not any(digit in of_others for digit in "0123456789")
    for text in (*PEOPLE, *ILLNESSES):
        for told in (planned, ran, of_others):
            assert text not in told.replace("Unicode", "")


def test_a_declared_column_is_taken_as_it_is(tmp_path: Path) -> None:
    for said in tell(tmp_path, {"who": "string", "illness": "string"}, PEOPLE, [*ILLNESSES, "Flu "]):
        assert "Unicode form" not in said


def test_texts_that_differ_are_not_spoken_of(tmp_path: Path) -> None:
    for said in tell(tmp_path, {}, PEOPLE[1:], ILLNESSES):
        assert "Unicode form" not in said
