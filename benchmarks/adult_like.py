"""Generates rows with the columns of the Adult data set, for tests and benchmarks.

    python benchmarks/adult_like.py --rows 30000 --seed 7 --out adult.csv

The proportions are invented: no record and no count of the real data set is used. Age, workclass,
education-num, marital-status, occupation, race, sex and native-country are quasi-identifiers; income is
sensitive. Each row is one respondent.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

COLUMNS = (
    "age",
    "workclass",
    "education-num",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
    "income",
)

EDUCATION = (1, 1, 2, 3, 3, 4, 5, 2, 32, 22, 4, 3, 14, 5, 1, 1)
"""Weights of the years of education 1 to 16."""

WORKCLASS = {
    "Private": 70,
    "Self-employed": 11,
    "Local government": 6,
    "State government": 4,
    "Federal government": 3,
    "": 5,  # unknown
    "Without pay": 1,
}
MARITAL_STATUS = ("Never married", "Married", "Divorced", "Separated", "Widowed")
MARITAL_BY_AGE = {
    28: (72, 24, 3, 1, 0),
    40: (24, 58, 14, 4, 0),
    58: (9, 66, 19, 4, 2),
    200: (5, 62, 12, 2, 19),
}
"""Weights of the marital statuses up to and including an age."""

OCCUPATION = {
    "Professional": 13,
    "Craft and repair": 13,
    "Management": 13,
    "Clerical": 12,
    "Sales": 11,
    "Other services": 10,
    "Machine operation": 6,
    "": 6,  # unknown
    "Transport": 5,
    "Cleaning": 4,
    "Farming and fishing": 3,
    "Technical support": 3,
    "Protective services": 1,
}
RACE = {"White": 84, "Black": 10, "Asian or Pacific": 4, "Other": 1, "Indigenous": 1}
SEX = {"Male": 66, "Female": 34}
COUNTRY = {
    "United States": 9000,
    "Mexico": 190,
    "": 170,
    "Philippines": 62,
    "Germany": 43,
    "Canada": 38,
    "India": 32,
    "El Salvador": 31,
    "Cuba": 30,
    "England": 28,
    "Jamaica": 25,
    "China": 24,
    "Italy": 22,
    "Poland": 18,
    "Vietnam": 17,
    "Portugal": 11,
    "France": 9,
    "Greece": 8,
    "Ireland": 7,
    "Thailand": 5,
    "Hungary": 4,
    "Scotland": 3,
}


def _draw(rng: np.random.Generator, weights: Sequence[int], rows: int) -> Codes:
    """Return positions of the weights, each as likely as its weight says."""
    bounds = np.cumsum(weights)
    return np.searchsorted(bounds, rng.random(rows) * bounds[-1], side="right")


def _ages(rng: np.random.Generator, rows: int) -> Codes:
    """Return ages from 17 to 90: many in working age, few very old ones."""
    young = 17 + (rng.random(rows) * 34).astype(np.int64)
    spread = rng.random(rows)
    return np.minimum(90, young + (spread * spread * spread * 42).astype(np.int64))


def _marital_status(rng: np.random.Generator, age: Codes) -> Codes:
    """Return marital statuses that go with the ages."""
    share = rng.random(len(age))
    status = np.zeros(len(age), dtype=np.int64)
    youngest = 0
    for oldest, weights in MARITAL_BY_AGE.items():
        here = (age > youngest) & (age <= oldest)
        bounds = np.cumsum(weights)
        status[here] = np.searchsorted(bounds, share[here] * bounds[-1], side="right")
        youngest = oldest
    return status


def columns(rows: int, seed: int) -> dict[str, list[str]]:
    """Return the table as lists of texts, by column name; the empty text is a missing value."""
    rng = np.random.Generator(np.random.PCG64(seed))

    def named(weights: dict[str, int]) -> list[str]:
        names = tuple(weights)
        return [names[code] for code in _draw(rng, tuple(weights.values()), rows)]

    age, education = _ages(rng, rows), 1 + _draw(rng, EDUCATION, rows)
    status = _marital_status(rng, age)
    chance = 0.02 + 0.03 * np.maximum(0, education - 7) + 0.18 * (status == 1) + 0.04 * (age > 35)
    rich = rng.random(rows) < chance
    return {
        "age": [str(value) for value in age],
        "workclass": named(WORKCLASS),
        "education-num": [str(value) for value in education],
        "marital-status": [MARITAL_STATUS[code] for code in status],
        "occupation": named(OCCUPATION),
        "race": named(RACE),
        "sex": named(SEX),
        "native-country": named(COUNTRY),
        "income": [">50K" if value else "<=50K" for value in rich],
    }


def write(path: Path, rows: int, seed: int) -> None:
    """Write the table as CSV: the same bytes for the same number of rows and seed."""
    table = columns(rows, seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(COLUMNS) + "\n")
        file.writelines(
            ",".join(record) + "\n" for record in zip(*(table[name] for name in COLUMNS), strict=True)
        )


def main() -> None:
    """Write a table as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=30_000, help="number of rows")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same bytes")
    parser.add_argument("--out", type=Path, required=True, metavar="PATH", help="the CSV file to write")
    options = parser.parse_args()
    if options.rows < 1:
        parser.error("--rows: expected 1 or more")
    write(options.out, options.rows, options.seed)


if __name__ == "__main__":
    main()
