"""What a user sees of findings: text, JSON, and an error that survives a worker process."""

import json
import pickle
from pathlib import Path

import pytest

from smalti.errors import PolicyError
from smalti.policy.findings.codes import BY_CODE, TABLE
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.render import render_human, render_json
from smalti.policy.model.model import Where
from smalti.policy.read.parse import load, parse, require

HERE = Path(__file__).parent
REFERENCE = (HERE / "good" / "reference.jsonld").read_text()


def test_human_form() -> None:
    document = REFERENCE.replace('"l-diversity"', '"k-anonimity"')
    parsed = parse(document.encode(), "policy.jsonld")
    assert render_human(parsed.diagnostics, parsed.text) == (
        "policy.jsonld:14:80: error[P401] unknown method `k-anonimity`\n"
        '   14 |         {"leftOperand": "mosaicrown:method", "operator": "eq", '
        '"rightOperand": "k-anonimity"},\n'
        f"      | {' ' * 79}^^^^^^^^^^^^^\n"
        "   help: did you mean `k-anonymity`?"
    )


def test_json_form() -> None:
    parsed = load(HERE / "bad" / "k-as-text.jsonld")
    (found,) = json.loads(render_json(parsed.diagnostics))
    assert found["code"] == "P403"
    assert (found["line"], found["column"], found["length"]) == (15, 77, 4)
    assert found["pointer"] == "/permission/0/action/0/refinement/1/rightOperand"
    assert set(found) == {
        "code", "severity", "message", "help", "document", "line", "column", "length", "pointer",
        "node",
    }  # fmt: skip


def test_long_lines_are_cut_around_the_caret() -> None:
    document = json.dumps(json.loads(REFERENCE.replace('"marketing"', '"marketting"')))
    parsed = parse(document.encode(), "p")
    lines = render_human(parsed.diagnostics, parsed.text).split("\n")
    assert len(lines[1]) < 140
    start = lines[2].index("^")
    assert lines[1][start : start + 12] == '"marketting"'


def test_require_shows_all_errors_at_once() -> None:
    document = REFERENCE.replace('"rightOperand": 10', '"rightOperand": "10"').replace('"marketing"', '"x"')
    with pytest.raises(PolicyError) as caught:
        require(parse(document.encode(), "policy.jsonld"))
    message = str(caught.value)
    assert message.startswith("policy.jsonld: 2 errors\n")
    assert "error[P403]" in message
    assert "error[P415]" in message


def test_require_wants_one_policy() -> None:
    with pytest.raises(PolicyError, match="contains 2 policies; expected exactly one policy"):
        require(load(HERE / "good" / "list-of-policies.jsonld"))


def test_policy_errors_pickle() -> None:
    with pytest.raises(PolicyError) as caught:
        require(load(HERE / "bad" / "k-as-text.jsonld"))
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (type(copied), str(copied)) == (PolicyError, str(caught.value))


def test_parsed_documents_pickle() -> None:
    parsed = load(HERE / "good" / "reference.jsonld")
    assert pickle.loads(pickle.dumps(parsed)) == parsed


def test_codes_are_unique_and_explained() -> None:
    assert len(BY_CODE) == len(TABLE)
    assert [code.code for code in TABLE] == sorted(BY_CODE)
    assert all(code.title and code.explanation.endswith(".") for code in TABLE)


def test_every_code_is_used_and_every_used_code_is_in_the_table() -> None:
    root = HERE.parents[1]
    files = [*(root / "policy").rglob("*.py"), root / "src" / "smalti" / "checking.py"]
    source = "".join(path.read_text() for path in files if path.name != "codes.py")
    assert [code for code in BY_CODE if f'"{code}"' not in source] == []


def test_many_alike_warnings_are_one_line_and_errors_never() -> None:
    def finding(line: int, severity: Severity = Severity.WARNING, code: str = "P508") -> Diagnostic:
        return Diagnostic(code, severity, f"finding {line}", Where("p.jsonld", line, 1))

    findings = [*map(finding, range(1, 10)), finding(10, code="P504")]
    findings += [finding(line, Severity.ERROR, "P610") for line in range(20, 30)]
    shown = render_human(findings, "", in_full=False).splitlines()
    assert shown[:3] == [f"p.jsonld:{line}:1: warning[P508] finding {line}" for line in (1, 2, 3)]
    assert shown[3] == (
        "p.jsonld: warning[P508] 6 more like these, at lines 4, 5, 6, 7, 8, 9; `--verbose` shows them"
    )
    assert shown[4:] == [
        "p.jsonld:10:1: warning[P504] finding 10",
        *(f"p.jsonld:{line}:1: error[P610] finding {line}" for line in range(20, 30)),
    ]
    assert len(render_human(findings, "").splitlines()) == len(findings)
    assert len(json.loads(render_json(findings))) == len(findings)
