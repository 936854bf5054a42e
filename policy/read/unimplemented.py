"""Words that a policy may use, and that `smalti run` refuses by name until they are implemented."""

from collections.abc import Iterator

from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import (
    NOWHERE,
    Audit,
    Comparison,
    Condition,
    Duty,
    Logical,
    Permission,
    Policy,
    Rule,
    Training,
    Where,
)
from smalti.policy.model.refinements import refinements_of
from smalti.policy.read.anonymization import shortened, unimplemented_words
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import ANONYMIZE, IRI, PLANNED_DUTIES
from smalti.vocab.words import BY_IRI


def note_unimplemented(policy: Policy, place: Place, scope: Scope) -> None:
    """Add one note that names the words of runnable rules that no run supports yet."""
    rules = (*policy.permissions, *policy.obligations, *remedies_to_run(policy))
    names = sorted({word for rule in rules for word in _words(rule, scope)})
    if names:
        message = f"the policy is valid, but runs do not support these words yet: {', '.join(names)}"
        scope.findings.note(
            "P391", place, message, "`smalti run` refuses this policy until they are implemented"
        )


def remedies_to_run(policy: Policy) -> Iterator[Duty]:
    """The remedies to anonymize, which a request may name, and those beside them that a plan contains."""
    for prohibition in policy.prohibitions:
        if any(remedy.action == ANONYMIZE for remedy in prohibition.remedies):
            yield from (remedy for remedy in prohibition.remedies if remedy.action in PLANNED_DUTIES)


def unimplemented_refinements(rule: Rule) -> tuple[tuple[str, Where], ...]:
    """The refinements of training or an audit that `run` refuses by their names, with their places.

    ODRL's own left operands are among them: they are valid, but have no effect on training. None for any
    other action.
    """
    how: Training | Audit | None = None
    if isinstance(rule, Permission | Duty):
        how = rule.training if isinstance(rule, Permission) else rule.audit
    refused: list[tuple[str, Where]] = []
    for condition in refinements_of(rule) if how is not None else ():
        assert isinstance(condition, Comparison)  # noqa: S101 (no other is among them)
        word = BY_IRI.get(condition.operand)
        if how is not None and (word is None or not word.implemented):
            where = how.where if condition.where == NOWHERE else condition.where
            refused.append((f"`{shortened(condition.operand)}`", where))
    return tuple(dict.fromkeys(refused))


def _words(rule: Rule, scope: Scope) -> Iterator[str]:
    """The words of a rule, and of its duties, as the document would write them."""
    iris = [
        rule.action,
        *(operand for c in (*rule.constraints, *rule.refinements) for operand in _operands(c)),
    ]
    for iri in iris:
        word = BY_IRI.get(iri)
        if word is not None and not word.implemented:
            yield quoted(scope.terms.shorten(iri))
    if isinstance(rule, Permission | Duty) and rule.anonymization is not None:
        yield from (word for word, _ in unimplemented_words(rule.anonymization))
    yield from (word for word, _ in unimplemented_refinements(rule))
    nested = rule.duties if isinstance(rule, Permission) else ()
    for duty in (*nested, *(rule.consequences if isinstance(rule, Duty) else ())):
        yield from _words(duty, scope)


def _operands(condition: Condition) -> Iterator[IRI]:
    match condition:
        case Comparison(operand=operand):
            yield operand
        case Logical(operands=operands):
            for below in operands:
                yield from _operands(below)
