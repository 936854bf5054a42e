"""People who withdrew, and respondent columns that are read in another form than they are written in."""

import json
from pathlib import Path

import pytest

import smalti

TARGET, OWNER = "http://example.com/T", "http://example.com/owner"
FORMATS = {
    "groups of digits": ({"base": "integer", "format": {"decimalChar": ",", "groupChar": "."}}, "1.{:03}"),
    "zeros in front": ({"base": "integer", "format": "0000"}, "{:04}"),
    "days first": ({"base": "date", "format": "dd.MM.yyyy"}, "{:02}.01.1950"),
    "a decimal comma": ({"base": "decimal", "format": {"decimalChar": ","}}, "{},5"),
}


def run(folder: Path, registry: smalti.Registry, out: str) -> smalti.Outcome:
    policy = smalti.new_policy(
        policy="http://example.com/p", owner=OWNER, target=TARGET, purpose="statistical",
    ).anonymize(
        k=2, respondent="id", quasi_identifiers=["age"], sensitive="ill", output="http://example.com/o"
    )  # fmt: skip
    return smalti.run(
        policy, data={TARGET: folder / "m.csv"}, party=OWNER, purpose="statistical", registry=registry,
        out=folder / out,
    )  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_run_is_refused_where_a_format_hides_who_withdrew(tmp_path: Path, name: str) -> None:
    """Critical: they were looked for in the canonical form, and listed as the data writes them."""
    datatype, text = FORMATS[name]
    people = [text.format(number) for number in range(1, 9)]
    rows = [f"{who};{20 + at};{'flu' if at % 2 else 'cold'}" for at, who in enumerate(people)]
    (tmp_path / "m.csv").write_text("\n".join(["id;age;ill", *rows, ""]))
    described = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "m.csv",
        "dialect": {"delimiter": ";"},
        "tableSchema": {"columns": [{"name": "id", "datatype": datatype}]},
    }
    (tmp_path / "m.csv-metadata.json").write_text(json.dumps(described))
    registry = smalti.Registry.open(tmp_path / "r.sqlite")
    assert run(tmp_path, registry, "out").version is not None
    registry.withdraw(smalti.IRI(TARGET), [people[0]], by=smalti.IRI(OWNER))
    with pytest.raises(smalti.SmaltiError, match="has a format"):
        run(tmp_path, registry, "again")
    assert not (tmp_path / "again").exists()
