"""Random policies and requests of a small world with groups, collections and purposes, for decisions."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import strategies as st

from smalti.policy.decide.decision import Fact, Request
from smalti.policy.decide.facts import DATE_TIME
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
    Text,
    Value,
)
from smalti.vocab import terms
from smalti.vocab.terms import DPV, IRI, ODRL, ODRL_PURPOSE


def _iris(*names: str) -> tuple[IRI, ...]:
    return tuple(IRI(f"http://example.com/{name}") for name in names)


ANN, BOB, ZOE, STAFF, ALL = _iris("ann", "bob", "zoe", "staff", "all")
SHOP, BANK, SALES, MARKET, FARM = _iris("shop", "bank", "sales", "market", "farm")
OWN_PURPOSE, OTHER_PURPOSE = _iris("campaign", "unheard-of")
MARKETING, DIRECT, ADVERTISING = (
    IRI(DPV + name) for name in ("Marketing", "DirectMarketing", "Advertising")
)
COUNT, RECIPIENT, ROLE = IRI(ODRL + "count"), IRI(ODRL + "recipient"), IRI("http://example.com/role")
DERIVE, TRANSFER, INFORM, TRAIN = (
    IRI(ODRL + "derive"), IRI(ODRL + "transfer"), IRI(ODRL + "inform"), IRI(terms.SMALTI + "train")
)  # fmt: skip
AUDIT = IRI(terms.SMALTI + "audit")
AGE, CITY, CODE, BANK_CODE = _iris("shop/age", "shop/city", "shop/code", "bank/code")
COLUMNS = (AGE, CITY, CODE, BANK_CODE)
"""Of the shop and the bank."""
CITY_OTHERWISE = IRI("http://example.com/shop/%63ity")
DECLARED = IRI("http://schema.example/name")
"""A column of whatever is requested, where a request knows it."""

WORLD = STANDARD.with_(
    Vocabulary(
        parties=Relations(((ANN, STAFF), (BOB, STAFF), (STAFF, ALL))),
        assets=Relations(((SHOP, SALES), (BANK, SALES), (SALES, MARKET))),
        purposes=Relations(((OWN_PURPOSE, DIRECT),)),
        operands=frozenset({ROLE}),
    )
)
"""ann and bob are staff; shop and bank are sales, on the market; a campaign is direct marketing. Parties
have roles."""

PARTIES = (ANN, BOB, ZOE, STAFF, ALL)
ASSETS = (SHOP, BANK, SALES, MARKET, FARM)
PURPOSES = (
    MARKETING, DIRECT, ADVERTISING, OWN_PURPOSE, OTHER_PURPOSE, terms.MARKETING, terms.STATISTICAL
)  # fmt: skip
OWN = IRI("http://example.com/view")
"""An action that some policies define."""
ACTIONS = (terms.READ, terms.USE, terms.ANONYMIZE, DERIVE, TRAIN, TRANSFER, OWN)
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)

parties = st.sampled_from((ANN, STAFF, ANN, ALL, *PARTIES))
assets = st.sampled_from((SHOP, SALES, SHOP, MARKET, *ASSETS, CITY, AGE, CODE, CITY_OTHERWISE))
purposes = st.sampled_from(PURPOSES)
actions = st.sampled_from(ACTIONS)
numbers = st.integers(1, 6).map(lambda number: Number(Decimal(number)))
days = st.integers(-2, 2).map(lambda days: Day((NOW + timedelta(days=days)).date()))
instants = st.builds(
    lambda hours, zone: Instant((NOW + timedelta(hours=hours)).replace(tzinfo=zone)),
    st.integers(-30, 30),
    st.sampled_from([UTC, timezone(timedelta(hours=9)), None]),
)
times = days | instants
ORDER = (Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ)
ANY = (Operator.EQ, Operator.NEQ)
SETS = (Operator.IS_ANY_OF, Operator.IS_NONE_OF, Operator.IS_ALL_OF)


def _key(value: Value) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def mostly(usual: object, other: st.SearchStrategy[object], one_in: int = 4) -> st.SearchStrategy[object]:
    """A usual value, and now and then another one: rules that apply are rare among random ones."""
    return st.integers(1, one_in).flatmap(lambda number: other if number == one_in else st.just(usual))


def _listed(values: st.SearchStrategy[Value]) -> st.SearchStrategy[tuple[Value, ...]]:
    return st.lists(values, min_size=1, max_size=3, unique=True).map(
        lambda found: tuple(sorted(found, key=_key))
    )


def _comparisons(
    operand: IRI, values: st.SearchStrategy[Value], single: tuple[Operator, ...]
) -> st.SearchStrategy[Comparison]:
    one = st.builds(lambda operator, value: (operator, (value,)), st.sampled_from(single), values)
    several = st.tuples(st.sampled_from(SETS), _listed(values))
    return (one | several).map(lambda pair: Comparison(operand, pair[0], pair[1]))


named_purposes = purposes.map(Named)
on_purposes = _comparisons(
    ODRL_PURPOSE, named_purposes, (*ANY, Operator.IS_A, Operator.IS_PART_OF, Operator.HAS_PART)
)
on_times = _comparisons(DATE_TIME, times, (*ANY, *ORDER))
on_counts = _comparisons(COUNT, numbers, (*ANY, *ORDER))
on_recipients = _comparisons(RECIPIENT, parties.map(Named), (*ANY, Operator.IS_PART_OF))
on_roles = _comparisons(ROLE, st.sampled_from("ab").map(Text), ANY)
on_facts = on_purposes | on_times | on_counts | on_recipients | on_roles
on_rows = st.builds(
    lambda column, operator, value: ColumnComparison(ColumnReference(column), operator, (value,)),
    st.sampled_from([AGE, CITY]),
    st.sampled_from([*ANY, *ORDER]),
    numbers,
)


def _combined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.builds(
        Logical,
        st.sampled_from(LogicalOperator),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
    )


conditions: st.SearchStrategy[Condition] = st.recursive(on_facts | on_rows, _combined, max_leaves=4)
"""Constraints of rules: mostly plain ones, some logical, some on rows."""
few_conditions = st.lists(conditions, max_size=2).map(tuple)
no_or_few = mostly((), few_conditions, 3)

anonymizations = st.builds(
    lambda operator, k, sensitive: Anonymization(
        method="l-diversity" if sensitive else "k-anonymity",
        algorithm=None,
        k=Bound(operator, k),
        l=Bound(Operator.GTEQ, 3) if sensitive else None,
        identifiers=(),
        quasi_identifiers=(ColumnReference(AGE),),
        sensitive=(ColumnReference(CITY),) if sensitive else (),
        released=(),
        respondent=None,
        one_row_each=False,
    ),
    st.sampled_from([Operator.EQ, Operator.GTEQ]),
    st.integers(2, 6),
    st.booleans(),
)
on_parameters = st.builds(
    lambda operator, value: Comparison(terms.K, operator, (value,)),
    st.sampled_from([*ANY, *ORDER]),
    numbers,
) | st.builds(
    lambda operator, text: Comparison(terms.METHOD, operator, (Text(text),)),
    st.sampled_from(ANY),
    st.sampled_from(["k-anonymity", "l-diversity"]),
)  # fmt: skip

some_assets = st.lists(assets, min_size=1, max_size=2, unique=True)
forbidden_assets = st.lists(
    assets | st.sampled_from([*COLUMNS, DECLARED]), min_size=1, max_size=2, unique=True
)
refined_assets = some_assets.flatmap(
    lambda iris: st.tuples(
        *(st.builds(Asset, st.just(iri), mostly((), st.tuples(on_rows | on_counts))) for iri in iris)
    )
)
some_parties = mostly([], st.lists(parties, max_size=2, unique=True), 3).flatmap(
    lambda iris: st.tuples(
        *(st.builds(Party, st.just(iri), mostly((), st.tuples(on_roles))) for iri in iris)
    )
)
numbered = st.integers(1, 4).map(lambda number: IRI(f"urn:x:rule:{number}"))
plain_duties = st.builds(
    lambda number, action, constraints: Duty(
        uid=IRI(f"urn:x:duty:{number}"), action=action, targets=(), constraints=constraints
    ),
    st.integers(1, 2),
    st.sampled_from([INFORM, AUDIT]),
    mostly((), few_conditions, 2),
)
anonymize_duties = st.builds(
    lambda number, how, assignees: Duty(
        uid=IRI(f"urn:x:duty:{number}"),
        action=terms.ANONYMIZE,
        targets=(),
        assignees=assignees,
        output=IRI("http://example.com/out"),
        anonymization=how,
    ),
    st.integers(3, 4),
    anonymizations,
    st.just(()) | st.tuples(parties.map(Party)),
)
duties = st.lists(plain_duties | anonymize_duties, max_size=2).map(tuple)


def _permission(action: IRI, how: Anonymization, **parts: object) -> Permission:
    if action == terms.ANONYMIZE:
        parts |= {"anonymization": how, "output": IRI("http://example.com/out")}
    return Permission(action=action, **parts)  # type: ignore[arg-type]


permissions = st.builds(
    _permission,
    action=mostly(terms.READ, st.just(terms.ANONYMIZE) | actions, 2),
    how=anonymizations,
    uid=numbered,
    targets=refined_assets,
    assignees=some_parties,
    constraints=no_or_few,
    duties=mostly((), duties, 3),
)
remedy_uids = st.integers(1, 2).map(lambda number: IRI(f"urn:x:remedy:{number}"))
remedies = st.builds(
    lambda uid, how, targets, assignees, constraints: Duty(
        uid=uid,
        action=terms.ANONYMIZE,
        targets=targets,
        assignees=assignees,
        constraints=constraints,
        output=IRI("http://example.com/out"),
        anonymization=how,
    ),
    remedy_uids,
    anonymizations,
    mostly((), refined_assets, 3),
    some_parties,
    mostly((), few_conditions),
)
prohibitions = st.builds(
    lambda action, refinements, **parts: Prohibition(
        action=action, refinements=refinements if action == terms.ANONYMIZE else (), **parts
    ),
    action=st.just(terms.READ) | actions,
    refinements=st.just(()) | st.lists(on_parameters, max_size=2).map(tuple),
    uid=numbered.map(lambda uid: IRI(uid + ":no")),
    targets=refined_assets | forbidden_assets.map(lambda iris: tuple(map(Asset, iris))),
    assignees=some_parties,
    constraints=no_or_few,
    remedies=mostly((), st.lists(remedies, max_size=2).map(tuple), 2),
)
obligations = st.builds(
    lambda how, uid, targets, assignees, constraints: Duty(
        uid=IRI(uid + ":must"),
        action=terms.ANONYMIZE,
        targets=targets,
        assignees=assignees,
        constraints=constraints,
        output=IRI("http://example.com/out"),
        anonymization=how,
    ),
    anonymizations,
    numbered,
    refined_assets,
    some_parties,
    no_or_few,
)
intervals = st.builds(
    lambda start, length: Interval(NOW + timedelta(days=start), NOW + timedelta(days=start + length)),
    st.integers(-2, 2),
    st.integers(1, 3),
)
memberships = st.lists(
    st.builds(
        Membership, assets | parties, st.sampled_from([SALES, FARM, STAFF, ZOE, CODE]), st.booleans()
    ).filter(lambda one: one.member != one.collection),
    max_size=2,
).map(tuple)
inclusions = st.sampled_from([DERIVE, terms.READ]).map(lambda above: (Inclusion(OWN, above),))
policies = st.builds(
    Policy,
    uid=st.integers(1, 3).map(lambda number: IRI(f"urn:x:policy:{number}")),
    document_digest=st.just("sha256:0"),
    type=mostly(PolicyType.SET, st.sampled_from([PolicyType.AGREEMENT, PolicyType.OFFER]), 8),
    conflict=st.sampled_from([*ConflictStrategy, ConflictStrategy.PROHIBIT]),
    valid=mostly(None, intervals),
    permissions=st.lists(permissions, min_size=1, max_size=3).map(tuple) | st.just(()),
    prohibitions=mostly((), st.lists(prohibitions, max_size=2).map(tuple), 3),
    obligations=st.lists(obligations, max_size=1).map(tuple),
    memberships=mostly((), memberships, 3),
    inclusions=mostly(
        (), st.sampled_from([DERIVE, terms.READ]).map(lambda above: (Inclusion(OWN, above),)), 2
    ),
)

fact_values: Mapping[IRI, st.SearchStrategy[Value]] = {
    COUNT: numbers,
    RECIPIENT: parties.map(Named),
    ROLE: st.sampled_from("ab").map(Text),
    ODRL_PURPOSE: named_purposes,
    DATE_TIME: times,
}
facts = st.lists(
    st.sampled_from(sorted(fact_values)).flatmap(
        lambda operand: st.builds(Fact, st.just(operand), _listed(fact_values[operand]))
    ),
    max_size=3,
    unique_by=lambda fact: fact.operand,
).map(tuple)
requests = st.builds(
    Request,
    party=st.sampled_from([ANN, ANN, ANN, BOB, ZOE, STAFF]),
    action=mostly(terms.READ, st.just(terms.ANONYMIZE) | actions, 2),
    targets=mostly((SHOP,), st.lists(assets, min_size=1, max_size=2, unique=True).map(tuple), 3),
    purpose=mostly(DIRECT, st.none() | purposes, 2),
    rule=mostly(None, numbered, 8),
    parameters=mostly((), st.builds(lambda value: (Fact(terms.K, (value,)),), numbers)),
    time=mostly(NOW, st.none() | instants.map(lambda instant: instant.time)),
    facts=mostly((), facts, 2),
    fulfilled=st.sets(st.integers(1, 4).map(lambda number: IRI(f"urn:x:duty:{number}"))).map(frozenset),
    columns=mostly(frozenset(), st.sampled_from([frozenset({DECLARED}), frozenset({AGE, CITY})])),
    tables=mostly(frozenset(), st.just(frozenset({CITY})), 8),
)

remedy_requests = st.builds(
    lambda asked, uid: replace(asked, action=terms.ANONYMIZE, rule=uid), requests, remedy_uids
)
"""Requests that rely on a remedy."""


# --- Rules that meet: nearly all of them are about nearly each of these requests

_plain = {
    "action": st.sampled_from([terms.READ, terms.USE, terms.ANONYMIZE]),
    "targets": st.sampled_from([(Asset(SHOP),), (Asset(SALES),), (Asset(SHOP), Asset(BANK))]),
    "assignees": st.sampled_from([(), (Party(ANN),), (Party(STAFF),)]),
}
plain_remedies = st.builds(
    lambda uid, how, assignees: Duty(
        uid=uid,
        action=terms.ANONYMIZE,
        targets=(),
        assignees=assignees,
        output=IRI("http://example.com/out"),
        anonymization=how,
    ),
    remedy_uids,
    anonymizations,
    _plain["assignees"],
)
plain_permissions = st.builds(_permission, how=anonymizations, uid=numbered, **_plain)
plain_prohibitions = st.builds(
    lambda action, refinements, **parts: Prohibition(
        action=action, refinements=refinements if action == terms.ANONYMIZE else (), **parts
    ),
    refinements=st.just(()) | st.tuples(on_parameters),
    uid=numbered.map(lambda uid: IRI(uid + ":no")),
    remedies=st.just(()) | st.tuples(plain_remedies),
    **_plain | {"targets": _plain["targets"] | st.sampled_from(COLUMNS).map(lambda iri: (Asset(iri),))},
)
plain_policies = st.builds(
    Policy,
    uid=st.integers(1, 3).map(lambda number: IRI(f"urn:x:policy:{number}")),
    document_digest=st.just("sha256:0"),
    conflict=st.sampled_from(ConflictStrategy),
    permissions=st.lists(plain_permissions, max_size=2).map(tuple),
    prohibitions=mostly((), st.lists(plain_prohibitions, min_size=1, max_size=2).map(tuple), 2),
)
plain_requests = st.builds(
    Request,
    party=st.just(ANN),
    action=st.sampled_from([terms.READ, terms.ANONYMIZE]),
    targets=st.just((SHOP,)),
    purpose=st.just(DIRECT),
    time=st.just(NOW),
)
plain_remedy_requests = st.builds(
    lambda asked, uid: replace(asked, action=terms.ANONYMIZE, rule=uid), plain_requests, remedy_uids
)


# --- The same with one condition or two: whether they apply depends on these alone


def _conditioned(
    rule: Permission | Prohibition | Duty,
    constraints: tuple[Condition, ...],
    of_asset: tuple[Condition, ...],
    of_party: tuple[Condition, ...],
) -> Permission | Prohibition | Duty:
    first, *others = rule.targets
    return replace(
        rule,
        constraints=constraints,
        targets=(replace(first, refinements=of_asset), *others),
        assignees=tuple(replace(party, refinements=of_party) for party in rule.assignees),
    )


def _few_conditions(rules: st.SearchStrategy[Permission | Prohibition | Duty]) -> st.SearchStrategy[tuple]:  # type: ignore[type-arg]
    some = st.builds(
        _conditioned,
        rules,
        mostly((), st.tuples(conditions), 2),
        mostly((), st.tuples(on_rows | on_counts), 3),
        mostly((), st.tuples(on_roles), 3),
    )
    return st.lists(some, min_size=1, max_size=2).map(tuple)


plain_obligations = st.builds(
    lambda how, **parts: Duty(
        action=terms.ANONYMIZE, output=IRI("http://example.com/out"), anonymization=how, **parts
    ),
    anonymizations,
    uid=numbered.map(lambda uid: IRI(uid + ":must")),
    targets=_plain["targets"],
    assignees=st.just((Party(ANN),)),
)
plain_reads = st.builds(
    lambda duty, condition, **parts: Permission(
        action=terms.READ, duties=(replace(duty, constraints=condition),), **parts
    ),
    anonymize_duties,
    st.tuples(conditions),
    uid=numbered,
    targets=_plain["targets"],
    assignees=_plain["assignees"],
)
conditioned_policies = st.builds(
    Policy,
    uid=st.integers(1, 3).map(lambda number: IRI(f"urn:x:policy:{number}")),
    document_digest=st.just("sha256:0"),
    conflict=st.sampled_from([*ConflictStrategy, ConflictStrategy.PROHIBIT]),
    permissions=_few_conditions(plain_permissions | plain_reads),
    prohibitions=mostly((), _few_conditions(plain_prohibitions), 3),
    obligations=mostly((), _few_conditions(plain_obligations), 3),
)
conditioned_requests = st.builds(
    lambda asked, facts: replace(asked, facts=facts), plain_requests | plain_remedy_requests, facts
)


# --- Rows, judged by a second, tiny evaluator

Row = Mapping[IRI, int | None]
rows: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {column: st.none() | st.integers(0, 7) for column in (AGE, CITY)}
)
whole_rows: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {column: st.integers(0, 7) for column in (AGE, CITY)}
)
"""Without a missing value: what no value satisfies is the filter's own matter."""


def row_satisfies(row: Row, condition: Condition) -> bool:
    """Whether a row satisfies a condition on rows; a row without a value satisfies nothing."""
    if isinstance(condition, Logical):
        found = [row_satisfies(row, operand) for operand in condition.operands]
        match condition.operator:
            case LogicalOperator.OR:
                return any(found)
            case LogicalOperator.XONE:
                return sum(found) == 1
        return all(found)
    assert isinstance(condition, ColumnComparison)
    value, limit = row[condition.column.iri], condition.values[0]
    assert isinstance(limit, Number)
    if value is None:
        return False
    return {
        Operator.EQ: value == limit.value,
        Operator.NEQ: value != limit.value,
        Operator.GT: value > limit.value,
        Operator.GTEQ: value >= limit.value,
        Operator.LT: value < limit.value,
        Operator.LTEQ: value <= limit.value,
    }[condition.operator]
