"""The schema of the CSVW metadata that smalti reads, and the messages about everything else.

Importing this module builds the form, which takes longer than all else that a run imports of ours; a run
without a description never does.
"""

import difflib
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias
from zoneinfo import available_timezones

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from smalti.engine.tables.csvw_dialect import read_dialect
from smalti.engine.tables.csvw_formats import stated_format
from smalti.engine.tables.csvw_hierarchies import ALTERNATIVES, HierarchyForm, declared_hierarchy
from smalti.engine.tables.csvw_values import Stated, bounds, public_values, unit
from smalti.engine.tables.description import ColumnDescription, Description
from smalti.engine.tables.formats import NumberFormat
from smalti.errors import DataError, SmaltiError, UsageError
from smalti.policy.model.iris import iri_problem, respelled
from smalti.transforms.base import Datatype
from smalti.vocab.terms import CSVW_EO, IRI, ONE_ROW_EACH, SMALTI

_LARGEST = 1 << 20
_PROPERTIES = (
    "@context", "url", "dialect", "null", "format", "decimalChar", "groupChar", "pattern",
    "tableSchema", "columns", "name", "datatype", "propertyUrl", "required",
    "smalti:respondent", "smalti:timeZone", "csvw-eo:public.privacyId", "primaryKey",
    "csvw-eo:bounds.maxLength", "csvw-eo:public.maxNumPartitions", "csvw-eo:bounds.maxContributions",
    "csvw-eo:bounds.maxGroupsPerUnit", "csvw-eo:public.partitions", "csvw-eo:keyValues",
    "csvw-eo:predicate", "csvw-eo:partitionValue", "csvw-eo:lowerBound", "csvw-eo:upperBound",
    "smalti:unit", "smalti:imageWidth", "smalti:imageHeight", "smalti:derivedFromData",
    "smalti:hierarchy", "file", "separator", "rule", "width", "start", "fanOut", "units", "lengths", "from",
    "values", "derivedFromData", "base", "minimum", "maximum",
)  # fmt: skip
_FOR_PEOPLE = ("dc:", "dct:", "dcterms:", "schema:", "rdfs:", "skos:", "dcat:", "prov:")
_NOTES = {"titles", "notes", "@type", "@id", "description", "comment"}
_DATATYPES = {
    "string": Datatype.STRING,
    "base64Binary": Datatype.STRING,
    "binary": Datatype.STRING,
    "integer": Datatype.INTEGER,
    "long": Datatype.INTEGER,
    "int": Datatype.INTEGER,
    "nonNegativeInteger": Datatype.INTEGER,
    "decimal": Datatype.DECIMAL,
    "double": Datatype.DOUBLE,
    "number": Datatype.DOUBLE,
    "float": Datatype.DOUBLE,
    "date": Datatype.DATE,
    "dateTime": Datatype.DATETIME,
    "datetime": Datatype.DATETIME,
}


def _csvw_eo(name: str) -> tuple[str, str, str]:
    """The spellings of a word of CSVW-EO."""
    return CSVW_EO + name, f"csvw-eo:{name}", name


def _smalti(name: str) -> tuple[str, str, str]:
    """The spellings of a word of our own."""
    return SMALTI + name, f"s:{name}", f"smalti:{name}"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _NumberFormat(_Strict):
    decimal_char: Annotated[str, Field(alias="decimalChar")] = "."
    group_char: Annotated[str | None, Field(alias="groupChar")] = None
    pattern: str | None = None


class _Datatype(_Strict):
    base: str
    format: str | _NumberFormat | None = None
    minimum: Stated | str | None = None
    maximum: Stated | str | None = None


class _Predicate(_Strict):
    value: Annotated[str | int, Field(validation_alias=AliasChoices(*_csvw_eo("partitionValue")))]


class _Partition(_Strict):
    predicate: Annotated[_Predicate, Field(validation_alias=AliasChoices(*_csvw_eo("predicate")))]


_Nulls: TypeAlias = str | list[str] | None
"""The texts that say that there is no value; None: not said here."""


