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
from smalti.policy.read.rules import made_uid
from smalti.policy.read.values import Scope, bare_name, iri_is_good, values_of
from smalti.policy.text.json_text import Place as TextPlace
from smalti.vocab.terms import INHERIT_FROM, IRI, UID

MAX_DEPTH: Final = 16
"""Generations, a policy without parents being the first."""
MAX_SIZE: Final = 500_000
"""Values that the policies of one call may inherit, taken together."""

Stored = Callable[[IRI], Policy | None]
"""The policy in force with a uid, where somebody keeps policies."""

_R = TypeVar("_R", bound=Rule)


def nothing_stored(uid: IRI) -> Policy | None:
    """No policy is kept anywhere."""
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
    """False when a parent could not be had, which is reported."""
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
        return _once(found for parent in self.parents for found in parent.memberships)

    @property
    def profiles(self) -> tuple[IRI, ...]:
        return _once(profile for parent in self.parents for profile in parent.profiles)

    @property
    def shared(self) -> Shared:
        """What the parents say for all rules; a rule of the child takes it where it lacks it."""
        shared = [parent.shared for parent in self.parents if parent.shared is not None]
        return Shared(
            actions=_once(action for one in shared for action in one.actions),
            targets=_assets(shared),
            assignees=_parties(one.assignees for one in shared),
            assigners=_parties(one.assigners for one in shared),
        )

    def conflict(self, own: ConflictStrategy | None) -> ConflictStrategy:
        """The strategy of the child; several different ones make a conflict void it (ODRL IM 2.10)."""
        strategies = {parent.conflict for parent in self.parents} | ({own} if own is not None else set())
        return strategies.pop() if len(strategies) == 1 else ConflictStrategy.INVALID


_T = TypeVar("_T")


def _once(found: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(found))


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
    return tuple(sorted(_once(target for one in shared for target in one.targets), key=lambda t: t.iri))


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


def entry(node: Node, scope: Scope, document: int) -> Entry:
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
    return made_uid(node, "policy", scope)


@dataclass(slots=True)
class Family:
    """Policies that are read together, and those that are stored: where parents are looked for."""

    entries: Sequence[Entry]
    stored: Stored
    _by_uid: dict[str, list[Entry]] = field(default_factory=dict)
    _size: int = 0

    def __post_init__(self) -> None:
        for one in self.entries:
            self._by_uid.setdefault(one.uid, []).append(one)
        for one in self.entries:
            one.parents = tuple(self._by_uid[n.iri][0] for n in one.names if n.iri in self._by_uid)

    def in_order(self) -> list[Entry]:
        """The entries, parents before children; circles are reported, and their members come last."""
        waiting = {id(one): len(one.parents) for one in self.entries}
        children: dict[int, list[Entry]] = {}
        for one in self.entries:
            for parent in one.parents:
                children.setdefault(id(parent), []).append(one)
        ready = [one for one in self.entries if not waiting[id(one)]]
        for one in ready:  # grows while it is walked
            for child in children.get(id(one), ()):
                waiting[id(child)] -= 1
                if not waiting[id(child)]:
                    ready.append(child)
        done = {id(one) for one in ready}
        stuck = [one for one in self.entries if id(one) not in done]
        _report_circles(stuck)
        return [*ready, *stuck]

    def inherited(self, one: Entry) -> Inherited:
        """What a policy takes from its parents, once they are read."""
        if not one.names:
            return Inherited()
        found = [self._parent(name, one) for name in one.names]
        parents = tuple(parent for parent in found if parent is not None)
        is_whole = len(parents) == len(found)
        one.depth = max([one.depth, *(parent.depth + 1 for parent in one.parents)])
        if is_whole and one.depth > MAX_DEPTH:
            message = f"the policy inherits over more than {MAX_DEPTH} generations"
            one.scope.findings.error("P330", one.names[0].place, message)
            is_whole = False
        if is_whole and not self._has_room(parents):
            message = f"the policies inherit more than {MAX_SIZE} values"
            one.scope.findings.error("P330", one.names[0].place, message, "split the policies")
            is_whole = False
        prop = one.node.get(INHERIT_FROM)
        place = prop.key if prop is not None else one.node.place
        return Inherited(parents if is_whole else (), is_whole, place)

    def _has_room(self, parents: tuple[Policy, ...]) -> bool:
        for parent in parents:
            if self._size <= MAX_SIZE:
                self._size += _size(parent)
        return self._size <= MAX_SIZE

    def _parent(self, name: Name, one: Entry) -> Policy | None:
        given = self._by_uid.get(name.iri, [])
        if len(given) > 1:
            message = f"{len(given)} of the policies that are given have the uid {quoted(name.written)}"
            one.scope.findings.error("P328", name.place, message, "give the parent once")
            return None
        parent = given[0].policy if given else self._from_store(name, one)
        if parent is not None and parent.type is PolicyType.OFFER:
            message = f"the parent {quoted(name.written)} is an Offer, and grants nothing"
            one.scope.findings.error("P331", name.place, message, "inherit from a Set or an Agreement")
            return None
        return parent

    def _from_store(self, name: Name, one: Entry) -> Policy | None:
        iri = IRI(name.iri)
        parent = self.stored(iri)
        if parent is None:
            message = f"no policy {quoted(name.written)} is given or stored, and nothing is ever fetched"
            one.scope.findings.error("P328", name.place, message, "give its document too, or add it first")
            return None
        if one.uid in self._ancestors(parent):
            message = f"the policy inherits from itself, by way of {quoted(name.written)}"
            one.scope.findings.error("P329", name.place, message, "remove one of the `inheritFrom`")
            return None
        one.depth = max(one.depth, self._depth(parent) + 1)
        return parent

    def _ancestors(self, parent: Policy) -> frozenset[str]:
        seen: set[IRI] = set()
        waiting = [parent.uid]
        while waiting:
            uid = waiting.pop()
            if uid in seen:
                continue
            seen.add(uid)
            found = self.stored(uid)
            waiting += found.inherits if found is not None else ()
        return frozenset(seen)

    def _depth(self, parent: Policy) -> int:
        """Generations above a stored policy and itself; every ancestor was stored before its children."""
        depth, generation = 1, parent.inherits
        while generation and depth <= MAX_DEPTH:
            above = [self.stored(uid) for uid in generation]
            generation = _once(uid for found in above if found is not None for uid in found.inherits)
            depth += 1
        return depth


