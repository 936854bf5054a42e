"""Rules by target, party and purpose, so that a request is compared with few of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.decide.prepared import PreparedRule
from smalti.policy.decide.table_columns import spellings
from smalti.policy.model.model import Comparison, Named, Operator, Rule
from smalti.vocab.terms import IRI, ODRL_PURPOSE

_POSITIVE: Final = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF, Operator.IS_PART_OF})

_MOST_LEAVES: Final = 256
"""The most entries of one rule; a rule with very many parties and purposes is found by fewer of them."""

T = TypeVar("T")
Leaf = dict[int, PreparedRule]
"""Rules by their order."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys by which rules are found: concepts, each by its canonical name. None: any."""

    targets: frozenset[IRI]
    parties: frozenset[IRI] | None
    purposes: frozenset[IRI] | None

    @classmethod
    def of(cls, rule: Rule, hierarchies: Hierarchies) -> "Keys":
        """The keys of one rule."""
        concept = hierarchies.assets.concept
        targets = frozenset(
            [concept(spelling) for asset in rule.targets for spelling in spellings(asset.iri)]
        )
        parties = frozenset([hierarchies.parties.concept(party.iri) for party in rule.assignees]) or None
        return cls(targets, parties, _purposes(rule, hierarchies.purposes))

    def bounded(self) -> "Keys":
        """Keys that are few enough, and find at least the same rules."""
        parties, purposes = self.parties, self.purposes
        if len(self.targets) * len(parties or "1") * len(purposes or "1") > _MOST_LEAVES:
            purposes = None
        if len(self.targets) * len(parties or "1") > _MOST_LEAVES:
            parties = None
        return Keys(self.targets, parties, purposes)

    def widened(self, hierarchies: Hierarchies) -> "Keys":
        """The keys of all rules that may apply to a request with these keys."""
        return Keys(
            related(hierarchies.assets, self.targets),
            None if self.parties is None else related(hierarchies.parties, self.parties),
            related_purposes(hierarchies.purposes, self.purposes),
        )


def _purposes(rule: Rule, purposes: Hierarchy) -> frozenset[IRI] | None:
    """The purposes that a rule is limited to; None: any."""
    for constraint in rule.constraints:
        if (
            isinstance(constraint, Comparison)
            and constraint.operand == ODRL_PURPOSE
            and constraint.operator in _POSITIVE
            and constraint.unit is None
        ):
            listed = [value.iri for value in constraint.values if isinstance(value, Named)]
            if len(listed) == len(constraint.values):
                return frozenset([purposes.concept(iri) for iri in listed])
    return None


def related(hierarchy: Hierarchy, iris: Iterable[IRI]) -> frozenset[IRI]:
    """The concepts that overlap one of some concepts."""
    listed = list(iris)
    return hierarchy.related(listed[0]) if len(listed) == 1 else hierarchy.related_to_any(listed)


def related_purposes(hierarchy: Hierarchy, iris: Iterable[IRI] | None) -> frozenset[IRI] | None:
    """Likewise for purposes; None (any) where one of them is unknown."""
    if iris is None:
        return None
    listed = list(iris)
    return related(hierarchy, listed) if all(map(hierarchy.defines, listed)) else None


class Bucket:
    """The rules about one target."""

    __slots__ = ("by_action", "by_party", "rules", "shared")

    def __init__(self) -> None:
        self.rules: Leaf = {}
        """In order."""
        self.shared: Leaf = {}
        """Those of them that may be in other buckets, too, or may not be about the target."""
        self.by_action: dict[IRI, Leaf] = {}
        self.by_party: dict[IRI | None, dict[IRI | None, Leaf]] = {}


class Buckets:
    """Rules in buckets, in the order of their numbers."""

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[IRI, Bucket] = {}

    def add(self, prepared: PreparedRule, keys: Keys, *, is_shared: bool = False) -> None:
        """Add a rule, whose number is larger than those of all before it.

        Args:
            prepared: the rule.
            keys: the keys that find it.
            is_shared: whether it may be found by targets that it is not about.
        """
        for target in keys.targets:
            bucket = self._buckets.setdefault(target, Bucket())
            bucket.rules[prepared.order] = prepared
            if is_shared or len(keys.targets) > 1:
                bucket.shared[prepared.order] = prepared
            bucket.by_action.setdefault(prepared.rule.action, {})[prepared.order] = prepared
            for party in keys.parties or _ANY:
                by_purpose = bucket.by_party.setdefault(party, {})
                for purpose in keys.purposes or _ANY:
                    by_purpose.setdefault(purpose, {})[prepared.order] = prepared

    def remove(self, prepared: PreparedRule, keys: Keys) -> None:
        """Remove a rule that was added with these keys."""
        order = prepared.order
        for target in keys.targets:
            bucket = self._buckets[target]
            del bucket.rules[order]
            bucket.shared.pop(order, None)
            _remove(bucket.by_action, prepared.rule.action, order)
            for party in keys.parties or _ANY:
                for purpose in keys.purposes or _ANY:
                    _remove(bucket.by_party[party], purpose, order)
                if not bucket.by_party[party]:
                    del bucket.by_party[party]
            if not bucket.rules:
                del self._buckets[target]

    def buckets(self, targets: frozenset[IRI]) -> list[Bucket]:
        """The buckets of some targets, in any order."""
        buckets = self._buckets
        if len(buckets) < len(targets):
            return [bucket for target, bucket in buckets.items() if target in targets]
        return [buckets[target] for target in targets if target in buckets]

    def find(self, keys: Keys) -> list[PreparedRule]:
        """In order, the rules that some keys find."""
        leaves = [
            leaf
            for bucket in self.buckets(keys.targets)
            for by_purpose in _chosen(bucket.by_party, keys.parties)
            for leaf in _chosen(by_purpose, keys.purposes)
        ]
        if len(leaves) == 1:
            return list(leaves[0].values())
        rules: Leaf = {}
        for leaf in leaves:
            rules.update(leaf)
        return [rules[order] for order in sorted(rules)]


_ANY: Final[tuple[None]] = (None,)


def _remove(table: dict[T, Leaf], key: T, order: int) -> None:
    del table[key][order]
    if not table[key]:
        del table[key]


def _chosen(table: dict[IRI | None, T], keys: frozenset[IRI] | None) -> Iterable[T]:
    """The values under one of some keys, or under None."""
    if keys is None:
        return table.values()
    if len(table) <= len(keys):
        return [value for key, value in table.items() if key is None or key in keys]
    values = [table[key] for key in keys if key in table]
    if None in table:
        values.append(table[None])
    return values
