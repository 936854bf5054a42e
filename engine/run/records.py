"""The registry as RDF (ODRL, DCAT, PROV-O): public facts, for catalogues and for queries.

Policies are referred to by uid and digest, never merged into the graph: two documents in one graph would
speak for each other. Nothing from an owner's report is in it, nor parties of runs, nor paths.

Importing this module imports rdflib; only the export needs it.
"""

from collections.abc import Sequence
from typing import Final

from rdflib import BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from smalti.engine.registry.certificate import SPDX as SPDX_TERMS
from smalti.engine.registry.entries import (
    Asset,
    AssetKind,
    StoredPolicy,
    TargetVersion,
    run_of_table,
    version_iri,
)
from smalti.engine.registry.registry import Registry
from smalti.engine.run.lineage import promise_of, versions_behind
from smalti.vocab import terms
from smalti.vocab.terms import IRI

DCAT: Final = Namespace(terms.DCAT)
DCT: Final = Namespace(terms.DCT)
DPV: Final = Namespace(terms.DPV)
ODRL: Final = Namespace(terms.ODRL)
PROV: Final = Namespace(terms.PROV)
SMALTI: Final = Namespace(terms.SMALTI)
SPDX: Final = Namespace(SPDX_TERMS)
XSD: Final = Namespace(terms.XSD)
TYPE: Final = URIRef(terms.RDF + "type")

_PREFIXES: Final = {
    "dcat": DCAT,
    "dct": DCT,
    "dpv": DPV,
    "odrl": ODRL,
    "prov": PROV,
    "s": SMALTI,
    "spdx": SPDX,
    "xsd": XSD,
}
MEDIA_TYPES: Final = "https://www.iana.org/assignments/media-types/"
_THING: Final = (DCAT["Dataset"], ODRL["Asset"], PROV["Entity"])


def export(registry: Registry, syntax: str = "turtle") -> str:
    """The public facts of a registry, as text.

    Args:
        registry: only read; one that does not exist gives an empty graph.
        syntax: `turtle`, `nt`, `json-ld` or `xml`.
    """
    return to_graph(registry).serialize(format=syntax)


def export_lineage(registry: Registry, target: IRI, syntax: str = "turtle") -> str:
    """The versions of an output with all that they were made from (PROV-O), as text.

    Args:
        registry: only read.
        target: a recorded output.
        syntax: as `export`.

    Raises:
        UsageError: the registry records no such output.
    """
    versions = versions_behind(registry, target)
    graph = _empty_graph()
    assets = {version.target for version in versions}
    assets |= {source.iri for version in versions for source in version.inputs}
    for asset in registry.ownership.assets():
        if asset.iri in assets:
            _add_asset(graph, asset, registry.ownership.of(asset.iri))
    _add_versions(graph, versions)
    return graph.serialize(format=syntax)


def export_catalogue(registry: Registry, target: IRI, syntax: str = "turtle") -> str:
    """An entry of a data catalogue (DCAT 3) for an output and each version that is not discarded, as text.

    `odrl:hasPolicy` names the policies in force that are about this output and nothing else, since it makes
    the output the target of all of their rules (ODRL 2.2, 2.1).

    Args:
        registry: only read.
        target: a recorded output.
        syntax: as `export`.

    Raises:
        UsageError: the registry records no such output.
    """
    versions = [
        version
        for version in versions_behind(registry, target)
        if version.target == target and version.discarded_at is None
    ]
    graph, node = _empty_graph(), URIRef(target)
    for asset in registry.ownership.assets():
        if asset.iri == target:
            _add_asset(graph, asset, registry.ownership.of(target))
    policies = [
        URIRef(stored.uid)
        for stored in registry.policies.listed()
        if stored.is_in_force and set(stored.targets) == {target}
    ]
    for version in versions:
        entry = URIRef(version.iri)
        _add_issue(graph, version)
        _add_distributions(graph, version, entry)
        graph.add((entry, DCT["title"], Literal(f"{target} version {version.number}")))
        graph.add((entry, DCT["description"], Literal(promise_of(version))))
        for policy in policies:
            graph.add((entry, ODRL["hasPolicy"], policy))
    for policy in policies:
        graph.add((node, ODRL["hasPolicy"], policy))
    return graph.serialize(format=syntax)


def to_graph(registry: Registry) -> Graph:
    """The public facts of a registry, as an rdflib graph."""
    graph = _empty_graph()
    for asset in registry.ownership.assets():
        _add_asset(graph, asset, registry.ownership.of(asset.iri))
    for policy in registry.policies.listed():
        _add_policy(graph, policy)
    _add_versions(graph, registry.outputs.all())
    return graph


def _empty_graph() -> Graph:
    graph = Graph(bind_namespaces="none")
    for prefix, namespace in _PREFIXES.items():
        graph.bind(prefix, namespace)
    return graph


