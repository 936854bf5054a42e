"""The documented name of `smalti.transforms.noise.randomized_response`; nothing is defined here."""

from smalti.transforms.noise.randomized_response import (
    LARGEST_EPSILON,
    LEAST_EPSILON,
    MISSING_CATEGORY,
    RandomizedResponse,
    Response,
    TwoCoins,
)

__all__ = [
    "LARGEST_EPSILON",
    "LEAST_EPSILON",
    "MISSING_CATEGORY",
    "RandomizedResponse",
    "Response",
    "TwoCoins",
]
