"""Warnings about rules of policies that overlap: permissions, and the prohibitions that meet them."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from smalti.policy.decide.conflicts import (
    contradiction,
    met_columns,
    met_columns_between,
    prepared_together,
)
from smalti.policy.decide.exclusion import size
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.prepared import PreparedPolicy
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.dataset import DatasetFacts
from smalti.policy.model.model import (
    Comparison,
    Condition,
    ConflictStrategy,
    Named,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Rule,
    Where,
)
from smalti.vocab.terms import ANONYMIZE, CONFLICT, IRI, ODRL, ODRL_PURPOSE, READ

_PROHIBITIONS: Final = 64
"""The most prohibitions that a permission is compared with."""
_STRATEGY: Final = (
    f'add "{CONFLICT}": {{"@id": "{ODRL}prohibit"}} (or "{ODRL}perm"; under the context of the W3C in'
    ' short "conflict": "prohibit", or "perm"), or change the rules so that they do not overlap'
)
"""Contexts of data spaces define no `conflict`: whole IRIs are understood under each."""
_STEPS: Final = 100_000
"""The most steps of proofs in one policy: that a prohibition covers a permission."""
_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF})


def overlaps(
    policy: Policy, dataset: DatasetFacts | None, hierarchies: Hierarchies
) -> Iterator[Diagnostic]:
    """Rules of one policy that its prohibitions contradict, override, or meet at columns.

    Args:
        policy: a valid one.
        dataset: the description of one of its targets; None: there is none.
        hierarchies: what includes what.
    """
    if policy.conflict is ConflictStrategy.INVALID:
        yield from contradictions(policy, hierarchies)
    else:
        yield from _columns(policy, dataset, hierarchies)
    if policy.conflict is ConflictStrategy.PROHIBIT:
        yield from _overridden(policy, hierarchies)


def columns_between(
    policies: Sequence[Policy],
    renamed: frozenset[tuple[IRI, IRI]] = frozenset(),
    hierarchies: Hierarchies = STANDARD,
) -> Iterator[tuple[Rule, Rule, Diagnostic]]:
    """Rules of some policies, and prohibitions of others that they overlap at columns.

    As if one owner had put all of them in force: between policies every prohibition applies, and what one
    document says of collections, groups and actions holds for all of them.

    Args:
        policies: each one once.
        renamed: what is known of columns of their targets (`Request.renamed`).
        hierarchies: what includes what, beside what the documents say.
    """
    prepared = prepared_together(policies, hierarchies)
    for rule, other, columns in met_columns_between(prepared, renamed):
        yield rule, other, _met(rule, f"the prohibition {quoted(other.uid)} ({other.where})", columns)


def contradictions(policy: Policy, hierarchies: Hierarchies) -> Iterator[Diagnostic]:
    """A warning where a policy permits nothing, since its rules contradict each other (ODRL IM 2.10)."""
    if policy.conflict is not ConflictStrategy.INVALID:
        return
    pair = contradiction(PreparedPolicy(policy, hierarchies))
    if pair is None:
        return
    rule, prohibition = pair
    message = (
        "the policy is void, and permits nothing: some request would meet this rule and"
        f" {_named(prohibition)}, which contradict each other"
    )
    yield _warning("P602", rule.where, message, _STRATEGY)


def _columns(
    policy: Policy, dataset: DatasetFacts | None, hierarchies: Hierarchies
) -> Iterator[Diagnostic]:
    """Permissions and prohibitions that overlap at a column."""
    described = None if dataset is None else dataset.describes(policy)
    renamed = frozenset() if dataset is None or described is None else dataset.renamed_of(described)
    for rule, other, columns in met_columns(PreparedPolicy(policy, hierarchies), renamed):
        if policy.conflict is ConflictStrategy.PERMIT:
            message = f"{_named(other)} forbids {_some(columns)}, but does not override this rule"
            help_ = '"conflict": "perm" lets the permission win; "prohibit" lets the prohibition win'
            yield _warning("P621", rule.where, message, help_)
        else:
            yield _met(rule, _named(other), columns)


def _met(rule: Rule, prohibition: str, columns: Collection[IRI]) -> Diagnostic:
    if isinstance(rule, Permission) and rule.anonymization is None and rule.training is None:
        message = f"this permission overlaps {prohibition}: where both apply, {_some(columns)} is withheld"
        help_ = "document it in the policy, or change the rules so that they do not overlap"
    else:
        needed = _some(columns)
        message = f"this rule needs {needed}, which {prohibition} forbids: where both apply, it is denied"
        help_ = "leave the column out of the rule, or narrow the prohibition"
        return _warning("P621", _named_at(rule, columns), message, help_)
    return _warning("P621", rule.where, message, help_)


def _named_at(rule: Rule, columns: Collection[IRI]) -> Where:
    """The first place where a rule names one of some columns; that of the rule where it names none."""
    way = rule.anonymization if isinstance(rule, Permission) else None
    if way is None:
        return rule.where
    named = (*way.identifiers, *way.quasi_identifiers, *way.sensitive, *way.released)
    wanted = {normalised_column(column) for column in columns}
    places = (each.where for each in named if normalised_column(each.iri) in wanted)
    return next(places, rule.where)


def _some(columns: Collection[IRI]) -> str:
    return " and ".join(quoted(column) for column in sorted(columns)[:3])


def _named(rule: Rule) -> str:
    kind = "the prohibition" if isinstance(rule, Prohibition) else "the permission"
    return f"{kind} at line {rule.where.line}" if rule.where.line else f"{kind} {quoted(rule.uid)}"


def _overridden(policy: Policy, hierarchies: Hierarchies) -> Iterator[Diagnostic]:
    """Permissions that a prohibition of the same policy always overrides."""
    covering = _Covering(hierarchies, _STEPS)
    about: dict[IRI, list[Prohibition]] = {}
    for prohibition in policy.prohibitions:
        for target in prohibition.targets:
            about.setdefault(target.iri, []).append(prohibition)
    for rule in policy.permissions:
        against = about.get(rule.targets[0].iri, [])[:_PROHIBITIONS]
        winner = next((other for other in against if covering.covers(other, rule)), None)
        if winner is not None:
            message = f"this permission never applies: {_named(winner)} forbids all of it, and overrides it"
            yield _warning("P604", rule.where, message, "narrow the prohibition, or remove the permission")


class _Covering:
    """Finds prohibitions that cover permissions, in a bounded number of steps."""

    def __init__(self, hierarchies: Hierarchies, steps: int) -> None:
        self._hierarchies = hierarchies
        self._steps = steps

    def covers(self, prohibition: Prohibition, rule: Permission) -> bool:
        """Whether every request that meets the permission meets the prohibition."""
        listed = (prohibition.targets, prohibition.assignees, rule.targets, rule.assignees)
        if prohibition.refinements or not self._affords(sum(map(len, listed))):
            return False
        if any(party.refinements for party in prohibition.assignees):
            return False
        targets = {target.iri for target in prohibition.targets if not target.refinements}
        parties = set(prohibition.assignees)
        return (
            all(
                self._hierarchies.actions.covers(prohibition.action, action)
                for action in self._permitted(rule)
            )
            and all(target.iri in targets for target in rule.targets)
            and (not parties or (bool(rule.assignees) and set(rule.assignees) <= parties))
            and all(self._implies(rule.constraints, condition) for condition in prohibition.constraints)
        )

    def _permitted(self, rule: Permission) -> tuple[IRI, ...]:
        """Its action; and to anonymize, where it permits to read the anonymized data."""
        is_to_read = self._hierarchies.actions.covers(rule.action, READ)
        by_duty = is_to_read and any(duty.action == ANONYMIZE for duty in rule.duties)
        return (rule.action, ANONYMIZE) if by_duty else (rule.action,)

    def _implies(self, conditions: Sequence[Condition], condition: Condition) -> bool:
        """Whether one of some conditions implies another; False also where this is not evident."""
        return any(self._is_implied(held, condition) for held in conditions)

    def _is_implied(self, held: Condition, condition: Condition) -> bool:
        if self._steps <= 0 or not self._affords(size(condition)):
            return False
        if held == condition:
            return True
        listed, wanted = _purposes(held), _purposes(condition)
        if not listed or not wanted or not self._affords(len(listed) * len(wanted)):
            return False
        covers = self._hierarchies.purposes.covers
        return all(any(covers(broad, narrow) for broad in wanted) for narrow in listed)

    def _affords(self, steps: int) -> bool:
        self._steps -= steps
        return self._steps > 0


def _purposes(condition: Condition) -> tuple[IRI, ...]:
    """The purposes of which a condition requires one; empty for other conditions."""
    if not isinstance(condition, Comparison) or condition.operand != ODRL_PURPOSE:
        return ()
    if condition.operator not in _POSITIVE:
        return ()
    return tuple(value.iri for value in condition.values if isinstance(value, Named))


def _warning(code: str, where: Where, message: str, help_: str = "") -> Diagnostic:
    return Diagnostic(code, Severity.WARNING, message, where, help=help_)