def _add_versions(graph: Graph, versions: Sequence[TargetVersion]) -> None:
    names = {(version.target, version.number): version.iri for version in versions}
    for version in versions:
        _add_version(graph, version, names)


def _add_asset(graph: Graph, asset: Asset, owners: frozenset[IRI]) -> None:
    node = URIRef(asset.iri)
    _add_types(graph, node, *_THING)
    if asset.kind is AssetKind.OUTPUT:
        _add_types(graph, node, DPV["ContextuallyAnonymisedData"])
    for owner in owners:
        graph.add((node, DCT["rightsHolder"], URIRef(owner)))


def _add_policy(graph: Graph, stored: StoredPolicy) -> None:
    node = URIRef(stored.uid)
    _add_types(graph, node, ODRL["Policy"], PROV["Entity"])
    graph.add((node, PROV["wasAttributedTo"], URIRef(stored.issuer)))
    for target in stored.targets:
        # Not odrl:hasPolicy: that would make the asset the target of every rule of the policy.
        graph.add((node, DCT["subject"], URIRef(target)))
    if stored.is_in_force:
        graph.add((node, PROV["generatedAtTime"], Literal(stored.added_at)))
    else:
        graph.add((node, PROV["invalidatedAtTime"], Literal(stored.revoked_at)))
    _add_checksum(graph, node, stored.digest)


def _add_version(graph: Graph, version: TargetVersion, names: dict[tuple[IRI, int], IRI]) -> None:
    node = URIRef(version.iri)
    _add_issue(graph, version)
    sources = [
        URIRef(source.iri if source.version is None else names[source.iri, source.version])
        for source in version.inputs
    ]
    for source in sources:
        graph.add((node, PROV["wasDerivedFrom"], source))
    for table in version.tables:
        part = version_iri(run_of_table(version.run, table.iri))
        graph.add((URIRef(version.target), DCT["hasPart"], URIRef(table.iri)))
        graph.add((node, DCT["hasPart"], URIRef(part)))
    _add_activity(graph, version, node, sources)
    _add_distributions(graph, version, node)


def _add_issue(graph: Graph, version: TargetVersion) -> None:
    node = URIRef(version.iri)
    graph.add((URIRef(version.target), DCAT["hasVersion"], node))
    graph.add((node, DCAT["isVersionOf"], URIRef(version.target)))
    graph.add((node, DCAT["version"], Literal(str(version.number))))
    graph.add((node, DCT["issued"], Literal(version.created_at)))
    _add_types(graph, node, *_THING)


def _add_activity(graph: Graph, version: TargetVersion, node: URIRef, sources: list[URIRef]) -> None:
    activity, association, agent, plan = BNode(), BNode(), BNode(), BNode()
    graph.add((node, PROV["wasGeneratedBy"], activity))
    _add_types(graph, activity, PROV["Activity"], DPV["Anonymise"])
    for used in (*sources, URIRef(version.policy_uid)):
        graph.add((activity, PROV["used"], used))
    graph.add((activity, SMALTI["rule"], URIRef(version.rule_uid)))
    graph.add((activity, PROV["qualifiedAssociation"], association))
    _add_types(graph, association, PROV["Association"])
    graph.add((association, PROV["agent"], agent))
    _add_types(graph, agent, PROV["SoftwareAgent"])
    graph.add((agent, DCT["title"], Literal("smalti")))
    graph.add((association, PROV["hadPlan"], plan))
    _add_types(graph, plan, PROV["Plan"])
    _add_checksum(graph, plan, version.plan_digest)


def _add_distributions(graph: Graph, version: TargetVersion, node: URIRef) -> None:
    for file in version.files:
        distribution = BNode()
        graph.add((node, DCAT["distribution"], distribution))
        _add_types(graph, distribution, DCAT["Distribution"])
        graph.add((distribution, DCT["title"], Literal(file.name)))
        graph.add((distribution, DCAT["mediaType"], URIRef(MEDIA_TYPES + file.media_type)))
        _add_checksum(graph, distribution, file.digest)


def _add_checksum(graph: Graph, about: Node, digest: str) -> None:
    checksum, value = BNode(), digest.removeprefix("sha256:")
    graph.add((about, SPDX["checksum"], checksum))
    _add_types(graph, checksum, SPDX["Checksum"])
    graph.add((checksum, SPDX["algorithm"], SPDX["checksumAlgorithm_sha256"]))
    graph.add((checksum, SPDX["checksumValue"], Literal(value, datatype=XSD["hexBinary"], normalize=False)))


def _add_types(graph: Graph, node: Node, *kinds: URIRef) -> None:
    for kind in kinds:
        graph.add((node, TYPE, kind))
