"""Rules that shut each other out of one ledger: after a release under one of them, another is denied.

All releases about the same respondents add up, whatever rule they are made under, and nothing resets the
sum. So a rule is denied once another rule has charged more than its ceiling allows; and all charges of a
ledger are about one neighbouring relation. Only the bounds that rules state are compared: the epsilon of a
loss that is bounded as a belief or an advantage is not known here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.policy.lint.check_dataset import parameters_of
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Condition,
    DecimalBound,
    Duty,
    Logical,
    LogicalOperator,
    Number,
    Operator,
    Permission,
    Policy,
    Rule,
    Text,
    Training,
)
from smalti.vocab.terms import (
    BUDGET_DELTA,
    BUDGET_EPSILON,
    CHARGED_METHODS,
    DELTA,
    EPSILON,
    IRI,
    LOCAL_DIFFERENTIAL_PRIVACY,
    NEIGHBORS,
)

_ALL_HOLD: Final = frozenset({LogicalOperator.AND, LogicalOperator.AND_SEQUENCE})
_AT_MOST: Final = frozenset({Operator.EQ, Operator.LTEQ})
_DEFAULT: Final = "add-or-remove-one"
_OF_REPORTS: Final = "change-one"
"""The neighbouring relation of local perturbation, whatever the document says."""
_MOST: Final = 256
"""The most rules that are compared with each other."""


@dataclass(frozen=True, slots=True)
class ChargedRule:
    """A rule whose runs charge a ledger."""

    policy: Policy
    rule: Rule
    targets: frozenset[IRI]
    neighbors: str
    epsilon: Decimal | None
    """The most that one run may charge; None: not stated as an epsilon."""
    delta: Decimal
    """Likewise; 0 where none may be charged."""
    most_epsilon: Decimal
    """Of all releases about the same respondents (`smalti:budgetEpsilon`)."""
    most_delta: Decimal
    """Likewise; 0 where no `smalti:budgetDelta` is stated."""
    states_delta: bool
    """Whether a `smalti:budgetDelta` is stated."""


@dataclass(frozen=True, slots=True)
class ShutOut:
    """A rule that is denied, or may be, after a release under another one."""

    rule: ChargedRule
    by: ChargedRule
    why: str
    """Lower case, no full stop; calls the rule "this rule", and `by` "the other rule"."""

    def sentence(self) -> str:
        """One sentence, lower case, without a full stop."""
        return f"`{self.rule.rule.uid}` is denied after a release under `{self.by.rule.uid}`: {self.why}"


def charged_rules(policy: Policy) -> Iterator[ChargedRule]:
    """The rules of a policy whose runs charge a ledger; rules without a ceiling permit no release."""
    for rule in (*policy.permissions, *policy.obligations):
        yield from _charged(policy, rule, rule.constraints)
        for duty in rule.duties if isinstance(rule, Permission) else ():
            # Its runs are made under the permission.
            yield from _charged(policy, duty, (*rule.constraints, *duty.constraints), rule, rule)
    for prohibition in policy.prohibitions:
        for remedy in prohibition.remedies:
            yield from _charged(
                policy, remedy, (*prohibition.constraints, *remedy.constraints), prohibition
            )


def shut_outs(
    rules: Sequence[ChargedRule], memberships: Iterable[tuple[IRI, IRI]] = ()
) -> tuple[ShutOut, ...]:
    """Which rules shut which others out, in their order; each pair at most once in each direction.

    Args:
        rules: those that may be about the same respondents; only the first 256 are compared.
        memberships: pairs of an asset and what it belongs to: one ledger.
    """
    ledger_of = _Ledgers(memberships)
    listed = [(rule, frozenset(map(ledger_of, rule.targets))) for rule in rules[:_MOST]]
    return tuple(
        ShutOut(rule, by, why)
        for rule, mine in listed
        for by, theirs in listed
        if (rule.policy.uid, rule.rule.uid) != (by.policy.uid, by.rule.uid) and mine & theirs
        if (why := _why(rule, by)) is not None
    )


def _why(rule: ChargedRule, by: ChargedRule) -> str | None:
    if rule.neighbors != by.neighbors:
        return (
            f"this rule has the neighbouring relation `{rule.neighbors}`, the other rule `{by.neighbors}`"
        )
    if by.delta > rule.most_delta:
        if not rule.states_delta:
            return "the other rule may charge a delta, and this rule states no `smalti:budgetDelta`"
        return "the other rule may charge more delta at once than `smalti:budgetDelta` of this rule"
    if by.epsilon is not None and by.epsilon >= rule.most_epsilon:
        return "the other rule may charge all of `smalti:budgetEpsilon` of this rule at once"
    return None


class _Ledgers:
    """By asset, the one that names its ledger: assets that belong together share it."""

    def __init__(self, memberships: Iterable[tuple[IRI, IRI]]) -> None:
        self._above: dict[IRI, IRI] = {}
        for member, collection in memberships:
            root, other_root = self(member), self(collection)
            if root != other_root:
                self._above[root] = other_root

    def __call__(self, asset: IRI) -> IRI:
        while asset in self._above:
            asset = self._above[asset]
        return asset


def _charged(
    policy: Policy,
    rule: Rule,
    constraints: Sequence[Condition],
    around: Rule | None = None,
    made_under: Rule | None = None,
) -> Iterator[ChargedRule]:
    training = rule.training if isinstance(rule, Permission) else None
    way = rule.anonymization if isinstance(rule, Permission | Duty) else None
    ceilings = {
        operand: [ceiling for limit in constraints for ceiling in _ceilings(limit, operand)]
        for operand in (BUDGET_EPSILON, BUDGET_DELTA)
    }
    if not ceilings[BUDGET_EPSILON]:
        return
    if training is not None and training.is_private:
        neighbors, epsilon, delta = _of_training(training)
    elif way is not None and way.method in CHARGED_METHODS:
        neighbors, epsilon, delta = _of_release(way)
    else:
        return
    yield ChargedRule(
        policy,
        made_under or rule,
        frozenset(asset.iri for asset in (rule.targets or (around.targets if around else ()))),
        neighbors,
        epsilon,
        delta,
        min(ceilings[BUDGET_EPSILON]),
        min(ceilings[BUDGET_DELTA], default=Decimal(0)),
        bool(ceilings[BUDGET_DELTA]),
    )


def _of_training(training: Training) -> tuple[str, Decimal | None, Decimal]:
    epsilon, delta = training.epsilon, training.delta
    return training.neighbors or _DEFAULT, _value(epsilon), _value(delta) or Decimal(0)


def _value(bound: DecimalBound | None) -> Decimal | None:
    return None if bound is None else bound.value


def _of_release(way: Anonymization) -> tuple[str, Decimal | None, Decimal]:
    comparisons = [comparison for comparison, columns in parameters_of(way.parameters) if not columns]
    texts = [
        value.text
        for comparison in comparisons
        if comparison.operand == NEIGHBORS
        for value in comparison.values
        if isinstance(value, Text)
    ]
    stated = texts[0] if texts else _DEFAULT
    neighbors = _OF_REPORTS if way.method == LOCAL_DIFFERENTIAL_PRIVACY else stated
    return neighbors, _bound(comparisons, EPSILON), _bound(comparisons, DELTA) or Decimal(0)


def _bound(comparisons: Iterable[Comparison], operand: IRI) -> Decimal | None:
    """The most that some parameters allow of a word; None where they state nothing of it."""
    numbers = [
        value.value
        for comparison in comparisons
        if comparison.operand == operand and comparison.operator in _AT_MOST
        for value in comparison.values
        if isinstance(value, Number)
    ]
    return min(numbers, default=None)


def _ceilings(condition: Condition, operand: IRI) -> Iterator[Decimal]:
    """The ceilings of a budget that a condition implies."""
    match condition:
        case Comparison() if condition.operand == operand and condition.operator is Operator.LTEQ:
            yield from (value.value for value in condition.values if isinstance(value, Number))
        case Logical(operator=operator, operands=operands) if operator in _ALL_HOLD:
            for part in operands:
                yield from _ceilings(part, operand)
