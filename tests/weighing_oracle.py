"""What requirements of distributions mean, from the papers, and a plain Mondrian that keeps them.

Here a class is a list of rows. A respondent weighs 1, spread evenly over all its rows in the table.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from mondrian_oracle import Oracle, Row

from smalti.transforms.base import (
    ALPHA,
    CLOSENESS,
    ENTROPY_DIVERSITY,
    PRESENCE,
    RECURSIVE_DIVERSITY,
    Requirement,
)

Weights = list[Fraction]


def is_met(requirement: Requirement, weights: Weights, table: Weights) -> bool:
    """From the papers: shares of values, in ascending order of the values."""
    shares = [weight / sum(weights) for weight in weights]
    reference = [weight / sum(table) for weight in table]
    match requirement.name, requirement.parameters:
        case "entropy diversity", (l,):
            # exp of the entropy, as whole numbers: product of (1 / p)^p >= l, raised to the common unit.
            unit = math.lcm(*(share.denominator for share in shares))
            left = math.prod(share.numerator ** int(share * unit) for share in shares if share)
            right = math.prod(share.denominator ** int(share * unit) for share in shares if share)
            return right >= left * l**unit
        case "recursive diversity", (c, l):
            falling = sorted(shares, reverse=True)
            return falling[0] < c * sum(falling[l - 1 :])
        case "alpha", (alpha,):
            return max(shares) <= alpha
        case "t-closeness", (t, "equal"):
            return sum(abs(p - q) for p, q in zip(shares, reference, strict=True)) / 2 <= t
        case "t-closeness", (t, "ordered"):
            gaps = [sum(shares[:i]) - sum(reference[:i]) for i in range(1, len(shares))]
            return sum(map(abs, gaps)) <= t * max(len(shares) - 1, 1)
        case "presence", (low, high):  # of those with the largest value
            return low <= shares[-1] <= high
    raise NotImplementedError


def tree_distance(shares: Weights, reference: Weights, parents: Sequence[Sequence[int]]) -> Fraction:
    """The least cost of moving one distribution to the other, by trying flows (Li et al., ICDE 2007, 5.3).

    A way between two values costs the height of their lowest common node, over that of the root. Moving as
    much as can be moved within the lowest nodes first is best, since no other way is cheaper.

    Args:
        shares: by value.
        reference: by value.
        parents: by level from the values' own to the root, and by value, the node.
    """
    gaps = [a / sum(shares) - b / sum(reference) for a, b in zip(shares, reference, strict=True)]
    height, cost = len(parents) - 1, Fraction(0)
    for level in range(1, height + 1):
        for i in range(len(gaps)):
            for j in range(len(gaps)):
                if gaps[i] > 0 > gaps[j] and parents[level][i] == parents[level][j]:
                    moved = min(gaps[i], -gaps[j])
                    gaps[i], gaps[j] = gaps[i] - moved, gaps[j] + moved
                    cost += moved * Fraction(level, height)
    return cost


def weighed(rows: list[Row], of_person: Counter[int] | None, column: int, values: list[int]) -> Weights:
    """By value its weight in some rows."""
    weights = dict.fromkeys(values, Fraction(0))
    for _, who, held in rows:
        weights[held[column]] += Fraction(1, 1 if of_person is None else of_person[who])
    return list(weights.values())


class WeighingOracle(Oracle):
    """Mondrian by its definition, with requirements of distributions as well."""

    def allowed(self, rows: list[Row]) -> bool:
        return super().allowed(rows) and self.meets(rows)

    def meets(self, rows: list[Row]) -> bool:
        of_person = None if self.one_row_each else Counter(who for _, who, _ in self.rows)
        for column in range(len(self.problem.sensitive)):
            values = sorted({held[column] for _, _, held in self.rows})
            mine, table = (weighed(some, of_person, column, values) for some in (rows, self.rows))
            for requirement in self.problem.requirements:
                if requirement.place not in (None, column):
                    continue
                if requirement.name in WEIGHING and not is_met(requirement, mine, table):
                    return False
        return True


WEIGHING = {ENTROPY_DIVERSITY, RECURSIVE_DIVERSITY, ALPHA, CLOSENESS, PRESENCE}
