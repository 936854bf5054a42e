"""The command line inside a test: as `smalti.cli.main` runs it, with what it says and how it ends."""

import contextlib
import csv
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from smalti.cli import main as cli
from smalti.engine.registry.registry import Registry

ROOT = Path(__file__).parents[1]
POLICIES = ROOT / "examples" / "policies"
CUSTOMER = "http://example.com/Customer"
OUTPUT = "http://example/anonCustomer"
USER = "http://org/user"
OWNER = "http://example.com/party/owner"
MARKETING = "marketing"
RESPONDENT = "https://w3id.org/smalti#respondent"
HEADER = ("who", "age", "city", "illness")
"""Of the small tables that tests write themselves."""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def message(self) -> str:
        """The error, without its mark."""
        assert self.err.startswith("error: "), self.err
        return self.err.removeprefix("error: ")


def smalti(*arguments: str | Path, cwd: Path) -> Ran:
    """Run a command in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", ["smalti", *map(str, arguments)]),
    ):
        try:
            cli.main()
        except SystemExit as left:
            code = left.code
        else:
            code = None
    assert isinstance(code, int), "the command line always leaves with an exit code"
    return Ran(code, out.getvalue(), err.getvalue())


def request(
    data: Path,
    *,
    party: str = USER,
    purpose: str | None = MARKETING,
    target: str = CUSTOMER,
    owner: str | None = OWNER,
) -> list[str]:
    """The options of a request about one target."""
    options = ["--data", f"{target}={data}", "--as", party]
    options += [] if purpose is None else ["--purpose", purpose]
    return options + ([] if owner is None else ["--owner", owner])


def nobody_has(registry: Registry) -> None:
    """Discard all versions, and leave their files: later runs are held together with none of them."""
    for version in sorted(registry.outputs.all(), key=lambda each: each.created_at, reverse=True):
        if version.discarded_at is None:
            registry.outputs.discard(version)


def nobody_has_those_in(folder: Path) -> None:
    """The same with the registry that a command in a folder uses."""
    nobody_has(Registry.open(folder / "smalti.sqlite"))


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, with its bytes; folders end in a slash.

    But for the log of decisions, which each decision adds to, also one that refuses.
    """
    return {
        path.relative_to(folder).as_posix() + "/" * path.is_dir(): b""
        if path.is_dir()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith(".decisions.jsonl")
    }


def small_policy(folder: Path, **changes: Any) -> Path:
    """A policy on a table with the columns of `HEADER`; `changes` replace or remove (None) its parts.

    It says that each row is about another person, where no description in the folder says who is.
    """
    place = folder / changes.pop("file", "policy.jsonld")
    if any(RESPONDENT in one.read_text(encoding="utf-8") for one in folder.glob("*-metadata.json")):
        changes = {"respondent": None} | changes
    place.write_text(json.dumps(small_document(**changes), indent=1), encoding="utf-8")
    return place


def small_document(**changes: Any) -> dict[str, Any]:
    """The same as an object; each row is about another person, unless `respondent` is None."""

    def columns(*names: str) -> list[dict[str, str]]:
        return [{"@id": f"{CUSTOMER}/{name}"} for name in names]

    words: dict[str, Any] = {
        "method": ("eq", "k-anonymity"),
        "k": ("gteq", 2),
        "l": None,
        "identifier": ("isAllOf", columns("who")),
        "quasi-identifier": ("isAllOf", columns("age", "city")),
        "sensitive": ("isAllOf", columns("illness")),
        "respondent": ("eq", {"@id": "https://w3id.org/smalti#oneRowEach"}),
    }
    words |= {key: value for key, value in changes.items() if key in words}
    rule = {
        "uid": "http://example.com/policy/small/1",
        "assignee": USER,
        "target": CUSTOMER,
        "action": [
            {
                "rdf:value": {"@id": "odrl:anonymize"},
                "refinement": [
                    {"leftOperand": _word(name), "operator": said[0], "rightOperand": said[1]}
                    for name, said in words.items()
                    if said is not None
                ],
            }
        ],
        "output": OUTPUT,
        "purpose": "mosaicrown:marketing",
    }
    rule |= changes.get("rule", {})
    return {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "http://localhost:8000/ns/mosaicrown/namespace.jsonld",
        ],
        "@type": "Set",
        "uid": changes.get("uid", "http://example.com/policy/small"),
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        "conflict": "prohibit",
        "permission": [rule, *changes.get("more", [])],
    }


def _word(name: str) -> str:
    return RESPONDENT if name == "respondent" else f"mosaicrown:{name}"


def small_rows(count: int = 12) -> list[list[str]]:
    """People with one row each, who can be published for k = 2."""
    return [
        [f"p{n}", str(20 + n), ("Rome", "Oslo", "Bern")[n % 3], ("flu", "gout", "asthma", "cold")[n % 4]]
        for n in range(count)
    ]


def small_table(
    folder: Path,
    rows: Sequence[Sequence[str]] | None = None,
    *,
    header: Sequence[str] = HEADER,
    respondent: str | None = None,
    datatypes: dict[str, str] | None = None,
) -> Path:
    """A CSV file, and its description where anything is to be said."""
    place = folder / "people.csv"
    with place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(small_rows() if rows is None else rows)
    if respondent or datatypes:
        describe(place, header, respondent, datatypes or {})
    return place


def describe(
    place: Path,
    header: Sequence[str],
    respondent: str | None = None,
    datatypes: dict[str, str] | None = None,
) -> Path:
    """The description of a CSV file beside it."""
    known = datatypes or {}
    document: dict[str, Any] = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": place.name,
        "tableSchema": {
            "columns": [
                {"name": name} | ({"datatype": known[name]} if name in known else {}) for name in header
            ]
        },
    }
    if respondent:
        document[RESPONDENT] = respondent
    metadata = place.with_name(place.name + "-metadata.json")
    metadata.write_text(json.dumps(document), encoding="utf-8")
    return metadata
