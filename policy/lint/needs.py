"""What a request must state for the permissions of a policy to apply: facts, clauses, a date."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from smalti.policy.decide.conditions import comparisons
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import printable
from smalti.policy.model.anchors import is_anchored
from smalti.policy.model.model import Condition, Duty, Permission, Policy, Prohibition, Rule, Text
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.terms import ANONYMIZE, IRI


@dataclass(frozen=True, slots=True)
class Needs:
    """What a request must state for a rule, by declared operands; alternatives are not told apart."""

    facts: tuple[OperandDeclaration, ...]
    clauses: tuple[OperandDeclaration, ...]
    needs_agreement: bool
    """Whether a time is counted from the date of the agreement."""


def needs_of(rule: Rule, hierarchies: Hierarchies) -> Needs:
    """What a request must state for a permission, its duties included; or for what a duty permits.

    Args:
        rule: of a policy.
        hierarchies: what vocabularies declare.
    """
    rules = (rule, *(rule.duties if isinstance(rule, Permission) else ()))
    compared = list(comparisons(condition for each in rules for condition in _limits(each)))
    operands = dict.fromkeys(leaf.operand for leaf in compared)
    declared = [its for operand in operands if (its := hierarchies.declaration(operand)) is not None]
    return Needs(
        tuple(its for its in declared if its.kind is OperandKind.FACT),
        tuple(its for its in declared if its.kind is OperandKind.CLAUSE),
        any(_is_anchored(value) for leaf in compared for value in leaf.values),
    )


def _limits(rule: Rule) -> Iterator[Condition]:
    yield from rule.constraints
    for party in rule.assignees:
        yield from party.refinements
    for target in rule.targets:
        yield from target.refinements


def needed_statements(policy: Policy, hierarchies: Hierarchies) -> Iterator[Diagnostic]:
    """A note for each rule that permits something, and depends on what only a request can state."""
    for kind, rule in _permitting(policy):
        needs = needs_of(rule, hierarchies)
        text = "; ".join(_parts(needs))
        if text:
            message = printable(f"the {kind} applies only to requests that {text}")
            help_ = "`smalti decide` takes them as --fact, --accept with --on-behalf-of, and --agreed"
            yield Diagnostic("P624", Severity.NOTE, message, rule.where, help=help_, lists=_lists(needs))


def _permitting(policy: Policy) -> Iterator[tuple[str, Rule]]:
    yield from (("permission", rule) for rule in policy.permissions)
    yield from (("obligation", rule) for rule in policy.obligations if rule.action == ANONYMIZE)
    for prohibition in policy.prohibitions:
        if any(remedy.action == ANONYMIZE for remedy in prohibition.remedies):  # others are owed besides
            yield from (("remedy", _with(prohibition, remedy)) for remedy in prohibition.remedies)


def _with(prohibition: Prohibition, remedy: Duty) -> Duty:
    """A remedy with the conditions of its prohibition, which it needs, too."""
    return replace(
        remedy,
        constraints=(*prohibition.constraints, *remedy.constraints),
        assignees=remedy.assignees or prohibition.assignees,
        targets=remedy.targets or prohibition.targets,
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
