"""The private training of `training_job.py` by other libraries, inside an environment of their own.

    python training_peer.py opacus DATA
    python training_peer.py jax-privacy DATA

It prints the same CPU seconds. Both draw noise of 32 bits. Opacus samples batches at random and takes ghost
norms. jax-privacy clips the gradients of any function, one record after the other; it is given batches of
one size, of a random order, which saves it the padding of batches that are sampled.
"""

# ruff: noqa: PLC0415 (each library is in an environment of its own)

import json
import sys
import time
from itertools import pairwise

import numpy as np

HIDDEN = 128
BATCH = 100
LEARNING_RATE = 1e-3
EPOCHS = 10


def with_opacus(features, labels):
    import warnings

    import torch
    from opacus import PrivacyEngine

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    records = torch.utils.data.TensorDataset(torch.from_numpy(features), torch.from_numpy(labels))

    def train(epochs):
        network = torch.nn.Sequential(
            torch.nn.Linear(features.shape[1], HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, int(labels.max()) + 1),
        )
        network, optimizer, criterion, loader = PrivacyEngine().make_private(
            module=network,
            optimizer=torch.optim.SGD(network.parameters(), LEARNING_RATE),
            criterion=torch.nn.CrossEntropyLoss(),
            data_loader=torch.utils.data.DataLoader(records, batch_size=BATCH),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            grad_sample_mode="ghost",
        )
        for _ in range(epochs):
            for batch, wanted in loader:
                optimizer.zero_grad()
                criterion(network(batch), wanted).backward()
                optimizer.step()

    return train


def with_jax_privacy(features, labels):
    import jax
    import jax.numpy as jnp
    from jax_privacy.clipping import clipped_grad

    sizes = features.shape[1], HIDDEN, int(labels.max()) + 1
    features, labels = jnp.asarray(features), jnp.asarray(labels)

    def loss(parameters, batch, wanted):
        (first, second), (bias, last) = parameters
        logits = jax.nn.relu(batch @ first + bias) @ second + last
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[:, None], 1).mean()

    clipped = clipped_grad(loss, l2_clip_norm=1.0, batch_argnums=(1, 2))

    def step(state, places):
        parameters, key = state
        key, noise_key = jax.random.split(key)
        total = clipped(parameters, features[places], labels[places])
        leaves, form = jax.tree.flatten(total)
        keys = jax.random.split(noise_key, len(leaves))
        noisy = [leaf + jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
        gradient = jax.tree.unflatten(form, noisy)
        return (
            jax.tree.map(lambda old, new: old - LEARNING_RATE * new / BATCH, parameters, gradient),
            key,
        ), None

    @jax.jit
    def epoch(parameters, key):
        order = jax.random.permutation(key, len(labels)).reshape(-1, BATCH)
        return jax.lax.scan(step, (parameters, key), order)[0][0]

    def train(epochs):
        draw = np.random.default_rng()
        weights = [jnp.asarray(draw.normal(0, 0.05, pair), jnp.float32) for pair in pairwise(sizes)]
        parameters = tuple(weights), tuple(jnp.zeros(size, jnp.float32) for size in sizes[1:])
        for _ in range(epochs):
            parameters = epoch(parameters, jax.random.key(int(draw.integers(1 << 31))))
        jax.block_until_ready(parameters)

    return train


def main():
    tool, data = sys.argv[1:]
    clock = [time.process_time()]
    with np.load(data) as records:
        features, labels = records["features"].astype(np.float32), records["labels"]
    train = {"opacus": with_opacus, "jax-privacy": with_jax_privacy}[tool](features, labels)
    for epochs in (0, 1, EPOCHS):
        if epochs:
            train(epochs)
        clock.append(time.process_time())
    begun, start, first, later = clock
    epoch = (later - first) / EPOCHS
    print(json.dumps({"start": start - begun, "first epoch": first - start, "epoch": epoch}))


if __name__ == "__main__":
    main()
