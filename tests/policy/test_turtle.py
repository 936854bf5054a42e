"""Turtle is read to the same policies as JSON-LD, by the same checks, offline and within bounds."""

import json
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.document.context import Terms
from smalti.policy.document.serializations import is_turtle
from smalti.policy.document.turtle_text import BASE, Written, read_statements
from smalti.policy.findings.findings import Findings
from smalti.policy.findings.render import render_human, render_json
from smalti.policy.model.model import Policy, Where
from smalti.policy.read.parse import ParsedDocument, load, parse

HERE = Path(__file__).parent
REFERENCE = (HERE / "good" / "form-reference.ttl").read_text()
PREFIXES = REFERENCE[: REFERENCE.index("<http://example.com/policy/1>")]
RULE = "<http://example.com/policy/1/a>"

BAD: dict[str, tuple[str, int, int, str]] = {
    "form-turtle-empty": ("P201", 1, 1, ""),
    "form-turtle-k-ill-typed": ("P403", 0, 0, f"{RULE} action refinement m:k rightOperand"),
    "form-turtle-k-too-small": ("P404", 0, 0, f"{RULE} action refinement m:k rightOperand"),
    "form-turtle-list-broken": ("P217", 1, 1, ""),
    "form-turtle-method-misspelt": ("P401", 0, 0, f"{RULE} action refinement m:method rightOperand"),
    "form-turtle-n3": ("P217", 9, 1, ""),
    "form-turtle-node-of-no-policy": ("P216", 0, 0, "<http://example.com/acme>"),
    "form-turtle-prefix-redefined": ("P205", 1, 9, ""),
    "form-turtle-prefix-undefined": ("P217", 8, 59, ""),
    "form-turtle-property-misspelt": ("P309", 0, 0, "<http://example.com/policy> permission assigne"),
    "form-turtle-relative": ("P209", 0, 0, "<http://example.com/policy> permission target"),
    "form-turtle-rule-shared": ("P214", 0, 0, "<http://example.com/other> permission"),
    "form-turtle-surrogate": ("P107", 24, 93, ""),
    "form-turtle-syntax": ("P217", 8, 45, ""),
}


def ttl(text: str) -> ParsedDocument:
    return parse((PREFIXES + text).encode(), "policy.ttl")


def codes(text: str) -> list[str]:
    return [found.code for found in ttl(text).errors]


def test_every_bad_turtle_document_is_in_the_table() -> None:
    assert {path.stem for path in HERE.glob("bad/*.ttl")} == set(BAD)


@pytest.mark.parametrize("name", BAD)
def test_bad_document(name: str) -> None:
    parsed = load(HERE / "bad" / f"{name}.ttl")
    (found,) = parsed.errors
    code, line, column, node = BAD[name]
    assert (found.code, found.where.line, found.where.column, found.where.node) == (
        code,
        line,
        column,
        node,
    )
    assert parsed.policies == ()


@pytest.mark.parametrize("path", sorted(HERE.glob("good/*.ttl")), ids=lambda path: path.stem)
def test_good_document_is_the_reference(path: Path) -> None:
    parsed = load(path)
    assert parsed.errors == ()
    (policy,), (reference,) = parsed.policies, load(HERE / "good" / "reference.jsonld").policies
    assert named(policy) == named(reference)


def named(policy: Policy) -> object:
    (rule,) = policy.permissions
    return policy.uid, policy.type, rule.uid, rule.targets, rule.assignees, rule.output, rule.anonymization


def test_findings_name_the_node_where_the_line_is_unknown() -> None:
    parsed = load(HERE / "bad" / "form-turtle-k-too-small.ttl")
    shown = render_human(parsed.diagnostics, parsed.text)
    assert f".ttl: {RULE} action refinement m:k rightOperand: error[P404]" in shown
    assert "|" not in shown
    (found,) = json.loads(render_json(parsed.diagnostics))
    assert (found["line"], found["column"]) == (0, 0)


def test_policies_have_their_node_as_their_place() -> None:
    (policy,) = parse(REFERENCE.encode(), "a.ttl").policies
    assert policy.where == Where("a.ttl", 0, 0, node="<http://example.com/policy/1>")


def test_rules_without_a_name_get_different_uids() -> None:
    rules = ", ".join(f"[ odrl:action odrl:read ; odrl:target ex:Table{n} ]" for n in range(3))
    parsed = ttl(f"ex:p a odrl:Set ; odrl:profile <https://w3id.org/smalti#> ; odrl:permission {rules} .")
    assert parsed.errors == ()
    assert len({rule.uid for rule in parsed.policies[0].permissions}) == 3


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("policy.ttl", "", True),
        ("policy.jsonld", "@prefix a: <b:> .", True),
        ("policy", "# a remark\n\n PREFIX a: <b:>", True),
        ("policy", "<http://example.com/p> a <b:c> .", True),
        ("policy", "[{}]", False),
        ("policy", "# a remark\n{}", False),
        ("policy", "", False),
    ],
)
def test_what_is_turtle(name: str, text: str, expected: bool) -> None:
    assert is_turtle(name, text) is expected


