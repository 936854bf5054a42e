"""Attacks on the sensitive values of classes: homogeneity, background knowledge, skewness, similarity.

Each returns how many respondents it hits. MOSAICrOWN D5.2, 2.1 and 3.1, names them.
"""

from fractions import Fraction
from typing import Final

import numpy as np

from smalti.transforms.attacks.class_facts import ClassFacts
from smalti.transforms.partitions.layout import ranges
from smalti.transforms.partitions.merging import distinct
from smalti.transforms.problem import Flags, Integers

LIKELY: Final = Fraction(1, 2)
"""A value that at least this share of a class holds is believed."""
RAISED: Final = 2
"""So many times its share in the whole table a value's share in a class is at least, for a skewed class."""
NEAR: Final = Fraction(1, 10)
"""Numbers within this share of the column's domain are alike."""
MOST_PAIRS: Final = 1 << 26
"""Pairs of values of one respondent in one class that are looked at."""


def identity(facts: ClassFacts) -> int:
    """Respondents who are alone in a class: their rows are known to be theirs (identity disclosure)."""
    return facts.count((facts.people == 1)[facts.classes])


def homogeneity(facts: ClassFacts) -> int:
    """Respondents in a class in which all hold one value.

    Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, "l-Diversity", TKDD 2007, section 2.1.
    """
    return facts.count(_shared(facts)[facts.classes])


def background_knowledge(facts: ClassFacts) -> int | None:
    """Respondents of whom the attacker is certain, if told one value that the respondent does not have.

    Machanavajjhala et al. 2007, section 2.2, with one negated statement, the best one for the attacker:
    those respondents of the class who do not hold the excluded value either all hold one other value. Who
    is hit by `homogeneity` is hit here, too.

    Returns:
        None where classes have too many values (`MOST_PAIRS` pairs of values of one class).
    """
    certain = _certain_without(facts)
    if certain is None:
        return None
    of_class = np.bincount(facts.held_classes[certain], minlength=facts.class_count)
    # A respondent has been told of a value that is not its own.
    owners, inverse = np.unique(
        facts.classes * (int(facts.respondents.max()) + 1) + facts.respondents, return_inverse=True
    )
    own = np.bincount(inverse.reshape(-1), certain[facts.place], minlength=len(owners)).astype(np.int64)
    hit = of_class[facts.classes] > own[inverse.reshape(-1)]
    return facts.count(hit | _shared(facts)[facts.classes])


def skewness(facts: ClassFacts) -> int:
    """Respondents with a value that half of a class holds, and twice its share in the table, or more.

    Li, Li, Venkatasubramanian, "t-Closeness", ICDE 2007, section 3.1: the class changes what the attacker
    believes. That half of the class holds the value, and that its share is at least twice that in the
    table, is this implementation's threshold.
    """
    size, whole = facts.people[facts.held_classes], facts.respondent_count
    in_table = facts.holders_in_table[facts.held_values]
    is_likely = facts.holders * LIKELY.denominator >= size * LIKELY.numerator
    is_raised = facts.holders * whole >= RAISED * in_table * size
    return facts.count((is_likely & is_raised)[facts.place])


def similarity_of_numbers(facts: ClassFacts, positions: Integers, scale: int) -> int:
    """Respondents in a class whose values are all within a tenth of the column's domain.

    Li et al. 2007, section 3.1: values differ, and mean the same.

    Args:
        facts: of a column of numbers or times.
        positions: by value, its place in the domain, from 0 to `scale`; a missing value lies below.
        scale: the length of the domain.
    """
    low, high = (np.full(facts.class_count, end, np.int64) for end in (2 * scale, -2 * scale))
    np.minimum.at(low, facts.classes, positions[facts.values])
    np.maximum.at(high, facts.classes, positions[facts.values])
    return facts.count(((high - low) * NEAR.denominator <= scale * NEAR.numerator)[facts.classes])


def similarity_of_nodes(facts: ClassFacts, nodes: Integers) -> int:
    """Respondents in a class whose values all lie below one node of a hierarchy.

    Args:
        facts: of a column with a hierarchy.
        nodes: by value, its node at the level that means one thing.
    """
    owners, _ = distinct(facts.classes, nodes[facts.values])
    return facts.count((np.bincount(owners, minlength=facts.class_count) == 1)[facts.classes])


def _shared(facts: ClassFacts) -> Flags:
    """By class: whether a value is held by all."""
    shared = np.zeros(facts.class_count, np.bool_)
    shared[facts.held_classes[facts.holders == facts.people[facts.held_classes]]] = True
    return shared


def _certain_without(facts: ClassFacts) -> Flags | None:
    """By value of a class: whether those who do not hold it, of whom there are some, all hold one other."""
    left = facts.people[facts.held_classes] - facts.holders
    values = np.bincount(facts.held_classes, minlength=facts.class_count)
    if int(facts.holders.sum()) == int(facts.people.sum()):
        # Each respondent has one value in a class: all others hold one only where there are two.
        certain: Flags = (values == 2)[facts.held_classes]
        return certain
    if int((values * values).sum()) > MOST_PAIRS:
        return None
    first = np.cumsum(values) - values
    count = values[facts.held_classes]
    excluded = np.repeat(np.arange(len(left)), count)
    other = ranges(first[facts.held_classes], count)
    joint = np.zeros(len(excluded), np.int64)
    places, counts = _held_together(facts, first, values)
    joint[places] = counts
    certain = np.zeros(len(left), np.bool_)
    certain[excluded[(facts.holders[other] - joint == left[excluded]) & (excluded != other)]] = True
    certain &= left > 0
    return certain


def _held_together(facts: ClassFacts, first: Integers, values: Integers) -> tuple[Integers, Integers]:
    """How many respondents hold two values of a class both, by the place of the pair among all pairs."""
    order = np.lexsort((facts.place, facts.respondents, facts.classes))
    classes, people, places = facts.classes[order], facts.respondents[order], facts.place[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(classes) != 0) | (np.diff(people) != 0)
    starts, group = np.flatnonzero(new), np.cumsum(new) - 1
    lengths = np.diff(starts, append=len(order))[group]
    excluded, other = np.repeat(places, lengths), places[ranges(starts[group], lengths)]
    of_class = facts.held_classes[excluded]
    before = np.cumsum(values * values) - values * values
    pairs = before[of_class] + (excluded - first[of_class]) * values[of_class] + other - first[of_class]
    return np.unique(pairs, return_counts=True)
