"""Clipped sums of gradients against Opacus, by stored gradients and by ghost norms, and jax-privacy.

In doubles, so that all of them differ by rounding alone. Opacus scales a gradient of norm n by
C / (n + 10^-6), at most 1, and not by C / n: where it scales at all, its part of the sum differs from ours
by C 10^-6 / (n + 10^-6) at most, and nowhere else.
"""

import jax
import jax.numpy as jnp
import jax_privacy
import numpy as np
import pytest
import torch
from jax.flatten_util import ravel_pytree
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

from smalti.transforms.auditing.network_gradients import LabelledRecords, NetworkGradients
from smalti.transforms.learning import convolutions
from smalti.transforms.learning.architecture import (
    Activation,
    Architecture,
    ConvolutionalArchitecture,
)
from smalti.transforms.learning.gradients import clipped_gradient_sum, cross_entropy, gradient_norms
from smalti.transforms.learning.networks import Layer, Parameters

ADDED_BY_OPACUS = 1e-6
RECORDS = 40
ARCHITECTURES = [
    Architecture(5, (), 3),
    Architecture(5, (4,), 3, Activation.TANH),
    Architecture(7, (6, 5), 4, Activation.RELU),
    Architecture(60, (16, 8, 8), 10, Activation.TANH),
]
Records = tuple[np.ndarray, np.ndarray]


def named(architecture: Architecture) -> str:
    return "-".join(map(str, (architecture.features, *architecture.hidden, architecture.classes)))


def drawn(architecture: Architecture, seed: int) -> tuple[Parameters, Records]:
    """Parameters and records of doubles, of gradients from small to large."""
    draw = np.random.default_rng(seed)
    parameters = tuple(
        Layer(draw.normal(size=shape) / np.sqrt(shape[0]), draw.normal(size=shape[1]))
        for shape in architecture.shapes
    )
    size = 10 ** draw.uniform(-1, 1, (RECORDS, 1))
    features = draw.normal(size=(RECORDS, architecture.features)) * size
    return parameters, (features, draw.integers(0, architecture.classes, RECORDS))


def network(architecture: Architecture, parameters: Parameters) -> nn.Sequential:
    """The same network in PyTorch, whose weights have the shape (units after, units before)."""
    activation = nn.Tanh if architecture.activation is Activation.TANH else nn.ReLU
    parts: list[nn.Module] = []
    for layer in parameters:
        linear = nn.Linear(*np.shape(layer.weights), dtype=torch.float64)
        linear.weight.data = torch.tensor(np.asarray(layer.weights)).T.contiguous()
        linear.bias.data = torch.tensor(np.asarray(layer.biases))
        parts += [linear, activation()]
    return nn.Sequential(*parts[:-1])


def flat(gradients: list[torch.Tensor]) -> np.ndarray:
    """Gradients of PyTorch's parameters in the order of ours, with any axis of records in front."""
    arrays = [gradient.detach().numpy() for gradient in gradients]
    ordered = [
        np.moveaxis(array, -1, -2) if place % 2 == 0 else array for place, array in enumerate(arrays)
    ]
    lead = ordered[1].shape[:-1]
    return np.concatenate([array.reshape(*lead, -1) for array in ordered], axis=-1)


def by_stored_gradients(
    architecture: Architecture, parameters: Parameters, records: Records, clipping_norm: float
) -> tuple[np.ndarray, np.ndarray]:
    """What Opacus' hooks store for each record, and the sum that its optimizer clips."""
    module = GradSampleModule(network(architecture, parameters), loss_reduction="sum")
    optimizer = DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=clipping_norm,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    features, labels = map(torch.tensor, records)
    nn.CrossEntropyLoss(reduction="sum")(module(features), labels).backward()
    stored = flat([parameter.grad_sample for parameter in module.parameters()])
    optimizer.clip_and_accumulate()
    return stored, flat([parameter.summed_grad for parameter in module.parameters()])


