"""The reasons of a decision in words: lower case, no full stop, and no value of a fact."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.conditions import evaluate
from smalti.policy.decide.decision import DutyReading, Finding, Part, Reason, Request
from smalti.policy.decide.facts import DATE_TIME, Facts, comparisons, leaves
from smalti.policy.decide.matching import Judged, Subject
from smalti.policy.decide.outcomes import Outcome, Residual
from smalti.policy.decide.prepared import Kind, PreparedRule
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.decide.transformations import Parameters
from smalti.policy.findings.findings import quoted
from smalti.policy.model.anchors import is_anchored
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
from smalti.vocab.declarations import OperandKind
from smalti.vocab.terms import IRI, ODRL_PURPOSE, PLANNED_DUTIES

Values: TypeAlias = Callable[[IRI], Sequence[Value] | None]
"""What is stated under an operand; None: nothing."""

_SHOWN: Final = 5
"""The most values, parties or operands that a list names."""
_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})
_NEGATIVE: Final = frozenset({Operator.NEQ, Operator.IS_NONE_OF})


_SHORT: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#]+[/#](?:[^?]*[/#])?([^/#?]+)", re.IGNORECASE)
"""An IRI with a path or a fragment, and the last part of it."""


def local_name(iri: IRI) -> str:
    """The last part of an IRI, after its last `#` or `/`; the whole IRI where it has only a host."""
    match = _SHORT.fullmatch(iri)
    return iri if match is None else match[1]


class _Names:
    """Short names of IRIs in one message; the whole IRI where two of them share a local name."""

    def __init__(self, iris: Iterable[IRI]) -> None:
        times = Counter(map(local_name, set(iris)))
        self._shared = frozenset(name for name, number in times.items() if number > 1)

    def __call__(self, iri: IRI) -> str:
        name = local_name(iri)
        return iri if name in self._shared else name


@dataclass(frozen=True, slots=True)
class Basis:
    """What a rule is compared with."""

    request: Request
    facts: Facts
    parameters: Parameters
    """The parameters that the refinements of its action are compared with."""


def _listed(words: Sequence[str], conjunction: str) -> str:
    shown = list(words[:_SHOWN])
    if len(words) > _SHOWN:
        shown.append(f"{len(words) - _SHOWN} more")
    return f" {conjunction} ".join(shown)


def _either(iris: Iterable[IRI], name: Callable[[IRI], str] = str) -> str:
    return _listed([f"`{name(iri)}`" for iri in iris], "or")


# --- Rules that determine a decision


def matched(prepared: PreparedRule, duty: Duty | None, request: Request) -> str:
    """Why a rule permits or forbids a request.

    Args:
        prepared: the rule.
        duty: its duty to anonymize, where that permits the request.
        request: the request.
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
        action = f"its duty to `{local_name(duty.action)}` [{duty.uid}] for the {action}"
    return (
        f"this {prepared.kind.value} {verb} it: it matches target {_targets(request)}, "
        f"{action}, {party} and {purpose}{_by_facts(prepared)}"
    )


def _by_facts(prepared: PreparedRule) -> str:
    """The declared facts that a permission depends on."""
    if prepared.kind is Kind.PROHIBITION:
        return ""
    hierarchies = prepared.policy.hierarchies
    declared = (hierarchies.declaration(leaf.operand) for leaf in comparisons(prepared.rule.constraints))
    facts = dict.fromkeys(its.iri for its in declared if its is not None and its.kind is OperandKind.FACT)
    names = _Names(facts)
    return f", by {_listed([f'`{names(fact)}`' for fact in facts], 'and')} as stated" if facts else ""


def forbidden_columns(columns: Iterable[IRI]) -> str:
    """Why a prohibition on columns denies a permission that needs them."""
    return (
        f"this prohibition forbids the use of {_columns(columns)}, which the permission needs;"
        " a permission that does not use it may be granted"
    )


def withheld_columns(columns: Iterable[IRI]) -> str:
    """Which columns a prohibition withholds from a grant."""
    return f"this prohibition withholds {_columns(columns)}: it may be neither published nor shown"


