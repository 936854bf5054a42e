"""An index of stored policies, by which a decision reads few of them.

Decisions over an index and over the list of the same policies (`policy.decide.authorize`) are equal.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final, TypeAlias

from smalti.policy.decide.authorize import conclude, prepare
from smalti.policy.decide.buckets import Bucket, Buckets, Keys, related, related_purposes
from smalti.policy.decide.comparing import UNSATISFIED
from smalti.policy.decide.decision import Decision, Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.decide.matching import Situation, touches
from smalti.policy.decide.prepared import Kind, PreparedPolicy, PreparedRule
from smalti.policy.decide.rules_of_decision import Rules
from smalti.policy.decide.table_columns import column_keys
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Named, Policy
from smalti.vocab.odrl import ACTION_PARENTS
from smalti.vocab.terms import ANONYMIZE, IRI, ODRL_PURPOSE, READ


class Standing(StrEnum):
    """How far a policy counts for a request, by its issuer."""

    FULL = "full"
    PROHIBITS = "prohibits"
    """Its permissions and obligations grant nothing."""
    NONE = "none"
    """The policy does not count."""


Standings: TypeAlias = Callable[[Policy], Standing]
_OTHER_THAN_PERMITTING: Final = frozenset({Kind.PROHIBITION})


class PolicyIndex:
    """Policies that are in force; adding or removing one costs time in its own size only."""

    def __init__(self, hierarchies: Hierarchies = STANDARD, policies: Iterable[Policy] = ()) -> None:
        """Make an index.

        Args:
            hierarchies: what includes what; for other hierarchies, make another index.
            policies: the first ones.
        """
        self.hierarchies = hierarchies
        self._policies: dict[tuple[IRI, str], list[PreparedPolicy]] = {}
        self._buckets = Buckets()
        self._columns = Buckets()
        """By the tables of which the targets of rules may be columns."""
        self._next = 0
        self._size = 0
        for policy in policies:
            self.add(policy)

    @property
    def size(self) -> int:
        """The number of rules."""
        return self._size

    def add(self, policy: Policy) -> None:
        """Add a policy after the others; a policy that is present counts once."""
        if self._find(policy) is not None:
            return
        prepared = prepare(policy, self.hierarchies)
        self._policies.setdefault(_name(policy), []).append(prepared)
        self._size += len(prepared.rules)
        members = _Members.of(prepared)
        for rule in prepared.rules:
            rule.order = self._next
            self._next += 1
            keys = _keys(rule, members)
            self._buckets.add(rule, keys, is_shared=prepared.has_members)
            self._columns.add(rule, _column_keys(rule, keys, members), is_shared=True)

    def remove(self, policy: Policy) -> None:
        """Remove a policy.

        Raises:
            KeyError: the policy is not in the index.
        """
        prepared = self._find(policy)
        if prepared is None:
            raise KeyError(policy.uid)
        self._policies[_name(policy)].remove(prepared)
        if not self._policies[_name(policy)]:
            del self._policies[_name(policy)]
        self._size -= len(prepared.rules)
        members = _Members.of(prepared)
        for rule in prepared.rules:
            keys = _keys(rule, members)
            self._buckets.remove(rule, keys)
            self._columns.remove(rule, _column_keys(rule, keys, members))

    def _find(self, policy: Policy) -> PreparedPolicy | None:
        same = self._policies.get(_name(policy), ())
        return next((prepared for prepared in same if prepared.policy == policy), None)

    def candidates(self, request: Request) -> tuple[Policy, ...]:
        """The policies with a rule that may apply to a request, and perhaps others; in order."""
        situation = Situation(request, self.hierarchies)
        return _policies(_Indexed(self, self._buckets, self._columns, None).candidates(situation))

    def about(self, targets: Iterable[IRI]) -> tuple[Policy, ...]:
        """The policies with a rule about a target, a part of it, or a whole that contains it; in order."""
        request = Request(party=IRI(""), action=IRI(""), targets=tuple(targets))
        touching = _Indexed(self, self._buckets, self._columns, None).touching(
            Situation(request, self.hierarchies)
        )
        return _policies(touching)

    def authorize(
        self,
        request: Request,
        *,
        explain: bool = False,
        standing: Standings | None = None,
        owners: frozenset[IRI] = frozenset(),
    ) -> Decision:
        """Decide a request by the policies of this index; see `policy.decide.authorize.authorize`.

        Args:
            request: who wants to do what.
            explain: whether the decision reports each part of each rule about the targets.
            standing: how far each policy counts for this request; None: each in full. It is called once
                for each policy that may count. The numbers of rules in the reasons count all policies.
            owners: who owns all of each target; a remedy that names nobody is theirs.
        """
        rules = _Indexed(self, self._buckets, self._columns, standing)
        return conclude(Situation(request, self.hierarchies, owners), rules, explain=explain)


def _policies(rules: Iterable[PreparedRule]) -> tuple[Policy, ...]:
    return tuple(policy.policy for policy in dict.fromkeys(rule.policy for rule in rules))


def _name(policy: Policy) -> tuple[IRI, str]:
    return policy.uid, policy.document_digest


@dataclass(frozen=True, slots=True)
class _Members:
    """The concepts that a policy's memberships name, as assets and as parties."""

    assets: frozenset[IRI]
    parties: frozenset[IRI]

    @classmethod
    def of(cls, prepared: PreparedPolicy) -> "_Members | None":
        """Those of one policy, for all its rules; None: it has no memberships."""
        if not prepared.has_members:
            return None
        members, hierarchies = prepared.policy.memberships, prepared.hierarchies
        named = {iri for membership in members for iri in (membership.member, membership.collection)}
        concepts = (map(hierarchies.assets.concept, named), map(hierarchies.parties.concept, named))
        return cls(*map(frozenset, concepts))


