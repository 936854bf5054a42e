"""Places nodes where they are used, so that every serialization gives one tree for each policy.

In a flattened document, and in Turtle, a node stands by itself and is used by its name. A statement about a
rule, a constraint or an action must apply at one place only: a shared node would carry it to a second use
(privilege escalation), so a node that is used twice is refused. Assets and parties may be named any number
of times: statements about them apply to the whole policy, and stand where the policy first names them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.context import Terms
from smalti.policy.document.nodes import Literal, Name, Node, Property, Value, nodes_below
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.text.json_text import MAX_DEPTH, Place
from smalti.vocab.odrl import LOGICAL_OPERANDS, POLICY_TYPES
from smalti.vocab.remarks import OF_ASSETS, OF_PARTIES, REMARKS
from smalti.vocab.terms import (
    ACTION,
    ASSIGNEE_OF,
    ASSIGNER_OF,
    BELONGS_TO,
    CONSTRAINT,
    HAS_POLICY,
    INCLUDED_IN,
    IRI,
    ODRL,
    PART_OF,
    PERMISSION,
    PROHIBITION,
    RDF_VALUE,
    REFINEMENT,
    UID,
)

_RULES: Final = (PERMISSION, PROHIBITION, IRI(ODRL + "obligation"))
_TYPES: Final = frozenset(ODRL + name for name in POLICY_TYPES)
_OWNED: Final = frozenset({*_RULES, CONSTRAINT, REFINEMENT, ACTION, RDF_VALUE}) | {
    ODRL + name for name in ("duty", "remedy", "consequence", *LOGICAL_OPERANDS)
}
"""Properties whose values are parts of their node, and not independent things."""

_BESIDE: Final = -1
"""In place of the number of a policy: the node stands beside all of them."""
_MOST_BESIDE: Final = 100_000
"""Nodes beside the policies, times the number of policies."""
_SAID: Final = frozenset({PART_OF, BELONGS_TO, HAS_POLICY, ASSIGNER_OF, ASSIGNEE_OF, INCLUDED_IN})
_REMARKS: Final = REMARKS | OF_ASSETS | OF_PARTIES


@dataclass(frozen=True, slots=True)
class _Use:
    policy: int
    place: Place
    owned: bool


@dataclass(frozen=True, slots=True)
class _Description:
    node: Node
    name: Name
    nested: bool
    """It stands inside another node, which uses it."""


def link(tops: Sequence[tuple[Node, Terms]], findings: Findings) -> list[tuple[Node, Terms]]:
    """The policies among the nodes at the top of a document, with the others where they are used.

    Nothing is dropped: a node that is used by no policy and says nothing of one, that is used twice, or
    described twice, is an error.

    Returns:
        A tree for each policy, in the document's order; none after an error.
    """
    roots = _policies([node for node, _ in tops])
    linker = _Linker([node for node, _ in tops], roots, findings)
    linked = [(linker.policy(node), terms) for node, terms in tops if id(node) in roots]
    beside = tuple(linker.beside([node for node, _ in tops if id(node) not in roots]))
    size = sum(1 for top in beside for _ in nodes_below(top)) * len(linked)
    if size > _MOST_BESIDE:  # each policy reads them
        message = f"the document says too much beside its {len(linked)} policies"
        linker.error("P108", beside[0].place, message, "put each policy into a document of its own")
    return [(replace(node, beside=beside), terms) for node, terms in linked] if linker.judge() else []


def _policies(tops: Sequence[Node]) -> frozenset[int]:
    """The identities of the nodes that are policies, or are meant to be."""
    if len(tops) == 1:
        return frozenset({id(tops[0])})
    used = {below.name.iri for top in tops for below in _below(top) if below.name is not None}
    unused = [node for node in tops if node.name is None or node.name.iri not in used]
    policies = {id(node) for node in tops if _is_policy(node)}
    # A node with words that are not understood may be a policy; its checks say more than "no policy" would.
    meant = {id(node) for node in unused if not node.is_complete}
    return frozenset(policies | meant) or frozenset(map(id, unused or tops[:1]))


def _is_policy(node: Node) -> bool:
    return any(name.iri in _TYPES for name in node.types) or any(
        node.get(kind) for kind in (*_RULES, IRI(ODRL + "inheritFrom"))
    )


def _below(node: Node) -> Iterator[Node]:
    """Every node inside the node."""
    for prop in node.properties.values():
        for value in prop.values:
            if isinstance(value, Node):
                yield value
                yield from _below(value)


def _is_blank(name: Name) -> bool:
    return name.iri.startswith("_:")


def _has_effect(node: Node) -> bool:
    """Whether the node has properties besides remarks and types."""
    return not _REMARKS.issuperset(node.properties)


def _speaks(node: Node) -> bool:
    """Whether a node says where an asset, a party or an action belongs, or which policy is about it."""
    return not _SAID.isdisjoint(node.properties)


def _only_defines(node: Node) -> bool:
    return INCLUDED_IN in node.properties and not {REFINEMENT, RDF_VALUE} & set(node.properties)


def _is_defined(description: _Description | None) -> bool:
    return description is not None and not description.nested and _only_defines(description.node)


class _Linker:
    def __init__(self, tops: Sequence[Node], roots: frozenset[int], findings: Findings) -> None:
        self.findings = findings
        self.good = True
        self.described: dict[str, _Description] = {}
        self.uses: dict[str, list[_Use]] = {}
        self.are_labels = len(tops) > 1
        self.too_deep = False
        self.repeated: set[str] = set()
        self.index = -1
        self.unnamed = [node for node in tops if id(node) not in roots and node.name is None]
        self.roots = {node.name.iri for node in tops if id(node) in roots and node.name is not None}
        for node in tops:
            if id(node) not in roots and node.name is not None:
                self.describe(node, node.name, nested=False)
        for top in tops:
            for node in _below(top):
                if node.name is not None and not node.is_reference:
                    self.describe(node, node.name, nested=True)

    def describe(self, node: Node, name: Name, nested: bool) -> None:
        first = self.described.setdefault(name.iri, _Description(node, name, nested))
        twice = first.node is not node
        if twice and first.nested and nested and not _is_blank(name):
            self.repeated.add(name.iri)  # compared when the trees are complete
        elif twice or (not nested and name.iri in self.roots):
            message = f"{self.called(name)} is already described {self.at(first.name.place)}"
            self.error("P310", name.place, message, "describe each node once")

    def policy(self, node: Node) -> Node:
        """The tree of one policy."""
        self.index += 1
        return self.complete(node, 1)

    def beside(self, others: Sequence[Node]) -> Iterator[Node]:
        """The nodes that no policy uses, and that say something of assets, parties or actions."""
        self.index = _BESIDE
        for node in others:
            if node.name is not None and _speaks(node) and not self.uses.get(node.name.iri):
                self.uses[node.name.iri] = [_Use(_BESIDE, node.name.place, owned=False)]
                yield self.complete(node, 1)

    def complete(self, node: Node, depth: int) -> Node:
        if depth > MAX_DEPTH:
            if not self.too_deep:
                self.too_deep = True
                self.error("P104", node.place, f"nodes are linked more than {MAX_DEPTH} deep")
            return node
        properties = {
            iri: replace(prop, values=tuple(self.value(value, prop, depth) for value in prop.values))
            for iri, prop in node.properties.items()
        }
        return _named(replace(node, properties=properties), self.are_labels)

    def value(self, value: Value, prop: Property, depth: int) -> Value:
        if isinstance(value, Literal) or value.name is None:
            return value if isinstance(value, Literal) else self.complete(value, depth + 1)
        iri = value.name.iri
        description = self.described.get(iri)
        if prop.iri == INCLUDED_IN and value.is_reference and _is_defined(description):
            return value  # it stands beside the policies, however long the chain of definitions is
        uses = self.uses.setdefault(iri, [])
        uses.append(_Use(self.index, value.name.place, prop.iri in _OWNED))
        if not value.is_reference:
            return self.complete(value, depth + 1)
        if description is None and _is_blank(value.name) and iri not in self.roots:
            message = f"{self.called(value.name)} is used here, but the document does not describe it"
            self.error("P215", value.name.place, message, "describe it, or write an IRI")
        if description is None or description.nested or len(uses) > 1 or iri in self.roots:
            return value
        return self.complete(description.node, depth + 1)

    def judge(self) -> bool:
        """Report nodes that are used too often or never; return whether the trees may be read."""
        if self.too_deep:
            return False
        for node in self.unnamed:
            self.unused(node.place, "the node")
        for iri, description in self.described.items():
            uses = self.uses.get(iri, [])
            if not uses and not description.nested and iri not in self.roots:
                self.unused(description.name.place, self.called(description.name))
            elif len(uses) > 1 and iri not in self.repeated:
                self.judge_uses(description, uses)
        return self.good

    def judge_uses(self, description: _Description, uses: list[_Use]) -> None:
        owned = uses if _is_blank(description.name) else [use for use in uses if use.owned]
        foreign = [use for use in uses if use.policy not in {uses[0].policy, _BESIDE}]
        if _only_defines(description.node):  # what it says of an action is said of it everywhere
            return
        if len(owned) > 1:
            first, second = owned[0], owned[1]
            message = f"{self.called(description.name)} is already used {self.at(first.place)}"
            help_ = "write it twice: statements about a shared node would apply at both places"
            self.error("P214", second.place, message, help_)
        elif foreign and _has_effect(description.node):
            message = (
                f"{self.called(description.name)} is described for two policies: another one names it "
                f"{self.at(uses[0].place)}"
            )
            self.error("P214", foreign[0].place, message, "put each policy into a document of its own")

    def unused(self, place: Place, called: str) -> None:
        message = f"{called} is described, but no policy uses it"
        help_ = "use it in a policy, or remove it; a policy has a type such as `odrl:Set`"
        self.error("P216", place, message, help_)

    def error(self, code: str, place: Place, message: str, help_: str = "") -> None:
        self.good = False
        self.findings.error(code, place, message, help_)

    def at(self, place: Place) -> str:
        return f"at {place.node}" if place.node else f"at line {self.findings.where(place).line}"

    @staticmethod
    def called(name: Name) -> str:
        return quoted(name.written) if name.written else "the node"


def _named(node: Node, are_labels: bool) -> Node:
    """The node without a label of the document, and with its `odrl:uid` as its name.

    Args:
        node: any node of a tree.
        are_labels: whether blank names that are written as `uid` are labels, as in a flattened document;
            otherwise they are kept, and refused later: their author took them for names.
    """
    name = node.name
    if name is not None and _is_blank(name) and (are_labels or not name.is_uid):
        name = None
    uid = node.get(UID)
    if uid is not None and len(uid.values) == 1:
        value = uid.values[0]
        if isinstance(value, Node) and value.is_reference and value.name is not None:
            written = replace(value.name, is_uid=True)
            if name is None or name.iri == written.iri:
                others = {iri: prop for iri, prop in node.properties.items() if iri != UID}
                return replace(node, name=written, properties=others)
    return node if name is node.name else replace(node, name=name)
