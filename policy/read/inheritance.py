"""Which policies a policy inherits from, and what it takes from them (ODRL IM 2.9)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Final, TypeVar

from smalti.policy.document.nodes import Name, Node
from smalti.policy.findings.findings import quoted
from smalti.policy.model.circles import on_circles
from smalti.policy.model.model import (
    Asset,
    ConflictStrategy,
    Duty,
    Inclusion,
    Interval,
    Membership,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Shared,
)
from smalti.policy.read.rules import generated_uid
from smalti.policy.read.values import Scope, bare_name, iri_is_good, values_of
from smalti.policy.text.json_text import Place as TextPlace
from smalti.vocab.terms import INHERIT_FROM, IRI, UID

MAX_DEPTH: Final = 16
"""Generations, a policy without parents being the first."""
MAX_SIZE: Final = 500_000
"""Values that the policies of one call may inherit, taken together."""

Stored = Callable[[IRI], Policy | None]
"""Finds the policy in force with a uid, where policies are stored."""

_R = TypeVar("_R", bound=Rule)


def nothing_stored(uid: IRI) -> Policy | None:
    """No policy is stored."""
    return None


@dataclass(slots=True)
class Entry:
    """One policy of the documents that are read together."""

    node: Node
    scope: Scope
    document: int
    uid: str
    """As the document says, unchecked."""
    names: tuple[Name, ...]
    """Of its parents."""
    policy: Policy | None = None
    """Once it is read without error."""
    parents: "tuple[Entry, ...]" = ()
    """Those among the documents."""
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Inherited:
    """What one policy takes from its parents."""

    parents: tuple[Policy, ...] = ()
    is_whole: bool = True
    """False when a parent is unavailable, which is reported."""
    place: TextPlace | None = None
    """Where the document names the parents."""

    @property
    def uids(self) -> tuple[IRI, ...]:
        return tuple(parent.uid for parent in self.parents)

    @property
    def digests(self) -> tuple[str, ...]:
        return tuple(parent.document_digest for parent in self.parents)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return _by_first(parent.permissions for parent in self.parents)

    @property
    def prohibitions(self) -> tuple[Prohibition, ...]:
        return _by_first(parent.prohibitions for parent in self.parents)

    @property
    def obligations(self) -> tuple[Duty, ...]:
        return _by_first(parent.obligations for parent in self.parents)

    @property
    def memberships(self) -> tuple[Membership, ...]:
        return _once(membership for parent in self.parents for membership in parent.memberships)

    @property
    def inclusions(self) -> tuple[Inclusion, ...]:
        return _once(inclusion for parent in self.parents for inclusion in parent.inclusions)

    @property
    def profiles(self) -> tuple[IRI, ...]:
        return _once(profile for parent in self.parents for profile in parent.profiles)

    @property
    def shared(self) -> Shared:
        """What the parents state for all rules; a rule of the child takes the parts that it lacks."""
        shared = [parent.shared for parent in self.parents if parent.shared is not None]
        return Shared(
            actions=_once(action for part in shared for action in part.actions),
            targets=_assets(shared),
            assignees=_parties(part.assignees for part in shared),
            assigners=_parties(part.assigners for part in shared),
        )

    def conflict(self, own: ConflictStrategy | None) -> ConflictStrategy:
        """The strategy of the child; with different ones, a conflict voids it (ODRL IM 2.10)."""
        strategies = {parent.conflict for parent in self.parents} | ({own} if own is not None else set())
        return strategies.pop() if len(strategies) == 1 else ConflictStrategy.INVALID


_T = TypeVar("_T")


def _once(values: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(values))


def _by_first(groups: Iterable[tuple[_R, ...]]) -> tuple[_R, ...]:
    """The rules of several parents; what comes from two of them is taken from the first (`check_uids`).

    By uid: to hash a rule takes as long as the rule is large.
    """
    first: dict[IRI, int] = {}
    return tuple(
        rule
        for number, group in enumerate(groups)
        for rule in group
        if first.setdefault(rule.uid, number) == number
    )


def _assets(shared: Sequence[Shared]) -> tuple[Asset, ...]:
    return tuple(sorted(_once(target for part in shared for target in part.targets), key=lambda t: t.iri))


def _parties(groups: Iterable[tuple[Party, ...]]) -> tuple[Party, ...]:
    return tuple(sorted(_once(party for group in groups for party in group), key=lambda p: p.iri))


def fill(rules: Iterable[_R], shared: Shared) -> tuple[_R, ...]:
    """Inherited rules that name no party, with those that the child names for all its rules.

    So ODRL IM 2.9, Example 32: the child's assignee goes to the parent's obligation.
    """
    return tuple(_filled(rule, shared) for rule in rules)


def _filled(rule: _R, shared: Shared) -> _R:
    assignees = rule.assignees or shared.assignees
    assigners = rule.assigners or shared.assigners
    if (assignees, assigners) == (rule.assignees, rule.assigners):
        return rule
    return replace(rule, assignees=assignees, assigners=assigners)


def read_entry(node: Node, scope: Scope, document: int) -> Entry:
    """A policy to be read, with the parents that it names; unusable names are reported."""
    prop = node.get(INHERIT_FROM)
    values = values_of(prop, scope) if prop is not None else ()
    named = [bare_name(value, "the parent", scope) for value in values]
    names = [
        name for name in named if name is not None and iri_is_good(name, "the parent", scope) is not None
    ]
    kept = {name.iri: name for name in reversed(names)}
    return Entry(node, scope, document, _uid(node, scope), tuple(reversed(kept.values())))


def _uid(node: Node, scope: Scope) -> str:
    if node.name is not None:
        return node.name.iri
    prop = node.get(UID)
    for value in prop.values if prop is not None else ():
        if isinstance(value, Node) and value.name is not None:
            return value.name.iri
    return generated_uid(node, "policy", scope)


@dataclass(slots=True)
class Family:
    """Policies that are read together, and those that are stored: where parents are looked for."""

    entries: Sequence[Entry]
    stored: Stored
    _by_uid: dict[str, list[Entry]] = field(default_factory=dict)
    _size: int = 0

    def __post_init__(self) -> None:
        for entry in self.entries:
            self._by_uid.setdefault(entry.uid, []).append(entry)
        for entry in self.entries:
            entry.parents = tuple(self._by_uid[n.iri][0] for n in entry.names if n.iri in self._by_uid)

    def in_order(self) -> list[Entry]:
        """The entries, parents before children; circles are reported, and their members come last."""
        waiting = {id(entry): len(entry.parents) for entry in self.entries}
        children: dict[int, list[Entry]] = {}
        for entry in self.entries:
            for parent in entry.parents:
                children.setdefault(id(parent), []).append(entry)
        ready = [entry for entry in self.entries if not waiting[id(entry)]]
        for entry in ready:  # grows while it is walked
            for child in children.get(id(entry), ()):
                waiting[id(child)] -= 1
                if not waiting[id(child)]:
                    ready.append(child)
        done = {id(entry) for entry in ready}
        stuck = [entry for entry in self.entries if id(entry) not in done]
        _report_circles(stuck)
        return [*ready, *stuck]

    def inherited(self, entry: Entry) -> Inherited:
        """What a policy takes from its parents, once they are read."""
        if not entry.names:
            return Inherited()
        candidates = [self._parent(name, entry) for name in entry.names]
        parents = tuple(parent for parent in candidates if parent is not None)
        is_whole = len(parents) == len(candidates)
        entry.depth = max([entry.depth, *(parent.depth + 1 for parent in entry.parents)])
        if is_whole and entry.depth > MAX_DEPTH:
            message = f"the policy inherits over more than {MAX_DEPTH} generations"
            entry.scope.findings.error("P330", entry.names[0].place, message)
            is_whole = False
        if is_whole and not self._has_room(parents):
            message = f"the policies inherit more than {MAX_SIZE} values"
            entry.scope.findings.error("P330", entry.names[0].place, message, "split the policies")
            is_whole = False
        prop = entry.node.get(INHERIT_FROM)
        place = prop.key if prop is not None else entry.node.place
        return Inherited(parents if is_whole else (), is_whole, place)

    def _has_room(self, parents: tuple[Policy, ...]) -> bool:
        for parent in parents:
            if self._size <= MAX_SIZE:
                self._size += _size(parent)
        return self._size <= MAX_SIZE

    def _parent(self, name: Name, entry: Entry) -> Policy | None:
        entries = self._by_uid.get(name.iri, [])
        if len(entries) > 1:
            message = f"{len(entries)} of the supplied policies have the uid {quoted(name.written)}"
            entry.scope.findings.error("P328", name.place, message, "supply the parent once")
            return None
        parent = entries[0].policy if entries else self._from_store(name, entry)
        if parent is not None and parent.type is PolicyType.OFFER:
            message = f"the parent {quoted(name.written)} is an Offer, which grants nothing"
            entry.scope.findings.error("P331", name.place, message, "inherit from a Set or an Agreement")
            return None
        return parent

    def _from_store(self, name: Name, entry: Entry) -> Policy | None:
        iri = IRI(name.iri)
        parent = self.stored(iri)
        if parent is None:
            message = (
                f"no supplied or stored policy has the uid {quoted(name.written)}, and smalti fetches none"
            )
            entry.scope.findings.error(
                "P328", name.place, message, "supply its document too, or add it first"
            )
            return None
        if entry.uid in self._ancestors(parent):
            message = f"the policy inherits from itself, by way of {quoted(name.written)}"
            entry.scope.findings.error("P329", name.place, message, "remove one of the `inheritFrom`")
            return None
        entry.depth = max(entry.depth, self._depth(parent) + 1)
        return parent

    def _ancestors(self, parent: Policy) -> frozenset[str]:
        seen: set[IRI] = set()
        waiting = [parent.uid]
        while waiting:
            uid = waiting.pop()
            if uid in seen:
                continue
            seen.add(uid)
            policy = self.stored(uid)
            waiting += policy.inherits if policy is not None else ()
        return frozenset(seen)

    def _depth(self, parent: Policy) -> int:
        """Generations above a stored policy and itself; every ancestor was stored before its children."""
        depth, generation = 1, parent.inherits
        while generation and depth <= MAX_DEPTH:
            above = [self.stored(uid) for uid in generation]
            generation = _once(uid for policy in above if policy is not None for uid in policy.inherits)
            depth += 1
        return depth


def _size(value: object) -> int:
    """An estimate of the values that a policy consists of."""
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if is_dataclass(value):
        return 1 + sum(_size(getattr(value, part.name)) for part in fields(value) if part.compare)
    return 0


def _report_circles(stuck: Sequence[Entry]) -> None:
    """Report the policies on a circle, and not those that only inherit from one."""
    members = on_circles({id(entry): [id(parent) for parent in entry.parents] for entry in stuck})
    on_circle = [entry for entry in stuck if id(entry) in members]
    uids = {entry.uid for entry in on_circle}
    for entry in stuck:
        for name in entry.names if id(entry) in members else ():
            if name.iri in uids:
                message = f"the policy inherits from itself, by way of {quoted(name.written)}"
                entry.scope.findings.error("P329", name.place, message, "remove one of the `inheritFrom`")
                break


def report_unusable_parents(entries: Sequence[Entry]) -> None:
    """Report children of policies whose document has errors: a document counts as a whole."""
    while True:
        unusable = [
            (entry, name)
            for entry in entries
            if not entry.scope.findings.document_has_errors
            for name in _parents_with_errors(entry)
        ]
        if not unusable:
            return
        for entry, name in unusable:
            message = f"the parent {quoted(name.written)} cannot be used: its document has errors"
            entry.scope.findings.error("P331", name.place, message, "correct that document first")


def _parents_with_errors(entry: Entry) -> list[Name]:
    broken = {parent.uid for parent in entry.parents if parent.scope.findings.document_has_errors}
    return [name for name in entry.names if name.iri in broken]


def check_validity(valid: Interval | None, inherited: Inherited, scope: Scope) -> None:
    """Refuse a policy that is valid before or after a parent is."""
    for parent in inherited.parents:
        if parent.valid is not None and not _is_within(valid, parent.valid):
            message = f"the policy is valid at times when its parent {quoted(parent.uid)} is not"
            help_ = "limit it with `dct:valid` to the parent's interval"
            scope.findings.error("P332", inherited.place or TextPlace(0, 0, ""), message, help_)


def _is_within(valid: Interval | None, bounds: Interval) -> bool:
    start, end = (valid.start, valid.end) if valid is not None else (None, None)
    starts = bounds.start is None or (start is not None and start >= bounds.start)
    return starts and (bounds.end is None or (end is not None and end <= bounds.end))


def check_uids(own: Sequence[Rule], inherited: Inherited, scope: Scope) -> None:
    """Refuse a uid that names one rule here and another one in a parent."""
    own_uids = {rule.uid for rule in own}
    first: dict[IRI, list[Rule]] = {}
    for parent in inherited.parents:
        for uid, rules in _by_uid(parent.rules).items():
            if uid in own_uids or first.setdefault(uid, rules) != rules:
                message = f"the uid {quoted(uid)} of a parent's rule also names another rule"
                place = inherited.place or TextPlace(0, 0, "")
                scope.findings.error("P310", place, message, "give each rule its own uid")


def _by_uid(rules: Iterable[Rule]) -> dict[IRI, list[Rule]]:
    by_uid: dict[IRI, list[Rule]] = {}
    for rule in rules:
        by_uid.setdefault(rule.uid, []).append(rule)
    return by_uid
