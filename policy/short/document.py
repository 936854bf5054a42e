"""The JSON-LD document that a short form stands for; each part has its place in the short form."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from smalti.policy.model.column_iris import column_iri
from smalti.policy.short.form import (
    ColumnSettings,
    Comparison,
    Condition,
    Joined,
    Names,
    RowLimit,
    Setting,
    ShortPolicy,
    ShortRule,
    Typed,
    Validity,
    Value,
)
from smalti.policy.short.reading import is_iri
from smalti.policy.short.words import ACTION_OF_ALL, OWN_ACTIONS, TYPES, ShortWord
from smalti.policy.text.json_text import (
    JsonArray,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)
from smalti.vocab.contexts import MOSAICROWN_CONTEXT, ODRL_CONTEXT, PREFERRED, SMALTI_CONTEXT
from smalti.vocab.odrl import LEFT_OPERAND_KINDS, Measured
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import IRI, MOSAICROWN, ODRL, SMALTI
from smalti.vocab.words import Range

_CONTEXTS: Final = (ODRL_CONTEXT, MOSAICROWN_CONTEXT, SMALTI_CONTEXT)
_PROTECTIVE: Final = "prohibit"
_DAY_LENGTH: Final = len("2026-05-01")
_COLUMNS: Final = frozenset({Range.COLUMN, Range.COLUMNS})


def document_of(policy: ShortPolicy) -> JsonObject:
    """The document of a policy: contexts and profile filled in, and a conflict strategy."""
    place = policy.place
    body = (
        ("@type", policy.type or _string("Set", place)),
        ("uid", policy.uid),
        ("conflict", policy.conflict or _string(_PROTECTIVE, place)),
        ("dct:valid", _interval(policy.valid)),
        ("assigner", _names(policy.shared.owner, place)),
        ("assignee", _names(policy.shared.party, place)),
        ("target", _names(policy.shared.target, place)),
        ("action", _names(_actions(policy.shared.action), place)),
        ("permission", _rules(policy.permissions, place, is_prohibition=False)),
        ("prohibition", _rules(policy.prohibitions, place, is_prohibition=True)),
        ("obligation", _rules(policy.obligations, place, is_prohibition=False)),
    )
    filled = _object(place, *body)
    contexts = [_string(PREFERRED[context], place) for context in _CONTEXTS]
    profile = _profile(filled) if policy.profile is None else _names(policy.profile or None, place)
    return _object(place, ("@context", JsonArray(tuple(contexts), place)), ("profile", profile), *body)


# --- JSON


def _object(place: Place, *members: tuple[str | JsonString, JsonValue | None]) -> JsonObject:
    present = tuple(
        Member(key if isinstance(key, JsonString) else _string(key, place), value)
        for key, value in members
        if value is not None
    )
    return JsonObject(present, place)


def _string(text: str, place: Place) -> JsonString:
    return JsonString(text, place)


def _names(names: Names, place: Place) -> JsonValue | None:
    if names is None:
        return None
    return names[0] if len(names) == 1 else JsonArray(names, place)


def _reference(name: JsonString) -> JsonObject:
    return _object(name.place, ("@id", name))


def _profile(body: JsonObject) -> JsonValue:
    """MOSAICrOWN's profile, and smalti's where one of its words is used."""
    names = [_string(MOSAICROWN, body.place)]
    if any(text.startswith("smalti:") for text in _texts(body)):
        names.append(_string(SMALTI, body.place))
    return names[0] if len(names) == 1 else JsonArray(tuple(names), body.place)


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case JsonString(text=text):
            yield text
        case JsonArray(items=items):
            for item in items:
                yield from _texts(item)
        case JsonObject(members=members):
            for member in members:
                yield from _texts(member.value)


def _interval(valid: Validity | None) -> JsonString | None:
    if valid is None:
        return None
    start, end = (".." if day is None else day.text for day in (valid.start, valid.end))
    first = valid.start or valid.end
    return _string(f"{start}/{end}", valid.place if first is None else first.place)


# --- Rules


@dataclass(frozen=True, slots=True)
class _Columns:
    """How the bare names of a rule's columns are written."""

    base: str | None
    in_full: bool
    """Whether a bare name would be resolved under another target than the table."""

    def name(self, column: JsonString) -> JsonValue:
        """A column as a value: bare where the reader of policies resolves it to the same."""
        if is_iri(column.text):
            return _reference(column)
        if self.base is not None and (self.in_full or ":" in column.text):
            return _reference(self.iri(column))
        return column

    def iri(self, column: JsonString) -> JsonString:
        if self.base is None or is_iri(column.text):
            return column
        return _string(column_iri(IRI(self.base), column.text), column.place)


