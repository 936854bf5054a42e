"""Whether the values of a table are what its description says, before anything is done with it."""

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from smalti.engine.backends.faults import cell, first_fault
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.tables.bringing import bound
from smalti.engine.tables.canonical import canonical
from smalti.engine.tables.description import Source
from smalti.errors import DataError, SmaltiError, raise_all
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import LEXICAL_FORMS, ValueFormError, check_values
from smalti.vocab.terms import IRI

_TARGET: Final = IRI("urn:smalti:described")


def check_described(description: Path) -> None:
    """Refuse a description that says of a column what it does not hold; all of them at once.

    Args:
        description: CSVW metadata beside a file, all of which is read.

    Raises:
        DataError, ProblemsError: a described column is not there, or a value is not of its datatype; or the
            file cannot be read as described.
    """
    with tempfile.TemporaryDirectory(prefix="smalti-") as place:
        folder = Path(place)
        source = canonical(bound(_TARGET, description), folder / "input")
        with closing(LocalBackend().open(source, folder)) as table:
            raise_all(_problems(source, table))


def _problems(source: Source, table: StagedTable) -> list[SmaltiError]:
    names, problems = table.contents.header, list[SmaltiError]()
    for column in source.description.columns:
        if column.name not in names:
            where = f"{source.path.name}, column `{column.name}`"
            problems.append(
                DataError(where, "the data has no such column", "columns of the data", "leave it out")
            )
        elif column.datatype is not None and (fault := _fault(table, column.name, column.datatype, source)):
            problems.append(fault)
    return problems


def _fault(table: StagedTable, name: str, datatype: Datatype, source: Source) -> DataError | None:
    zone = source.description.column(name).time_zone
    try:
        check_values(table.texts(name), datatype, zone)
    except ValueFormError:
        return DataError(
            cell(source, table.contents, name, first_fault(table, name, datatype, zone)),
            f"a value is not a valid {datatype}",
            f"texts that match {LEXICAL_FORMS[datatype]}, each a {datatype} that exists",
            "correct the data, or state another datatype",
        )
    return None
