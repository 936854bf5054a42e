"""The policies that benchmarks run, and what goes with each: derived from `adult-like.jsonld`."""

import json
from dataclasses import dataclass
from pathlib import Path

from generated import FLOAT_COLUMNS, INCOME, QUASI_IDENTIFIERS

HERE = Path(__file__).parent
ADULT_LIKE = HERE / "adult-like.jsonld"
REFERENCE = HERE.parent / "examples" / "policies" / "fig-2.6-canonical.jsonld"
MOSAICROWN = "https://www.mosaicrown.eu/ns/mosaicrown/1/"
FOUR = ("age", "education-num", "race", "native-country")
"""The four quasi-identifiers that the literature and the rivals' runs use."""
EIGHT = QUASI_IDENTIFIERS

_TARGET = "http://example.com/adult-like"
_COLUMN_WORDS = {"mosaicrown:quasi-identifier", "smalti:released"}


@dataclass(frozen=True, slots=True)
class Job:
    """A policy with all that a run of it needs to name."""

    policy: Path
    target: str
    party: str
    purpose: str

    def arguments(self, data: Path) -> list[str]:
        """For `smalti run`, without the output's place and the registry."""
        return [
            str(self.policy), "--data", f"{self.target}={data}",
            "--as", self.party, "--purpose", self.purpose,
        ]  # fmt: skip


def reference() -> Job:
    """MOSAICrOWN D5.1, Figure 2.6: k = 10 and l = 3 by customer, on transactions."""
    return Job(REFERENCE, "http://example.com/Customer", "http://org/user", f"{MOSAICROWN}marketing")


def adult(folder: Path, columns: tuple[str, ...] = EIGHT, k: int = 10, partitioning: str = "strict") -> Job:
    """k-anonymity of rows with the columns of Adult, one person each; the income is released."""
    return _derived(folder, columns, (INCOME,), k, partitioning)


def floats(folder: Path, k: int = 10) -> Job:
    """k-anonymity of rows of 8 numbers, one person each."""
    return _derived(folder, FLOAT_COLUMNS, (), k, "strict")


def _derived(
    folder: Path, columns: tuple[str, ...], released: tuple[str, ...], k: int, partitioning: str
) -> Job:
    document = json.loads(ADULT_LIKE.read_text(encoding="utf-8"))
    (rule,) = document["permission"]
    (action,) = rule["action"]
    kept = [
        refinement for refinement in action["refinement"] if refinement["leftOperand"] not in _COLUMN_WORDS
    ]
    for refinement in kept:
        if refinement["leftOperand"] == "mosaicrown:k":
            refinement["rightOperand"] = k
    if partitioning != "strict":
        kept.append({"leftOperand": "smalti:partitioning", "operator": "eq", "rightOperand": partitioning})
    kept.append(_columns("mosaicrown:quasi-identifier", columns))
    action["refinement"] = [*kept, *([_columns("smalti:released", released)] if released else [])]
    path = folder / f"{columns[0]}-{len(columns)}-{k}-{partitioning}.jsonld"
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return Job(path, _TARGET, rule["assignee"], f"{MOSAICROWN}statistical")


def _columns(word: str, names: tuple[str, ...]) -> dict[str, object]:
    return {
        "leftOperand": word,
        "operator": "isAllOf",
        "rightOperand": [{"@id": f"{_TARGET}/{name}"} for name in names],
    }
