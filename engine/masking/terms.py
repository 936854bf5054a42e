"""The terms of a permission to mask: what its refinements say, and what of them has no meaning there."""

from collections.abc import Iterable, Iterator
from typing import Final

from smalti.engine.techniques.terms import MaskingTerms, stated_terms
from smalti.errors import PlanError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import Anonymization
from smalti.vocab import terms

_WAY_OUT: Final = "name it in `smalti:released`, or state a parameter of a technique for it"


def read_terms(wanted: Anonymization, asks: Iterable[Fact], problems: list[SmaltiError]) -> MaskingTerms:
    """What a permission states, or less where a run asks for a smaller sample.

    Args:
        wanted: of method masking.
        asks: by the run, under the operands of refinements.
        problems: takes a `PlanError` for each thing that has no meaning here, or is not allowed.
    """
    asked = list(asks)
    problems += [*_meaningless(wanted), *_contradictory(wanted)]
    return stated_terms(wanted, asked, problems)


def _meaningless(wanted: Anonymization) -> Iterator[SmaltiError]:
    """Roles that belong to models of privacy: no word is ignored."""
    for word, columns in (
        ("mosaicrown:quasi-identifier", wanted.quasi_identifiers),
        ("mosaicrown:sensitive", wanted.sensitive),
    ):
        if columns:
            yield PlanError(
                str(columns[0].where),
                f"`{word}` has no meaning for masking, which promises nothing of such columns",
                "`smalti:released`, `mosaicrown:identifier`, `smalti:pseudonym`, and parameters of columns",
                _WAY_OUT,
            )


def _contradictory(wanted: Anonymization) -> Iterator[SmaltiError]:
    """Techniques that share a parameter, or cannot be verified beside each other."""
    named = frozenset(wanted.algorithms)
    for first, second, why in (
        (
            terms.CELL_SUPPRESSION,
            terms.RECORD_SUPPRESSION,
            "`smalti:minimumFrequency` is for one of them",
        ),
        (terms.MDAV, terms.SAMPLING, "the groups of the whole table cannot be verified on a sample"),
        (
            terms.MDAV,
            terms.RECORD_SUPPRESSION,
            "the groups of the whole table cannot be verified where records are left out",
        ),
    ):
        if {first, second} <= named:
            yield PlanError(
                str(wanted.where),
                f"the techniques `{first}` and `{second}` contradict each other: {why}",
                "one of them",
                "remove one, or make two outputs, the second from the first",
            )
