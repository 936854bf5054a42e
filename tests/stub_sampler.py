"""A repeatable stand-in for the source of noise, for tests of what is made from its draws."""

import random

import numpy as np

from smalti.transforms.noise.samplers import Sampler
from smalti.transforms.problem import Flags, Integers


class StubSampler(Sampler):
    """Draws from a seeded generator, roughly as the distributions ask for."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def laplace(self, values: Integers, scale: float) -> Integers:
        signs = self.uniform(len(values), 2) * 2 - 1
        return values + signs * [int(self._random.expovariate(1 / scale)) for _ in values]

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return values + np.array([round(self._random.gauss(0, scale)) for _ in values], np.int64)

    def choose(self, utilities: Integers, scale: float) -> int:
        weights = np.exp((utilities - utilities.max()) / scale).tolist()
        return self._random.choices(range(len(weights)), weights)[0]

    def bits(self, number: int, probability: float) -> Flags:
        return np.array([self._random.random() < probability for _ in range(number)], np.bool_)

    def uniform(self, number: int, bound: int) -> Integers:
        return np.array([self._random.randrange(bound) for _ in range(number)], np.int64)