@pytest.mark.parametrize(
    ("written", "text", "datatype"),
    [
        ("0.1", "0.1", "decimal"),
        ("0.10000000000000000000000000000000000001", "0.10000000000000000000000000000000000001", "decimal"),
        ("0.0000001", "0.0000001", "decimal"),
        ("1e-6", "1e-6", "double"),
        ("+10", "+10", "integer"),
        ("007", "007", "integer"),
        ("1.50", "1.50", "decimal"),
        ("true", "true", "boolean"),
        ('"01"^^xsd:integer', "01", "integer"),
        ('"0.10"^^xsd:double', "0.10", "double"),
        ('"ten"^^xsd:integer', "ten", "integer"),
    ],
)
def test_literals_are_kept_as_they_are_written(written: str, text: str, datatype: str) -> None:
    document = f"{PREFIXES} ex:a ex:b {written} ."
    statements = read_statements(document, Findings("a.ttl", document))
    assert statements is not None
    ((_, _, value),) = statements.triples
    assert value == Written(text, f"http://www.w3.org/2001/XMLSchema#{datatype}", False)


def test_a_text_is_the_same_with_the_datatype_string() -> None:
    for written in ('"a"', '"a"^^xsd:string', "'''a'''"):
        document = f"{PREFIXES} ex:a ex:b {written} ."
        statements = read_statements(document, Findings("a.ttl", document))
        assert statements is not None
        assert [value for _, _, value in statements.triples] == [Written("a", None, False)]


def test_repeated_statements_count_once_and_blank_nodes_have_numbers() -> None:
    document = f"{PREFIXES} ex:a ex:b [ ex:c 1, 2, 1 ], _:x . _:x ex:c 2, 2 ."
    readings = [read_statements(document, Findings("a.ttl", document)) for _ in range(2)]
    assert readings[0] is not None
    assert readings[0] == readings[1]
    assert len(readings[0].triples) == 5


def test_xml_literals_are_never_parsed() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'
    document = f"{PREFIXES} ex:a ex:b '''{bomb}'''^^rdf:XMLLiteral ."
    statements = read_statements(document, Findings("a.ttl", document))
    assert statements is not None
    assert [value.text for _, _, value in statements.triples if isinstance(value, Written)] == [bomb]


def test_relative_iris_are_refused_as_they_are_written() -> None:
    for written in ("Customer", "/Customer", "//host/Customer", "?a", "#a", "", "../Customer"):
        found = ttl(
            "ex:p a odrl:Set ; odrl:profile <https://w3id.org/smalti#> ; "
            f"odrl:permission [ odrl:action odrl:read ; odrl:target <{written}> ] ."
        ).errors
        assert [one.code for one in found] == ["P209"], written
        assert "smalti-unresolved" not in str(found)


def test_a_base_of_the_document_counts() -> None:
    (policy,) = ttl(
        "@base <http://example.org/> . <p> a odrl:Set ; odrl:profile <https://w3id.org/smalti#> ; "
        "odrl:permission [ odrl:action odrl:read ; odrl:target <Customer> ] ."
    ).policies
    assert policy.targets == {"http://example.org/Customer"}
    assert not BASE.startswith("http")


def test_no_base_becomes_a_path_of_this_machine() -> None:
    assert codes("ex:p a odrl:Set ; odrl:permission [ odrl:target <file:///etc/passwd> ] .").count("P211")


@pytest.mark.parametrize(
    "text",
    [
        "ex:a has ex:b ex:c .",
        "ex:a is ex:b of ex:c .",
        "@forAll ex:a .",
        "@keywords a, is .",
        "ex:a!ex:b ex:c ex:d .",
        "ex:a ex:b ?c .",
        "ex:a = ex:b .",
        "ex:a => ex:b .",
        "ex:a ex:b ($ ex:c $) .",
        '"text" ex:b ex:c .',
        'ex:a "text" ex:c .',
        "ex:a _:b ex:c .",
        "ex:a [] ex:c .",
        "ex:a ex:b ex:c",
        "ex:a ex:b 'one\nline' .",
        'ex:a ex:b "\\q" .',
        'ex:a ex:b "a"^^_:b .',
        "ex:a ex:b 1..2 .",
        "ex:a ex:b <a b> .",
        "ex:a ex:b )",
        "ex:a a 'text' ; odrl:permission [] .",
        "ex:a ex:b << ex:c ex:d ex:e >> .",
        "ex:a ex:b <<( ex:c ex:d ex:e )>> .",
        "ex:a ex:b ex:c {| ex:d ex:e |} .",
        "ex:a ex:b ex:c ~ ex:d .",
        "ex:a ex:b 'text'@en--ltr .",
        "VERSION '1.2' ex:a ex:b ex:c .",
    ],
)
def test_what_is_no_turtle_is_refused(text: str) -> None:
    assert codes(text)[0] in {"P217", "P320"}


