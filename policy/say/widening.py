"""Whether an agreement says no more than what was offered, and what the two say together.

It says no more where each of its permissions is one that was offered, or one with further constraints,
refinements or duties; where every prohibition and obligation that was offered is in it; and where it
names the target and the parties that were offered, or those that the offer leaves open. Nothing is
compared by reasoning: a shorter time or a narrower purpose is a further constraint beside the offered one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from smalti.errors import PolicyError, SmaltiError, raise_all
from smalti.policy.decide.authorize import prepare
from smalti.policy.decide.facts import leaves
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.model.binding import UNBOUND
from smalti.policy.model.column_iris import is_column_of
from smalti.policy.model.meaning import meaning_of
from smalti.policy.model.model import (
    Asset,
    Condition,
    Duty,
    Interval,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Where,
    operands_of,
)
from smalti.policy.model.nesting import with_duties, with_rules, without_uids
from smalti.policy.model.public_part import public_rule
from smalti.policy.model.refinements import refinements_of
from smalti.policy.say.describe import describe, describe_condition, describe_duty
from smalti.vocab.terms import IRI

R = TypeVar("R", bound=Rule)
_Part = Asset | Party

_MOST: Final = 20
"""The most problems that are reported."""
_WAY_OUT: Final = "agree on what is offered, or have the owner offer this"
_BESIDE: Final = "keep what is offered, and agree on a narrower one beside it; or have the owner offer this"
_OPEN: Final = (
    "the offer is a template, whose columns are those of its open target: bind it (--bind target=IRI)"
)
_NAMES: Final = {"targets": "target", "assigners": "assigner", "assignees": "assignee"}


@dataclass(frozen=True, slots=True)
class _Parts:
    """Whom and what an agreement is about, in all its rules."""

    targets: tuple[Asset, ...]
    assigners: tuple[Party, ...]
    assignees: tuple[Party, ...]


@dataclass(frozen=True, slots=True)
class _Difference:
    """What an agreement's rule says otherwise than an offered one."""

    where: Where
    problem: str
    offered: str
    way_out: str = _WAY_OUT


def kept_to_offer(agreement: Policy, offer: Policy, hierarchies: Hierarchies = STANDARD) -> Policy:
    """The agreement, as a policy of its own.

    What only the owner's policy says, and not its public part, stays as the owner says it: which columns
    are dropped, which collections an asset belongs to. Rules have no uids of their own.

    Args:
        agreement: with one target in its permissions, and one assigner and assignee in all rules.
        offer: a template, an offer, or any policy of the owner; also only its public part.
        hierarchies: those by which the rules of the offer may contradict each other.

    Raises:
        SmaltiError: the agreement says more, or names several targets or parties: a `PolicyError` for each
            place where it does; or the offer is void, so that each permission is more.
    """
    parts = _parts_of(agreement)
    bound = _bound(offer, parts)
    raise_all([*_other_parts(parts, bound), *_beside_rules(agreement, bound), *_void(bound, hierarchies)])
    comparison = _Comparison(agreement, bound, parts)
    kept = replace(
        agreement,
        type=PolicyType.AGREEMENT,
        profiles=bound.profiles,
        permissions=comparison.permissions(),
        prohibitions=comparison.others(agreement.prohibitions, bound.prohibitions, "prohibition"),
        obligations=comparison.others(agreement.obligations, bound.obligations, "obligation"),
        memberships=bound.memberships,
        inclusions=bound.inclusions,
        shared=None,
    )
    raise_all(comparison.problems[:_MOST])
    return kept


# --- What all rules share


def _parts_of(agreement: Policy) -> _Parts:
    raise_all([problem for name in _NAMES for problem in _several(agreement, name)])
    first = next(rule for rule in agreement.permissions or agreement.rules if rule.targets)
    return _Parts(first.targets, first.assigners, first.assignees)


def _several(agreement: Policy, name: str) -> Iterator[SmaltiError]:
    """The problem that the rules do not name one and the same target or party."""
    named = {meaning_of(part): part for parts in _named(agreement, name) for part in parts}
    rules = agreement.permissions if name == "targets" else agreement.rules
    lacking = [rule for rule in rules if not getattr(rule, name)]
    if lacking or not named:
        where = (lacking[0] if lacking else agreement).where
        problem = f"the agreement does not name its {_NAMES[name]}"
    elif len(named) > 1:
        where = list(named.values())[1].where
        problem = f"the agreement names a second {_NAMES[name]}"
    else:
        return
    expected = f"one {_NAMES[name]}, the same in all rules"
    yield PolicyError(str(where), problem, expected, "pass the agreement of one negotiation")


