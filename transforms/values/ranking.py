"""Numbers in order, and their places between the least and the greatest; exact for any size."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from smalti.transforms.problem import SCALE, Flags, Integers


@dataclass(frozen=True, slots=True)
class WideNumbers:
    """Numbers that do not fit 64 bits; they are looked at only where their nearest doubles do not tell."""

    nearest: NDArray[np.float64]
    """The double next to each, infinite where none is."""
    exact: Callable[[Integers], list[int]]
    """Those with the given indexes, as multiples of one unit, which may be another in each call."""


Numbers = Integers | WideNumbers


@dataclass(frozen=True, slots=True)
class Ranking:
    """Numbers in ascending order; equal ones stand together."""

    order: Integers
    """Their indexes."""
    starts: Flags
    """In this order: whether a number is greater than the one before it."""

    @property
    def codes(self) -> Integers:
        """By index: 1 for the least number, and so on; equal numbers share one."""
        codes = np.empty(len(self.order), np.int64)
        codes[self.order] = np.cumsum(self.starts)
        return codes

    @property
    def firsts(self) -> Integers:
        """By code, from 1: the index of one such number."""
        return self.order[self.starts]


def rank(numbers: Numbers) -> Ranking:
    """Put numbers in order."""
    if isinstance(numbers, WideNumbers):
        return _rank_wide(numbers)
    order = np.argsort(numbers)
    return Ranking(order, rises(numbers[order]))


def rises(ascending: NDArray[np.int64] | NDArray[np.float64]) -> Flags:
    """Whether each number is greater than the one before it; the first is."""
    return np.concatenate((np.ones(min(len(ascending), 1), np.bool_), ascending[1:] != ascending[:-1]))


def _rank_wide(numbers: WideNumbers) -> Ranking:
    order = np.argsort(numbers.nearest)
    starts = rises(numbers.nearest[order])
    # Equal numbers have the same nearest double, and a greater number has no lesser one.
    tied = ~starts
    tied[:-1] |= ~starts[1:]
    places = np.flatnonzero(tied)
    if len(places):
        members = order[places]
        exact = numbers.exact(members)
        ranked = sorted(range(len(members)), key=exact.__getitem__)
        order[places] = members[ranked]
        starts[places] = [True] + [exact[a] != exact[b] for a, b in pairwise(ranked)]
    return Ranking(order, starts)


def positions(numbers: Numbers, firsts: Integers) -> Integers:
    """The place of each distinct number: 0 for the least, SCALE for the greatest, rounded down.

    Args:
        numbers: as they were ranked.
        firsts: `Ranking.firsts`.
    """
    if isinstance(numbers, WideNumbers):
        return _wide_positions(numbers, firsts)
    if len(firsts) == 0 or numbers[firsts[0]] == numbers[firsts[-1]]:
        return np.zeros(len(firsts), np.int64)
    # INVARIANT: numbers are within 62 bits, so that distances are within 63.
    distances = (numbers[firsts] - numbers[firsts[0]]).astype(np.uint64)
    return _shares(distances)


def _shares(distances: NDArray[np.uint64]) -> Integers:
    """Of the last distance, times SCALE and rounded down: long division, as many bits at once as fit."""
    width = distances[-1]
    free = 64 - int(width).bit_length()
    bits = SCALE.bit_length() - 1
    quotients, rest = distances // width, distances % width
    while bits:
        step = min(free, bits)
        rest <<= np.uint64(step)
        quotients = (quotients << np.uint64(step)) + rest // width
        rest %= width
        bits -= step
    shares: Integers = quotients.astype(np.int64)
    return shares


def _wide_positions(numbers: WideNumbers, firsts: Integers) -> Integers:
    """By doubles, and exactly where these leave it open on which side of a whole number a place is."""
    nearest = numbers.nearest[firsts]
    with np.errstate(all="ignore"):
        width = nearest[-1] - nearest[0]
        # A double is wrong by 2 ** -53 of itself, a place by less than 2 ** -49 of this ratio.
        error = SCALE * 2.0**-48 * (np.max(np.abs(nearest)) / width)
        places = (nearest - nearest[0]) / width * SCALE
        low, high = np.floor(places - error), np.floor(places + error)
        is_open = low != high
    if not 1e-290 < width < 1e300:  # doubles are coarser near 0, and end
        is_open[:] = True
    shares = np.where(is_open, 0, low).astype(np.int64)
    unsure = np.flatnonzero(is_open)
    least, greatest, *some = numbers.exact(firsts[np.concatenate(([0, -1], unsure))])
    if greatest > least:
        shares[unsure] = [(number - least) * SCALE // (greatest - least) for number in some]
    return shares
