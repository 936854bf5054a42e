"""Read the text of a query file: strict JSON, the schema, and the checks that a schema cannot express."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Final

from smalti.engine.releases.plan import StatisticKind
from smalti.engine.releases.query import (
    DEFAULT_CONFIDENCE,
    Query,
    WantedKey,
    WantedStatistic,
    default_name,
    faults,
)
from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.policy.findings.findings import quoted
from smalti.policy.model.suggest import did_you_mean
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Place,
)
from smalti.policy.text.json_text import read as read_json

LARGEST: Final = 1 << 20
"""Bytes of a query file."""
_DIGITS: Final = 60
"""Of a number as it is written, and of its exponent."""
_KINDS: Final = {
    "number": "a number",
    "string": "a text",
    "object": "an object",
    "array": "a list",
}
_OTHER_WORDS: Final = {
    "median": "the median is `quantile` with `levels` [0.5]",
    "average": "did you mean `mean`?",
    "distinct": "did you mean `distinct-count`?",
}
_LIMITS: Final = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}
_SIZES: Final = {
    "minItems": "{} or more entries",
    "maxItems": "at most {} entries",
    "minLength": "a text that is not empty",
    "maxLength": "at most {} characters",
}


def read_query(text: bytes, name: str) -> Query:
    """Read a query from a file's bytes, and validate it by `vocab/query.schema.json`.

    Raises:
        UsageError: it is no query; all problems at once (`ProblemsError`), each with its place.
    """
    if len(text) > LARGEST:
        raise UsageError(name, "the query is too large", f"at most {LARGEST} bytes", "use several queries")
    try:
        characters = text.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(name, "the query is not UTF-8 text", "a query as JSON", "save it so") from None
    value, broken = read_json(characters)
    if value is not None:
        # First of all: exact arithmetic on such numbers would take for ever.
        raise_all([problem.error(name, characters) for problem in _endless(value)])
    problems = [_Problem(error.place, error.message, "JSON (RFC 8259)", error.help) for error in broken]
    statistics: tuple[tuple[int, WantedStatistic], ...] = ()
    if value is not None:
        unlike = list(_unlike_schema(value))
        problems += [problem for _, problem in unlike]
        statistics = _statistics(value, {number for number, _ in unlike})
        problems += [
            _Problem(
                _at(value, ("statistics", fault.statistic)).place,
                fault.problem,
                fault.expected,
                fault.way_out,
            )
            for fault in faults(statistics)
        ]
    in_order = sorted(dict.fromkeys(problems), key=lambda problem: problem.place.start)
    raise_all([problem.error(name, characters) for problem in in_order])
    if not isinstance(value, JsonObject):
        raise UsageError(name, "not a query", "a JSON object")
    return _query(value, tuple(statistic for _, statistic in statistics), name)


@dataclass(frozen=True, slots=True)
class _Problem:
    """One problem of a query, with its place."""

    place: Place
    problem: str
    expected: str = ""
    way_out: str = ""

    def error(self, name: str, text: str) -> SmaltiError:
        line = text.count("\n", 0, self.place.start) + 1
        column = self.place.start - text.rfind("\n", 0, self.place.start)
        return UsageError(f"{name}:{line}:{column}", self.problem, self.expected, self.way_out)


def _endless(value: JsonValue) -> Iterator[_Problem]:
    """Numbers with too many digits for exact arithmetic."""
    match value:
        case JsonNumber() if len(value.text) > _DIGITS or abs(value.exact.adjusted()) > _DIGITS:
            problem = "a number has too many digits, or too large an exponent"
            yield _Problem(value.place, problem, f"at most {_DIGITS} places", "write a plain number")
        case JsonArray(items=items):
            for item in items:
                yield from _endless(item)
        case JsonObject(members=members):
            for member in members:
                yield from _endless(member.value)


# --- The schema


def _unlike_schema(value: JsonValue) -> Iterator[tuple[int | None, _Problem]]:
    """The violations of the schema by the number of the statistic, None for the query itself."""
    for error in _schema().iter_errors(_plain(value)):
        path = list(error.absolute_path)
        number = path[1] if len(path) > 1 and path[0] == "statistics" else None
        for problem in _in_words(error, value, path):
            yield number, problem


def _in_words(error: Any, value: JsonValue, path: list[str | int]) -> Iterator[_Problem]:
    """One error of the schema; it repeats words of the query only, and there is no data in them."""
    at, schema = _at(value, path), error.schema
    match error.validator:
        case "additionalProperties" if isinstance(at, JsonObject):
            names = [key for key in schema["properties"] if key != "$schema"]
            for member in at.members:
                if member.key.text not in schema["properties"]:
                    problem = f"{quoted(member.key.text)} is unknown here"
                    suggestion = did_you_mean(member.key.text, names)
                    yield _Problem(member.key.place, problem, f"one of {_listed(names)}", suggestion)
        case "required" if isinstance(at, JsonObject):
            for key in error.validator_value:
                if at.find(key) is None:
                    yield _Problem(at.place, f"`{key}` is missing{_of(at)}", f"`{key}`")
        case "not" if "$comment" not in schema:
            problem = f"{_what(path)} is not allowed here{_of(_at(value, path[:-1]))}"
            yield _Problem(at.place, problem, "", "remove it")
        case rule:
            texts = _unlike_rule(rule, error.validator_value, schema, _written(at), _what(path))
            yield _Problem(at.place, *texts)


def _unlike_rule(
    rule: str, wanted: Any, schema: dict[str, Any], written: str, what: str
) -> tuple[str, str, str]:
    """A problem, what is expected, and the way out."""
    if rule == "enum":
        suggestion = _OTHER_WORDS.get(written) if StatisticKind.QUANTILE in wanted else None
        suggestion = suggestion or did_you_mean(written, wanted)
        return f"{what} is unknown", f"one of {_listed(wanted)}", suggestion
    if rule == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted
        return f"{what} has the wrong type", " or ".join(_KINDS.get(kind, kind) for kind in kinds), ""
    if rule == "not":
        return schema["$comment"], "one of the two", "remove the other one"
    if rule in _LIMITS:
        return f"{what} is out of range", _range(schema), ""
    if rule in _SIZES:
        return f"{what} has the wrong length", _SIZES[rule].format(wanted), ""
    return f"{what} is not valid", "a value that the schema of queries allows", ""


def _what(path: list[str | int]) -> str:
    if not path:
        return "the query"
    return "an entry" if isinstance(path[-1], int) else quoted(path[-1])


def _of(at: JsonValue) -> str:
    """Which statistic something is about."""
    kind = _text(at, "statistic") if isinstance(at, JsonObject) else ""
    return f" for the statistic {quoted(kind)}" if kind else ""


def _range(schema: dict[str, Any]) -> str:
    limits = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if key in schema]
    return f"a number {' and '.join(limits)}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _at(value: JsonValue, path: Iterable[str | int]) -> JsonValue:
    """What stands at a path; the last thing on the way where there is nothing."""
    for step in path:
        if isinstance(value, JsonArray) and isinstance(step, int) and step < len(value.items):
            value = value.items[step]
        elif isinstance(value, JsonObject) and (member := value.find(str(step))) is not None:
            value = member.value
    return value


def _plain(value: JsonValue) -> object:
    """As the schema's reader takes it, with exact numbers."""
    match value:
        case JsonString(text=text):
            return text
        case JsonNumber():
            return value.exact
        case JsonNamed(value=named):
            return named
        case JsonArray(items=items):
            return [_plain(item) for item in items]
        case JsonObject(members=members):
            return {member.key.text: _plain(member.value) for member in members}


