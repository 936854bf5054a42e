"""A policy in the short form (YAML), where the short form has words for all that it says."""

from collections.abc import Iterator
from dataclasses import dataclass

from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.document.nodes import nodes_below
from smalti.policy.document.serializations import read_nodes
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import json_ld_document, parse
from smalti.policy.read.properties import ALL_REMARKS
from smalti.policy.say.format import Formatted, format_document
from smalti.policy.say.serialize import policy_object
from smalti.policy.short.plain import plain_object
from smalti.policy.short.shorten import shorten
from smalti.policy.short.source import is_short
from smalti.policy.text.json_text import JsonObject, Place
from smalti.policy.text.yaml_layout import lay_out_yaml
from smalti.vocab.terms import LEFT_OPERAND

_WAY_OUT = "keep it as JSON-LD, which every command takes"


@dataclass(frozen=True, slots=True)
class Short:
    """A policy in the short form, or what the short form has no word for."""

    text: str | None
    problems: tuple[str, ...] = ()


def short_text(policy: Policy, hierarchies: Hierarchies = STANDARD) -> Short:
    """The short form of a policy: reading it gives a policy of the same meaning digest.

    Args:
        policy: a valid one.
        hierarchies: the profiles, actions and operands that it uses.
    """
    if policy.inherits:
        return Short(None, ("that it inherits from another policy",))
    document, problems = shorten(policy_object(policy))
    if document is None:
        return Short(None, problems)
    text = lay_out_yaml(_without_usual_profile(document, policy, hierarchies))
    if _says_the_same(text, policy, hierarchies):
        return Short(text)
    return Short(None, ("something that would mean something else in the short form",))


def _without_usual_profile(document: JsonObject, policy: Policy, hierarchies: Hierarchies) -> JsonObject:
    """The document without a `profile` that is filled in anyway."""
    members = {member.key.text: member.value for member in document.members if member.key.text != "profile"}
    shorter = plain_object(members)
    return shorter if _says_the_same(lay_out_yaml(shorter), policy, hierarchies) else document


def _says_the_same(text: str, policy: Policy, hierarchies: Hierarchies) -> bool:
    again = parse(text.encode(), "short.yaml", hierarchies=hierarchies)
    return len(again.policies) == 1 and meaning_digest(again.policies[0]) == meaning_digest(policy)


def to_short(text: str, name: str) -> Formatted:
    """A policy document, in whatever form, in the short form.

    Nothing is ever dropped but comments: what has no word is an error (P114), also annotations.

    Args:
        text: the document's characters.
        name: what diagnostics call the document.
    """
    text = text.removeprefix("\ufeff")
    parsed = parse(text.encode("utf-8", errors="replace"), name)
    if parsed.errors:
        return Formatted(None, parsed.errors)
    findings = Findings(name, text)
    policies = parsed.policies
    if len(policies) != 1:
        problem = f"it contains {len(policies)} policies"
        _refuse(problem if policies else "it is a template, which leaves something open", findings)
        return Formatted(None, findings.sorted())
    for remark in _remarks(text, name):
        _refuse(f"it says {remark}", findings)
    short = short_text(policies[0])
    for problem in short.problems:
        _refuse(f"it says {problem}", findings)
    return Formatted(None, findings.sorted()) if findings.has_errors else Formatted(short.text)


def to_json_ld(text: str, name: str) -> Formatted:
    """A policy document in JSON-LD: what a short form stands for; other documents are only laid out."""
    document = json_ld_document(text.encode("utf-8", errors="replace"), name)
    if is_short(name, text):
        if document == text.encode("utf-8", errors="replace"):
            return Formatted(None, parse(document, name).errors)
        return Formatted(document.decode())
    return format_document(text, name)


def _refuse(problem: str, findings: Findings) -> None:
    message = f"this policy cannot be written in the short form: {problem}"
    findings.error("P114", Place(0, 0, ""), message, _WAY_OUT)


def _remarks(text: str, name: str) -> Iterator[str]:
    """What a document says without effect on any decision, and a policy as a value does not have."""
    if is_short(name, text):
        return
    for top, _ in read_nodes(text, Findings(name, text)):
        for node in nodes_below(top):
            yield from (quoted(prop.word) for iri, prop in node.properties.items() if iri in ALL_REMARKS)
            if node.get(LEFT_OPERAND) is not None and node.name is not None:
                yield f"the uid of a constraint, {quoted(node.name.written)}"
