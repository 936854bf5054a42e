"""What is bound from outside of a policy document: the target and the parties of a template.

Who stores a policy without them binds them later: a connector's contract definition names the asset, and a
negotiation the parties. Such a policy is a template; only what is bound completely may grant anything.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from smalti.policy.model.model import Policy, Rule
from smalti.vocab.terms import IRI

UNBOUND: Final = "urn:smalti:unbound:"
"""How the IRIs begin that stand for what is not bound yet; no document can bind anything by writing one."""
PARTS: Final = ("target", "assigner", "assignee")


@dataclass(frozen=True, slots=True)
class Binding:
    """What is bound; None leaves a part as the document has it."""

    target: IRI | None = None
    assigner: IRI | None = None
    assignee: IRI | None = None
    base: IRI | None = None
    """The IRI before names without a scheme."""

    @property
    def parts(self) -> tuple[tuple[str, IRI], ...]:
        """The target and the parties that are bound, by name."""
        named = ((part, getattr(self, part)) for part in PARTS)
        return tuple((part, iri) for part, iri in named if iri is not None)


NOTHING_BOUND: Final = Binding()
BINDABLE: Final = (*PARTS, "base")
"""What a binding may name."""


def bind_options(parts: Iterable[str]) -> str:
    """The options of a command that bind some parts.

    >>> bind_options(["target", "base"])
    '--bind target=IRI --bind base=IRI'
    """
    return " ".join(f"--bind {part}=IRI" for part in parts)


def unbound(policy: Policy) -> tuple[str, ...]:
    """What must be bound before the policy can grant anything: of target, assigner, assignee and base."""
    names = {
        iri.removeprefix(UNBOUND).partition(":")[0] for iri in _iris(policy) if iri.startswith(UNBOUND)
    }
    return tuple(part for part in (*PARTS, "base") if part in names)


def _iris(policy: Policy) -> Iterator[IRI]:
    yield policy.uid
    yield from policy.inherits
    for membership in policy.memberships:
        yield from (membership.member, membership.collection)
    for rule in policy.rules:
        yield from _iris_of(rule)


def _iris_of(rule: Rule) -> Iterator[IRI]:
    yield rule.uid
    yield from (target.iri for target in rule.targets)
    yield from (party.iri for party in (*rule.assignees, *rule.assigners))
    output = getattr(rule, "output", None)
    if output is not None:
        yield output
    for part in ("duties", "remedies", "consequences"):
        for duty in getattr(rule, part, ()):
            yield from _iris_of(duty)
