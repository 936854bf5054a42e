"""The named recipe of a plan, as the back end of training takes it."""

from dataclasses import replace

from smalti.engine.audits.plan import TrainingPlan
from smalti.errors import InternalError
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, PrivateTraining
from smalti.transforms.learning.recipes import recipe


def architecture_of(plan: TrainingPlan) -> Architecture:
    """The network of a plan.

    Raises:
        PlanError: its recipe is not installed here.
        ValueError: it would have too many parameters.
    """
    return recipe(plan.train.recipe).architecture(plan.train.width, plan.train.classes)


def hyperparameters_of(plan: TrainingPlan) -> Hyperparameters:
    """How it is trained; with the noise that the plan states.

    Raises:
        PlanError: its recipe is not installed here.
    """
    private = plan.train.private
    asked = None
    if private is not None:
        asked = PrivateTraining(
            float(private.noise_multiplier), float(private.clipping_norm), float(private.sampling_rate)
        )
    found = replace(recipe(plan.train.recipe).defaults, epochs=plan.train.epochs, private=asked)
    # INVARIANT: as many steps are made as were accounted for.
    if private is not None and found.private_steps != private.steps:
        raise InternalError("a training would take other steps than it is charged for")
    return found
