"""What was found out about rules, in words; lower case, no full stop, and no value of a fact."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final, assert_never

from smalti.policy.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.conditions import Outcome, Residual
from smalti.policy.decision import Finding, Part, Reason, Request
from smalti.policy.findings import quoted
from smalti.policy.matching import PLANNED_DUTIES, Judged, Kind, PreparedRule, Subject
from smalti.policy.model import (
    ColumnComparison,
    Comparison,
    Condition,
    Day,
    Duty,
    Instant,
    Logical,
    Named,
    Number,
    Operator,
    Policy,
    PolicyType,
    Rule,
    Text,
    Truth,
    Value,
)
from smalti.vocab.terms import IRI, ODRL_PURPOSE

_SHOWN: Final = 5
"""Values, parties and operands that are named of a longer list."""
_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
_NEGATIVE: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})


def local_name(iri: IRI) -> str:
    """What follows the last `#` or `/`."""
    return iri.rstrip("/#").rpartition("#")[2].rpartition("/")[2] or iri


def _listed(words: Sequence[str], conjunction: str) -> str:
    shown = list(words[:_SHOWN])
    if len(words) > _SHOWN:
        shown.append(f"{len(words) - _SHOWN} more")
    return f" {conjunction} ".join(shown)


def _either(iris: Iterable[IRI], short: bool = False) -> str:
    return _listed([f"`{local_name(iri) if short else iri}`" for iri in iris], "or")


# --- Rules that determine a decision


def matched(prepared: PreparedRule, request: Request) -> str:
    """That a rule permits or forbids a request."""
    rule = prepared.rule
    party = f"party `{request.party}`" if rule.assignees else "any party"
    verb = "forbids" if prepared.kind is Kind.PROHIBITION else "permits"
    purpose = "any purpose" if prepared.is_for_any_purpose else "no stated purpose"
    if not prepared.is_for_any_purpose and request.purpose is not None:
        purpose = f"purpose `{local_name(request.purpose)}`"
    return (
        f"this {prepared.kind.value} {verb} it: it matches target {_targets(request)}, "
        f"action `{local_name(rule.action)}`, {party} and {purpose}"
    )


def _targets(request: Request) -> str:
    return " and ".join([f"`{target}`" for target in request.targets])


def void(policy: Policy, conflict: tuple[Rule, Rule]) -> str:
    """That a policy contradicts itself."""
    permission, prohibition = conflict
    kind = "permission" if permission in policy.permissions else "obligation"
    return (
        f"the policy is void: its {kind} `{permission.uid}` and its prohibition `{prohibition.uid}` "
        "contradict each other, and its conflict strategy is `invalid`"
    )


def not_applying(prepared: PreparedRule, failures: Sequence[Judged], request: Request) -> str:
    """That a rule does not apply, and why."""
    why = "; ".join(dict.fromkeys(of_part(prepared, judged, request) for judged in failures))
    return f"this {prepared.kind} does not apply: {why or OVERRIDDEN}"


OVERRIDDEN: Final = "a rule of its own policy overrides it, or the policy is void"
NOTHING_APPLIES: Final = "no permission applies, and what is not permitted is denied"


def not_about(request: Request) -> str:
    """That no rule is about a request."""
    noun = "target" if len(request.targets) == 1 else "targets"
    return f"no rule is about the action `{local_name(request.action)}` on the {noun} {_targets(request)}"


def others(unnamed: int, elsewhere: int) -> Iterator[Reason]:
    """How many rules have no say and are not named: about what is asked for, and about other targets."""
    if unnamed > 0:
        noun = "1 more rule" if unnamed == 1 else f"{unnamed} more rules"
        verb = "does" if unnamed == 1 else "do"
        yield Reason(f"{noun} about what is asked for {verb} not apply; an explanation says why")
    if elsewhere:
        noun = "1 rule is" if elsewhere == 1 else f"{elsewhere} rules are"
        yield Reason(f"{noun} about other targets")


# --- Parts of a rule


def of_part(prepared: PreparedRule, judged: Judged, request: Request) -> str:
    """What was found out about one part of a rule."""
    rule, (part, outcome, subject) = prepared.rule, judged
    match part:
        case Part.TARGET:
            return _target(rule, outcome, request)
        case Part.ACTION:
            return _action(rule, outcome, request)
        case Part.PARTY:
            return _party(rule, outcome is SATISFIED, request)
        case Part.CONSTRAINT | Part.REFINEMENT:
            return _condition(part, outcome, subject, request)
        case Part.DUTY:
            return _duty(outcome, subject, request)
        case Part.POLICY:
            return _policy(prepared.policy.policy, outcome, request)
    assert_never(part)


def _target(rule: Rule, outcome: Outcome, request: Request) -> str:
    if isinstance(outcome, Residual):
        return "it covers rows of what is asked for"
    if outcome is SATISFIED:
        return "it covers what is asked for"
    about = f"it is about the target {_either(target.iri for target in rule.targets)}"
    if outcome is UNSATISFIED and len(request.targets) == 1:
        return about
    return f"{about}, and not about all that is asked for"


def _action(rule: Rule, outcome: Outcome, request: Request) -> str:
    if outcome is SATISFIED:
        return f"its action `{local_name(rule.action)}` covers `{local_name(request.action)}`"
    return (
        f"it is about the action `{local_name(rule.action)}`, "
        f"and the request is to `{local_name(request.action)}`"
    )


def _party(rule: Rule, is_matched: bool, request: Request) -> str:
    if not rule.assignees:
        return "it is about any party" if is_matched else "it names nobody whom it obliges"
    about = f"it is about the party {_either(party.iri for party in rule.assignees)}"
    return about if is_matched else f"{about}, and the request is by `{request.party}`"


def _condition(part: Part, outcome: Outcome, subject: Subject, request: Request) -> str:
    if isinstance(subject, str):
        return f"it says nothing of `{local_name(subject)}`, which the request asks for"
    assert isinstance(subject, Comparison | ColumnComparison | Logical)  # noqa: S101
    if isinstance(outcome, Residual):
        return f"its {part} {condition(subject)} limits the rows"
    if (
        isinstance(subject, Comparison)
        and subject.operand == ODRL_PURPOSE
        and outcome is not SATISFIED
        and subject.operator in _POSITIVE | _NEGATIVE
    ):
        return _purpose(subject, request)
    return f"its {part} {condition(subject)} is {outcome}"


def _purpose(limit: Comparison, request: Request) -> str:
    purposes = _either((value.iri for value in limit.values if isinstance(value, Named)), short=True)
    other = "any purpose but" if limit.operator in _NEGATIVE else "the purpose"
    asked = "states none" if request.purpose is None else f"is for `{local_name(request.purpose)}`"
    return f"it is limited to {other} {purposes}, and the request {asked}"


def _duty(outcome: Outcome, subject: Subject, request: Request) -> str:
    assert isinstance(subject, Duty)  # noqa: S101
    name = f"its duty to `{local_name(subject.action)}`"
    if subject.action in PLANNED_DUTIES:
        parties = _either(party.iri for party in subject.assignees)
        return f"{name} is that of {parties}, and the request is by `{request.party}`"
    done = "has been fulfilled" if outcome is SATISFIED else "is not known to be fulfilled"
    return f"{name} {done} [{subject.uid}]"


def _policy(policy: Policy, outcome: Outcome, request: Request) -> str:
    if policy.type is PolicyType.OFFER:
        return "its policy is an Offer, which grants and forbids nothing"
    if outcome is SATISFIED:
        return "its policy is in force"
    if outcome is UNKNOWN and request.time is None:
        return "its policy is in force for some time only, and the time of the request is not known"
    return "its policy is not in force at the time of the request"


# --- Conditions


def condition(found: Condition) -> str:
    """A condition as a policy's author would say it, in backticks."""
    return quoted(_written(found))


