"""One comparison with a word of the profile: its operator, its values, its limits."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from smalti.policy.document.nodes import Literal, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model import model
from smalti.policy.model.model import Comparison, Day, Instant, Named, Number, Operator, Text
from smalti.policy.read.columns import Column, read_columns, read_respondent
from smalti.policy.read.comparisons import WrittenComparison, check_no_unit
from smalti.policy.read.typed_values import as_set, moment_as_written, named_by_text, typed_value
from smalti.policy.read.values import Scope, chosen_name, may_be_defined, number_in, open_name
from smalti.vocab.terms import IRI, PSEUDONYM_KEY, RESPONDENT
from smalti.vocab.words import Range, Word

_A_DAY: Final = 'a number, or {"@value": "2026-05-01", "@type": "xsd:date"}'
_UPPER: Final = frozenset({Operator.LTEQ, Operator.LT})
_LOWER: Final = frozenset({Operator.GTEQ, Operator.GT})
_STRICT: Final = {Operator.GT: "gteq", Operator.LT: "lteq"}
ORDERING: Final = frozenset({Operator.GT, Operator.GTEQ, Operator.LT, Operator.LTEQ})
_EQUALITY: Final = frozenset({Operator.EQ, Operator.NEQ, Operator.IS_ANY_OF, Operator.IS_NONE_OF})
_NAME_OF_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_LIKE_A_KEY: Final = re.compile(
    r"[0-9A-Fa-f]{16,}|(?=[A-Za-z]*[0-9])(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9]{20,}"
)
"""Digits of a number in base 16, or a long mixture of letters and digits, as base 64 produces."""


def read_profile_word(
    written: WrittenComparison, targets: tuple[IRI, ...], scope: Scope, *, is_bounded: bool = True
) -> Comparison | None:
    """Read a comparison whose operand is a word of the profile; None after an error.

    Args:
        written: the comparison.
        targets: of the rule, for bare names of columns.
        scope: where findings go.
        is_bounded: whether the operator must state a requirement (as in permissions); otherwise any
            that the word's range supports is allowed (as in prohibitions).
    """
    word = written.word
    if word is None or not _check_operator(word, written, scope, is_bounded=is_bounded):
        return None
    if not check_no_unit(written, scope):
        return None
    values = _values(word, written, targets, scope)
    if values is None:
        return None
    where = scope.findings.where(written.place)
    return Comparison(written.operand, written.operator, as_set(values), where=where)


def is_in_order(typed: model.Value | None, value: Value, written: WrittenComparison, scope: Scope) -> bool:
    """Report a value without an order where the operator requires one; False then, and for None."""
    if typed is None or written.operator not in ORDERING or isinstance(typed, Number | Day | Instant):
        return typed is not None
    if may_be_defined(written.operand, scope):
        return True
    message = (
        f"`{written.operator}` requires a number, a date or a date with time: other values have no order"
    )
    text = typed.text if isinstance(typed, Text) else ""
    help_ = f"write {text}, without quotes" if text.strip().isdigit() and text.isascii() else ""
    scope.findings.error("P427", value.place, message, help_)
    return False


def _check_operator(word: Word, written: WrittenComparison, scope: Scope, *, is_bounded: bool) -> bool:
    operator = written.operator
    allowed = word.operators if is_bounded else word.operators | _free(word.range)
    if operator in allowed:
        return True
    shown, place = quoted(written.shown), written.operator_name.place
    listed = " or ".join(f"`{name}`" for name in sorted(allowed))
    bounds = {"gteq", "lteq"} & allowed
    if operator in _UPPER and bounds == {"gteq"}:
        message = f"`{operator}` makes {shown} an upper bound on privacy"
        scope.findings.error("P406", place, message, "write `gteq` to state the minimum")
    elif operator in _LOWER and bounds == {"lteq"}:
        message = f"`{operator}` makes {shown} a lower bound on the privacy loss"
        scope.findings.error("P406", place, message, "write `lteq` to state the maximum")
    elif operator in _STRICT and _STRICT[operator] in allowed:
        scope.findings.error("P405", place, f"{shown} does not support `{operator}`", f"write {listed}")
    else:
        scope.findings.error("P405", place, f"{shown} does not support `{operator}`", f"write {listed}")
    return False


def _free(range_: Range) -> frozenset[str]:
    if range_ in {Range.INTEGER, Range.DECIMAL, Range.VALUE}:
        return frozenset(_EQUALITY | ORDERING)
    return frozenset(_EQUALITY | {Operator.IS_ALL_OF})


def _values(
    word: Word, written: WrittenComparison, targets: tuple[IRI, ...], scope: Scope
) -> tuple[model.Value, ...] | None:
    if word.iri == RESPONDENT and len(written.values) == 1:
        respondent = read_respondent(written.values[0], targets, scope)
        return None if respondent is None else _named((respondent,), scope)
    if word.range in {Range.COLUMN, Range.COLUMNS}:
        columns = read_columns(written.values, targets, scope)
        return None if columns is None else _named(columns, scope)
    return read_set(written, lambda value: _value(value, word, written, scope), scope)


def _named(columns: Iterable[Column], scope: Scope) -> tuple[Named, ...]:
    return tuple(Named(column.iri, scope.findings.where(column.place)) for column in columns)


def read_set(
    written: WrittenComparison, read: Callable[[Value], model.Value | None], scope: Scope
) -> tuple[model.Value, ...] | None:
    """All values of a comparison as a set; None after an error."""
    elements: set[model.Value] = set()
    good = True
    for value in written.values:
        element = read(value)
        if element in elements:
            message = f"a value of {quoted(written.shown)} is listed twice"
            scope.findings.warning("P504", value.place, message, "lists are sets: remove one")
        if element is not None:
            elements.add(element)
        good &= element is not None
    return as_set(elements) if good else None


def _value(value: Value, word: Word, written: WrittenComparison, scope: Scope) -> model.Value | None:
    match word.range:
        case Range.INTEGER | Range.DECIMAL:
            number = number_in(value, word, written.shown, scope)
            return None if number is None else Number(number)
        case Range.NAME:
            name = (
                chosen_name(value, written.shown, word, scope)
                if word.names
                else _open(value, word, written, scope)
            )
            return None if name is None else Text(name)
        case Range.DATASET:
            return _dataset(value, written, scope)
    return _ordered(value, written, scope)


def _open(value: Value, word: Word, written: WrittenComparison, scope: Scope) -> str | None:
    if written.operand != PSEUDONYM_KEY:
        name = open_name(value, written.shown, scope)
        if name is None or not word.form or re.fullmatch(word.form, name):
            return name
        message = f"{quoted(written.shown)} must be a short name"
        help_ = "write letters, digits, `.`, `_` and `-`, a letter first, at most 64 of them"
        scope.findings.error("P422", value.place, message, help_)
        return None
    text = value.text if isinstance(value, Literal) and value.is_text else ""
    if _NAME_OF_KEY.fullmatch(text) and not _LIKE_A_KEY.search(text):
        return text
    # The message does not repeat the value: it may be a secret.
    message = f"{quoted(written.shown)} must be the name of a key, and the value does not look like one"
    help_ = "write a name of letters, digits, `.`, `_` and `-`; a policy never contains a key"
    scope.findings.error("P430", value.place, message, help_)
    return None


def _dataset(value: Value, written: WrittenComparison, scope: Scope) -> Named | None:
    typed = typed_value(value, written.shown, scope)
    if isinstance(typed, Text):
        typed = named_by_text(typed.text, value.place, scope) or typed
    if typed is None or isinstance(typed, Named):
        return typed
    message = f"{quoted(written.shown)} takes a dataset, named by its IRI"
    scope.findings.error("P314", value.place, message, 'write {"@id": "http://..."}')
    return None


def _ordered(value: Value, written: WrittenComparison, scope: Scope) -> model.Value | None:
    typed = typed_value(value, written.shown, scope)
    if typed is None or isinstance(typed, Number | Day | Instant):
        return typed
    message = f"{quoted(written.shown)} takes a number, a date or a date with time"
    text = typed.text if isinstance(typed, Text) else ""
    scope.findings.error("P433", value.place, message, f"write {moment_as_written(text) or _A_DAY}")
    return None
