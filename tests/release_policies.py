"""Small policies of method differential-privacy, and plans of queries under them; shared by tests."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tables import write_csv

from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.releases.compile import columns_to_stage, compile_release
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.query import Query
from smalti.engine.releases.query_form import read_query
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.errors import ProblemsError, SmaltiError
from smalti.policy.model.model import Permission
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/visits")
OUTPUT = IRI("http://example.com/statistics")
HEADER = ("patient", "sex", "age", "region", "seen", "note")
ROWS = (
    ("a", "f", "30", "north", "2024-01-31", ""),
    ("b", "m", "40", "south", "2024-02-01", "x"),
    ("a", "f", "50", "north", "no date", "y"),
)
STATISTICS = [
    "count", "distinct-count", "sum", "mean", "variance", "histogram", "contingency", "quantile", "mode",
]  # fmt: skip
REFINEMENTS: Mapping[str, tuple[str, Any]] = MappingProxyType({
    "epsilon": ("lteq", 1),
    "statistic": ("isAnyOf", STATISTICS),
    "measure": ("isAnyOf", ["age", "sex", "region", "note", "seen"]),
    "groupBy": ("isAnyOf", ["sex", "region", "seen"]),
    "respondent": ("eq", "patient"),
    "rowsPerRespondent": ("lteq", 3),
})  # fmt: skip
AGE = {"measure": "age", "lower": 0, "upper": 120, "unit": 1}
SEX = {"column": "sex", "values": ["f", "m"]}


def policy_text(changes: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """A policy that permits statistics of visits.

    Args:
        changes: by word of a refinement: operator and value; None: without it.
        more: other parts of the rule.
    """
    said = {**REFINEMENTS, **(changes or {})}
    refinements = [
        {"leftOperand": f"smalti:{word}", "operator": parts[0], "rightOperand": parts[1]}
        for word, parts in said.items()
        if parts is not None
    ]
    method = {"leftOperand": "mosaicrown:method", "operator": "eq", "rightOperand": "differential-privacy"}
    rule: dict[str, Any] = {
        "uid": "http://example.com/policy/statistics/1",
        "target": TARGET,
        "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [method, *refinements]}],
        "constraint": [
            {"leftOperand": "smalti:budgetEpsilon", "operator": "lteq", "rightOperand": 3},
            {"leftOperand": "smalti:budgetDelta", "operator": "lteq", "rightOperand": 0.001},
        ],
        "output": OUTPUT,
        **more,
    }
    document = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": "http://example.com/policy/statistics",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [rule],
    }
    return json.dumps(document, indent=1).encode()


def permission(changes: Mapping[str, Any] | None = None, **more: Any) -> Permission:
    """The permission of `policy_text`."""
    parsed = parse(policy_text(changes, **more), "policy.jsonld")
    assert not parsed.errors, parsed.errors
    return parsed.policies[0].permissions[0]


def query(*statistics: Mapping[str, Any], **more: Any) -> Query:
    """A query, as a file says it."""
    return read_query(json.dumps({"statistics": statistics, **more}).encode(), "q.json")


def described(*columns: ColumnDescription, **more: Any) -> Description:
    """A description of some columns."""
    return Description(columns, **more, source="visits.csv-metadata.json")


def planned(
    folder: Path,
    asked: Query,
    *,
    allowed: Permission | None = None,
    description: Description = Description(),  # noqa: B008
    rows: Sequence[Sequence[str]] = ROWS,
    circumstances: Circumstances = NO_MORE,
    header: Sequence[str] = HEADER,
) -> ReleasePlan:
    """The plan of a query on a small table."""
    data, workspace = folder / "visits.csv", folder / "work"
    workspace.mkdir()
    write_csv(data, header, rows)
    source = Source(TARGET, data, OutputFormat.CSV, description)
    try:
        chosen = allowed or permission()
        wanted = columns_to_stage(chosen, asked, source, circumstances.rows)
        with closing(LocalBackend().open(source, workspace, wanted)) as table:
            return compile_release(chosen, asked, source, table, circumstances)
    finally:
        workspace.rename(folder / f"work-{len(list(folder.iterdir()))}")


def problems(error: SmaltiError) -> tuple[SmaltiError, ...]:
    """Each problem of an error."""
    return error.problems if isinstance(error, ProblemsError) else (error,)