@cache
def _schema() -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 (only where there is a query)

    text = files("smalti.vocab").joinpath("query.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


# --- Typed values


def _query(value: JsonObject, statistics: tuple[WantedStatistic, ...], name: str) -> Query:
    return Query(
        statistics=statistics,
        confidence=_number(value, "confidence") or DEFAULT_CONFIDENCE,
        epsilon=_number(value, "epsilon"),
        delta=_number(value, "delta"),
        belief=_number(value, "posteriorBelief"),
        advantage=_number(value, "membershipAdvantage"),
        name=name,
    )


def _statistics(value: JsonValue, bad: set[int | None]) -> tuple[tuple[int, WantedStatistic], ...]:
    """The statistics that are as the schema says, with their numbers and names."""
    member = value.find("statistics") if isinstance(value, JsonObject) else None
    items = member.value.items if member is not None and isinstance(member.value, JsonArray) else ()
    good = [
        (number, item)
        for number, item in enumerate(items)
        if number not in bad and isinstance(item, JsonObject)
    ]
    taken = {_text(item, "name") for _, item in good}
    statistics = []
    for number, item in good:
        statistic = _statistic(item, taken)
        taken.add(statistic.name)
        statistics.append((number, statistic))
    return tuple(statistics)


def _statistic(item: JsonObject, taken: set[str]) -> WantedStatistic:
    kind = StatisticKind(_text(item, "statistic"))
    measures, group_by = _keys(item, "measure"), _keys(item, "groupBy")
    return WantedStatistic(
        name=_text(item, "name") or _free(default_name(kind, measures, group_by), taken),
        kind=kind,
        measures=measures,
        group_by=group_by,
        share=_number(item, "share") or Decimal(1),
        lower=_number(item, "lower"),
        upper=_number(item, "upper"),
        unit=_number(item, "unit"),
        levels=_numbers(item, "levels"),
        candidates=_numbers(item, "candidates"),
    )


def _free(name: str, taken: set[str]) -> str:
    """The name, or the first one with a number behind it that nothing else has."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _keys(item: JsonObject, key: str) -> tuple[WantedKey, ...]:
    member = item.find(key)
    if member is None:
        return ()
    listed = member.value.items if isinstance(member.value, JsonArray) else (member.value,)
    return tuple(map(_key, listed))


def _key(value: JsonValue) -> WantedKey:
    if isinstance(value, JsonObject):
        return WantedKey(_text(value, "column"), _texts(value, "values"), _texts(value, "edges"))
    return WantedKey(_written(value))


def _texts(item: JsonObject, key: str) -> tuple[str, ...]:
    member = item.find(key)
    listed = member.value.items if member is not None and isinstance(member.value, JsonArray) else ()
    return tuple(map(_written, listed))


def _written(value: JsonValue) -> str:
    """A text, or a number as it is written."""
    return value.text if isinstance(value, JsonString | JsonNumber) else ""


def _text(item: JsonObject, key: str) -> str:
    member = item.find(key)
    return "" if member is None else _written(member.value)


def _number(item: JsonObject, key: str) -> Decimal | None:
    member = item.find(key)
    return member.value.exact if member is not None and isinstance(member.value, JsonNumber) else None


def _numbers(item: JsonObject, key: str) -> tuple[Decimal, ...]:
    member = item.find(key)
    listed = member.value.items if member is not None and isinstance(member.value, JsonArray) else ()
    return tuple(number.exact for number in listed if isinstance(number, JsonNumber))
