"""Generates customer transactions for the reference policy: invented people, the same bytes for a seed.

    python examples/data/transactions.py --customers 300 --seed 7 --out transactions.csv

Beside the table stands its description (W3C CSVW), which says what each column holds and which column
names the person: one customer has several transactions.
"""

import argparse
import csv
import json
import random
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

COLUMNS = {
    "CustomerID": "string",
    "FirstName": "string",
    "LastName": "string",
    "ZIP": "integer",
    "BirthDate": "date",
    "TransactionTime": "dateTime",
    "Amount": "decimal",
    "StoreCategory": "string",
    "Branch": "string",
}

FIRST_NAMES = (
    "Ada", "Bruno", "Carla", "Dario", "Elena", "Fabio", "Greta", "Hugo", "Irene", "Jonas", "Katja", "Luca",
    "Mara", "Nils", "Olga", "Paolo", "Rosa", "Stefan", "Teresa", "Ugo", "Vera", "Walter", "Xenia", "Yara",
)  # fmt: skip
LAST_NAMES = (
    "Abbate", "Bergmann", "Costa", "Dubois", "Esposito", "Ferrari", "Gallo", "Hoffmann", "Iversen",
    "Jansen", "Keller", "Lindgren", "Moretti", "Novak", "Olsen", "Petit", "Ricci", "Sorensen", "Tanaka",
    "Vitale",
)  # fmt: skip

CITIES = (("10", 40), ("20", 30), ("35", 12), ("50", 10), ("80", 8))
"""First two digits of the postal codes, and the share of customers who live there."""

CATEGORIES = (
    (("groceries", 300, 14000), 34),
    (("restaurants", 800, 9000), 16),
    (("clothing", 1500, 24000), 12),
    (("pharmacy", 400, 7000), 11),
    (("electronics", 2000, 120000), 8),
    (("books", 500, 6000), 8),
    (("travel", 4000, 180000), 6),
    (("medical supplies", 1000, 30000), 5),
)
"""Name, least and greatest amount in cents; and the share of transactions."""

HOURS = tuple(zip(range(8, 22), (1, 2, 4, 6, 8, 7, 6, 5, 6, 8, 10, 8, 4, 2), strict=True))
FIRST_DAY = datetime(2024, 1, 1)
MISSING = 0.03
"""Share of customers whose postal code, and share of those whose birth date, is unknown."""


class Draw:
    """Draws that are the same on every machine and Python: they rest on ``random()`` alone."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        """Return an integer from 0 to limit - 1."""
        return int(self._random() * limit)

    def one_of(self, values: Sequence[T]) -> T:
        """Return one of the values, each as likely."""
        return values[self.below(len(values))]

    def weighted(self, choices: Sequence[tuple[T, int]]) -> T:
        """Return the first part of one of the pairs, as likely as its second part says."""
        left = self.below(sum(weight for _, weight in choices))
        for value, weight in choices:
            if left < weight:
                return value
            left -= weight
        raise AssertionError("weights are not positive")

    def skewed(self, low: int, high: int) -> int:
        """Return an integer from low to high; small ones are far more likely."""
        share = self._random()
        return low + int(share * share * share * (high - low + 1))

    def happens(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random() < probability


def customer(draw: Draw, number: int) -> list[str]:
    """Return what is the same in all rows of one customer."""
    postal_code = f"{draw.weighted(CITIES)}{100 + 5 * draw.skewed(0, 24)}"
    born = date(1938, 1, 1) + timedelta(days=draw.below(25_000))
    return [
        f"C{number:05d}",
        draw.one_of(FIRST_NAMES),
        draw.one_of(LAST_NAMES),
        "" if draw.happens(MISSING) else postal_code,
        "" if draw.happens(MISSING) else born.isoformat(),
    ]


def transaction(draw: Draw) -> tuple[str, str, str]:
    """Return the time, amount and category of one transaction."""
    hour = draw.weighted(HOURS)
    time = FIRST_DAY + timedelta(days=draw.below(182), hours=hour, minutes=draw.below(60))
    category, least, greatest = draw.weighted(CATEGORIES)
    cents = draw.skewed(least, greatest)
    return time.isoformat(), f"{cents // 100}.{cents % 100:02d}", category


def rows(customers: int, seed: int) -> Iterator[list[str]]:
    """Yield the table's records in the order of time; a customer has 1 to 14 of them."""
    draw = Draw(seed)
    table = []
    for number in range(1, customers + 1):
        person = customer(draw, number)
        home = f"{person[3][:2] or '10'}-{1 + draw.below(4)}"
        for _ in range(draw.skewed(1, 14)):
            branch = home if draw.happens(0.8) else f"{draw.weighted(CITIES)}-{1 + draw.below(4)}"
            table.append([*person, *transaction(draw), branch])
    table.sort(key=lambda row: (row[5], row[0]))
    yield from table


def description(file_name: str) -> dict[str, object]:
    """Return the CSVW description of the table."""
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": file_name,
        "https://w3id.org/smalti#respondent": "CustomerID",
        "tableSchema": {
            "columns": [{"name": name, "titles": name, "datatype": kind} for name, kind in COLUMNS.items()]
        },
    }


def write(path: Path, customers: int, seed: int) -> None:
    """Write the table and, beside it, its description."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(customers, seed))
    text = json.dumps(description(path.name), indent=2) + "\n"
    path.with_name(f"{path.name}-metadata.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Write a table as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--customers", type=int, default=300, help="number of customers")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same bytes")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="the CSV file to write")
    options = parser.parse_args()
    if options.customers < 1:
        parser.error("--customers: expected 1 or more")
    write(options.out, options.customers, options.seed)


if __name__ == "__main__":
    main()
