"""Certificate and owner's report: what is said, and what is not."""

import json
import pickle
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pyld import jsonld
from rdflib import Graph, URIRef

from smalti.engine.anonymization.guarantee import describe_guarantee, limits
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.plan import OneRowEach, RespondentColumn
from smalti.engine.plan.reports import report_from_json, report_to_json
from smalti.engine.registry.certificate import describe_respondents
from smalti.engine.registry.entries import version_iri
from smalti.errors import RegistryError
from smalti.transforms.base import Guarantee
from smalti.vocab import terms

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world

VERSION = version_iri("11111111-2222-4333-8444-555555555555")
SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())
RECORD = world.new_version(VERSION)
GUARANTEES = [Guarantee("k-anonymity", 5), Guarantee("l-diversity", 10, 3)]


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_the_certificate_is_valid_and_stable() -> None:
    found = json.loads(RECORD.certificate)
    Draft202012Validator(SCHEMA).validate(found)
    assert world.new_version(VERSION).certificate == RECORD.certificate
    assert found["@id"] == VERSION
    assert found["isVersionOf"] == world.OUTPUT
    assert found["guarantee"]["k"] == 10
    assert found["guarantee"]["l"] == 3
    assert found["signature"] == "none - this certificate is unsigned"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["achievedK"], 13),
        (["guarantee", "achievedK"], 13),
        (["guarantee", "k"], 1),
        (["guarantee", "l"], None),
        (["signature"], "signed"),
        (["wasGeneratedBy", "party"], "http://org/user"),
    ],
)
def test_the_schema_is_closed(path: list[str], value: Any) -> None:
    found = json.loads(RECORD.certificate)
    part = found
    for name in path[:-1]:
        part = part[name]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    assert not Draft202012Validator(SCHEMA).is_valid(found)


def test_the_certificate_is_json_ld_that_loses_nothing() -> None:
    triples = jsonld.to_rdf(json.loads(RECORD.certificate), {"format": "application/n-quads"})
    graph = Graph().parse(data=triples, format="nt")
    version = URIRef(VERSION)
    assert (version, URIRef(terms.PROV + "wasDerivedFrom"), URIRef(world.SOURCE)) in graph
    assert (version, URIRef(terms.DCAT + "isVersionOf"), URIRef(world.OUTPUT)) in graph
    # Every leaf of the document is in the graph: no term lacks a definition in the context.
    document = {key: value for key, value in json.loads(RECORD.certificate).items() if key != "@context"}
    found = {str(node) for triple in graph for node in (triple[0], triple[2])}
    for leaf in leaves(document):
        local = re.split(r"[:#/]", leaf)[-1]
        assert leaf in found or any(node.endswith(local) for node in found), leaf


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [str(value)]


def test_the_certificate_holds_nothing_that_was_measured() -> None:
    text = RECORD.certificate
    for secret in ("432100987", "123400987", "77", "0.123456", "hmac", "customers.csv", str(world.USER)):
        assert not re.search(rf"(?<![0-9a-f]){re.escape(secret)}(?![0-9a-f])", text), secret


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda found: found.model)
def test_no_word_promises_too_much(guarantee: Guarantee) -> None:
    sentences = [
        describe_guarantee(guarantee, ("a", "b")),
        *limits(guarantee, ("a", "b"), ("c",)),
        *map(describe_respondents, (RespondentColumn("c"), OneRowEach(True), OneRowEach(False))),
    ]
    assert len(set(sentences)) == len(sentences)
    for sentence in sentences:
        assert not re.search(r"\b(anonymous|safe|compliant|certified|private)\b", sentence, re.IGNORECASE)
        assert sentence[0].islower()
        assert not sentence.endswith(".")


def test_a_respondent_column_is_not_named() -> None:
    assert "canary" not in describe_respondents(RespondentColumn("canary"))


def test_a_report_round_trips() -> None:
    report = world.report()
    assert report_from_json(report_to_json(report), Kind.ANONYMIZATION) == report
    with pytest.raises(RegistryError) as caught:
        report_from_json('{"canary": 1}', Kind.ANONYMIZATION)
    assert "canary" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args
