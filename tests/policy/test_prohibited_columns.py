"""A column is a part of its table: what rules about the one say of the other, in decisions."""

from dataclasses import replace
from decimal import Decimal

import pytest

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Decision, Effect, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    ConflictStrategy,
    Duty,
    Membership,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
    Text,
    Training,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

TABLE = IRI("http://example.com/C")
NAME, AGE, ZIP = (IRI(f"{TABLE}/{name}") for name in ("Name", "Age", "ZIP"))
OTHER, HOLDING = IRI("http://example.com/other"), IRI("http://example.com/holding")
ANN, BOB = IRI("http://example.com/ann"), IRI("http://example.com/bob")
PROHIBIT = ConflictStrategy.PROHIBIT


def column(iri: IRI) -> ColumnReference:
    return ColumnReference(iri)


def how(**changes: object) -> Anonymization:
    base = Anonymization(
        method="k-anonymity", algorithm=None, k=Bound(Operator.EQ, 2), l=None, identifiers=(),
        quasi_identifiers=(column(AGE),), sensitive=(), released=(), respondent=None, one_row_each=True,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def permit(target: IRI = TABLE, uid: str = "urn:x:p", **changes: object) -> Permission:
    base = Permission(uid=IRI(uid), action=terms.READ, targets=(Asset(target),))
    return replace(base, **changes)  # type: ignore[arg-type]


def anonymize(way: Anonymization, **changes: object) -> Permission:
    return permit(action=terms.ANONYMIZE, anonymization=way, output=IRI("urn:x:out"), **changes)


def forbid(target: IRI = NAME, uid: str = "urn:x:n", **changes: object) -> Prohibition:
    base = Prohibition(uid=IRI(uid), action=terms.USE, targets=(Asset(target),))
    return replace(base, **changes)  # type: ignore[arg-type]


def policy(
    *rules: Permission | Prohibition, conflict: ConflictStrategy = PROHIBIT, **changes: object
) -> Policy:
    base = Policy(
        uid=IRI("urn:x:policy"),
        document_digest="sha256:0",
        conflict=conflict,
        permissions=tuple(rule for rule in rules if isinstance(rule, Permission)),
        prohibitions=tuple(rule for rule in rules if isinstance(rule, Prohibition)),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def apart(*rules: Permission | Prohibition) -> list[Policy]:
    """Each rule in a policy of its own."""
    return [
        policy(rule, uid=IRI(f"urn:x:policy:{at}"), document_digest=f"sha256:{at}")
        for at, rule in enumerate(rules)
    ]


def decide(
    policies: list[Policy] | Policy,
    *targets: IRI,
    action: IRI = terms.READ,
    hierarchies: Hierarchies = STANDARD,
    **changes: object,
) -> Decision:
    """By the list and by the index, which agree; and an explanation changes nothing else."""
    listed = [policies] if isinstance(policies, Policy) else policies
    asked = Request(party=ANN, action=action, targets=targets or (TABLE,), understands_limits=True)
    asked = replace(asked, **changes)  # type: ignore[arg-type]
    found = authorize(asked, listed, hierarchies)
    explained = PolicyIndex(hierarchies, listed).authorize(asked, explain=True)
    assert replace(explained, considered=()) == found
    return found


def withheld(decision: Decision) -> tuple[IRI, ...]:
    assert decision.effect is Effect.LIMITED
    (grant,) = decision.grants
    return grant.withheld


@pytest.mark.parametrize("split", [False, True])
def test_who_reads_a_table_does_not_get_a_prohibited_column(split: bool) -> None:
    rules = (permit(), forbid())
    decision = decide(apart(*rules) if split else policy(*rules))
    assert withheld(decision) == (NAME,)
    assert not replace(decision, request=replace(decision.request, understands_limits=False)).is_permitted
    assert any("withholds the column" in reason.text for reason in decision.reasons)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    "way",
    [
        how(released=(column(NAME),)),
        how(sensitive=(column(NAME),)),
        how(quasi_identifiers=(column(NAME),)),
        how(respondent=column(NAME), one_row_each=False),
        how(identifiers=(column(NAME),), respondent=column(NAME), one_row_each=False),
        how(parameters=(Comparison(IRI(terms.SMALTI + "pseudonym"), Operator.IS_ALL_OF, (Named(NAME),)),)),
    ],
)
def test_a_permission_that_uses_a_prohibited_column_is_denied(way: Anonymization, split: bool) -> None:
    rules = (anonymize(way), forbid())
    decision = decide(apart(*rules) if split else policy(*rules), action=terms.ANONYMIZE)
    assert decision.effect is Effect.DENY
    assert [one.rule for one in decision.determining] == ["urn:x:n"]
    assert any("forbids the use of the column" in reason.text for reason in decision.reasons)


@pytest.mark.parametrize("way", [how(), how(identifiers=(column(NAME),))])
def test_a_column_that_is_only_dropped_is_withheld(way: Anonymization) -> None:
    assert withheld(decide(policy(anonymize(way), forbid()), action=terms.ANONYMIZE)) == (NAME,)


def test_a_column_by_which_rows_are_chosen_is_used() -> None:
    limit = ColumnComparison(column(NAME), Operator.EQ, (Text("x"),))
    assert decide(policy(permit(constraints=(limit,)), forbid())).effect is Effect.DENY
    decision = decide(policy(permit(constraints=(limit,)), forbid(AGE)))
    assert withheld(decision) == (AGE,)
    assert decision.grants[0].rows == (limit,)


def statistics(**changes: object) -> Permission:
    measure = Comparison(terms.MEASURE, Operator.IS_ANY_OF, (Named(AGE), Named(NAME)))
    grouped = Comparison(terms.GROUP_BY, Operator.IS_ANY_OF, (Named(ZIP),))
    way = how(method="differential-privacy", k=None, quasi_identifiers=(), parameters=(measure, grouped))
    return anonymize(replace(way, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("forbidden", "asked", "effect"),
    [
        (NAME, (), Effect.DENY),
        (NAME, (Fact(terms.MEASURE, (Named(NAME),)),), Effect.DENY),
        (NAME, (Fact(terms.MEASURE, (Named(AGE),)),), Effect.LIMITED),
        (NAME, (Fact(terms.STATISTIC, (Text("count"),)),), Effect.LIMITED),
        (NAME, (Fact(terms.STATISTIC, (Text("sum"),)),), Effect.DENY),
        (ZIP, (Fact(terms.MEASURE, (Named(AGE),)),), Effect.DENY),
        (ZIP, (Fact(terms.GROUP_BY, (Named(ZIP),)),), Effect.DENY),
        (ZIP, (Fact(terms.STATISTIC, (Text("count"),)),), Effect.LIMITED),
    ],
)
def test_statistics_are_denied_where_they_are_of_the_column(
    forbidden: IRI, asked: tuple[Fact, ...], effect: Effect
) -> None:
    said = Comparison(terms.STATISTIC, Operator.IS_ANY_OF, (Text("count"), Text("sum")))
    rule = statistics()
    assert rule.anonymization is not None
    way = replace(rule.anonymization, parameters=(*rule.anonymization.parameters, said))
    given = policy(replace(rule, anonymization=way), forbid(forbidden))
    assert decide(given, action=terms.ANONYMIZE, parameters=asked).effect is effect


def test_a_model_learns_from_every_column_that_is_not_dropped() -> None:
    model = Training(recipe="r", label_column=column(AGE), identifiers=(column(NAME),), one_row_each=True)
    rule = permit(action=terms.TRAIN, training=model, output=IRI("urn:x:model"))
    assert withheld(decide(policy(rule, forbid(NAME)), action=terms.TRAIN)) == (NAME,)
    assert decide(policy(rule, forbid(ZIP)), action=terms.TRAIN).effect is Effect.DENY
    assert decide(policy(rule, forbid(AGE)), action=terms.TRAIN).effect is Effect.DENY


def test_what_a_duty_or_an_obligation_amounts_to_is_a_permission() -> None:
    releasing = how(released=(column(NAME),))
    duty = Duty(
        uid=IRI("urn:x:d"), action=terms.ANONYMIZE, targets=(), anonymization=releasing,
        output=IRI("urn:x:out"),
    )  # fmt: skip
    reading = policy(permit(duties=(duty,)), forbid())
    assert decide(reading, action=terms.ANONYMIZE).effect is Effect.DENY
    assert decide(reading).effect is Effect.DENY
    obliged = replace(duty, targets=(Asset(TABLE),), assignees=(Party(ANN),))
    assert decide(policy(forbid(), obligations=(obliged,)), action=terms.ANONYMIZE).effect is Effect.DENY
    remedy = replace(duty, assignees=(Party(ANN),))
    of_table = forbid(TABLE, "urn:x:n2", remedies=(remedy,))
    asked = {"action": terms.ANONYMIZE, "rule": IRI("urn:x:d")}
    assert decide(policy(of_table), **asked).grants  # type: ignore[arg-type]
    assert decide(policy(of_table, forbid()), **asked).effect is Effect.DENY  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("conflict", "effect"),
    [
        (ConflictStrategy.PERMIT, Effect.PERMIT),
        (ConflictStrategy.PROHIBIT, Effect.LIMITED),
        (ConflictStrategy.INVALID, Effect.VOID),
    ],
)
def test_the_strategy_for_conflicts_holds_where_rules_meet_at_a_column(
    conflict: ConflictStrategy, effect: Effect
) -> None:
    assert decide(policy(permit(), forbid(), conflict=conflict)).effect is effect
    other = policy(permit(), uid=IRI("urn:x:other"), document_digest="sha256:1")
    both = [policy(permit(), forbid(), conflict=conflict), other]
    assert all(grant.withheld == (NAME,) for grant in decide(both).grants if grant.policy == other)


def test_a_permission_that_drops_the_column_is_no_contradiction() -> None:
    dropping = anonymize(how(identifiers=(column(NAME),)))
    assert withheld(
        decide(policy(dropping, forbid(), conflict=ConflictStrategy.INVALID), action=terms.ANONYMIZE)
    ) == (NAME,)
    releasing = anonymize(how(released=(column(NAME),)))
    void = decide(policy(releasing, forbid(), conflict=ConflictStrategy.INVALID), action=terms.ANONYMIZE)
    assert void.effect is Effect.VOID


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({"assignees": (Party(BOB),)}, Effect.PERMIT),
        ({"assignees": (Party(ANN),)}, Effect.LIMITED),
        ({"action": IRI(terms.ODRL + "transfer")}, Effect.PERMIT),
        ({"action": terms.READ}, Effect.LIMITED),
        (
            {"constraints": (Comparison(terms.ODRL_PURPOSE, Operator.EQ, (Named(terms.MARKETING),)),)},
            Effect.LIMITED,  # the request states no purpose
        ),
        (
            {"constraints": (Comparison(IRI(terms.ODRL + "count"), Operator.GT, (Number(Decimal(1)),)),)},
            Effect.LIMITED,
        ),
        (
            {
                "targets": (
                    Asset(NAME, (ColumnComparison(column(AGE), Operator.GT, (Number(Decimal(9)),)),)),
                )
            },
            Effect.LIMITED,
        ),
    ],
)
def test_a_limited_prohibition_holds_unless_a_part_of_it_fails(
    changes: dict[str, object], effect: Effect
) -> None:
    assert decide(apart(permit(), forbid(**changes))).effect is effect


