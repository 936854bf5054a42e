"""Withheld columns: a plan uses none of them (`Grant.withheld`), by the columns as the data has them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from unicodedata import normalize
from urllib.parse import unquote

from smalti.engine.binding.bound_columns import column_iri
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.known_columns import DescribedColumns, KnownColumns, known_columns
from smalti.engine.tables.description import Source
from smalti.policy.decide.decision import Reason
from smalti.policy.model.column_iris import column_iri as default_column_iri
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.suggest import did_you_mean
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Withheld:
    """The columns of a table that a grant withholds."""

    names: frozenset[str] = frozenset()
    """As the header writes them."""
    lacking: tuple[IRI, ...] = ()
    """IRIs that name no column of the table."""


NOTHING_WITHHELD = Withheld()


def withheld_columns(
    source: Source,
    header: Iterable[str],
    withheld: Iterable[IRI],
    implied: Collection[IRI] = (),
    unvouched: Collection[IRI] = (),
) -> Withheld:
    """Which columns of a table are meant by the IRIs of a grant.

    A column goes by its declared IRI, and by the target's IRI, a slash and its name, in any spelling.

    Args:
        source: the table.
        header: the names of its columns.
        withheld: `Grant.withheld`.
        implied: `Grant.implied`: no column need have one of these.
        unvouched: IRIs of columns on the word of somebody who does not own the table. Such a column is
            withheld, and it is not known that no other one is meant.
    """
    names: set[str] = set()
    lacking = []
    for iri in withheld:
        matches = {name for name in header if _is_named(source, name, iri)}
        if not matches and iri in implied:
            # Nothing tells that no column of another member is meant, so that it denies nothing by itself.
            matches = {name for name in header if _is_almost(source, name, iri)}
        names |= matches
        if (not matches or normalised_column(iri) in unvouched) and iri not in implied:
            lacking.append(iri)
    return Withheld(frozenset(names), tuple(lacking))


def _is_named(source: Source, name: str, iri: IRI) -> bool:
    own = (column_iri(source, name), default_column_iri(source.target, name))
    if normalised_column(iri) in map(normalised_column, own):
        return True
    return is_column_of(source.target, iri) and unquote(iri.rpartition("/")[2]) == name


def _is_almost(source: Source, name: str, iri: IRI) -> bool:
    """Whether a column goes by an IRI but for case and Unicode's compatible forms."""
    return is_column_of(source.target, iri) and _folded(name) == _folded(unquote(iri.rpartition("/")[2]))


def _folded(name: str) -> str:
    return normalize("NFKC", normalize("NFKC", name).casefold()).strip()


def described_columns(source: Source, header: Iterable[str], said_by: IRI | None) -> DescribedColumns:
    """All columns of a table, as a description says.

    Args:
        source: the table.
        header: the names of its columns.
        said_by: the party that describes it; None: no party asks.
    """
    return DescribedColumns(tuple((name, column_iri(source, name)) for name in header), said_by)


def declared_columns(source: Source) -> KnownColumns:
    """What a description alone tells of the target's columns."""
    stated = {column.name: column.iri for column in source.description.columns if column.iri is not None}
    return known_columns(source.target, stated.items())


def check_declared(source: Source, columns: KnownColumns) -> None:
    """Require a new decision if the description declares columns that the decision did not know.

    Raises:
        DeclaresMoreError: it does.
    """
    if not (declared := declared_columns(source)) <= columns:
        raise DeclaresMoreError(declared)


def refusal(plan: AnyPlan, header: Iterable[str], withheld: Withheld) -> Reason | None:
    """Why a plan may not be carried out under a grant; None where it may.

    Which columns the data has was not known when the grant was made.
    """
    used = sorted(plan.used_columns & withheld.names)
    if used:
        listed = ", ".join(f"`{name}`" for name in used)
        return Reason(f"a policy prohibits the use of the column {listed}, which the plan needs")
    if withheld.lacking:
        listed = ", ".join(f"`{iri}`" for iri in withheld.lacking)
        text = f"a policy prohibits the use of {listed}, but the data has no such column"
        near = did_you_mean(unquote(withheld.lacking[0].rpartition("/")[2]), header)
        return Reason(f"{text}: the column that it means is unknown{near and f' ({near})'}")
    if withheld.names.issuperset(header):
        return Reason("policies prohibit the use of every column of the data")
    return None


def check_withheld(withheld: Withheld, header: Iterable[str], plan: AnyPlan) -> None:
    """Deny what may not be done under a grant (`refusal`).

    Raises:
        DeniedOnDataError: so it is.
    """
    if (reason := refusal(plan, header, withheld)) is not None:
        raise DeniedOnDataError(reason)


class DeniedOnDataError(Exception):
    """A run is denied by what its data showed; never leaves the engine, for a denial is a decision."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class DeclaresMoreError(Exception):
    """The description declares columns that the decision did not know of; never leaves the engine."""

    def __init__(self, columns: KnownColumns) -> None:
        super().__init__("columns")
        self.columns = columns
