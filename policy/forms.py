"""The forms that a policy document may have, each read to the same nodes."""

from smalti.policy.context import Terms, read_context
from smalti.policy.expansion import expand
from smalti.policy.findings import Findings
from smalti.policy.json_text import JsonArray, JsonObject, JsonValue, read
from smalti.policy.keys import check_keys
from smalti.policy.nodes import Node


def read_nodes(text: str, findings: Findings) -> list[tuple[Node, Terms]]:
    """The policies of a document as nodes, each with the meaning of its words; none after an error."""
    value, faults = read(text)
    for fault in faults:
        findings.error(fault.code, fault.place, fault.message, fault.help)
    if value is None or findings.has_errors:
        return []
    expanded = [_expand(policy, findings) for policy in _policy_objects(value, findings)]
    return [pair for pair in expanded if pair is not None]


def _policy_objects(value: JsonValue, findings: Findings) -> list[JsonObject]:
    items = value.items if isinstance(value, JsonArray) else (value,)
    if not items:
        findings.error("P201", value.place, "the document is an empty list")
    for item in items:
        if not isinstance(item, JsonObject):
            findings.error("P201", item.place, "a policy is an object, and this is not one")
    return [item for item in items if isinstance(item, JsonObject)]


def _expand(policy: JsonObject, findings: Findings) -> tuple[Node, Terms] | None:
    terms = read_context(policy, findings)
    if terms is None or not check_keys(policy, terms, findings):
        return None
    node = expand(policy, terms, findings)
    return (node, terms) if node is not None else None
