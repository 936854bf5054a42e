"""The part of an owner's policy that a requester must see, and no more.

Public is what binds a requester, and what the certificate of an output shows anyway: of each rule its
action, targets, parties, constraints, refinements, output and duties; of an anonymization its method,
algorithm, k, l and further parameters, whether each row is about another person, and the columns of the
output with their roles.

Internal is what only tells the owner's side how to do it, or what the data has beside the output: columns
that are dropped as identifiers, the column that tells respondents apart, how a table is partitioned;
memberships, definitions of actions, uids of rules, and how a document shares parts among its rules.
"""

from dataclasses import replace
from typing import Final, TypeVar

from smalti.policy.model.meaning import left_out
from smalti.policy.model.model import (
    Anonymization,
    Duty,
    Permission,
    Policy,
    Rule,
    Training,
    operands_of,
)
from smalti.policy.model.nesting import with_duties, with_rules
from smalti.vocab.terms import CUT_SCORE, DIMENSIONALITY, FRAGMENT_COLUMN, PARTITIONING

R = TypeVar("R", bound=Rule)

_INTERNAL: Final = frozenset({PARTITIONING, DIMENSIONALITY, CUT_SCORE, FRAGMENT_COLUMN})


def public_part(policy: Policy) -> Policy:
    """A policy with its public part alone."""
    return replace(with_rules(policy, public_rule), memberships=(), inclusions=(), shared=None)


def public_rule(rule: R) -> R:
    """A rule with its public part alone."""
    rule = with_duties(replace(rule, uid=left_out(rule.uid)), public_rule)
    if isinstance(rule, Permission | Duty) and rule.anonymization is not None:
        rule = replace(rule, anonymization=_anonymization(rule.anonymization))
    if isinstance(rule, Permission) and rule.training is not None:
        rule = replace(rule, training=_training(rule.training))
    return rule


def _anonymization(way: Anonymization) -> Anonymization:
    parameters = tuple(each for each in way.parameters if _INTERNAL.isdisjoint(operands_of(each)))
    return replace(way, identifiers=(), respondent=None, parameters=parameters)


def _training(way: Training) -> Training:
    return replace(way, identifiers=(), respondent=None)
