"""The content of a description, as far as it says what data means: plain values that can be compared.

Two descriptions with equal content are read alike, however they are written: titles and notes count for
nothing, and neither does a word at its default.
"""

from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, Final

import rfc8785

from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.description import ColumnDescription, Source
from smalti.engine.tables.formats import Format
from smalti.engine.tables.reading import Contents
from smalti.policy.model.column_iris import column_iri, normalised_column

NOT_OF_DATA: Final = frozenset({"source", "respondent", "one_row_each"})
"""Fields of `Description` that are left out: the name of its file, and who respondents are: policies and
requests may say that as well, and a plan has it."""
_PLAIN: Final = Dialect()


def description_content(source: Source, contents: Contents) -> bytes:
    """What a source's description says of its data, as canonical JSON (RFC 8785).

    A datatype that the file itself states counts as described.

    Args:
        source: the files, with their description.
        contents: of the files.
    """
    described = source.description
    dialect = None if described.dialect == _PLAIN else described.dialect
    table = _stated(replace(described, columns=(), nulls=frozenset(), dialect=dialect))
    columns = {
        name: _stated(_resolved(source, described.column(name), datatype))
        for name, datatype in zip(contents.header, contents.datatypes, strict=True)
    }
    of_table = {name: value for name, value in table.items() if name not in NOT_OF_DATA}
    return rfc8785.dumps({"table": of_table, "columns": columns})


def _resolved(source: Source, said: ColumnDescription, stated: Any) -> ColumnDescription:
    """A column's description with what holds where it says nothing."""
    own = None if said.iri is None else normalised_column(said.iri)
    iri = None if own == normalised_column(column_iri(source.target, said.name)) else own
    return replace(said, iri=iri, datatype=said.datatype or stated)


def _stated(node: Any) -> dict[str, Any]:
    """The fields that say something: a later smalti that knows more of them has the same content."""
    values = ((field, getattr(node, field.name)) for field in fields(node))
    return {
        field.name: _plain(value) for field, value in values if value is not None and value != field.default
    }


def _plain(value: Any) -> Any:
    match value:
        case Decimal():
            return str(value)
        case frozenset() | tuple():
            items = sorted(value) if isinstance(value, frozenset) else value
            return [_plain(item) for item in items]
        case Format(text=text, numbers=numbers):
            return {"text": text, "numbers": _plain(numbers)}
        case DeclaredHierarchy(in_plan=in_plan):
            return _stated(in_plan)
    return _stated(value) if is_dataclass(value) else value
