"""A permission with another number in the place of its k or l, to try out what it would give."""

from dataclasses import replace
from typing import Final

from smalti.errors import PlanError
from smalti.policy.model.model import Anonymization, Bound, Comparison, Operator, Permission
from smalti.vocab.terms import DIVERSITY, K_ANONYMITY, L_DIVERSITY, C

LEAST_K: Final = 2
"""No smaller k is a promise."""


def with_number(permission: Permission, word: str, number: int) -> Permission:
    """A permission with another k or l.

    An l of 1 makes l-diversity plain k-anonymity; a larger one makes k-anonymity of sensitive columns
    l-diversity, with at least this l.

    Args:
        permission: to anonymize.
        word: `k` or `l`.
        number: above 0.

    Raises:
        PlanError: it states no such number, or the number promises nothing.
    """
    wanted = permission.anonymization
    if wanted is None:
        raise _no_number(permission, word)
    other = _with_k(wanted, number) if word == "k" else _with_l(wanted, number)
    if other is None:
        raise _no_number(permission, word)
    return replace(permission, anonymization=other)


def _no_number(permission: Permission, word: str) -> PlanError:
    where = str(permission.where)
    return PlanError(
        where, f"the policy states no {word}", f"a method with {word}", f"leave out --vary {word}"
    )


def _with_k(wanted: Anonymization, k: int) -> Anonymization | None:
    if wanted.k is None:
        return None
    if k < LEAST_K:
        raise PlanError(
            str(wanted.where), f"k = {k} promises nothing", f"k of at least {LEAST_K}", "leave it out"
        )
    return replace(wanted, k=replace(wanted.k, value=k))


def _with_l(wanted: Anonymization, least: int) -> Anonymization | None:
    if wanted.method == K_ANONYMITY and wanted.sensitive and least > 1:
        bound = Bound(Operator.GTEQ, least, wanted.where)
        return replace(wanted, method=L_DIVERSITY, l=bound)
    if wanted.method == K_ANONYMITY and least == 1:
        return wanted
    if wanted.method != L_DIVERSITY or wanted.l is None:
        return None
    if least == 1:
        if wanted.k is None:
            raise PlanError(str(wanted.where), "l = 1 promises nothing", "l of at least 2", "leave it out")
        of_l = (DIVERSITY, C)
        rest = tuple(
            parameter
            for parameter in wanted.parameters
            if not isinstance(parameter, Comparison) or parameter.operand not in of_l
        )
        return replace(wanted, method=K_ANONYMITY, l=None, parameters=rest)
    return replace(wanted, l=replace(wanted.l, value=least))
