"""Pseudonyms beside a model: columns that no class is made from, published as keyed pseudonyms.

A pseudonym tells rows of one value apart from those of another as the value itself would, so that of
classes nothing changes. The respondent's column has none here: rows of one person could be put together
across classes.
"""

from functools import partial
from pathlib import Path

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import Plan
from smalti.engine.tables.secret import pseudonym_key
from smalti.errors import DataError
from smalti.transforms.masking.pseudonyms import pseudonyms
from smalti.transforms.values.texts import ValueFormError, check_values


def key_of(plan: Plan, registry: Path | None) -> bytes:
    """The key of a plan's pseudonyms; empty where it has none.

    Raises:
        RegistryError: as `secret.pseudonym_key`.
    """
    name = plan.pseudonym_key
    return b"" if name is None else pseudonym_key(registry, name)


def pseudonymize(plan: Plan, table: StagedTable, key: bytes) -> None:
    """Put pseudonyms in the place of the values of a plan's columns; missing values stay missing.

    Raises:
        DataError: a value is none of its column's datatype.
    """
    for column in plan.read.columns:
        if column.pseudonym_key is None:
            continue
        try:
            check_values(table.texts(column.name), column.datatype, column.time_zone)
        except ValueFormError:
            raise DataError(
                f"column `{column.name}`",
                f"a value is not a valid {column.datatype}",
                "the plan's datatype",
            ) from None
        table.recode(column.name, partial(pseudonyms, datatype=column.datatype, key=key))
