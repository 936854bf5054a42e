"""Shows diagnostics to the tools that watch a repository: SARIF 2.1.0, annotations of GitHub Actions."""

import json
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote

from smalti.policy.findings.codes import BY_CODE
from smalti.policy.findings.diagnostics import Diagnostic, Severity

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json]"

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """A SARIF 2.1.0 log of one run, with each code that occurs described as a rule.

    Columns count Unicode code points. A finding about a document without lines names its node as a
    logical location.
    """
    from importlib.metadata import version  # noqa: PLC0415 (it loads the parsers of mail)

    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    driver: Json = {
        "name": "smalti",
        "version": version("smalti"),
        "rules": [_rule(code) for code in codes],
    }
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, codes.index(diagnostic.code)) for diagnostic in diagnostics],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """One workflow command of GitHub Actions for each finding; empty when there is none."""
    return "\n".join(_annotation(diagnostic) for diagnostic in diagnostics)


def _rule(code: str) -> Json:
    entry = BY_CODE[code]
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.explanation},
    }


def _result(diagnostic: Diagnostic, index: int) -> Json:
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": _sentence(diagnostic)},
        "locations": [_location(diagnostic)],
    }


def _location(diagnostic: Diagnostic) -> Json:
    where = diagnostic.where
    artifact: Json = {"uri": quote(where.document, safe="/:@!$&'()*+,;=~")}
    if where.node:
        logical: Json = {"fullyQualifiedName": where.node}
        return {"physicalLocation": {"artifactLocation": artifact}, "logicalLocations": [logical]}
    region: Json = {
        "startLine": where.line,
        "startColumn": where.column,
        "endColumn": where.column + diagnostic.length,
    }
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _sentence(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.message} ({diagnostic.help})" if diagnostic.help else diagnostic.message


def _annotation(diagnostic: Diagnostic) -> str:
    where = diagnostic.where
    place = {"file": where.document, "title": f"{diagnostic.code} {BY_CODE[diagnostic.code].title}"}
    if not where.node:
        place["line"] = str(where.line)
        place["col"] = str(where.column)
        place["endColumn"] = str(where.column + diagnostic.length)
    properties = ",".join(f"{key}={_property(value)}" for key, value in place.items())
    text = f"{where.node}: {_sentence(diagnostic)}" if where.node else _sentence(diagnostic)
    return f"::{_COMMANDS[diagnostic.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    """The message of a workflow command: a line break would end it, and begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
