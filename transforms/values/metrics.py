"""The loss of a generalisation; figures for the owner, computed from exact data."""

from fractions import Fraction

import numpy as np

from smalti.transforms.problem import (
    MISSING,
    SCALE,
    Attribute,
    Flags,
    HierarchicalAttribute,
    Integers,
    OrderedAttribute,
    PrefixedAttribute,
    Problem,
)
from smalti.transforms.values.by_class import class_ends, distinct_codes, extremes
from smalti.transforms.values.prefixes import common_prefixes, counts_below


def certainty_penalties(problem: Problem, classes: Integers) -> tuple[Fraction, ...]:
    """The normalised certainty penalty of each attribute, averaged over rows; from 0 to 1.

    Xu et al., "Utility-Based Anonymization Using Local Recoding", KDD 2006, Definition 2: a range is
    charged its share of the domain, a set its share of the distinct values, a single value nothing.
    Nodes of a hierarchy are charged the share of the distinct values under them, prefixes that of those
    that begin with them. A range or a prefix that may also be missing is charged the whole domain. The
    mean over attributes is the global certainty penalty (GCP, Ghinita et al., VLDB 2007).
    """
    return tuple(certainty_penalty(problem, i, classes) for i in range(len(problem.attributes)))


def certainty_penalty(
    problem: Problem, attribute: int, parts: Integers, kept: Flags | None = None
) -> Fraction:
    """The same of one attribute, by tuple the part of the table that has one label.

    A tuple that is not kept is charged the whole domain.
    """
    rows = np.zeros(int(parts.max()) + 1, np.int64)
    np.add.at(rows, parts, problem.weights)
    charged = attribute_penalties(problem.attributes[attribute], problem.codes[:, attribute], parts)
    if kept is None or kept.all():
        return Fraction(int(np.dot(rows, charged)), int(rows.sum()) * SCALE)
    by_tuple = np.where(kept, charged[parts], SCALE)
    return Fraction(int(np.dot(problem.weights, by_tuple)), int(rows.sum()) * SCALE)


def class_penalties(problem: Problem, classes: Integers) -> tuple[Integers, ...]:
    """For each attribute what each class is charged for each of its rows, from 0 to SCALE."""
    return tuple(
        attribute_penalties(attribute, problem.codes[:, i], classes)
        for i, attribute in enumerate(problem.attributes)
    )


def attribute_penalties(attribute: Attribute, codes: Integers, classes: Integers) -> Integers:
    """What each class is charged for one attribute, for each of its rows, from 0 to SCALE.

    Args:
        attribute: what the codes are of.
        codes: by tuple.
        classes: by tuple: its class, from 0; each occurs.
    """
    count = int(classes.max()) + 1
    penalties: Integers
    if isinstance(attribute, PrefixedAttribute):
        penalties = _prefix_penalties(attribute, codes, classes)
    elif isinstance(attribute, OrderedAttribute):
        low, high = extremes(attribute.positions[codes], classes, count)
        penalties = np.minimum(high - low, SCALE)
    elif isinstance(attribute, HierarchicalAttribute):
        low, high = extremes(codes, classes, count)
        below = attribute.below(low, high)[classes]
        owners, nodes = distinct_codes(attribute.nodes[below, codes], classes)
        held = np.zeros(count, np.int64)
        np.add.at(held, owners, attribute.node_sizes(attribute.below(low, high)[owners], nodes))
        penalties = (held * SCALE // attribute.size) * (low != high)
    else:
        held = np.bincount(distinct_codes(codes, classes)[0], minlength=count)
        penalties = (held * SCALE // attribute.size) * (held > 1)
    return penalties


def _prefix_penalties(attribute: PrefixedAttribute, codes: Integers, classes: Integers) -> Integers:
    ends = class_ends(codes, classes, attribute.texts)
    covered = counts_below(attribute.texts, common_prefixes(ends.low_texts, ends.high_texts))
    charged = covered * SCALE // max(len(attribute.texts), 1) * (ends.low != ends.high)
    penalties: Integers = np.where(ends.with_missing & (ends.high != MISSING), SCALE, charged)
    return penalties