class _Column(_Strict):
    name: str
    datatype: str | _Datatype | None = None
    property_url: Annotated[str | None, Field(alias="propertyUrl")] = None
    required: bool | None = None
    null: _Nulls = None
    time_zone: Annotated[
        str | None,
        Field(validation_alias=AliasChoices(*_smalti("timeZone"))),
    ] = None
    most_values: Annotated[
        int | None,
        Field(validation_alias=AliasChoices(*_csvw_eo("public.maxNumPartitions")), ge=1),
    ] = None
    is_privacy_id: Annotated[
        bool,
        Field(validation_alias=AliasChoices(*_csvw_eo("public.privacyId"))),
    ] = False
    partitions: Annotated[
        list[_Partition] | None,
        Field(validation_alias=AliasChoices(*_csvw_eo("public.partitions"))),
    ] = None
    key_values: Annotated[
        list[str | int] | None,
        Field(validation_alias=AliasChoices(*_csvw_eo("keyValues"))),
    ] = None
    lower: Annotated[Stated | None, Field(validation_alias=AliasChoices(*_csvw_eo("lowerBound")))] = None
    upper: Annotated[Stated | None, Field(validation_alias=AliasChoices(*_csvw_eo("upperBound")))] = None
    unit: Annotated[Stated | None, Field(validation_alias=AliasChoices(*_smalti("unit")))] = None
    most_groups: Annotated[
        int | None,
        Field(validation_alias=AliasChoices(*_csvw_eo("bounds.maxGroupsPerUnit")), ge=1),
    ] = None
    image_width: Annotated[
        int | None, Field(validation_alias=AliasChoices(*_smalti("imageWidth")), ge=1, le=_LARGEST)
    ] = None
    image_height: Annotated[
        int | None, Field(validation_alias=AliasChoices(*_smalti("imageHeight")), ge=1, le=_LARGEST)
    ] = None
    is_derived: Annotated[bool, Field(validation_alias=AliasChoices(*_smalti("derivedFromData")))] = False
    hierarchy: Annotated[
        HierarchyForm | None, Field(validation_alias=AliasChoices(*_smalti("hierarchy")))
    ] = None


class _Schema(_Strict):
    columns: list[_Column]
    null: _Nulls = None
    primary_key: Annotated[str | list[str] | None, Field(alias="primaryKey")] = None


def _is_prefix(name: str, iri: object) -> bool:
    if name in ("@base", "@language"):
        return True
    prefixes = {"s": SMALTI, "smalti": SMALTI, "csvw-eo": CSVW_EO}
    return iri == prefixes[name] if name in prefixes else f"{name}:" in _FOR_PEOPLE


def _csvw_context(value: Any) -> Any:
    """CSVW's own, and prefixes: a context that defines words could redefine ours."""
    first, *more = value if isinstance(value, list) else [value]
    plain = all(
        isinstance(prefixes, dict) and all(map(_is_prefix, prefixes, prefixes.values()))
        for prefixes in more
    )
    if first not in ("http://www.w3.org/ns/csvw", "https://www.w3.org/ns/csvw") or not plain:
        raise ValueError("not CSVW's context")
    return value


class _Reference(_Strict):
    iri: Annotated[str, Field(alias="@id")]


class _Metadata(_Strict):
    context: Annotated[Any, Field(alias="@context"), AfterValidator(_csvw_context)]
    url: str
    dialect: Any = None
    null: _Nulls = None
    table_schema: Annotated[_Schema, Field(alias="tableSchema")]
    most_rows: Annotated[
        int | None, Field(validation_alias=AliasChoices(*_csvw_eo("bounds.maxLength")), ge=1)
    ] = None
    most_contributions: Annotated[
        int | None, Field(validation_alias=AliasChoices(*_csvw_eo("bounds.maxContributions")), ge=1)
    ] = None
    respondent: Annotated[
        str | _Reference | None,
        Field(validation_alias=AliasChoices(*_smalti("respondent"))),
    ] = None