def test_a_prohibition_of_weak_ways_leaves_strong_ones() -> None:
    weak = Comparison(terms.K, Operator.LT, (Number(Decimal(5)),))
    against = forbid(action=terms.ANONYMIZE, refinements=(weak,))
    for k, effect in ((2, Effect.DENY), (5, Effect.PERMIT)):
        rule = anonymize(how(k=Bound(Operator.EQ, k), quasi_identifiers=(column(NAME),)))
        assert decide(apart(rule, against), action=terms.ANONYMIZE).effect is effect
        as_it_is = anonymize(how(k=Bound(Operator.EQ, k), released=(column(NAME),)))
        assert decide(apart(as_it_is, against), action=terms.ANONYMIZE).effect is Effect.DENY


@pytest.mark.parametrize(
    ("target", "rule", "effect"),
    [
        (NAME, forbid(TABLE), Effect.DENY),
        (NAME, forbid(NAME), Effect.DENY),
        (NAME, forbid(AGE), Effect.PERMIT),
        (NAME, forbid(IRI("http://example.com/%43/N%61me")), Effect.DENY),
        (IRI(f"{TABLE}/%4Eame"), forbid(NAME), Effect.DENY),
        (TABLE, forbid(IRI(f"{TABLE}/N%61me")), Effect.LIMITED),
        (TABLE, forbid(IRI("http://example.com/%43/Name")), Effect.LIMITED),
        (TABLE, forbid(IRI("http://example.com/%43")), Effect.DENY),
        (TABLE, forbid(IRI(f"{OTHER}/Name")), Effect.PERMIT),
    ],
)
def test_a_column_is_requested_or_forbidden_in_any_spelling(
    target: IRI, rule: Prohibition, effect: Effect
) -> None:
    assert decide(apart(permit(), rule), target).effect is effect


