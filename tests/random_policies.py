"""Seeded random policies and requests of a small data market, for decisions by two evaluators.

Most rules are about most requests, or nothing would be compared: what is usual comes first in each
tuple of choices, and is drawn more often.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import TypeVar

from second_evaluator import DATE_TIME, RECIPIENT, Lore, Order

from smalti.policy.decide.decision import DutyReading, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    ConflictStrategy,
    Day,
    Duty,
    Instant,
    Interval,
    Logical,
    LogicalOperator,
    Membership,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Text,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import DPV, IRI, ODRL, ODRL_PURPOSE, SMALTI


def _own(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(f"http://example.com/{name}") for name in names)


def _odrl(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(ODRL + name) for name in names)


def _dpv(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(DPV + name) for name in names)


ANN, BOB, ZOE, STAFF, ALL = _own("ann", "bob", "zoe", "staff", "all")
OWNER, OTHER_OWNER = _own("owner", "other-owner")
SHOP, BANK, SALES, MARKET, FARM = _own("shop", "bank", "sales", "market", "farm")
AGE, CITY, CODE, SALES_AGE = _own("shop/age", "shop/city", "bank/code", "sales/age")
NAME = IRI("http://schema.example/name")
CAMPAIGN, UNHEARD, ROLE, PEEK, VIEW = _own("campaign", "unheard-of", "role", "peek", "view")
STRANGE = IRI("https://w3id.org/catenax/policy/Membership")
MARKETING, DIRECT, ADVERTISING, PERSONAL, PERSONALISATION = _dpv(
    "Marketing", "DirectMarketing", "Advertising", "PersonalisedAdvertising", "Personalisation"
)
READ, ANONYMIZE, USE, DERIVE, TRANSFER, SELL, INFORM = _odrl(
    "read", "anonymize", "use", "derive", "transfer", "sell", "inform"
)
COUNT, LANGUAGE, DELAY = _odrl("count", "language", "delayPeriod")
AUDIT = IRI(SMALTI + "audit")
OUT = IRI("http://example.com/out")
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

PARTIES = ((ANN, STAFF), (BOB, STAFF), (STAFF, ALL))
ASSETS = ((SHOP, SALES), (BANK, SALES), (SALES, MARKET))

VOCABULARY = Vocabulary(
    parties=Relations(PARTIES),
    assets=Relations(ASSETS),
    purposes=Relations(((CAMPAIGN, DIRECT),)),
    actions=Relations(((VIEW, READ),)),
    operands=frozenset({ROLE}),
    columns=((SHOP, NAME),),
)
HIERARCHIES = STANDARD.with_(VOCABULARY)
"""The market, as the product knows it."""

LORE = Lore(
    parties=Order(PARTIES, is_open=False),
    assets=Order(ASSETS, is_open=False),
    purposes=Order(
        [
            (CAMPAIGN, DIRECT),
            (DIRECT, MARKETING),
            (ADVERTISING, MARKETING),
            (PERSONAL, ADVERTISING),
            (PERSONAL, PERSONALISATION),
            (MARKETING, terms.MARKETING),
            (terms.MARKETING, MARKETING),
            (terms.STATISTICAL, terms.STATISTICAL),
        ],
        is_open=True,
    ),
    actions=Order(
        [
            (VIEW, READ),
            *((action, USE) for action in (READ, ANONYMIZE, DERIVE, INFORM)),
            (SELL, TRANSFER),
        ],
        is_open=True,
    ),
    operands=frozenset({ODRL_PURPOSE, DATE_TIME, RECIPIENT, COUNT, LANGUAGE, DELAY, ROLE}),
    tables=frozenset({SHOP, BANK, SALES}),
    columns=frozenset({(SHOP, NAME)}),
)
"""The same, as the second evaluator knows it: from the pages of the policy language."""


ROWS = tuple(
    {AGE: Number(Decimal(age)), CITY: Number(Decimal(city)), NAME: Number(Decimal(name))}
    for age, city, name in (
        (0, 3, 5),
        (1, 6, 1),
        (2, 2, 2),
        (3, 0, 7),
        (4, 1, 3),
        (5, 5, 4),
        (6, 4, 6),
        (7, 7, 0),
    )
)
"""Of the shop and the bank."""

# --- Choices

T = TypeVar("T")
ORDERING = (Operator.LTEQ, Operator.GTEQ, Operator.LT, Operator.GT)
SETS = (Operator.IS_ANY_OF, Operator.IS_NONE_OF, Operator.IS_ALL_OF)
EQUAL = (Operator.EQ, Operator.NEQ)
PARTS = (Operator.IS_A, Operator.IS_PART_OF, Operator.HAS_PART)
PARTY_CHOICES = (ANN, STAFF, ALL, BOB, ZOE)
ASSET_CHOICES = (SHOP, SALES, MARKET, BANK, FARM, AGE, CITY)
ACTION_CHOICES = (READ, ANONYMIZE, USE, VIEW, DERIVE, TRANSFER, SELL, PEEK)
PURPOSE_CHOICES = (
    *(MARKETING, DIRECT, ADVERTISING, PERSONAL, PERSONALISATION),
    *(CAMPAIGN, terms.MARKETING, terms.STATISTICAL, UNHEARD),
)
OPERANDS = (ODRL_PURPOSE, DATE_TIME, COUNT, ROLE, RECIPIENT, LANGUAGE, DELAY)
DURATIONS = ("P1D", "PT24H", "P2D", "soon")


class Draw:
    """Draws rules and requests from one seeded source."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.readings = Random(seed)
        """Of duties."""

    def usual(self, choices: Sequence[T], share: float = 0.5) -> T:
        """The first one in a share of the cases, and else any."""
        return choices[0] if self.chance(share) else self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def several(self, draw: Callable[[], T], counts: Sequence[int]) -> tuple[T, ...]:
        """As many as one of the counts, without repetitions."""
        return tuple(dict.fromkeys(draw() for _ in range(self.random.choice(counts))))

    # Values and conditions

    def time(self) -> datetime:
        zone = self.usual((UTC, timezone(timedelta(hours=9)), None), 0.6)
        return (NOW + timedelta(hours=self.random.randint(-40, 40))).replace(tzinfo=zone)

    def value(self, operand: IRI) -> Value:
        if self.chance(0.03):
            return self.usual((Text("3"), Number(Decimal(3)), Named(ANN), Instant(NOW)), 0.2)
        if operand == ODRL_PURPOSE:
            return Named(self.random.choice(PURPOSE_CHOICES))
        if operand == DATE_TIME:
            moment = self.time()
            return Day(moment.date()) if self.chance(0.3) else Instant(moment)
        if operand == COUNT:
            return Number(Decimal(self.random.randint(1, 6)))
        if operand == RECIPIENT:
            return Named(self.random.choice(PARTY_CHOICES))
        return Text(self.random.choice(DURATIONS if operand == DELAY else ("a", "b")))

    def operator(self, operand: IRI) -> Operator:
        if operand in {COUNT, DATE_TIME}:
            return self.random.choice((*EQUAL, *ORDERING, *ORDERING, *SETS[:2]))
        if operand in {ODRL_PURPOSE, RECIPIENT}:
            return self.random.choice((*EQUAL, *PARTS, *SETS))
        return self.random.choice((*EQUAL, *SETS))

    def listed(self, operand: IRI, operator: Operator) -> tuple[Value, ...]:
        counts = (1, 2, 3) if operator in SETS else (1,)
        return tuple(sorted(self.several(lambda: self.value(operand), counts), key=repr))

    def comparison(self) -> Condition:
        if self.chance(0.06):
            return Comparison(STRANGE, Operator.EQ, (self.value(STRANGE),))
        operand = self.usual(OPERANDS, 0.3)
        operator = self.operator(operand)
        unit = IRI("http://example.com/EUR") if self.chance(0.02) else None
        return Comparison(operand, operator, self.listed(operand, operator), unit)

    def row_limit(self) -> ColumnComparison:
        column = ColumnReference(self.usual((AGE, CITY, NAME, CODE, STRANGE), 0.5))
        return ColumnComparison(column, self.random.choice((*EQUAL, *ORDERING)), (self.value(COUNT),))

    def condition(self, depth: int = 2) -> Condition:
        if depth and self.chance(0.3):
            operands = self.several(lambda: self.condition(depth - 1), (1, 2, 2, 3))
            return Logical(self.random.choice(tuple(LogicalOperator)), operands)
        return self.row_limit() if self.chance(0.12) else self.comparison()

    # Rules

    def parties(self) -> tuple[Party, ...]:
        def party() -> Party:
            refinements = (self.role(),) if self.chance(0.15) else ()
            return Party(self.usual(PARTY_CHOICES), refinements)

        return self.several(party, (0, 1, 1, 2))

    def role(self) -> Condition:
        return Comparison(ROLE, self.random.choice(EQUAL), (self.value(ROLE),))

    def asset(self, *more: IRI) -> Asset:
        iri = self.usual((*ASSET_CHOICES, *more), 0.5)
        refinements: tuple[Condition, ...] = ()
        if self.chance(0.1):
            refinements = (self.row_limit() if self.chance(0.5) else self.comparison(),)
        return Asset(iri, refinements)

    def way(self) -> Anonymization:
        is_diverse = self.chance(0.4)
        k = self.random.randint(3, 6)
        columns = [ColumnReference(column) for column in (AGE, CITY, NAME)]
        return Anonymization(
            method="l-diversity" if is_diverse else "k-anonymity",
            algorithm=None,
            k=Bound(self.random.choice((Operator.GTEQ, Operator.EQ)), k),
            l=Bound(Operator.GTEQ, self.random.randint(2, k)) if is_diverse else None,
            identifiers=(),
            quasi_identifiers=tuple(columns[:1]),
            sensitive=tuple(columns[1:2]) if is_diverse else (),
            released=tuple(columns[2:]) if self.chance(0.3) else (),
            respondent=None,
            one_row_each=True,
        )

    def assigners(self) -> tuple[Party, ...]:
        refinements = (self.role(),) if self.chance(0.03) else ()
        return () if self.chance(0.7) else (Party(self.random.choice((OWNER, OTHER_OWNER)), refinements),)

    def constraints(self) -> tuple[Condition, ...]:
        return self.several(self.condition, (0, 0, 0, 0, 0, 1, 1, 2))

    def parameter_limit(self) -> Condition:
        if self.chance(0.2):
            names = (Text(self.random.choice(("k-anonymity", "l-diversity"))),)
            return Comparison(terms.METHOD, self.random.choice(EQUAL), names)
        return Comparison(terms.K, self.random.choice((*EQUAL, *ORDERING)), (self.value(COUNT),))

    def duty(self, uid: str) -> Duty:
        if self.chance(0.4):
            return Duty(
                uid=IRI(uid), action=ANONYMIZE, targets=(), output=OUT, anonymization=self.way(),
                assignees=self.parties()[:1] if self.chance(0.2) else (),
                constraints=self.constraints() if self.chance(0.3) else (),
            )  # fmt: skip
        return Duty(
            uid=IRI(uid),
            action=self.random.choice((INFORM, INFORM, AUDIT)),
            targets=(),
            assignees=self.parties()[:1] if self.chance(0.15) else (),
            constraints=self.constraints(),
        )

    def permission(self, uid: str) -> Permission:
        action = self.usual(ACTION_CHOICES)
        is_way = action == ANONYMIZE
        duties: tuple[Duty, ...] = ()
        if not is_way and self.chance(0.3):
            several = [self.duty(f"{uid}:d{number}") for number in range(self.random.choice((1, 1, 2)))]
            is_second = len(several) == 2 and several[0].anonymization and several[1].anonymization
            duties = tuple(several[:1] if is_second else several)
        return Permission(
            uid=IRI(uid),
            action=action,
            targets=self.several(self.asset, (1,) if is_way else (1, 1, 2)),
            assignees=self.parties(),
            assigners=self.assigners(),
            constraints=self.constraints(),
            refinements=(self.parameter_limit(),)
            if not is_way and self.chance(0.25 if duties else 0.03)
            else (),
            output=OUT if is_way else None,
            anonymization=self.way() if is_way else None,
            duties=duties,
        )

    def prohibition(self, uid: str) -> Prohibition:
        action = self.usual(ACTION_CHOICES, 0.4)
        of_columns = self.chance(0.3)
        columns = (self.random.choice((CITY, AGE, NAME, CODE, SALES_AGE)),)
        return Prohibition(
            uid=IRI(uid),
            action=action,
            targets=(Asset(*columns),) if of_columns else self.several(self.asset, (1, 1, 2)),
            assignees=self.parties(),
            assigners=self.assigners(),
            constraints=self.constraints(),
            refinements=(self.parameter_limit(),)
            if action == ANONYMIZE and not of_columns and self.chance(0.6)
            else (),
        )

    def obligation(self, uid: str) -> Duty:
        return Duty(
            uid=IRI(uid), action=ANONYMIZE, targets=(self.asset(),),
            assignees=self.parties(), constraints=self.constraints(), output=OUT, anonymization=self.way(),
        )  # fmt: skip

    def membership(self) -> Membership:
        if self.chance(0.5):
            member, group = self.random.choice(((ZOE, STAFF), (BOB, ZOE), (ALL, ZOE)))
            return Membership(member, group, of_parties=True)
        return Membership(*self.random.choice(((FARM, SALES), (SHOP, FARM), (SALES, FARM))))

    def policy(self, uid: str) -> Policy:
        kind = self.usual((PolicyType.SET, PolicyType.AGREEMENT, PolicyType.OFFER), 0.85)
        start = NOW + timedelta(hours=self.random.randint(-60, 30))
        valid = Interval(
            self.usual((start, None), 0.8), self.usual((start + timedelta(hours=50), None), 0.8)
        )
        return Policy(
            uid=IRI(uid),
            document_digest=f"sha256:{uid}",
            type=kind,
            conflict=self.random.choice(tuple(ConflictStrategy)),
            valid=valid if self.chance(0.12) else None,
            permissions=tuple(
                self.permission(f"{uid}:p{at}") for at in range(self.random.choice((0, 1, 1, 2, 2, 2)))
            ),
            prohibitions=tuple(
                self.prohibition(f"{uid}:n{at}") for at in range(self.random.choice((0, 0, 0, 1, 1, 2)))
            ),
            obligations=(self.obligation(f"{uid}:o"),) if self.chance(0.08) else (),
            memberships=self.several(self.membership, (1, 2)) if self.chance(0.1) else (),
        )

    def policies(self) -> list[Policy]:
        return [self.policy(f"urn:x:{number}") for number in range(self.random.choice((1, 2, 2, 3)))]

    # Requests

    def facts(self) -> tuple[Fact, ...]:
        operands = [
            operand for operand in (COUNT, ROLE, RECIPIENT, LANGUAGE, DELAY, STRANGE) if self.chance(0.6)
        ]
        operands += [ODRL_PURPOSE] if self.chance(0.25) else []
        operands += [DATE_TIME] if self.chance(0.1) else []
        return tuple(
            Fact(operand, self.several(lambda name=operand: self.value(name), (1, 1, 1, 2)))  # type: ignore[misc]
            for operand in operands
        )

    def targets(self) -> tuple[IRI, ...]:
        return self.several(lambda: self.usual((*ASSET_CHOICES, NAME), 0.55), (1, 1, 1, 2))

    def request(self, policies: Sequence[Policy]) -> Request:
        duties = [duty.uid for policy in policies for rule in policy.permissions for duty in rule.duties]
        rules = [rule.uid for policy in policies for rule in policy.rules]
        action = self.usual(ACTION_CHOICES, 0.6)
        targets = self.targets()
        parameters: tuple[Fact, ...] = ()
        if action == ANONYMIZE and self.chance(0.3):
            parameters = (Fact(terms.K, (Number(Decimal(self.random.randint(1, 7))),)),)
        request = Request(
            party=self.usual((ANN, BOB, ZOE, STAFF), 0.8),
            action=action,
            targets=targets,
            purpose=self.usual((DIRECT, None, *PURPOSE_CHOICES), 0.5),
            rule=self.random.choice([*rules, *duties]) if (rules or duties) and self.chance(0.08) else None,
            parameters=parameters,
            time=None if self.chance(0.1) else self.time() if self.chance(0.4) else NOW,
            facts=self.facts(),
            fulfilled=frozenset(duty for duty in duties if self.chance(0.7)),
            columns=frozenset({AGE, CITY}) if targets == (SHOP,) and self.chance(0.05) else frozenset(),
        )
        if self.readings.random() < 0.5:
            return request
        claimed = request.fulfilled if self.readings.random() < 0.3 else frozenset()
        return replace(request, fulfilled=claimed, duties=DutyReading.NOT_VIOLATED)