def by_ghost_norms(
    architecture: Architecture, parameters: Parameters, records: Records, clipping_norm: float
) -> tuple[np.ndarray, np.ndarray]:
    """Opacus' ghost norms, and the sum of its second pass."""
    module = GradSampleModuleFastGradientClipping(
        network(architecture, parameters), loss_reduction="sum", max_grad_norm=clipping_norm
    )
    optimizer = DPOptimizerFastGradientClipping(
        torch.optim.SGD(module.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=clipping_norm,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    loss = DPLossFastGradientClipping(module, optimizer, nn.CrossEntropyLoss(reduction="sum"), "sum")
    features, labels = map(torch.tensor, records)
    loss(module(features), labels).backward()
    norms = module.per_sample_gradient_norms.detach().numpy()
    return norms, flat([parameter.grad for parameter in module.parameters()])


def ours(
    architecture: Architecture, parameters: Parameters, records: Records, clipping_norm: float
) -> tuple[np.ndarray, np.ndarray]:
    features, labels = records
    norms = gradient_norms(architecture, parameters, features, labels)
    batch = features, labels, np.ones(len(labels))
    summed = clipped_gradient_sum(architecture, parameters, batch, clipping_norm)
    return np.asarray(norms), np.asarray(ravel_pytree(summed)[0])


def allowed(norms: np.ndarray, clipping_norm: float) -> float:
    """How far Opacus' sum may be from ours: see above; with 10^-12 of the greatest sum for rounding."""
    scaled = norms + ADDED_BY_OPACUS > clipping_norm
    apart = clipping_norm * ADDED_BY_OPACUS / (norms[scaled] + ADDED_BY_OPACUS)
    return float(apart.sum()) + 1e-12 * len(norms) * min(clipping_norm, norms.max())


def assert_alike(
    architecture: Architecture, parameters: Parameters, records: Records, clipping_norm: float
) -> None:
    """Ours and both of Opacus', for every record and for the sum."""
    norms, summed = ours(architecture, parameters, records, clipping_norm)
    stored, by_hooks = by_stored_gradients(architecture, parameters, records, clipping_norm)
    ghosts, by_ghosts = by_ghost_norms(architecture, parameters, records, clipping_norm)
    np.testing.assert_allclose(norms, np.linalg.norm(stored, axis=1), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(norms, ghosts, rtol=1e-12, atol=1e-300)
    within = allowed(norms, clipping_norm)
    assert np.linalg.norm(summed - by_hooks) <= within
    assert np.linalg.norm(summed - by_ghosts) <= within
    # Without what Opacus adds, nothing but rounding is left.
    weights = np.minimum(1, clipping_norm / np.maximum(norms, clipping_norm))
    exact = weights @ stored
    assert np.linalg.norm(summed - exact) <= 1e-12 * len(norms) * min(clipping_norm, norms.max())


@pytest.mark.parametrize("clipping_norm", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=named)
def test_clipped_sums_are_those_of_opacus(
    architecture: Architecture, seed: int, clipping_norm: float
) -> None:
    assert_alike(architecture, *drawn(architecture, seed), clipping_norm)


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=named)
def test_a_clipping_norm_that_is_one_records_own(architecture: Architecture) -> None:
    parameters, records = drawn(architecture, 7)
    norms, _ = ours(architecture, parameters, records, 1.0)
    assert_alike(architecture, parameters, records, float(np.median(norms)))
    assert_alike(architecture, parameters, records, float(norms[3]))


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=named)
def test_records_without_a_gradient_add_nothing(architecture: Architecture) -> None:
    """Their label has all confidence: its logit is greater by more than a double's exponent can tell."""
    parameters, (features, labels) = drawn(architecture, 11)
    last = parameters[-1]
    sure = np.array([1e5] + [0.0] * (architecture.classes - 1))
    parameters = (*parameters[:-1], Layer(last.weights, last.biases + sure))
    labels = np.where(np.arange(RECORDS) < RECORDS // 2, 0, labels)
    norms, _ = ours(architecture, parameters, (features, labels), 1.0)
    assert (norms[: RECORDS // 2] == 0).all()
    assert norms.any()
    assert_alike(architecture, parameters, (features, labels), 1.0)


def test_the_architecture_of_the_paper_in_single_precision() -> None:
    """600-128-100, as it is trained. Relative to the clipping norm, sums of 40 records agree to 10^-4."""
    architecture = Architecture(600, (128,), 100)
    parameters, (features, labels) = drawn(architecture, 3)
    _, by_hooks = by_stored_gradients(architecture, parameters, (features, labels), 1.0)
    flat_parameters = np.asarray(ravel_pytree(parameters)[0])
    gradients = NetworkGradients(architecture, 1.0)
    found = gradients(flat_parameters[None], LabelledRecords(features.astype(np.float32), labels))
    assert np.linalg.norm(found[0] - by_hooks) <= 1e-4


@pytest.mark.parametrize("clipping_norm", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=named)
def test_clipped_sums_are_those_of_jax_privacy(architecture: Architecture, clipping_norm: float) -> None:
    """It clips whole gradients that JAX takes of each record, and adds nothing to their norms."""
    parameters, (features, labels) = drawn(architecture, 13)

    def loss(parameters: Parameters, features: jax.Array, labels: jax.Array) -> jax.Array:
        return cross_entropy(architecture, parameters, features, labels).sum()

    clipped = jax_privacy.clipped_grad(
        loss, l2_clip_norm=clipping_norm, batch_argnums=(1, 2), keep_batch_dim=True
    )
    found = clipped(parameters, jnp.asarray(features), jnp.asarray(labels))
    norms, summed = ours(architecture, parameters, (features, labels), clipping_norm)
    apart = np.linalg.norm(np.asarray(ravel_pytree(found)[0]) - summed)
    assert apart <= 1e-12 * len(norms) * min(clipping_norm, norms.max())


# --- Convolutions

IMAGES = [
    ConvolutionalArchitecture(28, 28, 10),
    ConvolutionalArchitecture(11, 9, 4, (3, 2), 2, 1),
    ConvolutionalArchitecture(9, 12, 3, (5,), 4, 3),
]


def image_parts(architecture: ConvolutionalArchitecture) -> tuple[Parameters, Records]:
    draw = np.random.default_rng(17)
    parameters = tuple(
        Layer(draw.normal(size=shape) / np.sqrt(np.prod(shape[:-1])), draw.normal(size=shape[-1]))
        for shape in architecture.shapes
    )
    features = draw.normal(size=(RECORDS, architecture.features)) * 10 ** draw.uniform(-1, 1, (RECORDS, 1))
    return parameters, (features, draw.integers(0, architecture.classes, RECORDS))


def image_network(architecture: ConvolutionalArchitecture, parameters: Parameters) -> nn.Sequential:
    """The same network in PyTorch: channels come first there, also in what the softmax is given."""
    parts: list[nn.Module] = [nn.Unflatten(1, (1, architecture.height, architecture.width))]
    for layer in parameters[:-1]:
        weights = np.transpose(np.asarray(layer.weights), (3, 2, 0, 1))
        convolution = nn.Conv2d(*weights.shape[1::-1], architecture.kernel, dtype=torch.float64)
        convolution.weight.data = torch.tensor(weights.copy())
        convolution.bias.data = torch.tensor(np.asarray(layer.biases))
        parts += [convolution, nn.ReLU(), nn.MaxPool2d(architecture.pool)]
    last = np.asarray(parameters[-1].weights).reshape(*architecture.images[-1], -1)
    linear = nn.Linear(*parameters[-1].weights.shape, dtype=torch.float64)
    linear.weight.data = torch.tensor(np.transpose(last, (3, 2, 0, 1)).reshape(architecture.classes, -1))
    linear.bias.data = torch.tensor(np.asarray(parameters[-1].biases))
    return nn.Sequential(*parts, nn.Flatten(), linear)


def in_our_order(architecture: ConvolutionalArchitecture, gradients: list[torch.Tensor]) -> np.ndarray:
    """Gradients of single records, flat, in the order of ours."""
    flat_parts, count = [], len(gradients[0])
    for place, gradient in enumerate(gradients):
        array = gradient.detach().numpy()
        if place == len(gradients) - 2:
            height, width, channels = architecture.images[-1]
            array = array.reshape(count, architecture.classes, channels, height, width)
        array = np.transpose(array, (0, 3, 4, 2, 1)) if array.ndim == 5 else array
        flat_parts.append(array.reshape(count, -1))
    return np.concatenate(flat_parts, axis=1)


def clipped_images(
    architecture: ConvolutionalArchitecture, parameters: Parameters, records: Records, clipping_norm: float
) -> np.ndarray:
    batch = *records, np.ones(len(records[1]))
    summed = convolutions.clipped_gradient_sum(architecture, parameters, batch, clipping_norm)
    return np.asarray(ravel_pytree(summed)[0])


@pytest.mark.parametrize("architecture", IMAGES)
def test_gradients_through_convolutions_are_those_of_opacus(
    architecture: ConvolutionalArchitecture,
) -> None:
    parameters, records = image_parts(architecture)
    module = GradSampleModule(image_network(architecture, parameters), loss_reduction="sum")
    features, labels = map(torch.tensor, records)
    nn.CrossEntropyLoss(reduction="sum")(module(features), labels).backward()
    stored = in_our_order(architecture, [parameter.grad_sample for parameter in module.parameters()])
    norms = np.linalg.norm(stored, axis=1)
    for clipping_norm in (float(np.median(norms)), 1e6):
        weights = np.minimum(1, clipping_norm / np.maximum(norms, clipping_norm))
        apart = np.linalg.norm(
            clipped_images(architecture, parameters, records, clipping_norm) - weights @ stored
        )
        assert apart <= 1e-12 * RECORDS * min(clipping_norm, norms.max())


@pytest.mark.parametrize("clipping_norm", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("architecture", IMAGES)
def test_clipped_sums_through_convolutions_are_those_of_jax_privacy(
    architecture: ConvolutionalArchitecture, clipping_norm: float
) -> None:
    parameters, (features, labels) = image_parts(architecture)

    def loss(parameters: Parameters, features: jax.Array, labels: jax.Array) -> jax.Array:
        return convolutions.cross_entropy(architecture, parameters, features, labels).sum()

    clipped = jax_privacy.clipped_grad(
        loss, l2_clip_norm=clipping_norm, batch_argnums=(1, 2), keep_batch_dim=True
    )
    by_them = clipped(parameters, jnp.asarray(features), jnp.asarray(labels))
    summed = clipped_images(architecture, parameters, (features, labels), clipping_norm)
    # Ours keeps a few units of rounding below C for each record, as for dense networks.
    apart = np.linalg.norm(np.asarray(ravel_pytree(by_them)[0]) - summed)
    assert apart <= 1e-12 * RECORDS * max(clipping_norm, 1)