def _rules(rules: Iterable[ShortRule] | None, place: Place, *, is_prohibition: bool) -> JsonValue | None:
    if rules is None:
        return None
    return JsonArray(tuple(_rule(rule, is_prohibition=is_prohibition) for rule in rules), place)


def _rule(rule: ShortRule, *, is_prohibition: bool) -> JsonObject:
    place, columns = rule.place, _Columns(rule.base, rule.columns is not None)
    constraints = [
        *(
            part
            for setting in rule.settings
            if setting.word.limits_rules
            for part in _set(setting, columns)
        ),
        *(part for limit in rule.rows for part in _row_limit(limit, columns)),
        *(part for condition in rule.constraints for part in _condition(condition)),
    ]
    return _object(
        place,
        ("uid", rule.uid),
        ("assigner", _names(rule.owner, place)),
        ("assignee", _names(rule.party, place)),
        ("target", _targets(rule, columns)),
        ("action", _action(rule, columns, is_prohibition=is_prohibition)),
        ("output", rule.output),
        ("purpose", _names(_purposes(rule.purpose), place)),
        ("constraint", JsonArray(tuple(constraints), place) if constraints else None),
        ("duty", _rules(rule.duties, place, is_prohibition=False)),
        ("remedy", _rules(rule.remedies, place, is_prohibition=False)),
        ("consequence", _rules(rule.consequences, place, is_prohibition=False)),
    )


def _targets(rule: ShortRule, columns: _Columns) -> JsonValue | None:
    if rule.columns is None:
        return _names(rule.target, rule.place)
    return _names(tuple(columns.iri(column) for column in rule.columns), rule.place)


def _purposes(purposes: Names) -> Names:
    if purposes is None:
        return None
    return tuple(
        _string(f"mosaicrown:{name.text}", name.place) if MOSAICROWN + name.text in PURPOSES else name
        for name in purposes
    )


def _actions(names: Names) -> Names:
    if names is None:
        return None
    return tuple(_string(_action_name(name.text), name.place) for name in names)


def _action_name(name: str) -> str:
    if ":" in name:
        return name
    return f"smalti:{name}" if name in OWN_ACTIONS else f"odrl:{name}"


def _action(rule: ShortRule, columns: _Columns, *, is_prohibition: bool) -> JsonValue | None:
    refinements = tuple(_refinements(rule, columns))
    names = _actions(rule.action)
    if names is None:
        names = _implied(rule, is_prohibition=is_prohibition)
    if not refinements or names is None:
        return _names(names, rule.place)
    refinement = JsonArray(refinements, rule.place)
    actions = [
        _object(name.place, ("rdf:value", _reference(name)), ("refinement", refinement)) for name in names
    ]
    return actions[0] if len(actions) == 1 else JsonArray(tuple(actions), rule.place)


def _implied(rule: ShortRule, *, is_prohibition: bool) -> Names:
    """The action of a rule that names none: what its words are about; in a prohibition everything."""
    for setting in rule.settings:
        action = {"method": "odrl:anonymize", "recipe": "smalti:train", "attacks": "smalti:audit"}.get(
            setting.word.name
        )
        if action is not None:
            return (_string(action, setting.key.place),)
    if is_prohibition:
        return tuple(_string(f"odrl:{iri.removeprefix(ODRL)}", rule.place) for iri in ACTION_OF_ALL)
    return None