def _named(agreement: Policy, name: str) -> list[tuple[_Part, ...]]:
    """The targets of permissions, or the parties of all rules."""
    rules = (name == "targets" and agreement.permissions) or agreement.rules
    return [parts for rule in rules if (parts := getattr(rule, name))]


def _bound(offer: Policy, parts: _Parts) -> Policy:
    def bound(rule: R) -> R:
        return with_duties(_filled(rule, parts), bound)

    return with_rules(offer, bound)


def _filled(rule: R, parts: _Parts) -> R:
    """A rule with what it leaves open."""
    return replace(
        rule,
        targets=parts.targets if _is_open(rule.targets) else rule.targets,
        assigners=parts.assigners if _is_open(rule.assigners) else rule.assigners,
        assignees=parts.assignees if _is_open(rule.assignees) else rule.assignees,
    )


def _is_open(parts: Sequence[_Part]) -> bool:
    return all(part.iri.startswith(UNBOUND) for part in parts)


def _other_parts(parts: _Parts, offer: Policy) -> Iterator[SmaltiError]:
    """The targets and parties for which nothing is offered."""
    for name, word in _NAMES.items():
        named, offered = getattr(parts, name), [getattr(rule, name) for rule in offer.rules]
        if _meanings(named) not in map(_meanings, offered):
            problem = f"the {word} of the agreement, {_iris(named)}, is not the offered one"
            listed = " or ".join(sorted({_iris(each) for each in offered if each}))
            yield _problem(named[0].where, problem, f"the {word} that the offer states: {listed}")


def _meanings(parts: Sequence[_Part | Condition]) -> frozenset[str]:
    return frozenset(map(meaning_of, parts))


def _iris(parts: Sequence[_Part]) -> str:
    return ", ".join(f"`{part.iri}`" for part in parts) or "none"


def _beside_rules(agreement: Policy, offer: Policy) -> Iterator[SmaltiError]:
    """What an agreement says more for all its rules."""
    if agreement.conflict is not offer.conflict:
        problem = f"the conflict strategy of the agreement is `{agreement.conflict}`"
        yield _problem(agreement.where, problem, f"`{offer.conflict}`, as offered")
    if not _is_within(agreement.valid, offer.valid):
        problem = "the agreement is in force at times when the offer is not (`dct:valid`)"
        yield _problem(agreement.where, problem, "no other time than the offer's, stated in the agreement")
    for profile in sorted(set(agreement.profiles) - set(offer.profiles)):
        problem = f"the agreement names the profile `{profile}`"
        listed = ", ".join(f"`{name}`" for name in offer.profiles)
        yield _problem(agreement.where, problem, f"of the offered profiles ({listed or 'none'})")
    for membership in sorted(set(agreement.memberships) - set(offer.memberships)):
        problem = f"the agreement says that `{membership.member}` is part of `{membership.collection}`"
        yield _problem(agreement.where, problem, "no collection that the offer does not state")
    for inclusion in sorted(set(agreement.inclusions) - set(offer.inclusions)):
        problem = f"the agreement defines the action `{inclusion.action}`"
        yield _problem(agreement.where, problem, "no action that the offer does not define")


def _void(offer: Policy, hierarchies: Hierarchies) -> Iterator[SmaltiError]:
    """What is void offers nothing (ODRL IM 2.10); a narrower rule, or one less, would put it in force."""
    pair = prepare(offer, hierarchies).conflict
    if pair is not None:
        rule, prohibition = pair
        problem = f"the offer is void: this rule contradicts the prohibition at {prohibition.where}"
        expected = "an offer without contradictions, or with a `conflict` strategy"
        yield _problem(rule.where, problem, expected, "have the owner correct the offer")


def _is_within(inner: Interval | None, outer: Interval | None) -> bool:
    if outer is None:
        return True
    if inner is None:
        return False
    starts = outer.start is None or (inner.start is not None and outer.start <= inner.start)
    ends = outer.end is None or (inner.end is not None and inner.end <= outer.end)
    return starts and ends


