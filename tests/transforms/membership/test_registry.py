"""Attacks by name."""

import pytest

from smalti.errors import UsageError
from smalti.transforms.membership.attack import Needs
from smalti.transforms.membership.registry import ATTACKS, named
from smalti.transforms.membership.set_membership import AttackType

BOTH = Needs.SHADOWS_IN | Needs.SHADOWS_OUT


def test_what_each_attack_needs() -> None:
    assert {name: entry.attack.needs for name, entry in ATTACKS.items()} == {
        "shokri": Needs.SHADOW_POOL,
        "loss": Needs.NOTHING,
        "lira-online": BOTH,
        "lira-offline": Needs.SHADOWS_OUT,
        "rmia": BOTH,
        "single-membership": Needs.NOTHING,
        "set-membership": Needs.NOTHING,
    }


def test_names_are_those_of_the_entries() -> None:
    assert all(named(name).name == name for name in ATTACKS)
    assert named("set-membership").judged_as is AttackType.SET
    assert named("rmia").judged_as is None


def test_unknown_names_are_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="no attack `lira`; expected lira-offline, lira-online, loss"):
        named("lira")
