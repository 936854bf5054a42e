"""What a request must state for the permissions of a policy to apply: facts, clauses, a date."""

from collections.abc import Iterator
from dataclasses import dataclass

from smalti.policy.decide.conditions import comparisons
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import printable
from smalti.policy.model.anchors import is_anchored
from smalti.policy.model.model import Permission, Policy, Text
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Needs:
    """What a request must state for a permission, by declared operands; alternatives are not told apart."""

    facts: tuple[OperandDeclaration, ...]
    clauses: tuple[OperandDeclaration, ...]
    needs_agreement: bool
    """Whether a time is counted from the date of the agreement."""


def needs_of(permission: Permission, hierarchies: Hierarchies) -> Needs:
    """What a request must state for a permission.

    Args:
        permission: of a policy.
        hierarchies: what vocabularies declare.
    """
    compared = list(comparisons(permission.constraints))
    compared += [
        leaf for party in permission.assignees for leaf in comparisons(party.refinements)
    ]  # fmt: skip
    operands = dict.fromkeys(leaf.operand for leaf in compared)
    declared = [its for operand in operands if (its := hierarchies.declaration(operand)) is not None]
    return Needs(
        tuple(its for its in declared if its.kind is OperandKind.FACT),
        tuple(its for its in declared if its.kind is OperandKind.CLAUSE),
        any(_is_anchored(value) for leaf in compared for value in leaf.values),
    )


def needed_statements(policy: Policy, hierarchies: Hierarchies) -> Iterator[Diagnostic]:
    """A note for each permission that depends on what only a request can state."""
    for permission in policy.permissions:
        needs = needs_of(permission, hierarchies)
        text = "; ".join(_parts(needs))
        if text:
            message = printable(f"the permission applies only to requests that {text}")
            help_ = "`smalti decide` takes them as --fact, --accept with --on-behalf-of, and --agreed"
            yield Diagnostic(
                "P624", Severity.NOTE, message, permission.where, help=help_, lists=_lists(needs)
            )


def _lists(needs: Needs) -> tuple[tuple[str, tuple[str, ...]], ...]:
    facts, clauses = (tuple(its.iri for its in listed) for listed in (needs.facts, needs.clauses))
    return (("facts", facts), ("clauses", clauses), ("dates", ("agreed",) * needs.needs_agreement))


def _parts(needs: Needs) -> Iterator[str]:
    if needs.facts:
        yield f"state {_listed('the fact', [_by(fact) for fact in needs.facts])}"
    if needs.clauses:
        yield f"accept {_listed('the clause', [f'`{clause.iri}`' for clause in needs.clauses])}"
    if needs.needs_agreement:
        yield "state the date of their agreement"


def _by(fact: OperandDeclaration) -> str:
    by = f" (on the word of {' or '.join(sorted(fact.stated_by))})" if fact.stated_by else ""
    return f"`{fact.iri}`{by}"


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"


def _is_anchored(value: object) -> bool:
    return isinstance(value, Text) and is_anchored(value.text)


def unknown_profiles(policy: Policy, hierarchies: Hierarchies) -> tuple[IRI, ...]:
    """The profiles of a policy that no vocabulary here defines: it permits nothing."""
    return tuple(sorted({*policy.profiles} - hierarchies.profiles))
