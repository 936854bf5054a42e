"""Settings, numbers and intervals of a comparison, in few words."""

from smalti.studies.comparison.settings import Central, Local, Original, Setting
from smalti.studies.comparison.verdicts import Interval, Region


def name(setting: Setting) -> str:
    """A setting, in few words."""
    match setting:
        case Original():
            return "original"
        case Central(noise_multiplier=z):
            return f"central, z {z:g}"
        case Local(epsilon=epsilon):
            return f"local, epsilon {epsilon:g} per bit"


def measured(value: float | None, interval: Interval | None) -> str:
    """A value with its interval."""
    shown = "-" if value is None else short(value)
    return shown if interval is None else f"{shown} ({between(interval)})"


def between(interval: Interval) -> str:
    """An interval."""
    return f"{short(interval.low)} to {short(interval.high)}"


def claimed(region: Region) -> str:
    """Where a claim has a quantity."""
    if region.is_outside:
        return f"below {region.low:g} or above {region.high:g}"
    if region.high == float("inf"):
        return f"above {region.low:g}"
    if region.low == -float("inf"):
        return f"below {region.high:g}"
    return f"{region.low:g} to {region.high:g}"


def short(value: float) -> str:
    """A number with three decimals, or with fewer where it is large; `inf` for one without end."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
