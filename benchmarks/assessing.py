"""How long `smalti assess` takes, as a whole process, beside a plain copy of the same file.

    python benchmarks/assessing.py [--adult adult.csv] [--runs 5]

Without a file it is invented rows like Adult's, with fewer columns. Each row counts as a person, and then
two rows each as one, by a column that says so. The copy (`copying.py`) is made in turns with it. Figures
are of the fastest later run: a first one pays for cold files.
"""

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path

import adult_like
from measuring import Usage, measure

HERE = Path(__file__).parent
ROWS = 32_561


def with_people(table: Path, place: Path) -> None:
    """The same rows, with a column in front that says whose they are: two of each person."""
    with (
        table.open(encoding="utf-8", newline="") as file,
        place.open("w", encoding="utf-8", newline="") as out,
    ):
        rows, writer = csv.reader(file), csv.writer(out, lineterminator="\n")
        writer.writerow(["who", *next(rows)])
        writer.writerows([f"p{number // 2}", *row] for number, row in enumerate(rows))


def turns(table: Path, options: list[str], runs: int) -> dict[str, float]:
    """The fastest run of each, and how they compare."""
    python = [sys.executable, "-P"]
    assessing = [
        *python,
        "-m",
        "smalti",
        "--no-settings",
        "assess",
        str(table),
        "--format",
        "json",
        *options,
    ]
    copy_of = table.with_suffix(".copy")
    copying = [*python, str(HERE / "copying.py"), "local", str(table), str(copy_of)]
    pairs: list[tuple[Usage, Usage]] = []
    for _ in range(runs + 1):
        copy_of.unlink(missing_ok=True)
        pairs.append((measure(assessing), measure(copying)))
    assess, copy = (min(usages[1:], key=lambda usage: usage.cpu) for usages in zip(*pairs, strict=True))
    return {
        "wall": round(assess.wall, 2),
        "cpu": round(assess.cpu, 2),
        "cpu of the copy": round(copy.cpu, 2),
        "ratio": round(assess.cpu / copy.cpu, 2),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table, people = Path(folder, "table.csv"), Path(folder, "people.csv")
        if options.adult is None:
            adult_like.write(table, ROWS, seed=7)
        else:
            table.write_bytes(options.adult.read_bytes())
        with_people(table, people)
        figures = {
            "one row each": turns(table, ["--one-row-each"], options.runs),
            "two rows each": turns(people, ["--respondent", "who"], options.runs),
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
