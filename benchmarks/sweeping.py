"""How long `smalti sweep` takes, as a whole process, beside `smalti plan` of the same policy.

    python benchmarks/sweeping.py [--adult adult.csv] [--runs 5]

14 points: k = 2, 5, 10, 20, 50, 100, 200 and l = 1, 2, with 8 quasi-identifiers and one sensitive column.
Without a file it is invented rows like Adult's. `plan` reads and compiles, and makes no class: what a sweep
takes more is its points. Both are run in turns; figures are of the fastest later run: a first one pays for
cold files.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import adult_like
from measuring import Usage, measure

HERE = Path(__file__).parent
ROWS = 32_561
TARGET = "http://example.com/adult-like"
VARY = ("--vary", "k=2,5,10,20,50,100,200", "--vary", "l=1,2")


def diverse_policy(sensitive: str) -> dict[str, Any]:
    """The policy beside this file, with l-diversity of one column in place of a released one."""
    document: dict[str, Any] = json.loads((HERE / "adult-like.jsonld").read_text(encoding="utf-8"))
    refinements = document["permission"][0]["action"][0]["refinement"]
    kept = [
        word for word in refinements
        if word["leftOperand"] not in {"mosaicrown:method", "mosaicrown:k", "smalti:released"}
    ]  # fmt: skip
    document["permission"][0]["action"][0]["refinement"] = [
        {"leftOperand": "mosaicrown:method", "operator": "eq", "rightOperand": "l-diversity"},
        {"leftOperand": "mosaicrown:k", "operator": "gteq", "rightOperand": 2},
        {"leftOperand": "mosaicrown:l", "operator": "gteq", "rightOperand": 2},
        {
            "leftOperand": "mosaicrown:sensitive", "operator": "isAllOf",
            "rightOperand": [{"@id": f"{TARGET}/{sensitive}"}],
        },
        *kept,
    ]  # fmt: skip
    return document


def turns(table: Path, policy: Path, runs: int) -> dict[str, float]:
    """The fastest run of each, and how they compare."""
    python = [sys.executable, "-P", "-m", "smalti", "--no-settings"]
    request = [str(policy), "--data", f"{TARGET}={table}", "--format", "json"]
    pairs: list[tuple[Usage, Usage]] = []
    for _ in range(runs + 1):
        pairs.append((measure([*python, "sweep", *request, *VARY]), measure([*python, "plan", *request])))
    sweep, plan = (min(usages[1:], key=lambda usage: usage.cpu) for usages in zip(*pairs, strict=True))
    return {
        "wall": round(sweep.wall, 2),
        "cpu": round(sweep.cpu, 2),
        "cpu of plan": round(plan.cpu, 2),
        "ratio": round(sweep.cpu / plan.cpu, 2),
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
        table, policy = Path(folder, "table.csv"), Path(folder, "policy.jsonld")
        if options.adult is None:
            adult_like.write(table, ROWS, seed=7)
        else:
            table.write_bytes(options.adult.read_bytes())
        sensitive = "income" if options.adult is None else "relationship"
        policy.write_text(json.dumps(diverse_policy(sensitive)), encoding="utf-8")
        print(json.dumps(turns(table, policy, options.runs), indent=2))


if __name__ == "__main__":
    main()
