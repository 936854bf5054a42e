"""The export as RDF: public facts, policies apart."""

import sys
from pathlib import Path

from rdflib import Graph, Literal, URIRef

from smalti.engine.registry.entries import Input
from smalti.engine.registry.registry import Registry
from smalti.engine.run.records import export
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OUTPUT, OWNER, SOURCE


def test_the_export_shows_versions_lineage_and_owners(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    first = world.run(registry, tmp_path / "one")
    chained = IRI("http://example/second")
    document = world.document("chain", world.anonymize_rule("chain", OUTPUT, chained))
    changes = {"document": document, "policy_uid": world.uid("chain"), "inputs": (Input(OUTPUT, 1),)}
    second = world.run(registry, tmp_path / "two", target=chained, **changes)
    registry.revoke_policy(world.uid("chain"), OWNER)
    graph = Graph().parse(data=export(registry), format="turtle")
    triples = [
        (OUTPUT, terms.DCAT + "hasVersion", first.iri),
        (first.iri, terms.PROV + "wasDerivedFrom", SOURCE),
        (second.iri, terms.PROV + "wasDerivedFrom", first.iri),
        (OUTPUT, terms.DCT + "rightsHolder", OWNER),
        (world.uid("anon"), terms.RDF + "type", terms.ODRL + "Policy"),
    ]
    for triple in triples:
        assert tuple(map(URIRef, triple)) in graph
    assert (URIRef(first.iri), URIRef(terms.DCAT + "version"), Literal("1")) in graph
    ended = set(graph.subjects(URIRef(terms.PROV + "invalidatedAtTime")))
    assert ended == {URIRef(world.uid("chain"))}


def test_the_export_holds_no_rule_and_no_private_fact(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    world.run(registry, tmp_path / "one")
    for syntax in ("turtle", "nt", "json-ld", "xml"):
        text = export(registry, syntax)
        for private in (
            str(tmp_path),
            world.USER,
            "432100987",
            "123400987",
            "hmac",
            "rightOperand",
            "odrl:target",
        ):
            assert private not in text


def test_an_empty_registry_exports_nothing(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    assert len(Graph().parse(data=export(registry), format="turtle")) == 0
    assert list(tmp_path.iterdir()) == []
