"""What a request must state for the permissions of a policy to apply: facts, clauses, a date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from smalti.policy.decide.facts import comparisons
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import printable
from smalti.policy.model.anchors import is_anchored
from smalti.policy.model.model import Condition, Duty, Permission, Policy, Rule, Text
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Needs:
    """What a request must state for a rule, by declared operands; alternatives are not told apart."""

    facts: tuple[OperandDeclaration, ...]
    clauses: tuple[OperandDeclaration, ...]
    needs_agreement: bool
    """Whether a time is counted from the date of the agreement."""


def needs_of(rule: Rule, hierarchies: Hierarchies, beside: Iterable[Duty] = ()) -> Needs:
    """What a request must state for a permission, its duties included; or for what a duty permits.

    Args:
        rule: of a policy.
        hierarchies: what vocabularies declare.
        beside: duties that must be fulfilled, too.
    """
    rules = (rule, *beside, *(rule.duties if isinstance(rule, Permission) else ()))
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
    for permission in policy.permissions:
        yield from _note("permission", permission, needs_of(permission, hierarchies))
    if policy.obligations or any(prohibition.remedies for prohibition in policy.prohibitions):
        yield from _of_duties(policy, hierarchies)


def _of_duties(policy: Policy, hierarchies: Hierarchies) -> Iterator[Diagnostic]:
    """The same for obligations and remedies that permit what they require."""
    from smalti.policy.decide.matching import judged_duties  # noqa: PLC0415 (it loads decisions)
    from smalti.policy.decide.prepared import PreparedPolicy  # noqa: PLC0415 (it loads decisions)

    for prepared in PreparedPolicy(replace(policy, permissions=()), hierarchies).rules:
        for each in (prepared, *prepared.remedies):
            if each.form is not None:
                needs = needs_of(each.rule, hierarchies, judged_duties(each))
                yield from _note(str(each.kind), each.rule, needs)


def _note(kind: str, rule: Rule, needs: Needs) -> Iterator[Diagnostic]:
    if text := "; ".join(_parts(needs)):
        message = printable(f"the {kind} applies only to requests that {text}")
        help_ = "`smalti decide` takes them as --fact, --accept with --on-behalf-of, and --agreed"
        yield Diagnostic("P624", Severity.NOTE, message, rule.where, help=help_, lists=_lists(needs))


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