def _written(found: Condition) -> str:
    match found:
        case Comparison():
            unit = f" {local_name(found.unit)}" if found.unit else ""
            return f"{local_name(found.operand)} {found.operator} {_values(found.values)}{unit}"
        case ColumnComparison():
            return f"{local_name(found.column.iri)} {found.operator} {_values(found.values)}"
        case Logical():
            parts = [_written(operand) for operand in found.operands]
            return f"{found.operator}({', '.join(parts[:_SHOWN])}{', ...' if len(parts) > _SHOWN else ''})"
    assert_never(found)


def _values(values: Sequence[Value]) -> str:
    return _listed([_value(value) for value in values], "|").replace(" | ", "|")


def _value(value: Value) -> str:
    match value:
        case Named(iri=iri):
            return local_name(iri)
        case Number(value=number):
            return _number(number)
        case Text(text=text):
            return text
        case Truth(value=truth):
            return str(truth).lower()
        case Instant(time=time):
            return time.isoformat()
        case Day(day=day):
            return day.isoformat()
    assert_never(value)


def _number(number: Decimal) -> str:
    return str(number) if abs(number.adjusted()) > _LONGEST else f"{number:f}"


_LONGEST: Final = 20


def finding_of(outcome: Outcome) -> Finding:
    """The finding of a part; what is left to the rows is satisfied, by some of them."""
    return SATISFIED if isinstance(outcome, Residual) else outcome