def _columns(columns: Iterable[IRI]) -> str:
    listed = [f"`{column}`" for column in sorted(columns)]
    noun = "the column" if len(listed) == 1 else "the columns"
    return f"{noun} {_listed(listed, 'and')}"


def _targets(request: Request) -> str:
    return " and ".join([f"`{target}`" for target in request.targets])


def void(policy: Policy, conflict: tuple[Rule, Rule]) -> str:
    """Why a policy is void: two of its rules contradict each other."""
    permission, prohibition = conflict
    kind = "permission" if permission in policy.permissions else "obligation"
    return (
        f"the policy is void: its {kind} `{permission.uid}` and its prohibition `{prohibition.uid}` "
        "contradict each other, and its conflict strategy is `invalid`"
    )


def not_applying(prepared: PreparedRule, why: Sequence[str]) -> str:
    """Why a rule does not apply."""
    return f"this {prepared.kind} does not apply: {'; '.join(dict.fromkeys(why))}"


NOTHING_APPLIES: Final = "no permission applies, and what is not permitted is denied"


def not_about(request: Request) -> str:
    """That no rule is about a request."""
    noun = "target" if len(request.targets) == 1 else "targets"
    return f"no rule is about the action `{local_name(request.action)}` on the {noun} {_targets(request)}"


def others(unnamed: int, elsewhere: int) -> Iterator[Reason]:
    """How many rules do not apply and are not named: about the requested targets, and about others."""
    if unnamed > 0:
        noun = "1 more rule" if unnamed == 1 else f"{unnamed} more rules"
        verb = "does" if unnamed == 1 else "do"
        yield Reason(f"{noun} about the requested targets {verb} not apply; an explanation says why")
    if elsewhere:
        noun = "1 rule is" if elsewhere == 1 else f"{elsewhere} rules are"
        yield Reason(f"{noun} about other targets")


# --- Parts of a rule


def of_part(prepared: PreparedRule, judged: Judged, basis: Basis) -> str:
    """Whether one part of a rule matches the request, and why."""
    rule, (part, outcome, subject) = prepared.rule, judged
    match part:
        case Part.TARGET:
            return _target(rule, outcome, basis)
        case Part.ACTION:
            return _action(prepared, outcome, subject, basis.request)
        case Part.PARTY:
            return _party(prepared, outcome, basis) if subject is None else _other_party(subject)
        case Part.CONSTRAINT | Part.REFINEMENT:
            return _condition(part, outcome, subject, basis)
        case Part.DUTY:
            return _duty(prepared.kind, outcome, subject, basis.request)
        case Part.POLICY:
            return in_force(prepared.policy.policy, finding_of(outcome), basis.request)
    assert_never(part)


def _target(rule: Rule, outcome: Outcome, basis: Basis) -> str:
    if isinstance(outcome, Residual):
        return "it covers some rows of the requested targets"
    if outcome is SATISFIED:
        return "it covers every requested target"
    about = f"it is about the target {_either(target.iri for target in rule.targets)}"
    if outcome is UNSATISFIED and any(
        table in basis.request.targets for target in rule.targets for table in tables_of(target.iri)
    ):
        return f"{about}, which is a column, and not about the whole table"
    if outcome is UNSATISFIED and len(basis.request.targets) == 1:
        return about
    refinements = [refinement for target in rule.targets for refinement in target.refinements]
    missing = _missing(outcome, refinements, basis.facts, basis.facts.values)
    return f"{about}, and not about every requested target" + (missing and f": {missing}")


def _action(prepared: PreparedRule, outcome: Outcome, subject: Subject, request: Request) -> str:
    action, requested = local_name(prepared.rule.action), local_name(request.action)
    if isinstance(subject, Duty):
        duty = f"its duty to `{local_name(subject.action)}`"
        return f"{duty} [{subject.uid}] for the action `{action}` permits `{requested}`"
    if outcome is SATISFIED:
        return f"its action `{action}` covers `{requested}`"
    if prepared.kind is Kind.OBLIGATION and prepared.form is None:
        return f"an obligation to `{action}` permits nothing"
    return f"it is about the action `{action}`, and the request is to `{requested}`"