def _problem(where: Where, problem: str, expected: str, way_out: str = _WAY_OUT) -> SmaltiError:
    return PolicyError(str(where), problem, expected, way_out)


# --- Rules


class _Comparison:
    """Compares rules, and collects what is more than the offer, or lacks of it."""

    def __init__(self, agreement: Policy, offer: Policy, parts: _Parts) -> None:
        self.agreement = agreement
        self.offer = offer
        self.parts = parts
        self.problems: list[SmaltiError] = []

    def permissions(self) -> tuple[Permission, ...]:
        """The permissions of the agreement, with what the owner's policy says of how."""
        pairs = [(rule, self._closest(rule)) for rule in self.agreement.permissions]
        return tuple(_joined(rule, offered) for rule, offered in pairs if offered is not None)

    def _closest(self, rule: Permission) -> Permission | None:
        """The offered permission that the rule keeps to; None after a problem, or enough of them."""
        if len(self.problems) >= _MOST:
            return None
        if not self.offer.permissions:
            self.problems.append(_problem(rule.where, "the agreement permits something", "no permission"))
            return None
        pairs = [(offered, _differences(rule, offered)) for offered in self.offer.permissions]
        offered, differences = min(pairs, key=lambda pair: len(pair[1]))
        self.problems += (
            _problem(each.where, each.problem, each.offered, each.way_out) for each in differences
        )
        return None if differences else offered

    def others(self, rules: Sequence[R], offered: Sequence[R], word: str) -> tuple[R, ...]:
        """Prohibitions or obligations: all that were offered, and what the agreement adds."""
        own = [without_uids(_filled(rule, self.parts)) for rule in rules]
        for rule in offered:
            if not any(_is_same(each, rule) for each in own):
                problem = f"the agreement leaves out an offered {word}, or changes it"
                text = describe(self._alone(rule))[0]
                self.problems.append(_problem(self.agreement.where, problem, f"as offered: {text}"))
        added = [rule for rule in own if not any(_is_same(rule, each) for each in offered)]
        for rule in added:
            if not self._is_mere_addition(rule):
                problem = f"an added {word} concerns more than the target and the assignee of the agreement"
                expected = f"no {word} but for them alone, which makes nothing"
                self.problems.append(_problem(rule.where, problem, expected))
        return (*map(without_uids, offered), *added)

    def _is_mere_addition(self, rule: Rule) -> bool:
        nested = (rule,) if isinstance(rule, Duty) else getattr(rule, "remedies", ())
        is_about_them = _meanings(rule.targets) == _meanings(self.parts.targets)
        return is_about_them and all(_is_mere(duty, rule) for duty in nested)

    def _alone(self, rule: Rule) -> Policy:
        return replace(
            self.offer,
            type=PolicyType.SET,
            permissions=(rule,) if isinstance(rule, Permission) else (),
            prohibitions=(rule,) if isinstance(rule, Prohibition) else (),
            obligations=(rule,) if isinstance(rule, Duty) else (),
        )


def _is_same(rule: R, offered: R) -> bool:
    """Whether a rule says what was offered, or its public part; rules without uids."""
    return meaning_of(without_uids(rule)) in {
        meaning_of(without_uids(offered)),
        meaning_of(public_rule(offered)),
    }


def _is_mere(duty: Duty, rule: Rule) -> bool:
    """Whether a duty only burdens whom its rule is for: it grants nothing, and obliges nobody else."""
    makes = duty.anonymization is not None or duty.audit is not None or duty.output is not None
    is_theirs = (
        _meanings(duty.assignees) == _meanings(rule.assignees)
        and _meanings(duty.assigners) == _meanings(rule.assigners)
        and _meanings(duty.targets) in {frozenset(), _meanings(rule.targets)}
    )
    return not makes and is_theirs and all(_is_mere(each, rule) for each in duty.consequences)


def _joined(rule: Permission, offered: Permission) -> Permission:
    """A permission of the agreement, with the owner's way to do it and the owner's duties."""
    added = [duty for duty in rule.duties if not any(_is_same(duty, each) for each in offered.duties)]
    joined = replace(
        rule,
        anonymization=offered.anonymization,
        training=offered.training,
        duties=(*offered.duties, *added),
    )
    return without_uids(joined)


