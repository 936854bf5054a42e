"""Generative models that can be trained by name: `s:recipe` of a policy for synthetic records."""

from dataclasses import dataclass
from typing import Final

from smalti.errors import PlanError
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer


@dataclass(frozen=True, slots=True)
class GenerativeRecipe:
    """A family of variational autoencoders, one for each set of columns, and how they are trained."""

    name: str
    """Lower case, words joined by hyphens."""
    hidden: int
    latent: int
    divergence_weight: float
    """As in `tabular_vae.TabularArchitecture`."""
    defaults: Hyperparameters
    """Where a policy says nothing else; without privacy, which only a policy can ask for."""


_VAE_64: Final = GenerativeRecipe("vae-64", 64, 8, 1.0, Hyperparameters(100, 64, 2e-3, Optimizer.ADAM))
_VAE_256: Final = GenerativeRecipe("vae-256", 256, 8, 0.2, Hyperparameters(300, 64, 5e-3, Optimizer.ADAM))
"""Large enough to memorise small tables, so that the attack has something to find."""
_OURS: Final = {recipe.name: recipe for recipe in (_VAE_64, _VAE_256)}


def generative_recipes() -> tuple[GenerativeRecipe, ...]:
    """All of them, in the order of their names."""
    return tuple(_OURS[name] for name in sorted(_OURS))


def generative_recipe(name: str) -> GenerativeRecipe:
    """The recipe of a name.

    Raises:
        PlanError: there is none of this name that gives records.
    """
    if name in _OURS:
        return _OURS[name]
    raise PlanError(
        "recipe",
        f"no recipe `{name}` gives synthetic records",
        " or ".join(f"`{available}`" for available in sorted(_OURS)),
        "name one of these",
    )