def _party(prepared: PreparedRule, outcome: Outcome, basis: Basis) -> str:
    rule = prepared.rule
    if not rule.assignees and prepared.kind is Kind.REMEDY:
        who = "owns" if outcome is SATISFIED else "is not known to own"
        return f"it names no party, and the party `{basis.request.party}` {who} every requested target"
    if not rule.assignees:
        return "it is about any party" if outcome is SATISFIED else "it names no party that it obliges"
    about = f"it is about the party {_either(party.iri for party in rule.assignees)}"
    if outcome is SATISFIED:
        return about
    refinements = [refinement for party in rule.assignees for refinement in party.refinements]
    missing = _missing(outcome, refinements, basis.facts, basis.facts.values)
    return f"{about}, and the request is by `{basis.request.party}`" + (missing and f": {missing}")


def _other_party(subject: Subject) -> str:
    assert isinstance(subject, Comparison | ColumnComparison | Logical)  # noqa: S101
    return f"it names a party for which {condition(subject)} must hold, and the request does not state this"


def _condition(part: Part, outcome: Outcome, subject: Subject, basis: Basis) -> str:
    if isinstance(subject, str):
        return f"it does not mention `{local_name(subject)}`, which the request asks for"
    assert isinstance(subject, Comparison | ColumnComparison | Logical)  # noqa: S101
    if isinstance(outcome, Residual):
        return f"its {part} {condition(subject)} limits the rows"
    return _decided(part, finding_of(outcome), subject, basis)


def _decided(part: Part, finding: Finding, subject: Condition, basis: Basis) -> str:
    values = basis.facts.values if part is Part.CONSTRAINT else basis.parameters.get
    if finding is SATISFIED:
        return f"its {part} {condition(subject)} is {finding}"
    stated = _stated(subject, values)
    if stated is not None and isinstance(subject, Comparison) and _is_limit_of_purposes(subject):
        return _purpose(subject, stated)
    text = f"its {part} {condition(subject, stated or ())} is {finding}"
    if failing := _failing(part, finding, subject, basis.facts):
        return f"{text}: {failing}"
    if missing := _missing(finding, [subject], basis.facts, values):
        return f"{text}: {missing}"
    if stated:
        names = _Names([*_iris(subject), *_iris_of(stated)])
        values_stated = [f"`{_value(value, names)}`" for value in stated]
        return f"{text}: the request states {_listed(values_stated, 'and')}"
    return text


def _failing(part: Part, finding: Finding, subject: Condition, facts: Facts) -> str:
    """Which operands of a logical constraint are unsatisfied by facts that a vocabulary declares."""
    if part is not Part.CONSTRAINT or finding is not UNSATISFIED or not isinstance(subject, Logical):
        return ""
    declared = (leaf for leaf in comparisons([subject]) if facts.declaration(leaf.operand) is not None)
    failing = [condition(leaf) for leaf in declared if evaluate(leaf, facts) is UNSATISFIED]
    return (
        f"{_listed(failing, 'and')} {'is' if len(failing) == 1 else 'are'} unsatisfied" if failing else ""
    )


def _is_limit_of_purposes(comparison: Comparison) -> bool:
    return comparison.operand == ODRL_PURPOSE and comparison.operator in _POSITIVE | _NEGATIVE


def _stated(subject: Condition, values: Values) -> Sequence[Value] | None:
    """What is stated under the operand of a comparison; None: messages must not contain it.

    They contain concepts and the time of the request only: texts, numbers and days may be about people.
    """
    if not isinstance(subject, Comparison):
        return None
    stated = values(subject.operand) or ()
    is_time = subject.operand == DATE_TIME
    tellable = all(isinstance(value, Named) or (is_time and isinstance(value, Instant)) for value in stated)
    return stated if tellable else None


