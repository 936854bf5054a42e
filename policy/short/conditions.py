"""Constraints and refinements of canonical JSON-LD as words of the short form."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from smalti.policy.model.column_iris import is_column_of
from smalti.policy.short.plain import NOWHERE, array, items_of, one_or_list, plain_object, text, text_value
from smalti.policy.short.words import (
    BY_OPERAND,
    JOINED,
    ONE_ROW_EACH_WORD,
    TYPES,
    WORD_OF,
    WORDS,
    ShortWord,
)
from smalti.policy.text.json_text import JsonArray, JsonNamed, JsonObject, JsonString, JsonValue
from smalti.vocab.odrl import LEFT_OPERAND_KINDS, Measured
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import MOSAICROWN
from smalti.vocab.words import Range, Scope

_JOINED: Final = {odrl: word for word, odrl in JOINED.items()}
_TYPES: Final = {datatype: word for word, datatype in TYPES.items()}
_DAY_LENGTH: Final = len("2026-05-01")
_ONE_ROW_EACH: Final = "smalti:oneRowEach"

Words = dict[str, JsonValue]
Limits = dict[str, list[tuple[str, JsonValue]]]
"""By name, the operators with their values."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Writes the conditions of one rule."""

    bare: Callable[[str], str]
    """The name of a column, from its IRI."""
    base: str | None
    """The table of the rule."""
    problems: list[str]

    def refinements(self, conditions: Iterable[JsonValue]) -> Words:
        """The words of an action's refinements."""
        words: Words = {}
        settings: Limits = {}
        columns: dict[str, Limits] = {}
        others: list[JsonValue] = []
        for condition in conditions:
            if not isinstance(condition, JsonObject):
                continue
            word = BY_OPERAND.get(_part(condition, "leftOperand"))
            parameter = self.parameter(condition)
            right = _right(condition)
            if parameter is not None:
                column, of_column, inner = parameter
                columns.setdefault(column, {}).setdefault(of_column.name, []).append(
                    (_part(inner, "operator"), self.values(_right(inner), of_column))
                )
            elif word is None or word.word.scope is Scope.COLUMN or _has_unit(condition):
                others.append(self.condition(condition))
            elif word.name == "respondent" and _reference(right) == _ONE_ROW_EACH:
                words |= self.one_row_each(condition)
            else:
                settings.setdefault(word.name, []).append(
                    (_part(condition, "operator"), self.values(right, word))
                )
        words |= self.limited(settings)
        if columns:
            words["per-column"] = plain_object(
                {column: plain_object(self.limited(limits)) for column, limits in columns.items()}
            )
        return words | ({"refinements": array(others)} if others else {})

    def constraints(self, conditions: Iterable[JsonValue], *, has_purpose: bool) -> Words:
        """The words of a rule's constraints."""
        words: Words = {}
        settings: Limits = {}
        rows: Limits = {}
        others: list[JsonValue] = []
        for condition in conditions:
            if not isinstance(condition, JsonObject):
                continue
            operand, operator = _part(condition, "leftOperand"), _part(condition, "operator")
            word = BY_OPERAND.get(operand)
            if word is not None and word.limits_rules:
                settings.setdefault(word.name, []).append((operator, _right(condition)))
            elif operand in {"purpose", "odrl:purpose"} and operator == "isAnyOf" and not has_purpose:
                words["purpose"] = one_or_list(map(_purpose, items_of(_right(condition))))
                has_purpose = True
            elif (
                self.base is not None and is_column_of(self.base, operand) and self.bare(operand) != operand
            ):
                rows.setdefault(self.bare(operand), []).append(
                    (operator, self.typed(_right(condition), ""))
                )
            else:
                others.append(self.condition(condition))
        words |= self.limited(settings)
        if rows:
            words["rows"] = plain_object(
                {column: self.compared(column, limits, _equal) for column, limits in rows.items()}
            )
        return words | ({"constraints": array(others)} if others else {})

    # --- Words

    def one_row_each(self, condition: JsonObject) -> Words:
        if _part(condition, "operator") != "eq":
            self.problems.append("a respondent that is not compared by `eq`")
        return {ONE_ROW_EACH_WORD: JsonNamed(True, NOWHERE)}

    def parameter(self, condition: JsonObject) -> tuple[str, ShortWord, JsonObject] | None:
        """The column of a parameter of one column, its word and the parameter; None for anything else."""
        member = condition.find("and")
        if member is None:
            return None
        operands = [item for item in items_of(member.value) if isinstance(item, JsonObject)]
        of = [item for item in operands if _part(item, "leftOperand") == "smalti:column"]
        others = [item for item in operands if _part(item, "leftOperand") in BY_OPERAND]
        if len(operands) != 2 or len(of) != 1 or len(others) != 1:
            return None
        column = _reference(_right(of[0])) or text(_right(of[0]))
        return self.bare(column), BY_OPERAND[_part(others[0], "leftOperand")], others[0]

    def limited(self, settings: Limits) -> Words:
        words: Words = {}
        for name, limits in settings.items():
            words[name] = self.compared(name, limits, partial(_default, WORDS[name]))
        return words

    def compared(
        self, name: str, limits: list[tuple[str, JsonValue]], default: Callable[[bool], str | None]
    ) -> JsonValue:
        """One value that stands alone, or operators with their values."""
        if len({operator for operator, _ in limits}) < len(limits):
            self.problems.append(f"two limits of `{name}` with one operator")
        if len(limits) == 1:
            operator, value = limits[0]
            if default(isinstance(value, JsonArray)) == operator:
                return value
        return plain_object({WORD_OF[operator]: value for operator, value in limits})

    # --- Conditions that have no word of their own

    def condition(self, condition: JsonObject) -> JsonValue:
        for operator, word in _JOINED.items():
            member = condition.find(operator)
            if member is not None:
                value = member.value
                if isinstance(value, JsonObject) and (listed := value.find("@list")) is not None:
                    value = listed.value
                operands = [
                    self.condition(item) for item in items_of(value) if isinstance(item, JsonObject)
                ]
                return plain_object({word: array(operands)})
        operand, operator = _part(condition, "leftOperand"), _part(condition, "operator")
        value = self.typed(_right(condition), operand)
        unit = condition.find("unit")
        if unit is not None:
            compared = {WORD_OF[operator]: value, "unit": text_value(_reference(unit.value))}
            return plain_object({operand: plain_object(compared)})
        return plain_object({operand: self.compared(operand, [(operator, value)], _equal)})

    # --- Values

    def values(self, value: JsonValue, word: ShortWord) -> JsonValue:
        if isinstance(value, JsonArray):
            return array(self.values(item, word) for item in value.items)
        if word.word.range in {Range.COLUMN, Range.COLUMNS}:
            return text_value(self.bare(_reference(value) or text(value)))
        if word.word.range is Range.DATASET:
            return text_value(_reference(value) or text(value))
        return self.typed(value, "")

    def typed(self, value: JsonValue, operand: str) -> JsonValue:
        """A value; a point in time is a text where the operand can be nothing else."""
        if isinstance(value, JsonArray):
            return array(self.typed(item, operand) for item in value.items)
        if not isinstance(value, JsonObject):
            return value
        if reference := _reference(value):
            return plain_object({"iri": text_value(reference)})
        content, kind = _part(value, "@value"), _TYPES[_part(value, "@type")]
        is_day = len(content) == _DAY_LENGTH
        if LEFT_OPERAND_KINDS.get(operand) is Measured.MOMENT and is_day == (kind == "date"):
            return text_value(content)
        return plain_object({kind: text_value(content)})


def _equal(is_list: bool) -> str:
    return "isAnyOf" if is_list else "eq"


def _part(source: JsonObject, key: str) -> str:
    member = source.find(key)
    return "" if member is None else text(member.value)


def _right(condition: JsonObject) -> JsonValue:
    member = condition.find("rightOperand")
    return array(()) if member is None else member.value


def _has_unit(condition: JsonObject) -> bool:
    return condition.find("unit") is not None


def _reference(value: JsonValue) -> str:
    return _part(value, "@id") if isinstance(value, JsonObject) else ""


def _purpose(value: JsonValue) -> JsonString:
    name = _reference(value) or text(value)
    local = name.removeprefix("mosaicrown:")
    return text_value(local if MOSAICROWN + local in PURPOSES else name)


def _default(word: ShortWord, is_list: bool) -> str | None:
    return word.default(is_list=is_list)
