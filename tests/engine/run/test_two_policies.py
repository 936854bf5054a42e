"""What a requester who is granted some rows can tell of the others: nothing by bytes, sizes or messages.

How long a run takes tells how large the table is, for all of it is read (`docs/concepts.md`).
"""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import smalti

TARGET = "http://example.com/People"
OWNER = "http://example.com/party/owner"
NORTH = "http://example.com/party/north"
HEADER = ("who", "age", "illness", "region", "salary")
NORTHERN = [
    (f"n{i}", str(30 + i % 9), ("flu", "gout", "asthma")[i % 3], "North", str(i % 4)) for i in range(40)
]
SOUTHERN: dict[str, list[tuple[str, str, str, str, str]]] = {
    "none": [],
    "many": [(f"s{i}", str(i % 97), f"illness {i}", "South", str(i)) for i in range(2000)],
    "no numbers": [(f"s{i}", "unknown", "flu", "South", "x") for i in range(5)],
    "dates": [(f"s{i}", "2020-01-31", "flu", "South", "x") for i in range(5)],
    "one person": [("s", "31", "flu", "South", "x")] * 9,
    "the same people": [(f"n{i}", "99", "other", "South", "x") for i in range(40)],
    "quoted": [('s"1', "3,1", "a\nb", "South", " ")],
    "missing": [("", "", "", "South", "")] * 3,
    "long": [("s", "31", "x" * 100_000, "South", "y" * 100_000)],
}


def policy(folder: Path, k: int) -> Path:
    def columns(*names: str) -> list[dict[str, str]]:
        return [{"@id": f"{TARGET}/{name}"} for name in names]

    words: list[tuple[str, str, Any]] = [
        ("mosaicrown:method", "eq", "l-diversity"),
        ("mosaicrown:k", "gteq", k),
        ("mosaicrown:l", "gteq", 2),
        ("mosaicrown:identifier", "isAllOf", columns("who")),
        ("mosaicrown:quasi-identifier", "isAllOf", columns("age")),
        ("mosaicrown:sensitive", "isAllOf", columns("illness")),
        ("smalti:respondent", "eq", columns("who")[0]),
    ]
    refinements = [{"leftOperand": a, "operator": b, "rightOperand": c} for a, b, c in words]
    document = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": "http://example.com/policy/north",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": "http://example.com/policy/north/1",
                "assignee": NORTH,
                "target": TARGET,
                "output": "http://example.com/anonNorth",
                "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinements}],
                "constraint": [
                    {
                        "leftOperand": {"@id": f"{TARGET}/region"},
                        "operator": "eq",
                        "rightOperand": "North",
                    }
                ],
            }
        ],
    }
    path = folder / "policy.jsonld"
    path.write_text(json.dumps(document))
    return path


def told(folder: Path, southern: str, k: int) -> tuple[str, ...]:
    """All that the requester is given: the files, what is said of the run, or the refusal."""
    folder.mkdir()
    with (folder / "people.csv").open("w", newline="") as file:
        # The others stand before, between and behind.
        rows = [*SOUTHERN[southern][:2], *NORTHERN[:20], *SOUTHERN[southern][2:], *NORTHERN[20:]]
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    try:
        outcome = smalti.run(
            policy(folder, k),
            data={TARGET: folder / "people.csv"},
            party=NORTH,
            owner=OWNER,
            out=folder / "out",
            registry=folder / "registry.sqlite",
        )
    except smalti.SmaltiError as error:
        return (str(error).replace(str(folder), ""),)
    assert outcome.version is not None
    files = sorted((folder / "out").iterdir())
    run, made = outcome.version.run, outcome.version.created_at
    certificate = json.loads((folder / "out" / "certificate.jsonld").read_text().replace(run, "RUN"))
    text = json.dumps(
        {name: value for name, value in certificate.items() if name != "issued"}, sort_keys=True
    )
    assert made is not None
    return (
        *(path.name for path in files),
        (folder / "out" / "anonNorth.csv").read_text(),
        outcome.version.plan_digest,
        text,
    )


@pytest.mark.parametrize("k", [2, 41], ids=["permitted", "refused"])
def test_rows_that_are_not_granted_leave_no_trace(tmp_path: Path, k: int) -> None:
    alone = told(tmp_path / "alone", "none", k)
    assert ("cannot meet" in alone[0]) == (k == 41)
    for southern in SOUTHERN:
        assert told(tmp_path / southern, southern, k) == alone, southern
