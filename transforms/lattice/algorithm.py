"""Full-domain generalisation as an algorithm that makes classes."""

from typing import ClassVar

import numpy as np

from smalti.transforms.base import FULL_DOMAIN
from smalti.transforms.lattice.full_domain import full_domain
from smalti.transforms.lattice.measures import Measure
from smalti.transforms.mondrian.algorithm import Algorithm, Generalised, Portions
from smalti.transforms.problem import Attribute, Flags, HierarchicalAttribute, Integers, Problem
from smalti.transforms.values.levels import Levels


class FullDomainGeneralisation(Algorithm):
    """One level of each quasi-identifier's hierarchy for the whole table."""

    __slots__ = ()

    name: ClassVar[str] = FULL_DOMAIN

    def generalised(self, problem: Problem) -> Generalised | None:
        levels = tuple(map(_levels, problem.attributes, problem.codes.T))
        chosen = problem.lattice_terms
        preferred = full_domain(
            problem,
            levels,
            chosen.suppression_limit,
            Measure(chosen.measure),
            keeps_suppressed=chosen.keeps_suppressed,
            sole=chosen.node,
        )
        if preferred is None:
            return None
        portions = Portions(np.arange(len(problem.weights)), preferred.classes, problem.weights)
        at_root = preferred.classes == preferred.classes.max() if preferred.has_rest else None
        parts = (
            _parts(attribute.values[level][codes], at_root)
            for attribute, level, codes in zip(levels, preferred.node, problem.codes.T, strict=True)
        )
        return Generalised(
            portions, tuple(parts), preferred.node, preferred.minimal, has_part_at_root=preferred.has_rest
        )


def _parts(values: Integers, at_root: Flags | None) -> Integers:
    """By tuple the number of its part; tuples at the root are the last one."""
    if at_root is not None:
        values = np.where(at_root, values.max() + 1, values)
    parts: Integers = np.unique(values, return_inverse=True)[1].reshape(-1)
    return parts


def _levels(attribute: Attribute, codes: Integers) -> Levels:
    if isinstance(attribute, HierarchicalAttribute):
        return Levels(tuple(attribute.nodes))
    return Levels.all_or_nothing(int(codes.max(initial=-1)) + 1)