def _keys(rule: PreparedRule, members: _Members | None) -> Keys:
    """The keys of a rule, with the memberships of its policy and the assignees of its remedies."""
    own = rule.policy.hierarchies
    keys = Keys.of(rule.rule, own)
    if keys.parties is not None and rule.remedies:
        concept = own.parties.concept
        obliged = [concept(party.iri) for remedy in rule.remedies for party in remedy.rule.assignees]
        keys = replace(keys, parties=keys.parties.union(obliged))
    if members is not None:
        led_to = _led_to(keys.targets, members.assets, own.assets)
        targets = keys.targets | led_to | frozenset(map(normalised_column, led_to))
        parties = keys.parties and keys.parties | _led_to(keys.parties, members.parties, own.parties)
        keys = Keys(targets, parties, keys.purposes)
    return keys.bounded()


def _column_keys(rule: PreparedRule, keys: Keys, members: _Members | None) -> Keys:
    """The keys that find a rule about a column by a request for its table."""
    tables = column_keys(keys.targets)
    if members is not None:
        own = rule.policy.hierarchies.assets
        parts = set(map(normalised_column, own.narrower(*keys.targets)))
        declared = rule.policy.hierarchies.columns.items()
        tables |= {table for table, columns in declared if not parts.isdisjoint(columns)}
        tables |= {normalised_column(iri) for iri in _led_to(tables, members.assets, own)}
    return replace(keys, targets=tables).bounded()


def _led_to(concepts: frozenset[IRI], members: frozenset[IRI], hierarchy: Hierarchy) -> frozenset[IRI]:
    """The concepts of a policy's memberships that overlap one of some concepts.

    Each path from a requested concept to a concept of the rule that uses a membership contains one of them.
    """
    return members & related(hierarchy, concepts)


def _sought(situation: Situation) -> Keys:
    """The keys of the rules that may apply to a request."""
    hierarchies, request = situation.hierarchies, situation.request
    stated = situation.facts.values(ODRL_PURPOSE) or ()
    named = [value.iri for value in stated if isinstance(value, Named)]
    purposes = named if named and len(named) == len(stated) else None
    return Keys(
        situation.requested.sought,
        hierarchies.parties.related(request.party),
        related_purposes(hierarchies.purposes, purposes),
    )


