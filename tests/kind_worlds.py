"""A small world for each kind of run: people without any pattern, a policy of its own, and whole runs.

What `test_capabilities` and `test_killed_kinds` hold each kind to; a new kind gets an entry in `EXAMPLES`.
"""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import smalti
from smalti.engine.plan.kinds import TABLE, Entry, Kind
from smalti.engine.registry.commit import CERTIFICATE_NAME
from smalti.vocab.terms import IRI, SMALTI

TARGET = "http://example.com/people"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/researcher"
Refinement = tuple[str, str, Any]


def column(name: str) -> dict[str, str]:
    return {"@id": f"{TARGET}/{name}"}


HEADER = ("number", "group", "class")
DESCRIPTION = {
    "@context": ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}],
    "url": "people.csv",
    "tableSchema": {
        "columns": [
            {"name": "number", "datatype": {"base": "integer", "minimum": 0, "maximum": 5000}},
            {"name": "group", "datatype": "string", "csvw-eo:keyValues": ["a", "b"]},
            {"name": "class", "datatype": "string", "csvw-eo:keyValues": ["x", "y"]},
        ]
    },
}
ONE_ROW_EACH: Refinement = ("smalti:respondent", "eq", {"@id": f"{SMALTI}oneRowEach"})


@dataclass(frozen=True)
class Example:
    """A policy of one kind on the people of this world."""

    public: str
    """The name of an example in `examples/policies`; what `explain` tells of it is in `golden`."""
    refinements: tuple[Refinement, ...]
    draw: str = ""
    """The module and the name of what draws at random, behind the charge. Empty: nothing is charged."""
    query: Mapping[str, Any] | None = None


EXAMPLES = {
    Kind.ANONYMIZATION: Example(
        "contraceptive",
        (
            ("mosaicrown:method", "eq", "k-anonymity"),
            ("mosaicrown:k", "gteq", 5),
            ("mosaicrown:quasi-identifier", "isAllOf", [column("number")]),
            ("mosaicrown:sensitive", "isAllOf", [column("class")]),
            ("smalti:released", "isAllOf", [column("group")]),
            ONE_ROW_EACH,
        ),
    ),
    Kind.BUCKETIZATION: Example(
        "contraceptive-anatomy",
        (
            ("mosaicrown:method", "eq", "l-diversity"),
            ("smalti:algorithm", "eq", "anatomy"),
            ("mosaicrown:l", "gteq", 2),
            ("mosaicrown:quasi-identifier", "isAllOf", [column("number")]),
            ("mosaicrown:sensitive", "isAllOf", [column("group")]),
            ("smalti:released", "isAllOf", [column("class")]),
            ONE_ROW_EACH,
        ),
    ),
    Kind.RELEASE: Example(
        "contraceptive-statistics",
        (
            ("mosaicrown:method", "eq", "differential-privacy"),
            ("smalti:epsilon", "lteq", 1),
            ("smalti:statistic", "isAnyOf", ["count"]),
            ("smalti:groupBy", "isAnyOf", [column("group")]),
            ONE_ROW_EACH,
        ),
        "smalti.engine.releases.capability:draw",
        {"statistics": [{"name": "by group", "statistic": "count", "groupBy": ["group"]}]},
    ),
    Kind.PERTURBATION: Example(
        "contraceptive-local",
        (
            ("mosaicrown:method", "eq", "local-differential-privacy"),
            ("smalti:epsilon", "lteq", 1),
            ("smalti:measure", "isAnyOf", [column("group")]),
            ONE_ROW_EACH,
        ),
        "smalti.engine.perturbation.capability:draw",
    ),
    Kind.MASKING: Example(
        "contraceptive-masked",
        (
            ("mosaicrown:method", "eq", "masking"),
            ("smalti:algorithm", "eq", "attribute-suppression"),
            ("mosaicrown:identifier", "isAllOf", [column("number")]),
            ("smalti:released", "isAllOf", [column("group")]),
            ONE_ROW_EACH,
        ),
    ),
    Kind.TRAINING: Example(
        "contraceptive-model",
        (
            ("smalti:recipe", "eq", "softmax-regression"),
            ("smalti:labelColumn", "eq", column("class")),
            ("smalti:epochs", "lteq", 1),
            ("smalti:noiseMultiplier", "eq", 2),
            ("smalti:clippingNorm", "lteq", 1),
            ("smalti:samplingRate", "lteq", 0.5),
            ("smalti:delta", "lteq", 0.001),
            ONE_ROW_EACH,
        ),
        "smalti.engine.training.attempt:target",
    ),
    Kind.SYNTHESIS: Example(
        "contraceptive-synthetic-private",
        (
            ("smalti:recipe", "eq", "vae-64"),
            ("smalti:syntheticRecords", "lteq", 20),
            ("smalti:epochs", "lteq", 1),
            ("smalti:noiseMultiplier", "eq", 2),
            ("smalti:clippingNorm", "lteq", 1),
            ("smalti:samplingRate", "lteq", 0.5),
            ("smalti:delta", "lteq", 0.001),
            ONE_ROW_EACH,
        ),
        "smalti.engine.training.synthesis_run:trained_model",
    ),
}
"""What stands for each kind."""


