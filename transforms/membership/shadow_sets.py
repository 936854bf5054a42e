"""The training sets of shadow models, and the conditions of D5.1 for them.

Two designs. *Disjoint* (D5.1, section 3.2): shadow training sets come from a pool without any record of the
target's, each as large as the target's and with the same shares of classes; they may overlap one another.
*Halves* (Carlini et al. 2022, Algorithm 1): each audited record is in the training sets of exactly half of
the models, so the rule of disjointness is not for it.
"""

from typing import Final

import numpy as np
from scipy import stats

from smalti.errors import DataError, SmaltiError, UsageError, raise_all
from smalti.transforms.membership.data import DataSet
from smalti.transforms.problem import Flags, Integers

_CHANCE: Final = 1e-6
"""A difference between class shares that chance shows this rarely is none of chance."""
_ALIKE: Final = 0.05
"""Class shares that differ by no more, in total variation, are alike whatever the number of records."""


def disjoint_sets(training: DataSet, pool: DataSet, models: int, draw: np.random.Generator) -> Flags:
    """Draw shadow training sets from the pool, each with as many records of each class as the target's.

    Args:
        training: the target's training set.
        pool: records of the same distribution, none of them the target's.
        models: how many sets, at least 1.
        draw: draws them.

    Returns:
        bool[models, pool].

    Raises:
        DataError, ProblemsError: the pool cannot meet D5.1's conditions.
    """
    _check_models(models, 1)
    raise_all([*_overlaps(training, pool), *_too_small(training, pool)])
    chosen = np.zeros((models, len(pool)), np.bool_)
    for label, wanted in enumerate(training.class_counts):
        own = np.flatnonzero(pool.labels == label)
        for of_model in chosen:
            of_model[draw.choice(own, wanted, replace=False)] = True
    return chosen


def halves(records: int, models: int, draw: np.random.Generator) -> Flags:
    """Draw training sets so that each record is in exactly half of them.

    Models come in pairs: a random half of the records, and the other half.

    Args:
        records: how many there are, at least 2.
        models: an even number, at least 2.
        draw: draws them.

    Returns:
        bool[models, records].
    """
    _check_models(models, 2)
    if models % 2:
        raise UsageError("the shadow models", f"{models} models", "an even number, in pairs of halves")
    chosen = np.zeros((models, records), np.bool_)
    for pair in range(0, models, 2):
        chosen[pair, draw.permutation(records)[: records // 2]] = True
        chosen[pair + 1] = ~chosen[pair]
    return chosen


def check_disjoint(training: DataSet, pool: DataSet, members: Flags) -> list[SmaltiError]:
    """The problems of shadow training sets under D5.1's conditions, whatever their source.

    Disjoint from the target's by content; as large; every class in each; class shares alike; and for every
    class records outside, without which no attack set would be balanced. Hyper-parameters are compared by
    `application`.

    Args:
        training: the target's training set.
        pool: what the shadow training sets are drawn from.
        members: bool[models, pool].
    """
    if members.dtype != np.bool_ or members.ndim != 2 or members.shape[1] != len(pool):
        raise UsageError(
            "the shadow models", "the memberships do not fit the records of the pool", "models x records"
        )
    problems = _overlaps(training, pool.take(np.flatnonzero(members.any(axis=0))))
    wrong = int((members.sum(axis=1) != len(training)).sum())
    if wrong:
        problems.append(
            DataError(
                "the shadow models",
                f"{wrong} training sets are not as large as the target's",
                f"{len(training)} records in each",
            )
        )
    inside = _class_counts(pool, members)
    problems += _missing_classes("inside", inside)
    problems += _missing_classes("outside", pool.class_counts - inside)
    unlike = sum(not _alike(training.class_counts, counts) for counts in inside)
    if unlike:
        problems.append(
            DataError(
                "the shadow models",
                f"the classes of {unlike} training sets do not have the target's shares",
                "the same class distribution",
                "draw shadow training sets class by class",
            )
        )
    return problems


def check_classes(data: DataSet, members: Flags) -> list[SmaltiError]:
    """The problems of shadow training sets in any design: a class of the data that one of them lacks.

    Args:
        data: what the shadow training sets are drawn from.
        members: bool[models, records].
    """
    return _missing_classes("inside", _class_counts(data, members)[:, data.class_counts > 0])


def _overlaps(training: DataSet, pool: DataSet) -> list[SmaltiError]:
    shared = int(pool.occurs_in(training).sum())
    if not shared:
        return []
    return [
        DataError(
            pool.name,
            f"{shared} records are also in {training.name}",
            "shadow data that is disjoint from the target's, by content",
            "remove these records of the pool",
        )
    ]


def _too_small(training: DataSet, pool: DataSet) -> list[SmaltiError]:
    """Each class needs as many records inside as the target has, and one outside."""
    wanted = training.class_counts + 1
    short = int(((pool.class_counts < wanted) | (training.class_counts == 0)).sum())
    if not short:
        return []
    return [
        DataError(
            pool.name,
            f"{short} classes have too few records for a shadow model, or none in {training.name}",
            f"more records of each class than {training.name} has, and one there at least",
            "give a larger pool (more `--others` of `smalti audit model`), or audit a model that was"
            " trained on fewer records",
        )
    ]


def _class_counts(data: DataSet, members: Flags) -> Integers:
    """int[models, classes]: the records of each class in each set."""
    return np.stack([np.bincount(data.labels[own], minlength=data.classes) for own in members])


def _missing_classes(side: str, counts: Integers) -> list[SmaltiError]:
    missing = int((counts == 0).any(axis=0).sum())
    if not missing:
        return []
    return [
        DataError(
            "the shadow models",
            f"{missing} classes have no record {side} of a shadow training set",
            "records of every class, inside and outside of each set",
            "give a larger pool (more `--others` of `smalti audit model`), or draw shadow training sets"
            " class by class",
        )
    ]


def _alike(first: Integers, second: Integers) -> bool:
    """Whether class shares differ by little, or by no more than chance explains (chi-squared test)."""
    apart = np.abs(first / max(1, first.sum()) - second / max(1, second.sum())).sum() / 2
    if apart <= _ALIKE:
        return True
    table = np.stack([first, second])
    return bool(stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue >= _CHANCE)


def _check_models(models: int, least: int) -> None:
    if models < least:
        raise UsageError("the shadow models", f"{models} models", f"at least {least}")
