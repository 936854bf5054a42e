"""What tools are told: SARIF against its schema, and annotations that cannot be broken out of."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.reports import render_github, render_sarif
from smalti.policy.model.model import Where
from smalti.policy.read.parse import load, parse

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "sarif" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
BAD = sorted((HERE / "bad").glob("*.jsonld"))


def check(text: str) -> dict[str, object]:
    log = json.loads(text)
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    run: dict[str, object] = log["runs"][0]
    return run


def test_findings_of_all_bad_documents_are_one_valid_log() -> None:
    found = [one for path in BAD for one in load(path).diagnostics]
    run = check(render_sarif(found))
    results = run["results"]
    assert isinstance(results, list)
    assert len(results) == len(found) > 100
    for one, result in zip(found, results, strict=True):
        region = result["locations"][0]["physicalLocation"]["region"]
        assert (result["ruleId"], region["startLine"], region["startColumn"]) == (
            one.code,
            one.where.line,
            one.where.column,
        )
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == one.code  # type: ignore[index]


def test_no_finding_is_a_valid_log_without_results() -> None:
    assert check(render_sarif([]))["results"] == []
    assert render_github([]) == ""


def test_the_schema_can_fail() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check(render_sarif([]).replace('"results"', '"findings"').replace('"tool"', '"tools"'))


def test_a_place_without_lines_is_a_logical_location() -> None:
    where = Where("a b.ttl", 0, 0, node="<http://example.com/p> permission")
    found = Diagnostic("P301", Severity.WARNING, "said", where, help="do it")
    (result,) = check(render_sarif([found]))["results"]  # type: ignore[misc]
    (place,) = result["locations"]
    assert place["logicalLocations"] == [{"fullyQualifiedName": "<http://example.com/p> permission"}]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "a%20b.ttl"}}
    head = "::warning file=a b.ttl,title=P301 unusable policy type"
    assert render_github([found]) == f"{head}::<http://example.com/p> permission: said (do it)"


def test_an_annotation_cannot_be_broken_out_of() -> None:
    name = "a,b:c%\n::error::evil.jsonld"
    text = '{"@context": "http://www.w3.org/ns/odrl.jsonld", "x\\n::set-output name=a::b": 1}'
    lines = render_github(parse(text.encode(), name).diagnostics).split("\n")
    assert lines
    for line in lines:
        assert re.fullmatch(r"::(error|warning|notice) file=[^:,\n]+,(title|line|col|endColumn)=.*", line)
        assert line.count("::") == 2 or "::" not in line.split("::", 2)[1]