def _missing(outcome: Outcome, conditions: Iterable[Condition], facts: Facts, values: Values) -> str:
    """The operands that are not declared, and those that the request states nothing for.

    Empty where the conditions are not unknown.
    """
    if outcome is not UNKNOWN:
        return ""
    compared = list(leaves(conditions))
    undeclared = dict.fromkeys(
        _operand(comparison) for comparison in compared if facts.is_unknown(comparison)
    )
    operands = dict.fromkeys(
        _operand(comparison) for comparison in compared if not _is_of_rows(comparison, facts)
    )
    of_clauses = [operand for operand in operands if _is_clause(operand, facts)]
    clauses = dict.fromkeys(
        _operand(comparison)
        for comparison in compared
        if _operand(comparison) in of_clauses and evaluate(comparison, facts) is not SATISFIED
    )
    missing = [
        operand
        for operand in operands
        if operand not in (*undeclared, *of_clauses) and values(operand) is None
    ]
    parts = []
    if undeclared:
        noun, verb = ("operand", "is") if len(undeclared) == 1 else ("operands", "are")
        parts.append(
            f"the {noun} {_listed([f'`{operand}`' for operand in undeclared], 'and')} {verb} not declared"
        )
    if missing:
        names = _Names(operands)
        not_stated = [f"`{names(operand)}`{_on_word(operand, facts)}" for operand in missing]
        parts.append(f"the request states no {_listed(not_stated, 'and no')}")
    if strange := [operand for operand in operands if _is_outside(operand, facts)]:
        listed_operands = _listed([f"`{local_name(operand)}`" for operand in strange], "and")
        parts.append(f"what the request states for {listed_operands} is none of the concepts of its scheme")
    if clauses:
        noun = "clause" if len(clauses) == 1 else "clauses"
        listed = _listed([f"`{local_name(clause)}`" for clause in clauses], "and")
        parts.append(f"the request does not accept the {noun} {listed} so{_otherwise(clauses, facts)}")
    if facts.agreed is None and any(map(_is_anchored, compared)):
        parts.append("the request does not state when its agreement was made")
    return ", and ".join(parts)


def _on_word(operand: IRI, facts: Facts) -> str:
    """On whose word alone a fact counts: it may be stated on the word of somebody else."""
    declaration = facts.declaration(operand)
    if declaration is None or not declaration.stated_by:
        return ""
    return f" on the word of {_either(sorted(declaration.stated_by))} (`--stated-by`)"


def _is_outside(operand: IRI, facts: Facts) -> bool:
    """Whether a value is stated that is no concept of the operand's scheme."""
    declaration = facts.declaration(operand)
    if declaration is None or declaration.scheme is None:
        return False
    scheme = facts.hierarchies.scheme_of(declaration)
    return not all(
        (isinstance(value, Text) and value.text in scheme.by_notation)
        or (isinstance(value, Named) and value.iri in scheme.concepts)
        for value in facts.values(operand) or ()
    )


def _otherwise(clauses: Iterable[IRI], facts: Facts) -> str:
    """Whether the request accepts some of the clauses with other values, which stay unsaid."""
    others = [clause for clause in clauses if facts.acceptances(clause)]
    listed = _listed([f"`{local_name(clause)}`" for clause in others], "and")
    return f": it accepts {listed} with another value" if others else ""


def _is_anchored(comparison: Comparison | ColumnComparison) -> bool:
    """Whether a comparison is with a time that is counted from the date of the agreement."""
    return any(isinstance(value, Text) and is_anchored(value.text) for value in comparison.values)


def _is_clause(operand: IRI, facts: Facts) -> bool:
    declaration = facts.declaration(operand)
    return declaration is not None and declaration.kind is OperandKind.CLAUSE


def _is_of_rows(comparison: Comparison | ColumnComparison, facts: Facts) -> bool:
    return isinstance(comparison, ColumnComparison) and facts.is_column(comparison.column.iri)


def _operand(comparison: Comparison | ColumnComparison) -> IRI:
    return comparison.operand if isinstance(comparison, Comparison) else comparison.column.iri


def _purpose(limit: Comparison, stated: Sequence[Value]) -> str:
    limits, requested = _iris_of(limit.values), _iris_of(stated)
    names = _Names([*limits, *requested])
    other = "any purpose but" if limit.operator in _NEGATIVE else "the purpose"
    statement = (
        f"is for {_listed([f'`{names(purpose)}`' for purpose in requested], 'and')}"
        if requested
        else "states none"
    )
    return f"it is limited to {other} {_either(limits, names)}, and the request {statement}"


