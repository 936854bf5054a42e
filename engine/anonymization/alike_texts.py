"""Texts of respondents and sensitive values that may be meant as one; they are compared as written."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import STAGED, StagedTable
from smalti.engine.plan.plan import Plan, RespondentColumn
from smalti.engine.tables.description import Source
from smalti.transforms.base import Datatype

_MOST_TEXTS: Final = 1 << 20
_UNSEEN: Final = r"[\s\p{Z}\p{Cc}\p{Cf}]+"


def warnings_of_alike_texts(
    plan: Plan, source: Source, table: StagedTable, *, with_counts: bool
) -> tuple[str, ...]:
    """What the owner should know of columns without a datatype whose texts tell people or values apart.

    Args:
        plan: says which columns these are; those of more than a million different texts are not looked at.
        source: says what is declared.
        table: the rows that take part.
        with_counts: whether it is said how many texts there are; for owners alone.
    """
    found = []
    for name, what in _columns(plan):
        if _is_undeclared(name, source, table) and plan.column(name).datatype is Datatype.STRING:
            texts = _texts(table, name)
            fewer = len(texts) - len(pc.unique(folded(texts)))
            if fewer:
                many = f"{fewer} of its {len(texts)} texts" if with_counts else "some of its texts"
                found.append(
                    f"`{name}` tells {what} apart by its texts, and {many} differ from another one in"
                    " nothing but blanks, case or Unicode form: write each value in one way, or declare the"
                    " column's datatype"
                )
    return tuple(found)


def folded(texts: pa.Array) -> pa.Array:
    r"""Texts without what a reader may not see: blanks, case, and the Unicode form (NFKC).

    >>> folded(pa.array(["Ann Lee", "ann  lee ", "ANN\u00a0LEE"])).unique().to_pylist()
    ['annlee']
    """
    bare = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKC"), _UNSEEN, "")
    return pc.utf8_normalize(pc.utf8_lower(pc.utf8_upper(bare)), form="NFKC")


def _columns(plan: Plan) -> list[tuple[str, str]]:
    respondent = plan.read.respondent
    people = [(respondent.column, "people")] if isinstance(respondent, RespondentColumn) else []
    return people + [(name, "values") for name in plan.apply.transform.sensitive]


def _texts(table: StagedTable, name: str) -> pa.Array:
    """The different texts of a column; none where they could be too many for this process."""
    x, present = table.present(name)
    counted = table.relations.take(f"SELECT count(DISTINCT {x}) AS x FROM {STAGED} WHERE {present}")  # noqa: S608
    if counted.column("x")[0].as_py() > _MOST_TEXTS:
        return pa.array([], pa.string())
    return table.texts(name)


def _is_undeclared(name: str, source: Source, table: StagedTable) -> bool:
    stated = table.contents.datatypes[table.contents.header.index(name)]
    return source.description.column(name).datatype is None and stated is None
