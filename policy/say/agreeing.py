"""The policy document of an agreement that two connectors made."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, TypeVar

from smalti.errors import PolicyError
from smalti.policy.decide.fact_text import time
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.document.envelopes import Message, message_of
from smalti.policy.document.nodes import Literal, Property
from smalti.policy.document.serializations import is_turtle, read_nodes
from smalti.policy.findings.findings import Findings
from smalti.policy.model.anchors import anchored_time
from smalti.policy.model.binding import NOTHING_BOUND, Binding, unbound
from smalti.policy.model.model import (
    Asset,
    Comparison,
    Condition,
    Instant,
    Logical,
    LogicalOperator,
    Operator,
    Party,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Text,
    Value,
)
from smalti.policy.model.nesting import with_duties
from smalti.policy.read.inheritance import Stored, nothing_stored
from smalti.policy.read.parse import ParsedDocument, parse, require_bound
from smalti.policy.say.serialize import serialize
from smalti.policy.say.widening import kept_to_offer
from smalti.policy.short.source import is_short
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    read,
)
from smalti.vocab.declarations import OperandKind
from smalti.vocab.terms import AGREEMENT, DSPACE, EDC, IRI

R = TypeVar("R", bound=Rule)
P = TypeVar("P", Asset, Party)

_MESSAGES: Final = frozenset({DSPACE + "ContractAgreementMessage", EDC + "ContractAgreement"})
_DATES: Final = frozenset({DSPACE + "timestamp", EDC + "contractSigningDate"})
_EXPECTED: Final = "one ContractAgreementMessage, ContractAgreement or Agreement"
_WAY_OUT: Final = "pass the message that the negotiation ended with"


def agreement_document(
    document: bytes,
    name: str,
    offer: Policy,
    hierarchies: Hierarchies = STANDARD,
    base: IRI | None = None,
    now: datetime | None = None,
) -> bytes:
    """The canonical document of an agreement, which may say no more than was offered.

    It is a policy of the type Agreement. Where the message has a date, durations from it after which
    permissions end, and deadlines of duties, are points in time. For all other durations each request must
    state that date.

    Args:
        document: the bytes of the message.
        name: of the document, for messages.
        offer: what was offered: a policy of the owner, a template or an Offer.
        hierarchies: the profiles, actions and operands that it may use.
        base: the IRI before names without a scheme.
        now: the time of the check, with a time zone; the present when not given.

    Raises:
        SmaltiError: the document has errors, is no agreement, holds several policies, has a date that is
            none or is to come, or says more than the offer; or the offer is void.
    """
    parsed = parse(document, name, hierarchies=hierarchies, binding=Binding(base=base))
    agreement, message = _single(parsed, _EXPECTED), _message(parsed)
    if not _is_agreement(agreement, message):
        raise PolicyError(str(agreement.where), "this is no agreement", _EXPECTED, _WAY_OUT)
    if parts := unbound(agreement):
        problem = f"the agreement leaves open: {', '.join(parts)}"
        way_out = "bind its base: --bind base=IRI" if parts == ("base",) else _WAY_OUT
        raise PolicyError(str(agreement.where), problem, "a target and both parties", way_out)
    kept = kept_to_offer(agreement, offer, hierarchies)
    date = _date(message, name, now or datetime.now(UTC))
    return serialize(kept if date is None else _dated(kept, date, hierarchies))


def offered_policy(
    document: bytes,
    name: str,
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
    binding: Binding = NOTHING_BOUND,
) -> Policy:
    """The one policy of a document as an offer, with placeholders for what it leaves open.

    Args:
        document: the bytes of the document.
        name: of the document, for messages.
        stored: gives the policies in force elsewhere, from which it may inherit.
        hierarchies: the profiles, actions and operands that it may use.
        binding: what is bound.

    Raises:
        PolicyError: the document has errors, holds several policies, or its names need a base.
    """
    policy = _single(parse(document, name, stored, hierarchies, binding), "one policy")
    if "base" in unbound(policy):
        problem = "the policy has names without a scheme"
        raise PolicyError(str(policy.where), problem, "absolute IRIs", "bind its base: --bind base=IRI")
    return policy


def _single(parsed: ParsedDocument, expected: str) -> Policy:
    if parsed.errors:
        require_bound(parsed)  # raises, with all errors
    policies = parsed.templates or parsed.policies
    if len(policies) != 1:
        where = str(policies[1].where) if policies else parsed.name
        problem = f"the document contains {len(policies)} policies, where one is meant"
        raise PolicyError(where, problem, expected, "pass each policy in a document of its own")
    return policies[0]


# --- The message


def _is_agreement(policy: Policy, message: Message) -> bool:
    if policy.type is PolicyType.OFFER:
        return False
    is_bare = policy.type is PolicyType.AGREEMENT and AGREEMENT in message.types
    return is_bare or not message.types.isdisjoint(_MESSAGES)


def _message(parsed: ParsedDocument) -> Message:
    """What is said in the policy and around it."""
    findings = Findings(parsed.name, parsed.text)
    if is_turtle(parsed.name, parsed.text):
        return _of_turtle(parsed, findings)
    if is_short(parsed.name, parsed.text):
        return Message(frozenset({AGREEMENT}), ())  # nothing is said around it, and no date
    value, _ = read(parsed.text)
    items = value.items if isinstance(value, JsonArray) else (value,)
    message = None
    if len(items) == 1 and isinstance(items[0], JsonObject):
        message = message_of(items[0], findings)
    return Message(frozenset(), ()) if message is None else message


def _of_turtle(parsed: ParsedDocument, findings: Findings) -> Message:
    """What the policy says: Turtle has no messages around one."""
    ((policy, _),) = read_nodes(parsed.text, findings)
    members = ((iri, JsonArray(_as_json(prop), prop.key)) for iri, prop in policy.properties.items())
    return Message(frozenset(name.iri for name in policy.types), tuple(members))


def _as_json(prop: Property) -> tuple[JsonValue, ...]:
    return tuple(
        JsonString(value.text, value.place) if isinstance(value, Literal) else JsonNamed(None, value.place)
        for value in prop.values
    )


def _date(message: Message, name: str, now: datetime) -> datetime | None:
    dates = {_moment(value, name) for meaning, value in message.members if meaning in _DATES}
    if len(dates) > 1:
        raise PolicyError(name, "the agreement has two dates", "one date", _WAY_OUT)
    for date in dates:
        if date > now:
            problem = "the date of the agreement is to come"
            raise PolicyError(
                name, problem, "a date that has passed", "check the clocks of both connectors"
            )
    return next(iter(dates), None)


def _moment(value: JsonValue, name: str) -> datetime:
    where = f"{name}: the date of the agreement"
    if isinstance(value, JsonObject) and (member := value.find("@value")) is not None:
        value = member.value
    match value:
        case JsonArray(items=(item,)):
            return _moment(item, name)
        case JsonString(text=text):
            return time(text, where)
        case JsonNumber(exact=seconds) if 0 <= seconds < _SECONDS:  # as EDC writes it
            return datetime.fromtimestamp(int(seconds), UTC)
    raise PolicyError(where, "it is no point in time", "a time with its zone, or seconds since 1970")


_SECONDS: Final = Decimal(10) ** 11
_ENDS: Final = frozenset({Operator.LT, Operator.LTEQ})
_MONOTONE: Final = frozenset({LogicalOperator.AND, LogicalOperator.OR})
"""Where a narrower operand never makes a wider condition."""


@dataclass(frozen=True, slots=True)
class _Calendar:
    """Puts points in time in place of the durations after which permissions and duties end.

    The other side writes the date. One that is too early ends a permission sooner, and is a nearer deadline
    of a duty; but it would lift an embargo, or end a prohibition. So other durations stay, and wait for the
    date that a request states.
    """

    date: datetime
    hierarchies: Hierarchies

    def prohibition(self, rule: Prohibition) -> Prohibition:
        """A prohibition that ends when it did; its remedies are duties."""
        return with_duties(rule, self.rule)

    def rule(self, rule: R) -> R:
        """A permission or a duty, of which nothing holds more often for a narrower condition."""
        dated = replace(
            rule,
            targets=tuple(map(self.part, rule.targets)),
            assigners=tuple(map(self.part, rule.assigners)),
            assignees=tuple(map(self.part, rule.assignees)),
            constraints=self.conditions(rule.constraints),
            refinements=self.conditions(rule.refinements),
        )
        return with_duties(dated, self.rule)

    def part(self, part: P) -> P:
        return replace(part, refinements=self.conditions(part.refinements))

    def conditions(self, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
        return tuple(map(self.condition, conditions))

    def condition(self, condition: Condition) -> Condition:
        match condition:
            case Logical(operator=operator, operands=operands) if operator in _MONOTONE:
                return replace(condition, operands=self.conditions(operands))
            case Comparison(operand=operand, operator=operator, values=values) if (
                operator in _ENDS and self.is_clock(operand)
            ):
                return replace(condition, values=tuple(map(self.value, values)))
        return condition

    def is_clock(self, operand: IRI) -> bool:
        declaration = self.hierarchies.declaration(operand)
        return declaration is not None and declaration.kind is OperandKind.CLOCK

    def value(self, value: Value) -> Value:
        moment = anchored_time(value.text, self.date) if isinstance(value, Text) else None
        return value if moment is None else Instant(moment)


def _dated(policy: Policy, date: datetime, hierarchies: Hierarchies) -> Policy:
    calendar = _Calendar(date, hierarchies)
    return replace(
        policy,
        permissions=tuple(map(calendar.rule, policy.permissions)),
        prohibitions=tuple(map(calendar.prohibition, policy.prohibitions)),
        obligations=tuple(map(calendar.rule, policy.obligations)),
    )
