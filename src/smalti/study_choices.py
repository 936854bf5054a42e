"""What studies may be asked to do: attacks, recipes, kinds of files, and other names."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from smalti.errors import ProblemsError, UsageError
from smalti.json.text import Json
from smalti.transforms.learning.recipes import built_in, recipe_names
from smalti.vocab.attacks import TABLE, Family, Shadows

MODEL_FILES: Final = (".safetensors", ".onnx", ".skops")
"""The endings of model files that can be attacked."""
SAMPLES: Final = ("purchases", "digits")
"""Public data of studies of identifiability."""
_TRIED: Final = {
    Family.RECORDS: "whether single records were trained on",
    Family.REPEATED: "which records, or which set of them, was trained on",
}
_SHADOWS: Final = {
    Shadows.NONE: "", Shadows.AUDITED: "with shadow models", Shadows.POOL: "with shadow models",
}  # fmt: skip


def is_model(name: str) -> bool:
    """Whether a file of this name is one of a model."""
    return PurePath(name).suffix.lower() in MODEL_FILES


def attacks_json() -> list[Json]:
    """The attacks, each with what it tries and whether it trains shadow models."""
    return [
        {
            "name": attack.name,
            "tries": ", ".join(filter(None, (_TRIED[attack.family], _SHADOWS[attack.shadows]))),
            "trainsShadowModels": attack.shadows is not Shadows.NONE,
        }
        for attack in TABLE
        if attack.family.has_scores
    ]


def recipes_json() -> list[Json]:
    """The recipes that are installed; of our own, their network and hyperparameters, too."""
    shown: dict[str, Json] = {name: {"name": name} for name in recipe_names()}
    for recipe in built_in():
        defaults = recipe.defaults
        shown[recipe.name] |= {
            "hidden": list(recipe.hidden),
            "activation": str(recipe.activation),
            "optimizer": str(defaults.optimizer),
            "learningRate": defaults.learning_rate,
            "batchSize": defaults.batch_size,
            "epochs": defaults.epochs,
        }
    return list(shown.values())


# They load libraries of numbers.
def _generative_attacks() -> tuple[str, ...]:
    from smalti.transforms.generative.attack_names import GenerativeAttack  # noqa: PLC0415

    return tuple(map(str, GenerativeAttack))


def _distances() -> tuple[str, ...]:
    from smalti.transforms.generative.distances import DistanceName  # noqa: PLC0415

    return tuple(map(str, DistanceName))


def _dissimilarities() -> tuple[str, ...]:
    from smalti.studies.identifiability.settings import DISSIMILARITIES  # noqa: PLC0415

    return DISSIMILARITIES


_NAMES: Final[dict[str, Callable[[], tuple[str, ...]]]] = {
    "generative-attack": _generative_attacks,
    "distance": _distances,
    "dissimilarity": _dissimilarities,
    "sample": lambda: SAMPLES,
    "attack": lambda: tuple(attack.name for attack in TABLE if attack.family.has_scores),
    "recipe": recipe_names,
}


def names_of(thing: str) -> tuple[str, ...]:
    """The names of something that studies choose from; of anything else none.

    Args:
        thing: `attack` and `recipe` (of a model file), `generative-attack`, `distance`, `dissimilarity` or
            `sample`.
    """
    return _NAMES[thing]() if thing in _NAMES else ()


def check_named(where: str, thing: str, names: tuple[str | None, ...]) -> None:
    """Refuse names that nothing has, before they are queued; None is no name.

    Raises:
        UsageError: likewise.
    """
    if unknown := {*names} - {None, *names_of(thing)}:
        count = "one is" if len(unknown) == 1 else f"{len(unknown)} are"
        raise UsageError(where, f"{count} not known", f"some of {', '.join(names_of(thing))}")


def check_study(model: str, attacks: tuple[str, ...], recipe: str | None) -> None:
    """Refuse what no study can do, before it is queued.

    Args:
        model: the name of its file.
        attacks: their names.
        recipe: its name, where one is stated.

    Raises:
        ProblemsError: all that is wrong.
    """
    known_attacks = names_of("attack")
    problems = []
    if not is_model(model):
        problems.append(UsageError("model", "it is no model", f"a file of {', '.join(MODEL_FILES)}"))
    if set(attacks) - set(known_attacks):
        problems.append(UsageError("attacks", "one is not known", f"some of {', '.join(known_attacks)}"))
    if recipe is not None and recipe not in recipe_names():
        problems.append(UsageError("recipe", "it is not installed", f"one of {', '.join(recipe_names())}"))
    if problems:
        raise ProblemsError(tuple(problems))
