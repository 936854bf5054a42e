"""What recorded plans tell of the columns of tables, inside a transaction."""

import json
from contextlib import suppress

from sqlalchemy import Connection, select

from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns, known_columns
from smalti.engine.registry import _database as db
from smalti.vocab.terms import IRI


def recorded_columns(connection: Connection, target: IRI) -> KnownColumns:
    """The columns that a target is known to have.

    Those of its versions, if it is an output; and those that runs read of it.
    """
    details = select(db.versions.c.details).where(db.versions.c.target == target)
    is_made = db.versions.c.id == db.lineage.c.version
    plans = (
        select(db.versions.c.plan, db.versions.c.details)
        .distinct()
        .join(db.lineage, is_made)
        .where(db.lineage.c.input == target)
    )
    found = NO_COLUMNS
    for text in connection.execute(details).scalars():
        columns = [(column["name"], IRI(column["iri"])) for column in json.loads(text)["columns"]]
        found |= known_columns(target, columns, is_whole=True)
    for plan, version in connection.execute(plans):
        input_columns = json.loads(version).get("input_columns") or ()
        of_input = KnownColumns(frozenset(map(IRI, input_columns)), is_whole=bool(input_columns))
        found |= _columns_read(plan, target) | of_input
    return found


def _columns_read(plan: str, target: IRI) -> KnownColumns:
    """The columns of a target that a recorded plan tells of; none where its form is another version's."""
    try:
        steps = json.loads(plan)["steps"]
        is_whole = not {"release", "perturb"} & {step["step"] for step in steps}
        columns = [(str(column["name"]), IRI(column["iri"])) for column in steps[0]["columns"]]
    except (ValueError, KeyError, TypeError, IndexError):
        return NO_COLUMNS
    return known_columns(target, columns, is_whole=is_whole)


def tables_with_column(connection: Connection, column: IRI) -> frozenset[IRI]:
    """The targets of which recorded plans read a column of that IRI, as it is written."""
    found: set[IRI] = set()
    query = select(db.versions.c.plan).where(db.versions.c.plan.contains(column, autoescape=True))
    for plan in connection.execute(query).scalars():
        with suppress(ValueError, KeyError, TypeError, IndexError):
            read = json.loads(plan)["steps"][0]
            if column in {one["iri"] for one in read["columns"]}:
                found.add(IRI(read["target"]))
    return frozenset(found)
