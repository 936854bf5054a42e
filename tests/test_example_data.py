"""The example data: generated tables repeat for a seed, the real one is the published one."""

import csv
import hashlib
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.fixture
def table(transactions: ModuleType, tmp_path: Path) -> list[dict[str, str]]:
    transactions.write(tmp_path / "t.csv", customers=300, seed=7)
    return read(tmp_path / "t.csv")


def test_transactions_are_the_same_bytes_everywhere(transactions: ModuleType, tmp_path: Path) -> None:
    transactions.write(tmp_path / "t.csv", customers=300, seed=7)
    digest = hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    assert digest == "07e5bae8ad22b191cae1bec931307d93f20b8b62cf0dfb321685418cc16b3c70"


def test_another_seed_gives_other_transactions(transactions: ModuleType) -> None:
    assert list(transactions.rows(20, seed=1)) != list(transactions.rows(20, seed=2))


def test_customers_repeat_and_stay_the_same_person(table: list[dict[str, str]]) -> None:
    of_customer = Counter(row["CustomerID"] for row in table)
    assert len(of_customer) == 300
    assert sum(1 for count in of_customer.values() if count > 1) > 150
    person = ("CustomerID", "FirstName", "LastName", "ZIP", "BirthDate")
    assert len({tuple(row[name] for name in person) for row in table}) == 300


def test_a_few_postal_codes_and_birth_dates_are_missing(table: list[dict[str, str]]) -> None:
    for name in ("ZIP", "BirthDate"):
        share = sum(row[name] == "" for row in table) / len(table)
        assert 0 < share < 0.1
    assert all(row["ZIP"] == "" or (row["ZIP"].isdigit() and row["ZIP"][0] != "0") for row in table)


def test_transactions_are_described(transactions: ModuleType, tmp_path: Path) -> None:
    transactions.write(tmp_path / "customers.csv", customers=3, seed=1)
    described = json.loads((tmp_path / "customers.csv-metadata.json").read_text(encoding="utf-8"))
    assert described["url"] == "customers.csv"
    assert described["https://w3id.org/smalti#respondent"] == "CustomerID"
    names = [column["name"] for column in described["tableSchema"]["columns"]]
    assert names == list(read(tmp_path / "customers.csv")[0])


def test_contraceptive_survey_is_the_published_one() -> None:
    rows = read(ROOT / "examples" / "data" / "contraceptive.csv")
    assert len(rows) == 1473
    assert Counter(row["method"] for row in rows) == {"none": 629, "long-term": 333, "short-term": 511}
    assert Counter(row["religion"] for row in rows) == {"Islam": 1253, "non-Islam": 220}
    assert Counter(row["working"] for row in rows) == {"yes": 369, "no": 1104}
    assert Counter(row["media_exposure"] for row in rows) == {"good": 1364, "not good": 109}
    assert {len(row) for row in rows} == {10}


def test_adult_like_rows_repeat_for_a_seed(adult_like: ModuleType, tmp_path: Path) -> None:
    for name, seed in (("a.csv", 7), ("b.csv", 7), ("c.csv", 8)):
        adult_like.write(tmp_path / name, rows=500, seed=seed)
    first, same, other = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert first == same
    assert first != other


def test_adult_like_rows_look_like_people(adult_like: ModuleType, tmp_path: Path) -> None:
    adult_like.write(tmp_path / "a.csv", rows=5000, seed=7)
    rows = read(tmp_path / "a.csv")
    assert len(rows) == 5000
    assert tuple(rows[0]) == adult_like.COLUMNS
    assert all(17 <= int(row["age"]) <= 90 and 1 <= int(row["education-num"]) <= 16 for row in rows)
    rich = sum(row["income"] == ">50K" for row in rows) / len(rows)
    assert 0.15 < rich < 0.35
    tuples = {tuple(row[name] for name in adult_like.COLUMNS[:-1]) for row in rows}
    assert len(tuples) > 4000