class _Indexed(Rules):
    """The rules of an index that count for one request."""

    def __init__(
        self, index: PolicyIndex, buckets: Buckets, columns: Buckets, standing: Standings | None
    ) -> None:
        self._index = index
        self._buckets = buckets
        self._columns = columns
        self._standing = standing
        self._standings: dict[PreparedPolicy, Standing] = {}
        self._found: list[Bucket] | None = None

    @property
    def size(self) -> int:
        return self._index.size

    def candidates(self, situation: Situation) -> list[PreparedRule]:
        keys = _sought(situation)
        rules = self._buckets.find(keys)
        if of_columns := self._columns.find(replace(keys, targets=situation.requested.sought_tables)):
            numbered = {rule.order: rule for rule in (*rules, *of_columns)}
            rules = [numbered[order] for order in sorted(numbered)]
        return rules if self._standing is None else [rule for rule in rules if self._has_a_say(rule)]

    def touching(self, situation: Situation, most: int | None = None) -> Sequence[PreparedRule]:
        rules: dict[int, PreparedRule] = {}
        for bucket in self._about(situation):
            there: Iterable[tuple[int, PreparedRule]] = bucket.rules.items()
            if self._standing is not None or bucket.shared:
                there = (
                    entry
                    for entry in there
                    if self._is_there(entry[1]) and _is_about(entry, bucket, situation)
                )
            rules.update(islice(there, most))
        return [rules[order] for order in sorted(rules)][:most]

    def number_touching(self, situation: Situation) -> int:
        buckets = self._about(situation)
        alone = sum(len(bucket.rules) - len(bucket.shared) for bucket in buckets)
        shared = {order: bucket for bucket in buckets for order in bucket.shared}
        return alone + sum(
            _is_about((order, bucket.rules[order]), bucket, situation)
            for order, bucket in shared.items()
            if not any(order in other.rules and order not in other.shared for other in buckets)
        )

    def is_about(self, situation: Situation) -> bool:
        actions, requested = situation.hierarchies.actions, situation.request.action
        return any(
            rule.is_about(requested)
            and self._is_there(rule)
            and _is_about((order, rule), bucket, situation)
            for bucket in self._about(situation)
            for action, rules in bucket.by_action.items()
            if not {requested, action} <= ACTION_PARENTS.keys()  # documents may define others
            or actions.relation(requested, action) is not UNSATISFIED
            or (requested == ANONYMIZE and actions.covers(action, READ))
            for order, rule in rules.items()
        )

    def may_prohibit_only(self, policy: PreparedPolicy) -> bool:
        return self._standing_of(policy) is Standing.PROHIBITS

    def _about(self, situation: Situation) -> list[Bucket]:
        if self._found is None:
            requested = situation.requested
            self._found = self._buckets.buckets(requested.sought)
            self._found += self._columns.buckets(requested.sought_tables)
        return self._found

    def _has_a_say(self, rule: PreparedRule) -> bool:
        standing = self._standing_of(rule.policy)
        return standing is Standing.FULL or (
            standing is Standing.PROHIBITS and rule.kind in _OTHER_THAN_PERMITTING
        )

    def _is_there(self, rule: PreparedRule) -> bool:
        return self._standing is None or self._standing_of(rule.policy) is not Standing.NONE

    def _standing_of(self, prepared: PreparedPolicy) -> Standing:
        standing = self._standings.get(prepared)
        if standing is None:
            standing = Standing.FULL if self._standing is None else self._standing(prepared.policy)
            self._standings[prepared] = standing
        return standing


def _is_about(entry: tuple[int, PreparedRule], bucket: Bucket, situation: Situation) -> bool:
    """Whether a rule of a bucket is about a requested target; only shared rules are compared."""
    order, rule = entry
    return order not in bucket.shared or touches(rule, situation)
