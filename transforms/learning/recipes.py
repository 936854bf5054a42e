"""Models that can be trained by name: `s:recipe` of a policy selects one.

Recipes are ours, or come from installed packages by entry points of the group `smalti.recipes`. Only the
package whose recipe is asked for is imported: whoever installed it chose to run its code.
"""

from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from smalti.errors import PlanError
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer

GROUP: Final = "smalti.recipes"
"""Of entry points; each names a `Recipe`, and has its name."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A family of networks, one for each number of features and classes, and how they are trained."""

    name: str
    """Lower case, words joined by hyphens."""
    hidden: tuple[int, ...]
    """Units of each hidden layer."""
    activation: Activation
    defaults: Hyperparameters
    """Where a policy says nothing else; they must not ask for privacy, which only a policy can."""

    def __post_init__(self) -> None:
        if self.defaults.private is not None:
            raise ValueError("a recipe cannot set privacy: the policy requires it")

    def architecture(self, features: int, classes: int) -> Architecture:
        """The network for data of this form."""
        return Architecture(features, self.hidden, classes, self.activation)


_MLP_128: Final = Recipe("mlp-128", (128,), Activation.TANH, Hyperparameters(10, 100, 1e-3, Optimizer.ADAM))
"""Learning rate and batch size of D5.2, 4.3."""
_SOFTMAX_REGRESSION: Final = Recipe(
    "softmax-regression", (), Activation.TANH, Hyperparameters(10, 100, 1e-2, Optimizer.ADAM)
)
_MLP_256_256: Final = Recipe(
    "mlp-256-256", (256, 256), Activation.RELU, Hyperparameters(30, 32, 1e-3, Optimizer.ADAM)
)
"""Large enough to memorise small tables, so that attacks have something to find."""
_OURS: Final = {recipe.name: recipe for recipe in (_MLP_128, _SOFTMAX_REGRESSION, _MLP_256_256)}


def built_in() -> tuple[Recipe, ...]:
    """Our own recipes, in the order of their names."""
    return tuple(_OURS[name] for name in sorted(_OURS))


def recipe_names() -> tuple[str, ...]:
    """All names that `recipe` knows here, in order; imports no package."""
    return tuple(sorted({*_OURS, *entry_points(group=GROUP).names}))


def recipe(name: str) -> Recipe:
    """The recipe of a name; ours come first.

    Raises:
        PlanError: there is none of this name, or the package that names it has none.
    """
    if name in _OURS:
        return _OURS[name]
    entries = entry_points(group=GROUP, name=name)
    if not entries:
        raise PlanError(
            "recipe",
            f"no recipe `{name}` is installed",
            " or ".join(f"`{available}`" for available in recipe_names()),
            "name one of these, or install the package that provides it",
        )
    packages = {entry.dist.name if entry.dist else "?" for entry in entries}
    if len(entries) > 1:
        raise PlanError(
            "recipe",
            f"more than one package has a recipe `{name}`: {', '.join(sorted(packages))}",
            "one package for each name",
            "uninstall the others",
        )
    return _loaded(next(iter(entries)), packages.pop())


def _loaded(entry: EntryPoint, package: str) -> Recipe:
    loaded: object = None
    # Code of others may fail in any way, and its messages are not ours to vouch for.
    with suppress(Exception):
        loaded = entry.load()
    if not isinstance(loaded, Recipe) or loaded.name != entry.name:
        raise PlanError(
            "recipe",
            f"the package {package} names a recipe `{entry.name}` that cannot be used",
            f"a `Recipe` of this name at its entry point of the group {GROUP}",
            "report it to its authors, or name another recipe",
        )
    return loaded