def _size(value: object) -> int:
    """The values that a policy is made of, by and large."""
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if is_dataclass(value):
        return 1 + sum(_size(getattr(value, part.name)) for part in fields(value) if part.compare)
    return 0


def _report_circles(stuck: Sequence[Entry]) -> None:
    """Tell those on a circle from those that only inherit from one."""
    members = on_circles({id(one): [id(parent) for parent in one.parents] for one in stuck})
    on_circle = [one for one in stuck if id(one) in members]
    uids = {one.uid for one in on_circle}
    for one in stuck:
        for name in one.names if id(one) in members else ():
            if name.iri in uids:
                message = f"the policy inherits from itself, by way of {quoted(name.written)}"
                one.scope.findings.error("P329", name.place, message, "remove one of the `inheritFrom`")
                break


def report_unusable_parents(entries: Sequence[Entry]) -> None:
    """Report children of policies whose document has errors: a document counts as a whole."""
    while True:
        found = [
            (one, name)
            for one in entries
            if not one.scope.findings.document_has_errors
            for name in _parents_with_errors(one)
        ]
        if not found:
            return
        for one, name in found:
            message = f"the parent {quoted(name.written)} cannot be used: its document has errors"
            one.scope.findings.error("P331", name.place, message, "correct it first")


def _parents_with_errors(one: Entry) -> list[Name]:
    broken = {parent.uid for parent in one.parents if parent.scope.findings.document_has_errors}
    return [name for name in one.names if name.iri in broken]


def check_validity(valid: Interval | None, inherited: Inherited, scope: Scope) -> None:
    """Refuse a policy that would go on after a parent has ended, or begin before it."""
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
    """Refuse a rule's uid that stands for one rule here, and for another in a parent."""
    own_uids = {rule.uid for rule in own}
    first: dict[IRI, list[Rule]] = {}
    for parent in inherited.parents:
        for uid, rules in _by_uid(parent.rules).items():
            if uid in own_uids or first.setdefault(uid, rules) != rules:
                message = f"the uid {quoted(uid)} of a parent's rule stands for another rule, too"
                place = inherited.place or TextPlace(0, 0, "")
                scope.findings.error("P310", place, message, "give each rule its own uid")


def _by_uid(rules: Iterable[Rule]) -> dict[IRI, list[Rule]]:
    found: dict[IRI, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.uid, []).append(rule)
    return found
