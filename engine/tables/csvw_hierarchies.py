"""The hierarchy of a column in a description: a file beside it, or a rule by name with its parameters."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal, NoReturn, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from smalti.engine.plan.hierarchies import (
    CALENDAR_UNITS,
    Calendar,
    DeclaredHierarchy,
    FileForm,
    HierarchyFile,
    Intervals,
    Masking,
    OrderedList,
    Prefixes,
    Stated,
)
from smalti.engine.tables.csvw_values import Stated as Number
from smalti.engine.tables.hierarchy_files import MOST_LEVELS, read_hierarchy_file
from smalti.errors import DataError, SmaltiError, raise_all
from smalti.transforms.base import Datatype
from smalti.transforms.values.hierarchy import HierarchyError, check_ladders, ladders_of

_INTERVALS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE, Datatype.DATE)
_LARGEST: Final = Decimal(10) ** 30
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


_FanOut: TypeAlias = list[Annotated[int, Field(ge=2, le=1_000_000)]]


class _File(_Strict):
    file: str
    format: Literal["csv", "json", "skos"]
    separator: Literal[";", ","] = ";"
    is_derived: Annotated[bool, Field(alias="derivedFromData")] = False


class _Intervals(_Strict):
    rule: Literal["intervals"]
    width: Number
    start: Number | str = 0
    fan_out: Annotated[_FanOut, Field(alias="fanOut", max_length=MOST_LEVELS)] = []
    is_derived: Annotated[bool, Field(alias="derivedFromData")] = False


class _Dates(_Strict):
    rule: Literal["dates"]
    units: Annotated[list[Literal["month", "quarter", "year", "decade"]], Field(min_length=1)]


class _Prefixes(_Strict):
    rule: Literal["prefixes"]
    lengths: Annotated[
        list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1, max_length=MOST_LEVELS)
    ]


class _Masking(_Strict):
    rule: Literal["masking"]
    width: Annotated[int, Field(ge=1, le=MOST_LEVELS)]
    side: Annotated[Literal["left", "right"], Field(alias="from")] = "right"


class _Ordered(_Strict):
    rule: Literal["ordered"]
    values: Annotated[list[str], Field(min_length=1)]
    fan_out: Annotated[_FanOut, Field(alias="fanOut", max_length=MOST_LEVELS)] = []
    is_derived: Annotated[bool, Field(alias="derivedFromData")] = False


_RULES: Final = {
    "intervals": "_Intervals",
    "dates": "_Dates",
    "prefixes": "_Prefixes",
    "masking": "_Masking",
    "ordered": "_Ordered",
}
ALTERNATIVES: Final = ("_File", *_RULES.values())


def _alternative(stated: object) -> str | None:
    """Which of them is meant, so that faults are those of one alone."""
    if not isinstance(stated, dict):
        return None
    rule = stated.get("rule")
    return _RULES.get(rule, "") if isinstance(rule, str) else "" if "rule" in stated else "_File"


HierarchyForm: TypeAlias = Annotated[
    Annotated[_File, Tag("_File")]
    | Annotated[_Intervals, Tag("_Intervals")]
    | Annotated[_Dates, Tag("_Dates")]
    | Annotated[_Prefixes, Tag("_Prefixes")]
    | Annotated[_Masking, Tag("_Masking")]
    | Annotated[_Ordered, Tag("_Ordered")],
    Discriminator(_alternative),
]
"""What a description may say."""


def declared_hierarchy(
    where: str, form: HierarchyForm, folder: Path, datatype: Datatype | None
) -> DeclaredHierarchy:
    """A column's hierarchy; a file is read and checked.

    Args:
        where: the column, for messages.
        form: what the description says.
        folder: of the description.
        datatype: of the column, as declared.

    Raises:
        DataError: it is no hierarchy, or not for this datatype; all problems at once.
        UsageError: the file cannot be read.
    """
    derived = getattr(form, "is_derived", False)
    return DeclaredHierarchy(_stated(where, form, folder, datatype), derived)


def _stated(where: str, form: HierarchyForm, folder: Path, datatype: Datatype | None) -> Stated:
    match form:
        case _File():
            return _file(where, form, folder)
        case _Intervals():
            return _intervals(where, form, datatype)
        case _Dates():
            if datatype is not Datatype.DATE:
                _refuse(where, "`dates` is for dates", "the datatype `date`", "declare it")
            if list(form.units) != [unit for unit in CALENDAR_UNITS if unit in form.units]:
                _refuse(
                    where,
                    "its units are not in their order",
                    f"some of {', '.join(CALENDAR_UNITS)}",
                    "reorder them",
                )
            return Calendar(tuple(form.units))
        case _Prefixes():
            _require_text(where, form.rule, datatype)
            if any(map(int.__le__, form.lengths, form.lengths[1:])):
                _refuse(where, "its lengths do not fall", "lengths such as 3, 2, 1", "reorder them")
            return Prefixes(tuple(form.lengths))
        case _Masking():
            _require_text(where, form.rule, datatype)
            return Masking(form.width, form.side == "right")
        case _Ordered():
            _require_text(where, form.rule, datatype)
            if len(set(form.values)) < len(form.values) or not all(form.values):
                _refuse(
                    where, "its list has an empty or repeated value", "each value once", "correct the list"
                )
            return OrderedList(tuple(form.values), tuple(form.fan_out))


def _require_text(where: str, rule: str, datatype: Datatype | None) -> None:
    if datatype not in (None, Datatype.STRING):
        _refuse(where, f"`{rule}` is for texts", "the datatype `string`", "declare it")


def _refuse(where: str, problem: str, expected: str, way_out: str) -> NoReturn:
    raise DataError(f"{where}, hierarchy", problem, expected, way_out)


def _file(where: str, form: _File, folder: Path) -> HierarchyFile:
    if "/" in form.file or "\\" in form.file or form.file in ("", ".", ".."):
        _refuse(
            where, "`file` leaves the folder", "the name of a file beside the description", "correct it"
        )
    read = read_hierarchy_file(folder / form.file, FileForm(form.format), form.separator, where)
    try:
        check_ladders(ladders_of(read.rows))
    except HierarchyError as error:
        raise_all(list(hierarchy_problems(f"{where}, hierarchy `{form.file}`", error)))
    return read


def hierarchy_problems(where: str, error: HierarchyError) -> Iterator[SmaltiError]:
    """What is wrong with a hierarchy, as errors."""
    for fault in error.problems:
        yield DataError(where, fault.problem, fault.expected, fault.way_out)


def _intervals(where: str, form: _Intervals, datatype: Datatype | None) -> Intervals:
    if datatype not in _INTERVALS:
        _refuse(where, "`intervals` is for numbers and dates", "a declared number or date", "declare it")
    width = Decimal(form.width)
    is_whole = datatype in (Datatype.INTEGER, Datatype.DATE)
    if not 0 < width < _LARGEST or (is_whole and width % 1) or width.as_tuple().exponent < -30:  # type: ignore[operator]
        _refuse(
            where, "its width cannot be used", "a number above 0, whole for integers and days", "correct it"
        )
    return Intervals(width, _start(where, form.start, datatype), tuple(form.fan_out))


def _start(where: str, start: Number | str, datatype: Datatype | None) -> str:
    if isinstance(start, str):
        if datatype is Datatype.DATE and _DAY.fullmatch(start):
            try:
                return date.fromisoformat(start).isoformat()
            except ValueError:
                pass
        _refuse(where, "its start cannot be used", "a number; for dates, a date", "correct it")
    number = Decimal(start)
    if datatype is Datatype.DATE and number:
        _refuse(where, "its start is not a date", "a date such as 2020-01-01", "correct it")
    if abs(number) >= _LARGEST or (datatype is Datatype.INTEGER and number % 1):
        _refuse(where, "its start cannot be used", "a number; for integers, a whole one", "correct it")
    return format(number.normalize(), "f") if number else "0"