def test_a_permission_on_a_table_reaches_its_columns_on_its_rows() -> None:
    limit = ColumnComparison(column(AGE), Operator.GT, (Number(Decimal(18)),))
    decision = decide(policy(permit(targets=(Asset(TABLE, (limit,)),))), NAME)
    assert (decision.effect, decision.grants[0].rows) == (Effect.LIMITED, (limit,))
    assert decide(policy(permit()), IRI(f"{TABLE}/%4Eame")).effect is Effect.PERMIT
    # A table of its own, whatever its name looks like.
    assert decide(policy(permit()), NAME, tables=frozenset({NAME})).effect is not Effect.PERMIT
    assert decide(policy(permit(NAME)), NAME, tables=frozenset({NAME})).effect is Effect.PERMIT
    assert decide(policy(permit(NAME), forbid(TABLE)), NAME, tables=frozenset({NAME})).effect is Effect.DENY


def test_a_permission_to_anonymize_reaches_the_columns_that_it_uses() -> None:
    rule = policy(anonymize(how(identifiers=(column(NAME),))))
    assert decide(rule, AGE, action=terms.ANONYMIZE).effect is Effect.PERMIT
    assert decide(rule, NAME, action=terms.ANONYMIZE).effect is Effect.DENY


def test_a_permission_on_a_column_is_none_on_its_table() -> None:
    decision = decide(policy(permit(NAME)))
    assert decision.effect is Effect.DENY
    assert any(
        "which is a column, and not about the whole table" in reason.text for reason in decision.reasons
    )