def _differences(rule: Permission, offered: Permission) -> list[_Difference]:
    """In what a permission says more than an offered one."""
    compared: tuple[Callable[[Permission, Permission], Iterator[_Difference]], ...] = (
        _in_action,
        _in_parts,
        _in_way,
        _in_conditions,
        _in_duties,
    )
    return [difference for compare in compared for difference in compare(rule, offered)]


def _in_action(rule: Permission, offered: Permission) -> Iterator[_Difference]:
    if rule.action != offered.action:
        problem = f"the agreement permits the action `{rule.action}`"
        yield _Difference(rule.where, problem, f"the offered action `{offered.action}`")
    if rule.output != offered.output:
        problem = f"the output of the agreement is {_iri(rule.output)}"
        yield _Difference(rule.where, problem, f"as offered, {_iri(offered.output)}")


def _iri(iri: IRI | None) -> str:
    return "none" if iri is None else f"`{iri}`"


def _in_parts(rule: Permission, offered: Permission) -> Iterator[_Difference]:
    for name, word in _NAMES.items():
        own, other = getattr(rule, name), getattr(offered, name)
        if _meanings(own) != _meanings(other):
            problem = f"the {word} of the permission is {_iris(own)}"
            yield _Difference(own[0].where, problem, f"the offered {word}, {_iris(other)}")


def _in_way(rule: Permission, offered: Permission) -> Iterator[_Difference]:
    public = public_rule(offered)
    for name, word in (("anonymization", "anonymizes"), ("training", "trains")):
        offered_ways = {meaning_of(getattr(each, name)) for each in (offered, public)}
        if meaning_of(getattr(rule, name)) not in offered_ways:
            problem = f"the agreement {word} otherwise than is offered"
            way_out = _OPEN if _has_open_columns(offered) else _WAY_OUT
            expected = "the refinements of the offered action, all the same"
            yield _Difference(rule.where, problem, expected, way_out)


def _has_open_columns(offered: Permission) -> bool:
    """Whether an offer's columns are those of a target that it leaves open."""
    how = offered.anonymization
    if how is None:
        return False
    columns = (*how.identifiers, *how.quasi_identifiers, *how.sensitive, *how.released)
    return any(is_column_of(f"{UNBOUND}target", column.iri) for column in columns)


def _in_conditions(rule: Permission, offered: Permission) -> Iterator[_Difference]:
    yield from _left_out(rule, rule.constraints, offered.constraints, "constraint")
    if rule.anonymization is None and rule.training is None:
        yield from _left_out(rule, refinements_of(rule), refinements_of(offered), "refinement")


def _left_out(
    rule: Rule, own: Sequence[Condition], offered: Sequence[Condition], word: str
) -> Iterator[_Difference]:
    there = _meanings(own)
    for condition in offered:
        if meaning_of(condition) in there:
            continue
        replaced = [
            each for each in own if operands_of(each) and operands_of(each) == operands_of(condition)
        ]
        where = replaced[0].where if replaced else rule.where
        text, said = describe_condition(condition), ""
        if replaced:
            other = describe_condition(replaced[0])
            is_alike = other == text
            said = f", and says: {other}{_form(replaced[0]) if is_alike else ''}"
            text += _form(condition) if is_alike else ""
        problem = f"the agreement leaves out an offered {word}{said}"
        way_out = _BESIDE if replaced else _WAY_OUT
        yield _Difference(where, problem, f"the offered {word}: {text}", way_out)


def _form(condition: Condition) -> str:
    """What tells conditions apart whose descriptions are alike: operators, and kinds of values."""
    parts = [
        f"{leaf.operator} {' or '.join(sorted({type(value).__name__.lower() for value in leaf.values}))}"
        for leaf in leaves((condition,))
    ]
    return f" (as {', '.join(parts)})"


def _in_duties(rule: Permission, offered: Permission) -> Iterator[_Difference]:
    for duty in offered.duties:
        if not any(_is_same(each, duty) for each in rule.duties):
            problem = "the agreement leaves out an offered duty, or changes it"
            yield _Difference(rule.where, problem, f"the offered duty: {describe_duty(duty)}")
    for duty in rule.duties:
        if not any(_is_same(duty, each) for each in offered.duties) and not _is_mere(duty, rule):
            problem = "the agreement adds a duty that obliges somebody else, or makes something"
            yield _Difference(duty.where, problem, "a further duty of the assignee alone, or none")
