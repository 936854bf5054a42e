"""Words that a policy may use, and that `smalti run` refuses by name until they are implemented."""

from collections.abc import Iterator
from typing import Final

from smalti.policy.anonymization import unimplemented_words
from smalti.policy.findings import quoted
from smalti.policy.json_text import Place
from smalti.policy.model import Comparison, Condition, Duty, Logical, Permission, Policy, Rule
from smalti.policy.values import Scope
from smalti.vocab.terms import ANONYMIZE, IRI, SMALTI
from smalti.vocab.words import BY_IRI

_IN_A_PLAN: Final = frozenset({ANONYMIZE, IRI(SMALTI + "audit")})


def note_unimplemented(policy: Policy, place: Place, scope: Scope) -> None:
    """One note that names the words of what can be run, and that no run understands yet."""
    rules = (*policy.permissions, *policy.obligations, *remedies_to_run(policy))
    names = sorted({word for rule in rules for word in _words(rule, scope)})
    if names:
        message = f"valid, and not run yet: {', '.join(names)} not implemented yet"
        scope.findings.note("P391", place, message, "a run under this policy is refused by name")


def remedies_to_run(policy: Policy) -> Iterator[Duty]:
    """The remedies to anonymize, which a request may name, and those beside them that a plan contains."""
    for prohibition in policy.prohibitions:
        if any(remedy.action == ANONYMIZE for remedy in prohibition.remedies):
            yield from (one for one in prohibition.remedies if one.action in _IN_A_PLAN)


def _words(rule: Rule, scope: Scope) -> Iterator[str]:
    """The words of a rule, and of its duties, as the document would write them."""
    found = [
        rule.action,
        *(operand for c in (*rule.constraints, *rule.refinements) for operand in _operands(c)),
    ]
    for iri in found:
        word = BY_IRI.get(iri)
        if word is not None and not word.implemented:
            yield quoted(scope.terms.shorten(iri))
    if isinstance(rule, Permission | Duty) and rule.anonymization is not None:
        yield from (word for word, _ in unimplemented_words(rule.anonymization))
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
