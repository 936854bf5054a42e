"""Which keys of pseudonyms policies name."""

from collections.abc import Sequence

from smalti.policy.model.model import Comparison, Policy, Text
from smalti.policy.model.refinements import parameters_of
from smalti.vocab.terms import PSEUDONYM_KEY


def pseudonym_keys_of(policies: Sequence[Policy]) -> frozenset[str]:
    """The names of keys of pseudonyms in the permissions of policies."""
    conditions = (
        condition
        for policy in policies
        for permission in policy.permissions
        for condition in parameters_of(permission)
    )
    return frozenset(
        value.text
        for condition in conditions
        if isinstance(condition, Comparison) and condition.operand == PSEUDONYM_KEY
        for value in condition.values
        if isinstance(value, Text)
    )
