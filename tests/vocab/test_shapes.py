"""The SHACL shapes: SHACL Core alone, made from the table of words."""

import re
from importlib.resources import files

import pytest
import rdflib
from generators.shape_sharing import share
from rdflib.collection import Collection
from rdflib.namespace import RDF, SH

from smalti.policy.document.spellings import iris
from smalti.policy.findings.codes import BY_CODE
from smalti.vocab import terms
from smalti.vocab.words import WORDS, Word

S = rdflib.Namespace(terms.SMALTI)


@pytest.fixture(scope="module")
def shapes() -> rdflib.Graph:
    text = files("smalti.vocab").joinpath("shapes.ttl").read_text(encoding="utf-8")
    return rdflib.Graph().parse(data=text, format="turtle")


def test_only_the_core_of_shacl_is_used(shapes: rdflib.Graph) -> None:
    used = {str(predicate) for predicate in shapes.predicates() if str(predicate).startswith(str(SH))}
    assert used
    assert not [
        name for name in used if "sparql" in name.lower() or name.endswith(("select", "ask", "rule"))
    ]


def test_each_message_begins_with_a_code(shapes: rdflib.Graph) -> None:
    messages = {str(message) for message in shapes.objects(None, SH.message)}
    assert messages
    for message in messages:
        known = BY_CODE[message.partition(":")[0]]
        assert message == f"{known.code}: {known.title}; {known.explanation}"


def test_each_shape_with_a_result_of_its_own_has_a_message(shapes: rdflib.Graph) -> None:
    """What a user is shown says which finding it is."""
    for node in shapes.subjects(RDF.type, SH.NodeShape):
        if not any(shapes.objects(node, target) for target in (SH.targetNode, SH.targetClass)):
            continue
        for checked in shapes.objects(node, SH.property):
            assert shapes.value(checked, SH.message) is not None


@pytest.mark.parametrize("word", [word for word in WORDS if word.operators], ids=lambda word: word.name)
def test_each_operand_has_a_shape_for_all_of_its_spellings(word: Word, shapes: rdflib.Graph) -> None:
    targets = {str(target) for target in shapes.objects(S[f"{word.name}Word"], SH.targetNode)}
    assert targets == set(iris(word.iri))


@pytest.mark.parametrize("word", [word for word in WORDS if word.operators], ids=lambda word: word.name)
def test_each_operand_allows_the_operators_of_the_table(word: Word, shapes: rdflib.Graph) -> None:
    allowed: set[str] = set()
    forbidden: set[str] = set()
    for checked in shapes.objects(S[f"{word.name}Word"], SH.property):
        code = str(shapes.value(checked, SH.message)).partition(":")[0]
        for either in shapes.objects(shapes.value(checked, SH.node), SH["or"]):
            for shape in Collection(shapes, either):
                if code == "P405" and shapes.value(shape, SH["in"]):
                    allowed |= names(shapes, shapes.value(shape, SH["in"]))
                if code == "P406" and shapes.value(shape, SH["not"]):
                    forbidden |= names(shapes, shapes.value(shapes.value(shape, SH["not"]), SH["in"]))
    assert allowed - forbidden == word.operators


def names(graph: rdflib.Graph, start: rdflib.term.Node | None) -> set[str]:
    found = {str(item) for item in Collection(graph, start)}
    return {iri.removeprefix(terms.ODRL) for iri in found if iri.startswith(terms.ODRL)} - {"neg"}


def test_what_is_said_often_stands_once() -> None:
    inner = f'[ sh:path s:a ; sh:pattern "{"x]" * 60}" ; sh:message "P421: said so." ]'
    path = f"[ sh:alternativePath ( {'s:b ' * 40}) ]"
    text = (
        f"s:A sh:property {inner} ;\n    sh:or ( {inner} [ sh:path {path} ] ) .\n\ns:B sh:path {path} .\n"
    )
    shared = share(text)
    (name,) = {*re.findall(r"s:part-\w+", shared)}
    assert shared.count("x]" * 60) == 1
    assert shared.count(path) == 2, "a path has no name: that would be a property"
    whole, _, body = shared.partition(f"\n\n{name}\n    ")
    assert whole.replace(name, f"[ {body.removesuffix(' .' + chr(10))} ]") + "\n" == text
    assert f"{name}\n" in share(text.replace("said so", "said in other words")), "names stay"
