"""Random policies of the whole language, as the parser would give them; and random changes to policies."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from smalti.policy.model.meaning import is_generated
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Audit,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    ConflictStrategy,
    Day,
    DecimalBound,
    Duty,
    Function,
    Inclusion,
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
    Rule,
    Text,
    Training,
    Truth,
    Value,
)
from smalti.vocab.terms import (
    ANONYMIZE,
    AUDIT,
    DPV,
    IRI,
    MOSAICROWN,
    ODRL,
    ODRL_PURPOSE,
    READ,
    SMALTI,
    TRAIN,
    USE,
)
from smalti.vocab.words import ATTACKS

T = TypeVar("T")

TARGETS = tuple(IRI(f"http://example.com/{name}") for name in ("Customer", "Orders", "Visits"))
PARTIES = tuple(IRI(f"http://example.com/party/{name}") for name in ("ann", "bob", "group"))
PURPOSES = (
    IRI(MOSAICROWN + "statistical"),
    IRI(MOSAICROWN + "institutional"),
    IRI(DPV + "Marketing"),
    IRI(DPV + "DirectMarketing"),
    IRI(DPV + "ResearchAndDevelopment"),
)
COLUMNS = ("Age", "Amount", "BirthDate", "City", "Id", "ZIP")
ACTIONS = (READ, USE, IRI(ODRL + "derive"), IRI(ODRL + "distribute"), IRI(ODRL + "index"))
MORE_ACTIONS = (IRI(ODRL + "display"), IRI(ODRL + "sell"))
DUTIES = (IRI(ODRL + "inform"), IRI(ODRL + "delete"), IRI(ODRL + "obtainConsent"))
MOMENTS = st.datetimes(
    datetime(2001, 1, 1),
    datetime(2040, 1, 1),
    timezones=st.just(UTC),
).map(lambda time: time.replace(microsecond=0))
DAYS = st.dates(date(2001, 1, 1), date(2040, 1, 1))
NUMBERS = st.decimals("-1000", "1000", places=2, allow_nan=False) | st.integers(-99, 99).map(Decimal)
ORDERS = (Operator.EQ, Operator.NEQ, Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ)
DIGEST = "sha256:" + "0" * 64


def unique(elements: st.SearchStrategy[T], least: int, most: int) -> st.SearchStrategy[tuple[T, ...]]:
    """A sorted set of values of one type, as the parser gives it."""

    def key(value: Any) -> Any:
        return (str(type(value)), value.time.isoformat()) if isinstance(value, Instant) else value

    return st.lists(elements, min_size=least, max_size=most, unique=True).map(
        lambda found: tuple(sorted(found, key=key))
    )


# --- Conditions


def one_value(elements: st.SearchStrategy[Value]) -> st.SearchStrategy[tuple[Value, ...]]:
    return elements.map(lambda value: (value,))


def purposes() -> st.SearchStrategy[Comparison]:
    """A limit to purposes, or against some."""
    named = st.sampled_from(PURPOSES).map(Named)
    single = st.tuples(st.sampled_from((Operator.EQ, Operator.NEQ, Operator.IS_A)), one_value(named))
    several = st.tuples(st.sampled_from((Operator.IS_ANY_OF, Operator.IS_NONE_OF)), unique(named, 1, 3))
    return (single | several).map(lambda found: Comparison(ODRL_PURPOSE, *found))


def _compared(
    operand: str, operators: tuple[Operator, ...], values: st.SearchStrategy[Value]
) -> st.SearchStrategy[Comparison]:
    return st.builds(
        Comparison, st.just(IRI(ODRL + operand)), st.sampled_from(operators), one_value(values)
    )


def comparisons() -> st.SearchStrategy[Comparison]:
    """A limit about the world."""
    instants = MOMENTS.map(Instant) | DAYS.map(Day)
    return (
        _compared("dateTime", ORDERS, instants)
        | _compared("count", ORDERS, st.integers(0, 50).map(lambda n: Number(Decimal(n))))
        | _compared("percentage", (Operator.LTEQ, Operator.GT), st.integers(0, 99).map(Decimal).map(Number))
        | _compared("recipient", (Operator.EQ, Operator.NEQ), st.sampled_from(PARTIES).map(Named))
        | _amounts()
        | purposes()
    )


def _amounts() -> st.SearchStrategy[Comparison]:
    """Amounts in a currency."""
    numbers = one_value(st.integers(0, 99).map(lambda n: Number(Decimal(n))))
    units = st.sampled_from((None, IRI("http://example.com/currency/EUR")))
    return st.builds(Comparison, st.just(IRI(ODRL + "payAmount")), st.sampled_from(ORDERS), numbers, units)


def refinements() -> st.SearchStrategy[tuple[Comparison, ...]]:
    """Of an action other than to anonymize."""
    numbers = st.integers(0, 50).map(lambda n: Number(Decimal(n)))
    return st.lists(_compared("count", ORDERS, numbers), max_size=1).map(tuple)


def rows(target: IRI) -> st.SearchStrategy[ColumnComparison]:
    """A limit to rows of a target."""
    texts = st.sampled_from(("", "Rome", "a b", 'quote "', "é", "10")).filter(bool).map(Text)
    columns = st.sampled_from(COLUMNS).map(lambda name: ColumnReference(IRI(f"{target}/{name}")))
    numbers = st.tuples(columns, st.sampled_from(ORDERS), one_value(NUMBERS.map(Number)))
    days = st.tuples(columns, st.sampled_from(ORDERS), one_value(DAYS.map(Day)))
    equals = st.tuples(columns, st.sampled_from(ORDERS[:2]), one_value(texts | st.booleans().map(Truth)))
    sets = st.tuples(
        columns, st.sampled_from((Operator.IS_ANY_OF, Operator.IS_NONE_OF)), unique(texts, 1, 3)
    )
    return (numbers | days | equals | sets).map(lambda found: ColumnComparison(*found))


def logicals(leaves: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    """Conditions, some of them taken together."""

    def node(children: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        several = st.lists(children, min_size=2, max_size=3, unique=True).map(tuple)
        return st.builds(Logical, st.sampled_from(LogicalOperator), several)

    return st.recursive(leaves, node, max_leaves=4)


def conditions(target: IRI, with_rows: bool = True) -> st.SearchStrategy[tuple[Condition, ...]]:
    """What a rule is limited by."""
    leaves: st.SearchStrategy[Condition] = comparisons() | rows(target) if with_rows else comparisons()
    return st.lists(logicals(leaves), max_size=3, unique=True).map(tuple)


# --- Anonymization


@st.composite
def anonymizations(draw: st.DrawFn, target: IRI) -> Anonymization:
    """Refinements to anonymize a target by k-anonymity or l-diversity."""
    roles = draw(st.lists(st.sampled_from("iqsr-"), min_size=len(COLUMNS), max_size=len(COLUMNS)))
    roles[0], roles[1] = "q", "s"
    iris = [ColumnReference(IRI(f"{target}/{name}")) for name in COLUMNS]
    columns = {
        role: tuple(iri for iri, at in zip(iris, roles, strict=True) if at == role) for role in "iqsr"
    }
    is_diverse = draw(st.booleans())
    k = Bound(draw(st.sampled_from((Operator.EQ, Operator.GTEQ))), draw(st.integers(4, 20)))
    spread = Bound(draw(st.sampled_from((Operator.EQ, Operator.GTEQ))), draw(st.integers(2, 4)))
    respondent = draw(st.sampled_from((None, *columns["i"])))
    return Anonymization(
        method="l-diversity" if is_diverse else "k-anonymity",
        algorithm=draw(st.sampled_from((None, "mondrian"))),
        k=k,
        l=spread if is_diverse else None,
        identifiers=columns["i"],
        quasi_identifiers=columns["q"],
        sensitive=columns["s"],
        released=columns["r"],
        respondent=respondent,
        one_row_each=respondent is None and draw(st.booleans()),
        parameters=draw(_parameters(columns["q"])),
    )


def _parameters(quasi: tuple[ColumnReference, ...]) -> st.SearchStrategy[tuple[Condition, ...]]:
    limit = Comparison(IRI(SMALTI + "suppressionLimit"), Operator.LTEQ, (Number(Decimal("0.05")),))
    form = Comparison(IRI(SMALTI + "outputForm"), Operator.EQ, (Text("range"),))
    column = Comparison(IRI(SMALTI + "column"), Operator.EQ, (Named(quasi[0].iri),))
    of_one = Logical(LogicalOperator.AND, (column, form))
    return st.sampled_from(((), (), (limit,), (of_one,), (of_one, limit)))


# --- Training and audits


@st.composite
def trainings(draw: st.DrawFn, target: IRI) -> Training:
    """Refinements to train on a target: without noise, with given noise, with a bound, or with both."""
    most = st.sampled_from((Operator.EQ, Operator.LTEQ))
    shares = st.builds(DecimalBound, most, st.sampled_from((Decimal("0.01"), Decimal(1), Decimal("1e-5"))))
    counts = st.builds(Bound, most, st.integers(1, 50))
    has_noise, word = draw(st.booleans()), draw(st.sampled_from((None, *_LOSSES)))
    given: dict[str, object] = {}
    if has_noise:
        operators = (Operator.EQ,) if word is not None else (Operator.EQ, Operator.GTEQ)
        given["noise_multiplier"] = DecimalBound(draw(st.sampled_from(operators)), Decimal("1.1"))
    if word is not None:
        given[word] = DecimalBound(Operator.LTEQ, Decimal("0.75"))
    if has_noise or word is not None:
        neighbors = st.sampled_from((None, "add-or-remove-one", "change-one"))
        given |= {
            "clipping_norm": draw(shares),
            "sampling_rate": draw(shares),
            "delta": DecimalBound(draw(most), Decimal("1e-6")),
            "neighbors": draw(neighbors),
            "rows_per_respondent": draw(st.none() | counts),
        }
    count = Comparison(IRI(ODRL + "count"), Operator.LTEQ, (Number(Decimal(9)),))
    label, person, name = (ColumnReference(IRI(f"{target}/{one}")) for one in COLUMNS[:3])
    respondent = draw(st.sampled_from((None, person)))
    return Training(
        recipe=draw(st.sampled_from(("mlp-128", "own.Recipe_2"))),
        label_column=label,
        identifiers=draw(st.sampled_from(((), (person,), (person, name)))),
        respondent=respondent,
        one_row_each=respondent is None and draw(st.booleans()),
        epochs=draw(counts if has_noise else st.none() | counts),
        parameters=draw(st.sampled_from(((), (count,)))),
        **given,  # type: ignore[arg-type]
    )


_LOSSES = ("epsilon", "posterior_belief", "membership_advantage")


@st.composite
def audits(draw: st.DrawFn) -> Audit:
    """Refinements to audit: some attacks, and at least one bound."""
    shares = st.sampled_from((Decimal("0.6"), Decimal("0.75"), Decimal("0.9")))
    bounds = ("attack_advantage", "attack_precision", "epsilon_lower_bound", "true_positive_rate")
    given = {name: draw(shares) for name in draw(unique(st.sampled_from(bounds), 1, 4))}
    if "true_positive_rate" in given:
        given["false_positive_rate"] = Decimal("0.01")
    if draw(st.booleans()):
        given["confidence"] = Decimal("0.99")
    return Audit(attacks=draw(unique(st.sampled_from(ATTACKS), 1, 3)), **given)


# --- Rules and policies


def _party_refinements() -> st.SearchStrategy[tuple[Condition, ...]]:
    """Mostly none; else what is true of the members who are meant."""
    role = Comparison(IRI("http://example.com/role"), Operator.EQ, (Text("nurse"),))
    age = Comparison(IRI("http://example.com/age"), Operator.GTEQ, (Number(Decimal(18)),))
    return st.sampled_from(((),) * 6 + ((role,), (age, role)))


def _parts_of(target: IRI) -> st.SearchStrategy[tuple[Condition, ...]]:
    """Mostly none; else the rows of a target that are meant."""
    return st.just(()) | st.just(()) | st.lists(rows(target), max_size=1).map(tuple)


@dataclass
class _Writer:
    """Draws rules and counts them, since each has a uid of its own."""

    draw: st.DrawFn
    kind: PolicyType
    count: int = 0
    outputs: list[IRI] = field(default_factory=list)

    def uid(self) -> IRI:
        self.count += 1
        if self.draw(st.booleans()):
            return IRI(f"http://example.com/rule/{self.count}")
        return IRI(f"urn:smalti:rule:sha256:{'0' * 64}/permission/{self.count}")

    def parties(self, needed: bool) -> tuple[Party, ...]:
        found = self.draw(unique(st.sampled_from(PARTIES), int(needed), 2))
        return tuple(Party(iri, self.draw(_party_refinements())) for iri in found)

    def common(self, with_rows: bool = True) -> dict[str, Any]:
        """What every rule has, apart from its action."""
        targets = self.draw(unique(st.sampled_from(TARGETS), 1, 2))
        is_agreement = self.kind is PolicyType.AGREEMENT
        return {
            "uid": self.uid(),
            "targets": tuple(Asset(iri, self.draw(_parts_of(iri))) for iri in targets),
            "assignees": self.parties(is_agreement),
            "assigners": self.parties(self.kind is not PolicyType.SET),
            "constraints": self.draw(conditions(targets[0], with_rows)),
        }

    def anonymizing(self, common: dict[str, Any]) -> dict[str, Any]:
        target = Asset(common["targets"][0].iri)
        output = IRI(f"http://example.com/output/{self.count}")
        return {
            **common, "action": ANONYMIZE, "targets": (target,), "output": output,
            "anonymization": self.draw(anonymizations(target.iri)),
        }  # fmt: skip

    def permissions(self) -> tuple[Permission, ...]:
        """A permission, with one action or two."""
        first = self.permission()
        if first.output is not None or self.draw(st.booleans()):
            return (first,)
        return (first, replace(first, action=self.draw(st.sampled_from(MORE_ACTIONS)), refinements=()))

    def permission(self) -> Permission:
        common = self.common()
        if self.draw(st.booleans()):
            common = self.anonymizing(common)
            return Permission(**common, duties=self.duties(common))
        if self.draw(st.integers(0, 3)) == 0:
            return self.training(common)
        action = self.draw(st.sampled_from(ACTIONS))
        duties = self.duties(common, with_transformation=action == READ)
        return Permission(**common, action=action, refinements=self.draw(refinements()), duties=duties)

    def training(self, common: dict[str, Any]) -> Permission:
        target, model = Asset(common["targets"][0].iri), IRI(f"http://example.com/model/{self.count}")
        common |= {"targets": (target,)}
        audit = Duty(
            uid=self.uid(), action=AUDIT, targets=(Asset(model),), audit=self.draw(audits()),
            **self.same_parties(common),
        )  # fmt: skip
        duties = (*self.duties(common), *((audit,) if self.draw(st.booleans()) else ()))
        training = self.draw(trainings(target.iri))
        return Permission(**common, action=TRAIN, output=model, training=training, duties=duties)

    def duties(self, rule: dict[str, Any], with_transformation: bool = False) -> tuple[Duty, ...]:
        found = [self.duty(rule, with_consequence=True) for _ in range(self.draw(st.integers(0, 1)))]
        if with_transformation and len(rule["targets"]) == 1 and self.draw(st.booleans()):
            bare = {"uid": self.uid(), "targets": rule["targets"]}
            found.append(Duty(**self.anonymizing(bare | self.same_parties(rule))))
        return tuple(found)

    def duty(self, rule: dict[str, Any], with_consequence: bool = False) -> Duty:
        consequences = (self.duty(rule),) if with_consequence and self.draw(st.booleans()) else ()
        return Duty(
            uid=self.uid(), action=self.draw(st.sampled_from(DUTIES)), targets=rule["targets"],
            constraints=self.draw(conditions(rule["targets"][0].iri, with_rows=False)),
            consequences=consequences, functions=self.draw(st.sampled_from(FUNCTIONS)),
            **self.same_parties(rule),
        )  # fmt: skip

    def same_parties(self, rule: dict[str, Any]) -> dict[str, Any]:
        """A duty that names nobody is that of its rule's parties."""
        return {"assignees": rule["assignees"], "assigners": rule["assigners"]}

    def prohibition(self) -> Prohibition:
        common = self.common()
        action = self.draw(st.sampled_from((*ACTIONS, TRAIN)))
        remedies = (self.duty(common),) if self.draw(st.booleans()) else ()
        return Prohibition(**common, action=action, refinements=self.draw(refinements()), remedies=remedies)

    def obligation(self) -> Duty:
        common = self.common(with_rows=False)
        if self.draw(st.booleans()):
            return Duty(**self.anonymizing(common))
        return Duty(**common, action=self.draw(st.sampled_from(DUTIES)))

    def some(self, make: Callable[[], T], most: int) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.draw(st.integers(0, most))))


