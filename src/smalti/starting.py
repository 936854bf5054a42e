"""The public function `init`: from a table to a description and a policy to edit."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from smalti.engine.arguments import public
from smalti.engine.tables.addresses import ArrowStream, Frame, data_at
from smalti.policy.decide.names import iri
from smalti.roles import DEFAULT_K, Parties, Roles, Scaffold

if TYPE_CHECKING:
    from smalti.engine.run.profiling import Profile

AnyPath = str | PathLike[str]
_WHERE = "data"


def look(data: AnyPath | ArrowStream, null: Sequence[str] = (), *, header: bool = False) -> "Profile":
    """Look at a table before there is a policy.

    Args:
        data: as of `init`.
        null: as of `init`.
        header: as of `init`.

    Raises:
        SmaltiError: as `init`.
    """
    from smalti.engine.run.profiling import profiled  # noqa: PLC0415 (it loads an engine)

    if isinstance(data, str | PathLike):
        return profiled(data_at(str(data), _WHERE), null, has_header=header)
    return profiled(Frame(data), null, has_header=header)


@public
def init(  # noqa: PLR0913 (each is a word of the policy, or of the description)
    data: AnyPath | ArrowStream,
    *,
    out: AnyPath | None = None,
    name: str | None = None,
    target: str | None = None,
    owner: str | None = None,
    party: str | None = None,
    purpose: str | None = None,
    respondent: str | None = None,
    one_row_each: bool = False,
    identifiers: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    released: Sequence[str] = (),
    k: int = DEFAULT_K,
    l: int | None = None,  # noqa: E741 (its name everywhere)
    null: Sequence[str] = (),
    header: bool = False,
) -> Scaffold:
    """Write a description of a table and a short policy to edit; overwrite nothing.

    No value, bound or count of the data is in what is written. What is not chosen stays in the policy as a
    comment with TODO. A description that is there already is used as it is.

    Args:
        data: the path of a table, with `#` and a name behind it for a sheet or a table in a file; a folder
            of files; a table of PostgreSQL; or a data frame. Without a file no description is written.
        out: the folder of the policy; that of the data when not given. A description is always beside the
            data, where it is found by itself.
        name: of the policy's file, without its ending; that of the data when not given.
        target: the IRI of the data; an example, to be edited, when not given. So are owner and party.
        owner: who issues the policy.
        party: who may do it, and gets the result.
        purpose: what for; any purpose when not given.
        respondent: the column that tells people apart.
        one_row_each: True: each row is about another person; instead of `respondent`.
        identifiers: columns that name a person.
        quasi_identifiers: columns that others may know of a person.
        sensitive: columns that nobody should learn of a person.
        released: columns that are published as they are.
        k: at least so many people in each class.
        l: at least so many values of each sensitive column in each class; makes it l-diversity.
        null: texts that say that there is no value.
        header: True: the first record of a CSV file names the columns, though it does not look so.

    Returns:
        What was written, and what is left to do.

    Raises:
        SmaltiError: the data cannot be read, something is there already, or what was chosen makes no valid
            policy.
    """
    from smalti.scaffolding import name_of, scaffold  # noqa: PLC0415 (likewise)

    profile = look(data, null, header=header)
    roles = Roles(
        respondent=respondent,
        one_row_each=one_row_each,
        identifiers=tuple(identifiers),
        quasi_identifiers=tuple(quasi_identifiers),
        sensitive=tuple(sensitive),
        released=tuple(released),
        k=k,
        l=l,
    )
    parties = parties_of(target, owner, party, purpose)
    return scaffold(profile, name or name_of(profile), roles, parties, None if out is None else Path(out))


def parties_of(target: str | None, owner: str | None, party: str | None, purpose: str | None) -> Parties:
    """Who and what a policy is about, checked.

    Raises:
        UsageError: one is no IRI.
    """
    for where, named in (("--target", target), ("--owner", owner), ("--party", party)):
        if named is not None:
            iri(named, where)
    return Parties(target, owner, party, purpose)