def read_metadata(path: Path) -> tuple[Description, str]:
    """As `description.read_description`."""
    name = path.name
    try:
        raw = path.read_bytes()
        document = _Metadata.model_validate(
            _without_notes(
                json.loads(
                    raw[: _LARGEST + 1],
                    object_pairs_hook=_once,
                    parse_float=Decimal,
                    parse_constant=_no_number,
                )
            )
        )
    except OSError:
        raise UsageError(
            str(path), "the file cannot be read", "a readable CSVW metadata file", "check the path"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _not_understood(name, error) from None
    if "/" in document.url or document.url in ("", ".", ".."):
        raise DataError(
            name, "`url` leaves the folder", "the name of a file beside this one", "correct `url`"
        )
    described = replace(
        _description(path, document),
        key=_key(name, document),
        most_rows=document.most_rows,
        most_contributions=document.most_contributions,
        dialect=None if document.dialect is None else read_dialect(name, document.dialect),
    )
    return described, document.url


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is repeated")
    return members


def _without_notes(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_notes(item) for item in value]
    if not isinstance(value, dict) or value.keys() == {"@id"}:  # a reference is no note
        return value
    return {
        key: _without_notes(item)
        for key, item in value.items()
        if key not in _NOTES and not key.startswith(_FOR_PEOPLE)
    }


def _not_understood(name: str, error: Exception) -> SmaltiError:
    if isinstance(error, json.JSONDecodeError):
        return DataError(
            f"{name}:{error.lineno}:{error.colno}", "not JSON", "CSVW metadata as JSON", "correct it"
        )
    if isinstance(error, ValidationError):
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        listed = "; ".join(dict.fromkeys(_fault(fault["loc"], fault["type"]) for fault in faults))
        return DataError(
            name,
            f"the description is not understood: {listed}",
            "CSVW with `url` and `tableSchema.columns`, each with `name`, `datatype`, `propertyUrl`",
            "correct it; docs/descriptions.md lists all that is understood",
        )
    return DataError(
        name,
        "the description cannot be read or repeats a property",
        "CSVW metadata as JSON in UTF-8, each property once",
        "correct it",
    )


_ALTERNATIVES = (
    "str",
    "int",
    "decimal",
    "list[str]",
    "_Datatype",
    "_NumberFormat",
    "_Reference",
    *ALTERNATIVES,
)


def _fault(place: tuple[int | str, ...], kind: str) -> str:
    """One fault in words; the property is the author's, its value is not repeated."""
    # Pydantic names the alternatives of a union on the way: they are ours, not the author's.
    parts = [str(part) for part in place if part not in _ALTERNATIVES]
    *folders, last = parts or ["document"]
    where = f" in {'/'.join(folders)}" if folders else ""
    match kind:
        case "extra_forbidden":
            close = difflib.get_close_matches(last, _PROPERTIES, n=1)
            suggestion = f", did you mean `{close[0]}`?" if close else ""
            return f"`{last}`{where} is not understood{suggestion}"
        case "missing":
            return f"`{last}`{where} is missing"
        case "union_tag_invalid":
            return f"`rule` in {'/'.join(parts)} is none that is known"
    return f"`{last}`{where} has a value of the wrong type"


def _description(path: Path, document: _Metadata) -> Description:
    name, schema = path.name, document.table_schema
    inherited = document.null if schema.null is None else schema.null
    columns = tuple(_column(path, column, inherited) for column in schema.columns)
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise DataError(name, "a column is described twice", "each column once", "remove one of the two")
    named = document.respondent.iri if isinstance(document.respondent, _Reference) else document.respondent
    marked = [column.name for column in document.table_schema.columns if column.is_privacy_id]
    choices = sorted({*marked, *([named] if named else [])})
    if len(choices) > 1:
        raise DataError(name, "several respondents are declared", "one column, or oneRowEach", "keep one")
    choice = choices[0] if choices else None
    if choice in (ONE_ROW_EACH, "s:oneRowEach", "smalti:oneRowEach"):
        return Description(columns, None, True, name, nulls=_nulls(inherited))
    if choice is not None and choice not in names:
        raise DataError(
            name,
            f"the respondent `{choice}` is not among the described columns",
            "the name of a described column, or oneRowEach",
            "describe that column, or correct the name",
        )
    return Description(columns, choice, False, name, nulls=_nulls(inherited))


def _nulls(stated: _Nulls) -> frozenset[str]:
    """The texts that are missing values; the empty one always is."""
    return frozenset([stated] if isinstance(stated, str) else stated or ()) - {""}


def _key(name: str, document: _Metadata) -> tuple[str, ...]:
    """The columns of the table's primary key."""
    key = document.table_schema.primary_key or []
    names = (key,) if isinstance(key, str) else tuple(key)
    unknown = set(names) - {column.name for column in document.table_schema.columns}
    if unknown:
        listed = ", ".join(f"`{column_name}`" for column_name in sorted(unknown))
        raise DataError(
            name,
            f"the primary key names {listed}",
            "names of described columns",
            "describe or correct them",
        )
    return names


def _column(path: Path, column: _Column, inherited: _Nulls) -> ColumnDescription:
    base = column.datatype.base if isinstance(column.datatype, _Datatype) else column.datatype
    where = f"{path.name}, column `{column.name}`"
    if base is not None and base not in _DATATYPES:
        implemented = ", ".join(sorted(_DATATYPES))
        close = difflib.get_close_matches(base, _DATATYPES, n=1)
        way_out = f"did you mean `{close[0]}`?" if close else "declare one of these"
        raise DataError(
            where, f"the datatype `{base}` is not implemented", f"one of {implemented}", way_out
        )
    if column.property_url is not None and ("{" in column.property_url or ":" not in column.property_url):
        raise DataError(
            where,
            "`propertyUrl` is not an absolute IRI",
            "an IRI without templates",
            "write the IRI in full",
        )
    property_url = None if column.property_url is None else IRI(respelled(column.property_url))
    if property_url is not None and (problem := iri_problem(property_url)):
        raise DataError(where, f"`propertyUrl` {problem}", "an IRI that policies can name", "correct it")
    if column.time_zone is not None and column.time_zone not in available_timezones() - {
        "localtime",
        "Factory",
    }:
        raise DataError(
            where, "unknown time zone", "an IANA name such as `Europe/Rome`", "correct the name"
        )
    iri = property_url or None
    datatype = _DATATYPES[base] if base else None
    derived = column.datatype if isinstance(column.datatype, _Datatype) else _Datatype(base="string")
    partitions = (
        None
        if column.partitions is None
        else [partition.predicate.value for partition in column.partitions]
    )
    lower, upper = bounds(where, (column.lower, derived.minimum), (column.upper, derived.maximum))
    return ColumnDescription(
        column.name, iri, datatype, column.time_zone, bool(column.required), column.most_values,
        public_values(where, column.key_values, partitions), lower, upper, unit(where, column.unit),
        column.most_groups, column.is_derived, _image_size(where, column),
        _nulls(inherited if column.null is None else column.null),
        stated_format(where, base or "string", datatype or Datatype.STRING, _written(derived.format)),
        None
        if column.hierarchy is None
        else declared_hierarchy(where, column.hierarchy, path.parent, datatype),
    )  # fmt: skip


def _written(stated: str | _NumberFormat | None) -> str | NumberFormat | None:
    if isinstance(stated, _NumberFormat):
        return NumberFormat(stated.decimal_char, stated.group_char, stated.pattern)
    return stated


def _image_size(where: str, column: _Column) -> tuple[int, int] | None:
    width, height = column.image_width, column.image_height
    if width is None and height is None:
        return None
    if width is None or height is None:
        raise DataError(
            where,
            "only one side of its images is stated",
            "`smalti:imageWidth` and `smalti:imageHeight`, in pixels",
            "state both",
        )
    return width, height
