"""What the rules of one policy make, and from what: no run may overwrite what another one reads."""

from collections.abc import Iterator

from smalti.policy.document.nodes import Node, nodes_below
from smalti.policy.findings.findings import quoted
from smalti.policy.model.circles import on_circles
from smalti.policy.model.model import Duty, Permission, Policy
from smalti.policy.read.values import Scope
from smalti.vocab.terms import IRI, OUTPUT


def check_outputs(policy: Policy, node: Node, scope: Scope) -> None:
    """Refuse outputs that lead back to their source: A is made from B, and B from A."""
    made_from: dict[IRI, set[IRI]] = {}
    for output, source in _made(policy):
        made_from.setdefault(output, set()).add(source)
    circular = on_circles(made_from)
    for below in nodes_below(node) if circular else ():
        prop = below.get(OUTPUT)
        for value in prop.values if prop is not None else ():
            name = value.name if isinstance(value, Node) else None
            if name is not None and name.iri in circular:
                message = (
                    f"the output {quoted(name.written)} is what it is made from, by way of other rules"
                )
                help_ = "name a new asset: a run never overwrites its input"
                scope.findings.error("P413", name.place, message, help_)


def _made(policy: Policy) -> Iterator[tuple[IRI, IRI]]:
    """Each output with the target that it is made from."""
    for rule in policy.rules:
        for made in _with_nested(rule):
            if isinstance(made, Permission | Duty) and made.output is not None:
                for target in made.targets:
                    yield made.output, target.iri


def _with_nested(rule: object) -> Iterator[object]:
    yield rule
    for nested in ("duties", "remedies", "consequences"):
        for duty in getattr(rule, nested, ()):
            yield from _with_nested(duty)