def entry_of(kind: Kind) -> Entry:
    return next(entry for entry in TABLE if entry.kind is kind)


def output_of(kind: Kind) -> IRI:
    return IRI(f"http://example.com/people-{kind}")


def document(kind: Kind, refinements: tuple[Refinement, ...] | None = None, budget: float = 20) -> Any:
    """The policy of a kind, with its own refinements or others."""
    chosen = EXAMPLES[kind].refinements if refinements is None else refinements
    limits = (("smalti:budgetEpsilon", "lteq", budget), ("smalti:budgetDelta", "lteq", 0.1))
    return {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": f"http://example.com/policy/{kind}",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": f"http://example.com/policy/{kind}/1",
                "target": TARGET,
                "assignee": USER,
                "action": [
                    {"rdf:value": {"@id": entry_of(kind).action}, "refinement": [*map(_operand, chosen)]}
                ],
                **({"constraint": [*map(_operand, limits)]} if EXAMPLES[kind].draw else {}),
                "output": output_of(kind),
            }
        ],
    }


def _operand(said: Refinement) -> dict[str, Any]:
    return dict(zip(("leftOperand", "operator", "rightOperand"), said, strict=True))


def write(folder: Path, kind: Kind, **others: Any) -> Path:
    """People, and the policy of a kind about them, in a folder."""
    place = folder / "policy.jsonld"
    place.write_text(json.dumps(document(kind, **others)), encoding="utf-8")
    rows = ((i * 7 % 4999, "ab"[i % 2], "xxy"[i % 3]) for i in range(60))
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    (folder / "people.csv-metadata.json").write_text(json.dumps(DESCRIPTION), encoding="utf-8")
    return place


def run(folder: Path, kind: Kind, name: str = "out", **more: Any) -> smalti.Outcome:
    """A whole run in such a folder."""
    return smalti.run(folder / "policy.jsonld", **asked(folder, kind) | {"out": folder / name} | more)


def plan(folder: Path, kind: Kind, **more: Any) -> smalti.Planned:
    return smalti.plan(folder / "policy.jsonld", **asked(folder, kind) | more)


def asked(folder: Path, kind: Kind) -> dict[str, Any]:
    return {
        "data": {TARGET: folder / "people.csv"},
        "party": USER,
        "owner": OWNER,
        "registry": folder / "r.sqlite",
        "query": EXAMPLES[kind].query,
    }


def registry(folder: Path) -> smalti.Registry:
    return smalti.Registry.open(folder / "r.sqlite")


def charges(folder: Path) -> int:
    return len(registry(folder).ledger.budget(IRI(TARGET)).charges)


def is_charged(kind: Kind) -> bool:
    """Whether the runs of this world lose something."""
    return bool(EXAMPLES[kind].draw)


def is_whole(folder: Path) -> bool:
    """Say whether an output is there with all of its files; with some of them is never right."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if names:
        listed = json.loads((folder / CERTIFICATE_NAME).read_text(encoding="utf-8"))["distribution"]
        assert names == {CERTIFICATE_NAME, *(file["name"] for file in listed)}, names
    return bool(names)


def leftovers(folder: Path) -> list[Path]:
    """What dead runs left: private folders."""
    return list(folder.glob(".smalti*"))