@pytest.mark.parametrize("count", [2, 0])
def test_parts_of_lists_are_refused_unless_they_are_one_list(count: int) -> None:
    rests = " ; ".join(["rdf:rest ()"] + ["rdf:rest (ex:a)"] * (count - 1)) if count else "a rdf:List"
    assert codes(f"ex:p a odrl:Set ; odrl:profile [ rdf:first ex:a ; {rests} ] .") == ["P217"]


def test_a_circle_of_list_cells_is_refused() -> None:
    assert codes("ex:p odrl:profile _:a . _:a rdf:first ex:a ; rdf:rest _:a .") == ["P217"]


def test_lists_that_nothing_uses_are_refused() -> None:
    assert codes("ex:p a odrl:Set . (ex:a ex:b) odrl:profile ex:c .") == ["P217"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ex:a ex:b " + "[" * 100_000, "P104"),
        ("ex:a ex:b " + "(" * 100_000, "P104"),
        ("ex:a ex:b " + "[ ex:b " * 64 + "1" + "]" * 64 + ".", "P104"),
        ("ex:a ex:b " + ",".join(["[]"] * 30_000) + ".", "P108"),
        (
            "".join(f"_:{i} ex:b " + ",".join(f"_:{j}" for j in range(250)) + "." for i in range(250)),
            "P108",
        ),
        ("ex:a ex:b '" + "a" * 100_000 + "' .", "P108"),
        ("ex:a ex:b " + "9" * 5_000 + " .", "P106"),
        ("<" * 900_000, "P217"),
        ('"""' * 299_999, "P108"),
        (" " * 900_000 + "@", "P217"),
        ("#\n" * 400_000 + "}", "P217"),
        ("\\" * 900_000, "P217"),
    ],
    ids=range(12),
)
def test_hostile_text(text: str, code: str) -> None:
    assert codes(text)[0] == code


def test_long_texts_with_many_escapes() -> None:
    texts = ", ".join('"' + "\\n" * 30_000 + '"' for _ in range(12))
    assert "P309" in codes(f"ex:p a odrl:Set ; ex:b {texts} .")


def test_names_of_nodes_are_short_and_printable() -> None:
    long = "x" * 50_000
    parsed = ttl(f"ex:{long} a odrl:Set ; ex:a\u202eb [ ex:{long} [ odrl:leftOperand ex:{long} ] ] .")
    assert parsed.errors
    assert all(len(found.where.node) < 1000 and found.where.node.isprintable() for found in parsed.errors)


def test_words_are_written_with_the_prefixes_of_the_document() -> None:
    terms = Terms({"o": "http://www.w3.org/ns/odrl/2/", "": "http://example.com/"}, True)
    assert terms.shorten("http://www.w3.org/ns/odrl/2/use") == "o:use"
    assert terms.shorten("http://example.com/a") == ":a"


TOKENS = REFERENCE.replace(";", " ; ").replace("[", " [ ").split(" ")
WORDS = [
    "[",
    "]",
    "(",
    ")",
    ";",
    ",",
    ".",
    "a",
    "_:b",
    "1e9",
    '"',
    "<>",
    "odrl:use",
    "@base",
    "^^",
    "'''",
    "",
]


@given(st.lists(st.tuples(st.integers(0, len(TOKENS) - 1), st.sampled_from(WORDS)), min_size=1, max_size=3))
@settings(max_examples=examples(100))
def test_changed_documents_give_findings_or_a_policy(changes: list[tuple[int, str]]) -> None:
    tokens = list(TOKENS)
    for at, word in changes:
        tokens[at] = word
    parsed = parse(" ".join(tokens).encode(), "changed.ttl")
    assert parsed.is_valid == bool(parsed.policies or parsed.templates)
    render_human(parsed.diagnostics, parsed.text)


def test_a_prefix_stands_for_one_namespace() -> None:
    assert "P205" not in codes("@prefix ex: <http://example.com/> . ex:p a odrl:Set .")
    relative = "@prefix r: <a/> . @base <http://example.org/> . @prefix r: <a/> . ex:p a odrl:Set ."
    assert codes(relative) == ["P205"]
    assert codes("@prefix ex: <http://example.org/other/> . ex:p a odrl:Set .") == ["P205"]
