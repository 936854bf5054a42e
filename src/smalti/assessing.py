"""The public function `assess`: what tells the people of a table apart, before there is a policy."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from os import PathLike
from typing import TYPE_CHECKING, Final

from smalti.engine.arguments import public
from smalti.engine.tables.addresses import ArrowStream, Frame, Location, data_at
from smalti.errors import UsageError

if TYPE_CHECKING:
    from smalti.engine.run.assessing import Assessment
    from smalti.roles import Roles

AnyPath = str | PathLike[str]
DEFAULT_SIZE: Final = 3
DEFAULT_THRESHOLD: Final = "0.2"


@public
def assess(  # noqa: PLR0913 (each is a question)
    data: AnyPath | ArrowStream,
    *,
    respondent: str | None = None,
    one_row_each: bool = False,
    identifiers: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    released: Sequence[str] = (),
    size: int = DEFAULT_SIZE,
    threshold: float | Decimal | str = DEFAULT_THRESHOLD,
    population: AnyPath | ArrowStream | None = None,
    sample_of: int | None = None,
    null: Sequence[str] = (),
    header: bool = False,
) -> "Assessment":
    """What tells the people of a table apart, for its owner; nothing is written.

    Counts are of respondents where a column or the description says who they are, or each row is said to be
    about another person; else of rows. Values are compared as they are written; a missing one is a value of
    its own. The result holds counts and names of columns, and no value.

    Risks are those of linking by exactly these values. What else somebody may know, and what an output will
    tell, is no part of them. Definitions: `smalti.transforms.uniqueness`.

    Args:
        data: as of `init`.
        respondent: the column that tells people apart.
        one_row_each: True: each row is about another person; instead of `respondent`.
        identifiers: columns that name a person; they are in no set of columns.
        quasi_identifiers: columns that others may know of a person, judged together; when not given,
            those that are proposed.
        sensitive: columns that nobody should learn of a person; they are in no set of columns.
        released: columns that are published as they are; others know them, so they are in sets of columns.
        size: columns of the largest sets.
        threshold: the risk that is still accepted, above 0 and below 1.
        population: a table of all people that those of the data come from, with the quasi-identifiers.
        sample_of: how many people there are, of whom those of the data were drawn at random.
        null: texts that say that there is no value, also in the population.
        header: True: the first record of a CSV file names the columns, though it does not look so.

    Raises:
        SmaltiError: the data cannot be read or has no rows, a column is not there, a number is out of
            range, or there are more sets of columns than `smalti.engine.run.assessing.MOST_SETS`.
    """
    from smalti.engine.run.assessing import Questions, assessed  # noqa: PLC0415 (it loads an engine)

    questions = Questions(
        respondent=respondent,
        one_row_each=one_row_each,
        quasi_identifiers=tuple(quasi_identifiers),
        released=tuple(released),
        left_out=(*identifiers, *sensitive),
        size=size,
        threshold=_decimal(threshold),
        population=None if population is None else _location(population, "population"),
        sample_of=sample_of,
    )
    return assessed(_location(data, "data"), questions, null, has_header=header)


def roles_of(assessment: "Assessment", roles: "Roles") -> "Roles":
    """The roles to begin a policy with: the chosen ones, and for the rest the proposed ones."""
    from dataclasses import replace  # noqa: PLC0415

    from smalti.engine.run.assessing import Proposed  # noqa: PLC0415 (likewise)

    named = {name for _, name in roles.named()}

    def more(role: Proposed) -> tuple[str, ...]:
        return tuple(name for name in assessment.proposed(role) if name not in named)

    return replace(
        roles,
        identifiers=(*roles.identifiers, *more(Proposed.IDENTIFIER), *more(Proposed.KEY)),
        quasi_identifiers=(*roles.quasi_identifiers, *more(Proposed.QUASI_IDENTIFIER)),
        sensitive=(*roles.sensitive, *more(Proposed.SENSITIVE)),
    )


def _location(data: AnyPath | ArrowStream, where: str) -> Location:
    return data_at(str(data), where) if isinstance(data, str | PathLike) else Frame(data)


def _decimal(threshold: float | Decimal | str) -> Decimal:
    try:
        value = Decimal(str(threshold))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise UsageError("threshold", "it is no number", "a number above 0 and below 1", "such as 0.2")
    return value
