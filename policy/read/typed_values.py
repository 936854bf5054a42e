"""Typed values on the right of an operator: numbers, dates, truth values, IRIs, texts (XML Schema 1.1)."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Final

from smalti.policy.document.expansion import UNRESOLVED
from smalti.policy.document.nodes import Literal, Name, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model import model
from smalti.policy.model.iris import iri_problem, misspelt_iri, respelled
from smalti.policy.model.model import Day, Instant, Named, Number, Text, Truth
from smalti.policy.read.values import FRACTIONAL, WHOLE, Scope, bare_name, iri_is_good
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import IRI, XSD

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T)(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
    r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
)
_MINUTE: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")
_DURATION: Final = re.compile(
    r"-?P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)
_WHOLE_TEXT: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER_TEXT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST_NUMBER: Final = 64
_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False}
DURATION: Final = XSD + "duration"


def _number(text: str, form: re.Pattern[str]) -> Number | None:
    if len(text) > _LONGEST_NUMBER or not form.fullmatch(text):
        return None
    try:
        return Number(Decimal(text))
    except InvalidOperation:
        return None


def _day(text: str) -> Day | None:
    try:
        return Day(date.fromisoformat(text)) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _instant(text: str) -> Instant | None:
    try:
        return Instant(datetime.fromisoformat(text)) if _INSTANT.fullmatch(text) else None
    except ValueError:
        return None


def _instant_with_zone(text: str) -> Instant | None:
    instant = _instant(text)
    return instant if instant is not None and instant.time.tzinfo is not None else None


_MOMENTS: Final[Mapping[str, Callable[[str], Instant | None]]] = MappingProxyType(
    {"dateTime": _instant, "dateTimeStamp": _instant_with_zone}
)


def _truth(text: str) -> Truth | None:
    return Truth(_TRUTHS[text]) if text in _TRUTHS else None


def _duration(text: str) -> Text | None:
    return Text(text) if _DURATION.fullmatch(text) else None


_READERS: Final[Mapping[str, Callable[[str], model.Value | None]]] = MappingProxyType({
    **dict.fromkeys(WHOLE, lambda text: _number(text, _WHOLE_TEXT)),
    **dict.fromkeys(FRACTIONAL, lambda text: _number(text, _NUMBER_TEXT)),
    XSD + "date": _day,
    XSD + "dateTime": _instant,
    XSD + "dateTimeStamp": _instant_with_zone,
    XSD + "boolean": _truth,
    XSD + "string": Text,
    DURATION: _duration,
})  # fmt: skip
"""The reader of texts of each known datatype."""


def typed_value(value: Value, shown: str, scope: Scope) -> model.Value | None:
    """What a document's value stands for; None after an error. An untyped text is never interpreted.

    Args:
        value: what the document says.
        shown: the operand, as the document writes it.
        scope: where findings go.
    """
    if not isinstance(value, Literal):
        name = bare_name(value, "the value", scope)
        iri = iri_is_good(name, "the value", scope) if name is not None else None
        return None if iri is None else Named(iri)
    if value.has_language:
        message = f"the value of {quoted(shown)} has a language, which comparisons do not support"
        scope.findings.error("P426", value.place, message, "write it without `@language`")
        return None
    kind = value.datatype
    if kind is None:
        return _untyped(value)
    if kind == XSD + "anyURI":
        return _iri(value, scope)
    if kind not in _READERS:
        _unknown_datatype(value, kind, scope)
        return None
    if value.number is not None and kind in WHOLE | FRACTIONAL:
        typed: model.Value | None = _whole(value.number) if kind in WHOLE else Number(value.number)
    else:
        typed = _READERS[kind](value.text if kind == XSD + "string" else value.text.strip())
    if typed is None:
        local = kind.removeprefix(XSD)
        message = f"{quoted(value.text)} is not a valid `xsd:{local}`"
        moment = _with_seconds(value.text.strip(), _MOMENTS[local]) if local in _MOMENTS else None
        help_ = _EXAMPLES.get(local, "") if moment is None else f"write {moment}"
        scope.findings.error("P426", value.place, message, help_)
    return typed


def moment_as_written(text: str) -> str:
    """The value of JSON-LD that a text stands for which is a day, or a time of a day; empty for others.

    >>> moment_as_written("2027-12-15T12:00Z")
    '{"@value": "2027-12-15T12:00:00Z", "@type": "xsd:dateTime"}'
    """
    if _day(text) is not None:
        return f'{{"@value": "{text}", "@type": "xsd:date"}}'
    moment = text if _instant(text) is not None else _with_seconds(text, _instant)
    return "" if moment is None else f'{{"@value": "{moment}", "@type": "xsd:dateTime"}}'


def _with_seconds(text: str, read: Callable[[str], Instant | None]) -> str | None:
    """The time of a text that lacks only its seconds, which XML Schema requires."""
    match = _MINUTE.fullmatch(text)
    whole = None if match is None else f"{match[1]}:00{match[2] or ''}"
    return whole if whole is not None and read(whole) is not None else None


def _whole(number: Decimal) -> Number | None:
    return Number(number) if number == number.to_integral_value() else None


_EXAMPLES: Final = {
    "date": "write a day of the calendar, as in 2026-05-01",
    "dateTime": "write it as in 2026-05-01T12:00:00Z",
    "dateTimeStamp": "write it as in 2026-05-01T12:00:00Z: the time zone is not optional",
    "boolean": "write true or false",
    "duration": "write it as in P30D",
}


def _unknown_datatype(value: Literal, kind: str, scope: Scope) -> None:
    candidates = sorted("xsd:" + name.removeprefix(XSD) for name in _READERS)
    help_ = scope.findings.did_you_mean(scope.terms.shorten(kind), candidates)
    message = f"the datatype {quoted(kind)} is unknown"
    scope.findings.error(
        "P426", value.place, message, help_ or "write a datatype of XML Schema, such as xsd:date"
    )


def _untyped(value: Literal) -> model.Value:
    if value.number is not None:
        return Number(value.number)
    return Text(value.text) if value.is_text else Truth(value.text == "true")


def _iri(value: Literal, scope: Scope) -> Named | None:
    iri = iri_is_good(Name(respelled(value.text), value.text, value.place), "the value", scope)
    return None if iri is None else Named(iri)


def named_by_text(text: str, place: Place, scope: Scope) -> Named | None:
    """The IRI that a text writes, in full or with a prefix of the document; None where it writes none.

    ODRL's context gives `rightOperand` no type, so that JSON-LD leaves IRIs there as texts.
    """
    iri = respelled(scope.terms.expand(text) or text) if ":" in text else None
    if iri is not None and misspelt_iri(iri):
        iri_is_good(Name(iri, text, place), "the value", scope)  # reports it
        return None
    if iri is None or iri.startswith(UNRESOLVED) or iri_problem(iri):
        return None
    return Named(IRI(scope.findings.word(iri, place)))


def as_set(values: Iterable[model.Value]) -> tuple[model.Value, ...]:
    """The values sorted, without repetitions."""
    return tuple(sorted(dict.fromkeys(values), key=_order))


def _order(value: model.Value) -> tuple[str, Decimal, str]:
    match value:
        case Number(value=number):
            return "Number", number, ""
        case Named(iri=iri):
            return "Named", Decimal(0), iri
        case Text(text=text):
            return "Text", Decimal(0), text
        case Truth(value=truth):
            return "Truth", Decimal(truth), ""
        case Instant(time=time):
            return "Instant", Decimal(0), time.isoformat()
        case Day(day=day):
            return "Day", Decimal(0), day.isoformat()
