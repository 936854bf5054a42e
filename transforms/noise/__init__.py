"""Mechanisms that draw noise, each with its privacy loss; the samplers are exported here, too."""

from smalti.transforms.noise.samplers import (
    LARGEST_SCALE,
    LARGEST_VALUE,
    SAMPLER,
    Estimate,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    Noise,
    OpenDPSampler,
    Sampler,
    check_available,
    measure,
)

__all__ = [
    "LARGEST_SCALE",
    "LARGEST_VALUE",
    "SAMPLER",
    "Estimate",
    "ExponentialChoice",
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "OpenDPSampler",
    "Sampler",
    "check_available",
    "measure",
]
