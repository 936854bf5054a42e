"""What was found out about rules, in words; lower case, no full stop, and no value of a fact."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.conditions import DATE_TIME, Known, Outcome, Residual
from smalti.policy.decide.decision import Finding, Part, Reason, Request
from smalti.policy.decide.matching import Judged, Kind, PreparedRule, Subject
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.decide.transformations import Parameters
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import (
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
from smalti.vocab.terms import IRI, ODRL_PURPOSE, PLANNED_DUTIES

Values: TypeAlias = Callable[[IRI], Sequence[Value] | None]
"""What is stated under an operand; None: nothing."""

_SHOWN: Final = 5
"""Values, parties and operands that are named of a longer list."""
_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
_NEGATIVE: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})


_SHORT: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+[/#](?:[^?]*[/#])?([^/#?]+)", re.IGNORECASE)
"""An IRI with a path or a fragment, and the last part of it."""


def local_name(iri: IRI) -> str:
    """What follows the last `#` or `/`; the whole IRI where nothing does, or only its host."""
    found = _SHORT.fullmatch(iri)
    return iri if found is None else found[1]


class _Names:
    """Short names of some IRIs that are told together: in full where two of them have one local name."""

    def __init__(self, iris: Iterable[IRI]) -> None:
        times = Counter(map(local_name, set(iris)))
        self._shared = frozenset(name for name, number in times.items() if number > 1)

    def __call__(self, iri: IRI) -> str:
        name = local_name(iri)
        return iri if name in self._shared else name


@dataclass(frozen=True, slots=True)
class Told:
    """What a rule is held against."""

    request: Request
    known: Known
    parameters: Parameters
    """What the refinements of its action are judged by."""


def _listed(words: Sequence[str], conjunction: str) -> str:
    shown = list(words[:_SHOWN])
    if len(words) > _SHOWN:
        shown.append(f"{len(words) - _SHOWN} more")
    return f" {conjunction} ".join(shown)


def _either(iris: Iterable[IRI], name: Callable[[IRI], str] = str) -> str:
    return _listed([f"`{name(iri)}`" for iri in iris], "or")


# --- Rules that determine a decision


def matched(prepared: PreparedRule, duty: Duty | None, request: Request) -> str:
    """That a rule permits or forbids a request.

    Args:
        prepared: the rule.
        duty: the one of its duties that permits it, since it permits what was anonymized so.
        request: what is asked for.
    """
    rule = prepared.rule
    named = rule.assignees or (duty is not None and duty.assignees)
    party = f"party `{request.party}`" if named or prepared.kind is Kind.REMEDY else "any party"
    verb = "forbids" if prepared.kind is Kind.PROHIBITION else "permits"
    is_for_any = prepared.is_for_any_purpose and (duty is None or duty.purposes is None)
    purpose = "any purpose" if is_for_any else "no stated purpose"
    if not is_for_any and request.purpose is not None:
        purpose = f"purpose `{local_name(request.purpose)}`"
    action = f"action `{local_name(rule.action)}`"
    if duty is not None:
        action = (
            f"its duty to `{local_name(duty.action)}` [{duty.uid}] what it lets `{local_name(rule.action)}`"
        )
    return (
        f"this {prepared.kind.value} {verb} it: it matches target {_targets(request)}, "
        f"{action}, {party} and {purpose}"
    )


def forbidden_columns(columns: Iterable[IRI]) -> str:
    """That a prohibition on columns denies what cannot do without them."""
    return (
        f"this prohibition forbids the use of {_columns(columns)}, which the permission cannot do without:"
        " a permission that leaves it out may be granted"
    )


def withheld_columns(columns: Iterable[IRI]) -> str:
    """That a prohibition on columns takes them out of what is granted."""
    return f"this prohibition withholds {_columns(columns)}: it may be neither published nor shown"


def _columns(columns: Iterable[IRI]) -> str:
    listed = [f"`{column}`" for column in sorted(columns)]
    noun = "the column" if len(listed) == 1 else "the columns"
    return f"{noun} {_listed(listed, 'and')}"


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


def not_applying(prepared: PreparedRule, why: Sequence[str]) -> str:
    """That a rule does not apply, and why."""
    return f"this {prepared.kind} does not apply: {'; '.join(dict.fromkeys(why))}"


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


def of_part(prepared: PreparedRule, judged: Judged, told: Told) -> str:
    """What was found out about one part of a rule but its policy."""
    rule, (part, outcome, subject) = prepared.rule, judged
    match part:
        case Part.TARGET:
            return _target(rule, outcome, told)
        case Part.ACTION:
            return _action(prepared, outcome, subject, told.request)
        case Part.PARTY:
            return _party(prepared, outcome, told) if subject is None else _other_party(subject)
        case Part.CONSTRAINT | Part.REFINEMENT:
            return _condition(part, outcome, subject, told)
        case Part.DUTY:
            return _duty(prepared.kind, outcome, subject, told.request)
        case Part.POLICY:
            return in_force(prepared.policy.policy, finding_of(outcome), told.request)
    assert_never(part)


def _target(rule: Rule, outcome: Outcome, told: Told) -> str:
    if isinstance(outcome, Residual):
        return "it covers rows of what is asked for"
    if outcome is SATISFIED:
        return "it covers what is asked for"
    about = f"it is about the target {_either(target.iri for target in rule.targets)}"
    if outcome is UNSATISFIED and any(
        table in told.request.targets for target in rule.targets for table in tables_of(target.iri)
    ):
        return f"{about}, a column, and not about the table that it is a part of"
    if outcome is UNSATISFIED and len(told.request.targets) == 1:
        return about
    refinements = [one for target in rule.targets for one in target.refinements]
    missing = _missing(outcome, refinements, told.known, told.known.values)
    return f"{about}, and not about all that is asked for" + (missing and f": {missing}")


def _action(prepared: PreparedRule, outcome: Outcome, subject: Subject, request: Request) -> str:
    action, asked = local_name(prepared.rule.action), local_name(request.action)
    if isinstance(subject, Duty):
        duty = f"its duty to `{local_name(subject.action)}`"
        return f"{duty} what it lets `{action}` permits that [{subject.uid}]"
    if outcome is SATISFIED:
        return f"its action `{action}` covers `{asked}`"
    if prepared.kind is Kind.OBLIGATION and prepared.form is None:
        return f"an obligation to `{action}` permits nothing"
    return f"it is about the action `{action}`, and the request is to `{asked}`"


def _party(prepared: PreparedRule, outcome: Outcome, told: Told) -> str:
    rule = prepared.rule
    if not rule.assignees and prepared.kind is Kind.REMEDY:
        who = "owns" if outcome is SATISFIED else "is not known to own"
        return f"it names nobody, and the party `{told.request.party}` {who} all that is asked for"
    if not rule.assignees:
        return "it is about any party" if outcome is SATISFIED else "it names nobody whom it obliges"
    about = f"it is about the party {_either(party.iri for party in rule.assignees)}"
    if outcome is SATISFIED:
        return about
    refinements = [one for party in rule.assignees for one in party.refinements]
    missing = _missing(outcome, refinements, told.known, told.known.values)
    return f"{about}, and the request is by `{told.request.party}`" + (missing and f": {missing}")


def _other_party(subject: Subject) -> str:
    assert isinstance(subject, Comparison | ColumnComparison | Logical)  # noqa: S101
    return f"it names a party of whom {condition(subject)} must hold: the request does not say so"


def _condition(part: Part, outcome: Outcome, subject: Subject, told: Told) -> str:
    if isinstance(subject, str):
        return f"it says nothing of `{local_name(subject)}`, which the request asks for"
    assert isinstance(subject, Comparison | ColumnComparison | Logical)  # noqa: S101
    if isinstance(outcome, Residual):
        return f"its {part} {condition(subject)} limits the rows"
    return _decided(part, finding_of(outcome), subject, told)


def _decided(part: Part, found: Finding, subject: Condition, told: Told) -> str:
    values = told.known.values if part is Part.CONSTRAINT else told.parameters.get
    if found is SATISFIED:
        return f"its {part} {condition(subject)} is {found}"
    stated = _stated(subject, values)
    if stated is not None and isinstance(subject, Comparison) and _is_limit_of_purposes(subject):
        return _purpose(subject, stated)
    text = f"its {part} {condition(subject, stated or ())} is {found}"
    if missing := _missing(found, [subject], told.known, values):
        return f"{text}: {missing}"
    if stated:
        names = _Names([*_iris(subject), *_iris_of(stated)])
        return f"{text}: the request states {_listed([f'`{_value(one, names)}`' for one in stated], 'and')}"
    return text


def _is_limit_of_purposes(found: Comparison) -> bool:
    return found.operand == ODRL_PURPOSE and found.operator in _POSITIVE | _NEGATIVE


def _stated(subject: Condition, values: Values) -> Sequence[Value] | None:
    """What is stated under the operand of a comparison; None: it may not be told.

    Only concepts and the time of the request are told: texts, numbers and days may be about people.
    """
    if not isinstance(subject, Comparison):
        return None
    stated = values(subject.operand) or ()
    is_time = subject.operand == DATE_TIME
    tellable = all(isinstance(one, Named) or (is_time and isinstance(one, Instant)) for one in stated)
    return stated if tellable else None


def _missing(outcome: Outcome, conditions: Iterable[Condition], known: Known, values: Values) -> str:
    """The operands that nobody declares, and those under which nothing is stated.

    Nothing where the conditions are not unknown.
    """
    if outcome is not UNKNOWN:
        return ""
    compared = [leaf for one in conditions for leaf in _comparisons(one)]
    undeclared = dict.fromkeys(_operand(one) for one in compared if known.is_unknown(one))
    operands = dict.fromkeys(_operand(one) for one in compared if not _is_of_rows(one, known))
    missing = [one for one in operands if one not in undeclared and values(one) is None]
    told = []
    if undeclared:
        noun = "operand" if len(undeclared) == 1 else "operands"
        told.append(f"nobody declares the {noun} {_listed([f'`{one}`' for one in undeclared], 'and')}")
    if missing:
        names = _Names(operands)
        told.append(f"the request states no {_listed([f'`{names(one)}`' for one in missing], 'and no')}")
    return ", and ".join(told)


def _is_of_rows(found: Comparison | ColumnComparison, known: Known) -> bool:
    return isinstance(found, ColumnComparison) and known.is_column(found.column.iri)


def _operand(found: Comparison | ColumnComparison) -> IRI:
    return found.operand if isinstance(found, Comparison) else found.column.iri


def _comparisons(found: Condition) -> Iterator[Comparison | ColumnComparison]:
    if not isinstance(found, Logical):
        yield found
        return
    for one in found.operands:
        yield from _comparisons(one)


def _purpose(limit: Comparison, stated: Sequence[Value]) -> str:
    limits, asked = _iris_of(limit.values), _iris_of(stated)
    names = _Names([*limits, *asked])
    other = "any purpose but" if limit.operator in _NEGATIVE else "the purpose"
    told = f"is for {_listed([f'`{names(one)}`' for one in asked], 'and')}" if asked else "states none"
    return f"it is limited to {other} {_either(limits, names)}, and the request {told}"


def _duty(kind: Kind, outcome: Outcome, subject: Subject, request: Request) -> str:
    assert isinstance(subject, Duty)  # noqa: S101
    which = "the remedy beside it to" if kind is Kind.REMEDY else "its duty to"
    name = f"{which} `{local_name(subject.action)}`"
    if subject.action in PLANNED_DUTIES:
        parties = _either(party.iri for party in subject.assignees)
        return f"{name} is that of {parties}, and the request is by `{request.party}`"
    if outcome is SATISFIED:
        return f"{name} has been fulfilled [{subject.uid}]"
    claimed = ": the claim counts only where what the duty demands is known to hold"
    is_claimed = subject.uid in request.fulfilled
    return f"{name} is not known to be fulfilled [{subject.uid}]{claimed if is_claimed else ''}"


# --- Its policy as a whole


def in_force(policy: Policy, found: Finding, request: Request) -> str:
    """Whether a policy is in force."""
    if policy.type is PolicyType.OFFER:
        return "its policy is an Offer, which grants and forbids nothing"
    if found is SATISFIED:
        return "its policy is in force"
    if found is UNKNOWN:
        return "its policy is in force for some time only, and the time of the request is not known"
    return "its policy is not in force at the time of the request"


def prohibits_only(forbids: bool) -> str:
    """That a policy may prohibit only, for a prohibition or another rule of it."""
    return "its policy may prohibit only" + (", and this does" if forbids else ", and so permits nothing")


def voided(conflict: tuple[Rule, Rule], forbids: bool) -> str:
    """That a policy is void, for a prohibition or another rule of it."""
    one, other = conflict
    still = ", and its prohibitions still forbid" if forbids else ", and so permits nothing"
    return f"its policy is void, since its rules `{one.uid}` and `{other.uid}` contradict each other{still}"


def overridden(by: PreparedRule) -> str:
    """That another rule of its policy overrides a rule."""
    return f"the {by.kind} `{by.rule.uid}` of its own policy overrides it"


# --- Conditions


def condition(found: Condition, beside: Sequence[Value] = ()) -> str:
    """A condition as a policy's author would say it, in backticks.

    Args:
        found: the condition.
        beside: the values that are told beside it.
    """
    return quoted(_written(found, _Names([*_iris(found), *_iris_of(beside)])))


def _iris(found: Condition) -> Iterator[IRI]:
    """What a condition names."""
    match found:
        case Comparison(operand=operand, values=values):
            yield from (operand, *_iris_of(values))
        case ColumnComparison(column=column, values=values):
            yield from (column.iri, *_iris_of(values))
        case Logical(operands=operands):
            for one in operands:
                yield from _iris(one)


def _iris_of(values: Sequence[Value]) -> list[IRI]:
    return [value.iri for value in values if isinstance(value, Named)]


def _written(found: Condition, names: _Names) -> str:
    match found:
        case Comparison():
            unit = f" {local_name(found.unit)}" if found.unit else ""
            return f"{names(found.operand)} {found.operator} {_values(found.values, names)}{unit}"
        case ColumnComparison():
            return f"{names(found.column.iri)} {found.operator} {_values(found.values, names)}"
        case Logical():
            parts = [_written(operand, names) for operand in found.operands]
            return f"{found.operator}({', '.join(parts[:_SHOWN])}{', ...' if len(parts) > _SHOWN else ''})"
    assert_never(found)


def _values(values: Sequence[Value], names: _Names) -> str:
    return _listed([_value(value, names) for value in values], "|").replace(" | ", "|")


def _value(value: Value, names: _Names) -> str:
    match value:
        case Named(iri=iri):
            return names(iri)
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
