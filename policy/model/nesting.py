"""Changes all rules of a policy, and the duties inside of rules."""

from dataclasses import replace
from typing import Protocol, TypeVar

from smalti.policy.model.meaning import left_out
from smalti.policy.model.model import Duty, Permission, Policy, Prohibition, Rule

R = TypeVar("R", bound=Rule)


class Change(Protocol):
    """Changes a rule of whatever kind."""

    def __call__(self, rule: R, /) -> R: ...


def with_rules(policy: Policy, change: Change) -> Policy:
    """A policy whose rules are changed; `change` deals with their duties."""
    return replace(
        policy,
        permissions=tuple(change(rule) for rule in policy.permissions),
        prohibitions=tuple(change(rule) for rule in policy.prohibitions),
        obligations=tuple(change(rule) for rule in policy.obligations),
    )


def with_duties(rule: R, change: Change) -> R:
    """A rule whose duties, remedies or consequences are changed; `change` deals with theirs in turn."""
    match rule:
        case Permission(duties=duties):
            return replace(rule, duties=tuple(change(duty) for duty in duties))
        case Prohibition(remedies=remedies):
            return replace(rule, remedies=tuple(change(duty) for duty in remedies))
        case Duty(consequences=consequences):
            return replace(rule, consequences=tuple(change(duty) for duty in consequences))
    return rule


def without_uids(rule: R) -> R:
    """A rule that says the same without uids, its own and those of its duties."""
    return with_duties(replace(rule, uid=left_out(rule.uid)), without_uids)