# --- Conditions


def _refinements(rule: ShortRule, columns: _Columns) -> Iterator[JsonValue]:
    for setting in rule.settings:
        if not setting.word.limits_rules:
            yield from _set(setting, columns)
    if rule.one_row_each is not None:
        place = rule.one_row_each.place
        yield _comparison(
            _string("smalti:respondent", place),
            "eq",
            _reference(_string("smalti:oneRowEach", place)),
            place,
        )
    for column in rule.per_column:
        yield from _column_settings(column, columns)
    for condition in rule.refinements:
        yield from _condition(condition)


def _comparison(
    operand: JsonString, operator: str, right: JsonValue, place: Place, unit: JsonString | None = None
) -> JsonObject:
    return _object(
        operand.place,
        ("leftOperand", operand),
        ("operator", _string(operator, place)),
        ("rightOperand", right),
        ("unit", None if unit is None else _reference(unit)),
    )


def _set(setting: Setting, columns: _Columns) -> Iterator[JsonObject]:
    operand = _string(setting.word.operand, setting.key.place)
    for comparison in setting.comparisons:
        values = [_word_value(value, setting.word, columns) for value in comparison.values]
        yield _comparison(operand, comparison.operator, _right(comparison, values), comparison.place)


def _word_value(value: Value, word: ShortWord, columns: _Columns) -> JsonValue:
    if word.word.range in _COLUMNS and isinstance(value, JsonString):
        return columns.name(value)
    if word.word.range is Range.DATASET and isinstance(value, JsonString):
        return _reference(value)
    return _value(value)


def _right(comparison: Comparison, values: Sequence[JsonValue]) -> JsonValue:
    return JsonArray(tuple(values), comparison.place) if comparison.is_list else values[0]


def _column_settings(column: ColumnSettings, columns: _Columns) -> Iterator[JsonObject]:
    of = _comparison(_string("smalti:column", column.column.place), "eq", columns.name(column.column),
                     column.column.place)  # fmt: skip
    for setting in column.settings:
        for parameter in _set(setting, columns):
            yield _object(parameter.place, ("and", JsonArray((of, parameter), parameter.place)))


def _row_limit(limit: RowLimit, columns: _Columns) -> Iterator[JsonObject]:
    operand = columns.iri(limit.column)
    for comparison in limit.comparisons:
        values = [_value(value) for value in comparison.values]
        yield _comparison(operand, comparison.operator, _right(comparison, values), comparison.place)


def _condition(condition: Condition | Joined) -> Iterator[JsonObject]:
    if isinstance(condition, Joined):
        operands = JsonArray(
            tuple(part for operand in condition.operands for part in _condition(operand)),
            condition.key.place,
        )
        key, place = _string(condition.operator, condition.key.place), condition.key.place
        ordered = _object(place, ("@list", operands)) if condition.operator == "andSequence" else operands
        yield _object(place, (key, ordered))
        return
    for comparison in condition.comparisons:
        values = [_operand_value(value, condition.operand) for value in comparison.values]
        yield _comparison(
            condition.operand, comparison.operator, _right(comparison, values), comparison.place,
            condition.unit,
        )  # fmt: skip


def _operand_value(value: Value, operand: JsonString) -> JsonValue:
    """A value of an operand of ODRL: where only a point in time fits, a text is one."""
    is_moment = LEFT_OPERAND_KINDS.get(operand.text) is Measured.MOMENT
    if is_moment and isinstance(value, JsonString):
        return _value(Typed("date" if len(value.text) == _DAY_LENGTH else "date-time", value))
    return _value(value)


def _value(value: Value) -> JsonValue:
    if not isinstance(value, Typed):
        return value
    if value.kind == "iri":
        return _reference(value.text)
    place = value.text.place
    return _object(place, ("@value", value.text), ("@type", _string(TYPES[value.kind], place)))
