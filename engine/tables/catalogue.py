"""The one table of a database that a name means: looked up in the catalogue, never taken as SQL."""

from collections.abc import Collection

from smalti.errors import UsageError
from smalti.policy.model.suggest import did_you_mean

_SHOWN = 20
Name = tuple[str, str]
"""A schema and a table or view in it."""


def chosen(where: str, names: Collection[Name], default: str, wanted: str | None) -> Name:
    """The table of a database that is wanted.

    Args:
        where: the database, for messages, without secrets.
        names: all tables and views that may be read.
        default: the schema that is meant where none is named.
        wanted: `table` or `schema.table`, as the catalogue spells them; None: the only one.

    Raises:
        UsageError: there is none of that name, or several and none is named.
    """
    listed = sorted(_shown(name, default) for name in names)
    if wanted is None:
        if len(names) == 1:
            return next(iter(names))
        raise UsageError(
            where,
            f"it has {len(names)} tables",
            f"the name of one: {_some(listed)}",
            f"bind it as {where}#TABLE",
        )
    meant = [name for name in names if wanted in (f"{name[0]}.{name[1]}", _shown(name, default))]
    if len(meant) == 1:
        return meant[0]
    # What was written is not repeated: where SQL stands for a name, it may hold a value.
    raise UsageError(
        where,
        "there is no table of that name" if not meant else "two tables have that name",
        f"a name in the catalogue, and no SQL: {_some(listed)}",
        did_you_mean(wanted, listed)
        or "correct the name behind `#`; make a view of what a query would select",
    )


def quoted(*names: str) -> str:
    """Names as SQL takes them, whatever is in them.

    >>> quoted("main", 'a"b')
    '"main"."a""b"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _shown(name: Name, default: str) -> str:
    schema, table = name
    return table if schema == default else f"{schema}.{table}"


def _some(listed: list[str]) -> str:
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in listed[:_SHOWN]) + more or "none: it is empty"
