"""Recipes by name: ours, those of installed packages, and those that are none."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from smalti.errors import PlanError
from smalti.transforms.learning import recipes
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.recipes import GROUP, Recipe, recipe, recipe_names

PLAIN = Hyperparameters(1, 10, 0.1)
THEIRS = Recipe("wide", (999,), Activation.RELU, PLAIN)
MISNAMED = THEIRS
NONE = object()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages with entry points, which name objects of this module."""
    monkeypatch.setitem(__import__("sys").modules, "their_recipes", __import__("types").SimpleNamespace(
        wide=THEIRS, other=MISNAMED, none=NONE, stolen=THEIRS
    ))  # fmt: skip
    named = {"wide": "wide", "other": "other", "none": "none", "mlp-128": "stolen", "gone": "gone"}
    found = [EntryPoint(name, f"their_recipes:{place}", GROUP) for name, place in named.items()]
    twice = [EntryPoint("twice", "their_recipes:wide", GROUP)] * 2
    entries = EntryPoints([*found, *twice, EntryPoint("broken", "no_such_package:recipe", GROUP)])
    monkeypatch.setattr(recipes, "entry_points", entries.select)


def test_ours() -> None:
    assert {"mlp-128", "mlp-256-256", "softmax-regression"} <= set(recipe_names())
    assert recipe("mlp-128").architecture(600, 100) == Architecture(600, (128,), 100)
    assert recipe("softmax-regression").architecture(64, 10).hidden == ()
    assert recipe("mlp-256-256").architecture(13, 2) == Architecture(13, (256, 256), 2, Activation.RELU)
    for name in ("mlp-128", "mlp-256-256", "softmax-regression"):
        assert recipe(name).name == name
        assert recipe(name).defaults.private is None


@pytest.mark.usefixtures("installed")
def test_those_of_packages() -> None:
    assert recipe("wide") is THEIRS
    assert "wide" in recipe_names()


@pytest.mark.usefixtures("installed")
def test_a_package_cannot_replace_ours() -> None:
    assert recipe("mlp-128").hidden == (128,)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mlp-129", "no recipe `mlp-129` is installed; expected `broken` or "),
        ("os:system", "no recipe `os:system` is installed"),
        ("other", "that cannot be used"),
        ("none", "that cannot be used"),
        ("gone", "that cannot be used"),
        ("broken", "that cannot be used"),
        ("twice", "more than one package"),
    ],
)
def test_names_without_a_recipe(name: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        recipe(name)


def test_a_recipe_asks_for_no_privacy() -> None:
    with pytest.raises(ValueError, match="a recipe cannot set privacy: the policy requires it"):
        Recipe("x", (), Activation.TANH, Hyperparameters(1, 1, 1.0, private=PrivateTraining(1.0, 1.0, 0.1)))
