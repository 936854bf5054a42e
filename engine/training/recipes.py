"""The network of a plan, as the back end of training takes it."""

from decimal import Decimal
from typing import Protocol

from smalti.engine.training.plan import Network, PrivateSteps, TrainingPlan
from smalti.errors import InternalError
from smalti.transforms.learning.architecture import Activation, Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters, Optimizer, PrivateTraining
from smalti.transforms.learning.recipes import Recipe


def architecture_of(plan: TrainingPlan) -> Architecture:
    """The network of a plan.

    Raises:
        ValueError: it would have too many parameters.
    """
    network = plan.train.network
    return Architecture(
        plan.train.width, network.hidden, plan.train.classes, Activation(network.activation)
    )


class Trainable(Protocol):
    """A network of a plan, as far as it is about its training."""

    @property
    def optimizer(self) -> str: ...
    @property
    def learning_rate(self) -> Decimal: ...
    @property
    def batch_size(self) -> int: ...


def hyperparameters_of(plan: TrainingPlan) -> Hyperparameters:
    """How the network of a plan is trained; with the noise that the plan states."""
    return training_of(plan.train.network, plan.train.epochs, plan.train.private)


def training_of(network: Trainable, epochs: int, private: PrivateSteps | None) -> Hyperparameters:
    """How a network is trained, with the noise that its plan states."""
    private_training = None
    if private is not None:
        private_training = PrivateTraining(
            float(private.noise_multiplier), float(private.clipping_norm), float(private.sampling_rate)
        )
    hyperparameters = Hyperparameters(
        epochs,
        network.batch_size,
        float(network.learning_rate),
        Optimizer(network.optimizer),
        private_training,
    )
    # INVARIANT: as many steps are made as were accounted for.
    if private is not None and hyperparameters.private_steps != private.steps:
        raise InternalError("a training would take other steps than it is charged for")
    return hyperparameters


def network_of(recipe: Recipe) -> Network:
    """What a recipe stands for."""
    defaults = recipe.defaults
    return Network(
        recipe.hidden,
        str(recipe.activation),
        str(defaults.optimizer),
        Decimal(str(defaults.learning_rate)),
        defaults.batch_size,
    )