def test_several_targets_are_asked_for_jointly() -> None:
    given = apart(permit(), forbid())
    assert decide(given, TABLE, AGE).effect is Effect.LIMITED
    assert decide(given, AGE, ZIP).effect is Effect.PERMIT
    assert decide(given, TABLE, NAME).effect is Effect.DENY
    assert decide(given, AGE, NAME).effect is Effect.DENY


def test_each_grant_has_its_own_limits() -> None:
    limit = ColumnComparison(column(AGE), Operator.GT, (Number(Decimal(18)),))
    lenient = policy(
        permit(uid="urn:x:lenient"), forbid(), conflict=ConflictStrategy.PERMIT, uid=IRI("urn:x:1")
    )
    strict = policy(
        permit(uid="urn:x:strict", constraints=(limit,)), forbid(ZIP), document_digest="sha256:1"
    )
    found = {grant.permission.uid: grant for grant in decide([lenient, strict]).grants}
    assert found[IRI("urn:x:lenient")].withheld == (ZIP,)
    assert found[IRI("urn:x:strict")].withheld == (NAME, ZIP)
    assert found[IRI("urn:x:strict")].rows == (limit,)


MEMBERS = STANDARD.with_(Vocabulary(assets=Relations(((TABLE, HOLDING), (NAME, IRI("urn:x:names"))))))


