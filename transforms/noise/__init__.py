"""Mechanisms that draw noise, each with what it loses; the samplers themselves are also named here."""

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