OWN = IRI("http://example.com/view")
FUNCTIONS = (
    (),
    (),
    tuple(
        Function(IRI(ODRL + name), Party(IRI(f"http://example.com/party/{party}")))
        for name, party in (
            ("compensatedParty", "wwf"),
            ("compensatedParty", "zoo"),
            ("informedParty", "wwf"),
        )
    ),
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """A policy with at least one rule, as the parser would give it, apart from its places and digest."""
    kind = draw(st.sampled_from(PolicyType))
    writer = _Writer(draw, kind)
    permissions = (
        *writer.permissions(),
        *(rule for more in writer.some(writer.permissions, 1) for rule in more),
    )
    generated = IRI(f"urn:smalti:policy:sha256:{'0' * 64}")
    return Policy(
        uid=draw(st.sampled_from((generated, IRI("http://example.com/policy/1")))),
        document_digest=DIGEST,
        type=kind,
        profiles=draw(st.sampled_from(((), (IRI(MOSAICROWN),), (IRI(SMALTI), IRI(MOSAICROWN))))),
        conflict=draw(st.sampled_from(ConflictStrategy)),
        valid=draw(intervals()),
        permissions=permissions,
        prohibitions=writer.some(writer.prohibition, 2),
        obligations=writer.some(writer.obligation, 1),
        memberships=draw(_memberships(permissions[0])),
        inclusions=draw(st.sampled_from(((), (), (Inclusion(OWN, IRI(ODRL + "derive")),)))),
    )


def _memberships(rule: Permission) -> st.SearchStrategy[tuple[Membership, ...]]:
    """Mostly none; else collections of what a rule names, one of which belongs to another."""
    plain = [one for one in (*rule.targets, *rule.assignees) if not one.refinements]
    if not plain:
        return st.just(())
    of, of_parties = IRI("http://example.com/all"), isinstance(plain[0], Party)
    direct = Membership(plain[0].iri, of, of_parties)
    further = Membership(of, IRI("http://example.com/whole"), of_parties)
    return st.sampled_from(((), (), (direct,), tuple(sorted((direct, further), key=lambda m: m.member))))


def intervals() -> st.SearchStrategy[Interval | None]:
    """Validity: none, open, half-open or closed."""
    ends = st.tuples(MOMENTS, st.integers(1, 10**8)).map(
        lambda found: (found[0], found[0] + timedelta(seconds=found[1]))
    )
    closed = ends.map(lambda found: Interval(*found))
    half = MOMENTS.flatmap(lambda time: st.sampled_from((Interval(time, None), Interval(None, time))))
    return st.none() | closed | half


# --- Comparing and changing policies

_INNER = ("duties", "remedies", "consequences")


def without_made_up(policy: Policy) -> Policy:
    """The policy without what comes from the document's bytes: digest and generated uids."""
    empty = replace(policy, document_digest="", uid=_own(policy.uid))
    return replace(
        empty,
        permissions=tuple(map(_plain, policy.permissions)),
        prohibitions=tuple(map(_plain, policy.prohibitions)),
        obligations=tuple(map(_plain, policy.obligations)),
    )


def _own(uid: IRI) -> IRI:
    return IRI("") if is_generated(uid) else uid


def _plain(rule: Any) -> Any:
    named = replace(rule, uid=_own(rule.uid))
    parts = {name: tuple(map(_plain, getattr(rule, name))) for name in _INNER if hasattr(rule, name)}
    return replace(named, **parts)


def numbered(policy: Policy) -> Policy:
    """The policy with uids of its own for each rule, so that no two rules say the same."""
    numbers = iter(range(10**6))

    def own(rule: Any) -> Any:
        parts = {name: tuple(map(own, getattr(rule, name))) for name in _INNER if hasattr(rule, name)}
        return replace(rule, uid=IRI(f"http://example.com/n/{next(numbers)}"), **parts)

    return replace(
        policy,
        uid=IRI("http://example.com/n"),
        permissions=tuple(map(own, policy.permissions)),
        prohibitions=tuple(map(own, policy.prohibitions)),
        obligations=tuple(map(own, policy.obligations)),
    )


def shuffled(value: Any, random: Random, twice: bool = False) -> Any:
    """The same value with all sets in another order; with `twice`, some of their parts repeated."""
    if isinstance(value, tuple):
        items = [shuffled(item, random, twice) for item in value]
        if twice and items and not isinstance(items[0], Rule):  # a rule that is written twice grants twice
            items.append(random.choice(items))
        random.shuffle(items)
        return tuple(items)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Logical) and value.operator in {
        LogicalOperator.AND_SEQUENCE,
        LogicalOperator.XONE,
    }:
        operands = [shuffled(operand, random, twice) for operand in value.operands]
        if value.operator is LogicalOperator.XONE:
            random.shuffle(operands)
        return replace(value, operands=tuple(operands))
    return replace(
        value, **{part.name: shuffled(getattr(value, part.name), random, twice) for part in fields(value)}
    )


_UNSAID = {"where", "document_digest", "inherits", "inherited_digests"}


def changes(value: Any) -> Iterator[Any]:
    """Every value that differs from this one in one thing that counts."""
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield value[:at] + value[at + 1 :]
            yield from ((*value[:at], changed, *value[at + 1 :]) for changed in changes(item))
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            if part.name not in _UNSAID:
                yield from (
                    replace(value, **{part.name: changed}) for changed in changes(getattr(value, part.name))
                )
    else:
        yield from _other(value)


def _other(value: Any) -> Iterator[Any]:
    match value:
        case None:
            return
        case bool():
            yield not value
        case StrEnum():
            yield from (one for one in type(value) if one is not value)
        case str():
            yield value + "x"
        case int() | Decimal():
            yield value + 1
        case datetime():
            yield value + timedelta(seconds=1)
        case date():
            yield value + timedelta(days=1)