@pytest.mark.parametrize(
    ("granted", "forbidden", "target", "columns"),
    [
        (HOLDING, NAME, TABLE, (NAME,)),
        (HOLDING, NAME, HOLDING, (NAME,)),
        (HOLDING, IRI(f"{HOLDING}/Name"), TABLE, (NAME,)),
        (TABLE, IRI("urn:x:names"), TABLE, (NAME,)),
        (HOLDING, IRI("urn:x:names"), HOLDING, (NAME,)),
        (HOLDING, HOLDING, NAME, None),
        (HOLDING, IRI("urn:x:names"), NAME, None),
        (HOLDING, IRI("urn:x:names"), AGE, ()),
        (HOLDING, OTHER, NAME, ()),
    ],
)
@pytest.mark.parametrize("in_policy", [False, True])
def test_tables_and_columns_as_members_of_collections(
    granted: IRI, forbidden: IRI, target: IRI, columns: tuple[IRI, ...] | None, in_policy: bool
) -> None:
    members = (Membership(TABLE, HOLDING), Membership(NAME, IRI("urn:x:names"))) if in_policy else ()
    given = [replace(one, memberships=members) for one in apart(permit(granted), forbid(forbidden))]
    decision = decide(given, target, hierarchies=STANDARD if in_policy else MEMBERS)
    if columns is None:
        assert decision.effect is Effect.DENY
    elif not columns:
        assert decision.effect is Effect.PERMIT
    else:
        assert withheld(decision) == tuple(sorted(columns))


def test_a_column_that_a_vocabulary_calls_a_part_of_its_table_is_a_column() -> None:
    parts = STANDARD.with_(Vocabulary(assets=Relations(((NAME, TABLE), (AGE, TABLE)))))
    assert withheld(decide(apart(permit(), forbid()), hierarchies=parts)) == (NAME,)
    assert decide(apart(permit(), forbid()), AGE, hierarchies=parts).effect is Effect.PERMIT


DECLARED = IRI("http://schema.example/name")


def test_a_declared_column_has_another_iri() -> None:
    given = apart(permit(), forbid(DECLARED))
    assert decide(given).effect is Effect.PERMIT
    assert withheld(decide(given, columns=frozenset({DECLARED, AGE}))) == (DECLARED,)
    using = apart(anonymize(how(released=(column(DECLARED),))), forbid(DECLARED))
    assert decide(using, action=terms.ANONYMIZE, columns=frozenset({DECLARED})).effect is Effect.DENY


def test_nothing_is_left_of_a_table_whose_columns_are_all_prohibited() -> None:
    given = apart(permit(), forbid(NAME), forbid(AGE, "urn:x:n2"))
    assert withheld(decide(given)) == (AGE, NAME)
    assert decide(given, columns=frozenset({NAME, AGE, ZIP})).effect is Effect.LIMITED
    decision = decide(given, columns=frozenset({NAME, AGE}))
    assert decision.effect is Effect.DENY
    assert {one.rule for one in decision.determining} == {"urn:x:n", "urn:x:n2"}


def test_a_vocabulary_declares_a_column_of_a_table() -> None:
    declaring = STANDARD.with_(Vocabulary(columns=((TABLE, DECLARED),)))
    given = apart(permit(), forbid(DECLARED))
    assert withheld(decide(given, hierarchies=declaring)) == (DECLARED,)
    assert decide(given, DECLARED, hierarchies=declaring).effect is Effect.DENY
    assert decide(apart(permit()), DECLARED, hierarchies=declaring).effect is Effect.PERMIT
    assert decide(apart(permit()), DECLARED).effect is not Effect.PERMIT
