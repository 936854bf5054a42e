"""What a user sees of findings: text, JSON, and an error that survives a worker process."""

import json
import pickle
from pathlib import Path

import pytest

from smalti.errors import PolicyError
from smalti.policy.findings.codes import BY_CODE, TABLE
from smalti.policy.findings.render import render_human, render_json
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