_NOT_VIOLATED: Final = {
    SATISFIED: "is not violated",
    UNSATISFIED: "was not fulfilled in time",
    UNKNOWN: "is not known to be fulfilled, nor that it can still be",
}


def _duty(kind: Kind, outcome: Outcome, subject: Subject, request: Request) -> str:
    assert isinstance(subject, Duty)  # noqa: S101
    which = "its prohibition's other remedy to" if kind is Kind.REMEDY else "its duty to"
    name = f"{which} `{local_name(subject.action)}`"
    if subject.action in PLANNED_DUTIES:
        parties = _either(party.iri for party in subject.assignees)
        return f"{name} is for {parties}, and the request is by `{request.party}`"
    if kind is not Kind.REMEDY and request.duties is DutyReading.NOT_VIOLATED:
        return f"{name} {_NOT_VIOLATED[finding_of(outcome)]} [{subject.uid}]"
    if outcome is SATISFIED:
        return f"{name} has been fulfilled [{subject.uid}]"
    claimed = ": a claim counts only if the conditions of the duty are known to hold"
    is_claimed = subject.uid in request.fulfilled
    return f"{name} is not known to be fulfilled [{subject.uid}]{claimed if is_claimed else ''}"


# --- The policy of a rule


def in_force(policy: Policy, finding: Finding, request: Request) -> str:
    """Whether a policy is in force."""
    if policy.type is PolicyType.OFFER:
        return "its policy is an Offer, which grants and forbids nothing"
    if finding is SATISFIED:
        return "its policy is in force"
    if finding is UNKNOWN:
        return "its policy is in force for a limited time, and the time of the request is not known"
    return "its policy is not in force at the time of the request"


def unknown_profile(profile: IRI) -> str:
    """That the policy names a profile whose words have no meaning here."""
    return f"its policy names the profile `{profile}`, which no vocabulary here defines"


def prohibits_only(forbids: bool) -> str:
    """That a policy may prohibit only, for a prohibition or another rule of it."""
    return "its policy may prohibit only" + (
        ", as this rule does" if forbids else ", and so permits nothing"
    )


def voided(conflict: tuple[Rule, Rule], forbids: bool) -> str:
    """That a policy is void, for a prohibition or another rule of it."""
    permission, prohibition = conflict
    still = ", and its prohibitions still forbid" if forbids else ", and so permits nothing"
    rules = f"`{permission.uid}` and `{prohibition.uid}`"
    return f"its policy is void, since its rules {rules} contradict each other{still}"


def overridden(by: PreparedRule) -> str:
    """That another rule of its policy overrides a rule."""
    return f"the {by.kind} `{by.rule.uid}` of its own policy overrides it"


# --- Conditions


def condition(subject: Condition, beside: Sequence[Value] = ()) -> str:
    """A condition as a policy's author would say it, in backticks.

    Args:
        subject: the condition.
        beside: the values that the same message names.
    """
    return quoted(_written(subject, _Names([*_iris(subject), *_iris_of(beside)])))


def _iris(subject: Condition) -> Iterator[IRI]:
    """The IRIs that a condition names."""
    for leaf in leaves([subject]):
        yield from (_operand(leaf), *_iris_of(leaf.values))


def _iris_of(values: Sequence[Value]) -> list[IRI]:
    return [value.iri for value in values if isinstance(value, Named)]


def _written(subject: Condition, names: _Names) -> str:
    match subject:
        case Comparison():
            unit = f" {local_name(subject.unit)}" if subject.unit else ""
            return f"{names(subject.operand)} {subject.operator} {_values(subject.values, names)}{unit}"
        case ColumnComparison():
            return f"{names(subject.column.iri)} {subject.operator} {_values(subject.values, names)}"
        case Logical():
            parts = [_written(operand, names) for operand in subject.operands]
            return (
                f"{subject.operator}({', '.join(parts[:_SHOWN])}{', ...' if len(parts) > _SHOWN else ''})"
            )
    assert_never(subject)


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
    """The finding of a part; a limit to rows is satisfied by some of them."""
    return SATISFIED if isinstance(outcome, Residual) else outcome
