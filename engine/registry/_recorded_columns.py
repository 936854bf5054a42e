"""The columns of tables according to recorded plans, inside a transaction."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from smalti.engine.plan.known_columns import (
    NO_COLUMNS,
    DescribedColumns,
    KnownColumns,
    columns_of_table,
    known_columns,
)
from smalti.engine.registry import _tables as db
from smalti.policy.model.column_iris import column_iri, normalised_column
from smalti.vocab.terms import IRI

_PUNYCODE: Final = "xn--"
_PLAIN_START: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9/._~-]*")


@dataclass(frozen=True, slots=True)
class RecordedColumns:
    """What runs recorded of the columns of one asset, whoever owns it now."""

    table: IRI
    whole: frozenset[DescribedColumns] = frozenset()
    """Each table that was read or made, whole."""
    read: frozenset[tuple[str, IRI]] = frozenset()
    """The columns that plans read, by name and IRI."""

    def known_to(self, owners: frozenset[IRI]) -> KnownColumns:
        """The known columns, where these parties own the asset or a part of it."""
        columns = known_columns(self.table, self.read, is_believed=False) if self.read else NO_COLUMNS
        for described in self.whole:
            columns |= columns_of_table(self.table, described, owners)
        return columns

    def names(self, iri: IRI) -> bool:
        """Whether a recorded column has this IRI."""
        columns = self.read.union(*(described.columns for described in self.whole))
        named = {name for pair in columns for name in (pair[1], column_iri(self.table, pair[0]))}
        return normalised_column(iri) in map(normalised_column, named)


def recorded_columns(connection: Connection, target: IRI) -> RecordedColumns:
    """The columns of versions, if it is an output; and those that runs read of it."""
    details = select(db.versions.c.details).where(db.versions.c.target == target)
    is_made = db.versions.c.id == db.lineage.c.version
    plans = (
        select(db.versions.c.plan, db.versions.c.details)
        .distinct()
        .join(db.lineage, is_made)
        .where(db.lineage.c.input == target)
    )
    whole: set[DescribedColumns] = set()
    read: set[tuple[str, IRI]] = set()
    for text in connection.execute(details).scalars():
        version = json.loads(text)
        of_tables = _columns_of_tables(version)
        read.update(of_tables)
        columns = (
            *((str(column["name"]), IRI(column["iri"])) for column in version["columns"]),
            *of_tables,
        )
        whole.update({DescribedColumns(columns, None)} if columns else ())
    for plan, version in connection.execute(plans):
        is_population = _is_population(plan, target)
        of_plan, is_whole = ((), False) if is_population else _columns_read(plan)  # they are the target's
        read.update(of_plan)
        described = json.loads(version).get("population_table" if is_population else "input_table")
        if described is not None:
            columns = tuple((str(name), IRI(iri)) for name, iri in described["columns"])
            whole.add(DescribedColumns(columns, IRI(described["said_by"])))
        elif is_whole:
            whole.add(DescribedColumns(of_plan, None))
    return RecordedColumns(target, frozenset(whole), frozenset(read))


def _columns_of_tables(version: dict[str, Any]) -> tuple[tuple[str, IRI], ...]:
    """Of an output with several tables: these, which are parts of it, and their columns, by their names."""
    tables = version.get("tables", ())
    columns = (column for table in tables for column in table["columns"])
    named = [(str(column["name"]), IRI(column["iri"])) for column in columns]
    named += [(table["iri"].rpartition("/")[2], IRI(table["iri"])) for table in tables]
    return tuple(dict.fromkeys(named))


def _is_population(plan: str, target: IRI) -> bool:
    with suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
        return bool(json.loads(plan)["steps"][0].get("population") == target)
    return False


def _columns_read(plan: str) -> tuple[tuple[tuple[str, IRI], ...], bool]:
    """The columns of its input that a recorded plan names, and whether these are all.

    None where its form is another version's.
    """
    try:
        steps = json.loads(plan)["steps"]
        is_whole = not {"release", "perturb"} & {step["step"] for step in steps}
        columns = tuple((str(column["name"]), IRI(column["iri"])) for column in steps[0]["columns"])
    except (ValueError, KeyError, TypeError, IndexError):
        return (), False
    return columns, is_whole and bool(columns)


def tables_with_column(connection: Connection, column: IRI) -> frozenset[IRI]:
    """The targets of which recorded plans read a column of that IRI, in any spelling."""
    tables: set[IRI] = set()
    spelled = normalised_column(column)
    # Plans of earlier versions hold its plain beginning, or have letters of it encoded.
    start = _PLAIN_START.match(spelled)
    beginning = spelled if start is None else start[0]
    plan = db.versions.c.plan
    near = plan.icontains(beginning, autoescape=True) | plan.contains("%", autoescape=True)
    # Or they have a host in letters.
    plans = select(plan) if _PUNYCODE in beginning else select(plan).where(near)
    for text in connection.execute(plans).scalars():
        with suppress(ValueError, KeyError, TypeError, IndexError):
            read = json.loads(text)["steps"][0]
            if spelled in {normalised_column(read_column["iri"]) for read_column in read["columns"]}:
                tables.add(IRI(read["target"]))
    return frozenset(tables)
