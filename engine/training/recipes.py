"""The network of a plan, as the back end of training takes it."""

from decimal import Decimal

from smalti.engine.training.plan import Network, TrainingPlan
from smalti.errors import InternalError
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.recipes import Recipe


def architecture_of(plan: TrainingPlan) -> Architecture:
    """The network of a plan.

    Raises:
        ValueError: it would have too many parameters.
    """
    said = plan.train.network
    return Architecture(plan.train.width, said.hidden, plan.train.classes, Activation(said.activation))


def hyperparameters_of(plan: TrainingPlan) -> Hyperparameters:
    """How it is trained; with the noise that the plan states."""
    private = plan.train.private
    asked = None
    if private is not None:
        asked = PrivateTraining(
            float(private.noise_multiplier), float(private.clipping_norm), float(private.sampling_rate)
        )
    said = plan.train.network
    hyperparameters = Hyperparameters(
        plan.train.epochs, said.batch_size, float(said.learning_rate), Optimizer(said.optimizer), asked
    )
    # INVARIANT: as many steps are made as were accounted for.
    if private is not None and hyperparameters.private_steps != private.steps:
        raise InternalError("a training would take other steps than it is charged for")
    return hyperparameters


def network_of(recipe: Recipe) -> Network:
    """What a recipe stands for."""
    said = recipe.defaults
    return Network(
        recipe.hidden,
        str(recipe.activation),
        str(said.optimizer),
        Decimal(str(said.learning_rate)),
        said.batch_size,
    )
