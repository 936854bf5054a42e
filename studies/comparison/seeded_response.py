"""Randomised response from a seed, only for tests and studies of generated data.

Whoever knows the seed knows which bits were changed, so nothing that is made from it is private. It has no
part in what is released: noise of releases comes from `noise.SAMPLER`, and a test looks through the rooms
for any other use.
"""

from typing import NoReturn

import numpy as np

from smalti.errors import InternalError
from smalti.transforms.noise.samplers import Sampler
from smalti.transforms.problem import Flags, Integers


class SeededBits(Sampler):
    """Test only: draws what randomised response takes, the same for equal seeds. Never of a release.

    Probabilities are met up to 2^-53, and not exactly. It refuses to draw any other noise.
    """

    def __init__(self, seed: int | tuple[int, ...]) -> None:
        self._generator = np.random.default_rng(seed)

    def bits(self, number: int, probability: float) -> Flags:
        return self._generator.random(number) < probability

    def uniform(self, number: int, bound: int) -> Integers:
        return self._generator.integers(0, bound, number, np.int64)

    def laplace(self, values: Integers, scale: float) -> Integers:
        _refuse()

    def gaussian(self, values: Integers, scale: float) -> Integers:
        _refuse()

    def choose(self, utilities: Integers, scale: float) -> int:
        _refuse()


def _refuse() -> NoReturn:
    raise InternalError("a seeded sampler draws no noise of releases")
