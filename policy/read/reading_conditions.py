"""Constraints and refinements, comparisons and logical ones, as typed conditions (ODRL IM 2.5)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import Enum
from typing import Final

from smalti.policy.document.nodes import Literal, Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model import model
from smalti.policy.model.anchors import is_anchored
from smalti.policy.model.binding import UNBOUND
from smalti.policy.model.column_iris import is_column_of, normalised_column
from smalti.policy.model.model import (
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Text,
    Truth,
)
from smalti.policy.read.comparisons import (
    WrittenComparison,
    check_no_unit,
    described,
    is_foreign_iri,
    logical_parts,
    read_comparison,
)
from smalti.policy.read.profile_words import ORDERING, is_in_order, read_profile_word, read_set
from smalti.policy.read.purposes import OPERANDS as PURPOSE_OPERANDS
from smalti.policy.read.purposes import read_purpose_comparison, read_purposes
from smalti.policy.read.typed_values import DURATION, moment_as_written, named_by_text, typed_value
from smalti.policy.read.values import Scope, odrl_name, plain_text, values_of
from smalti.vocab.declarations import OperandDeclaration, OperandKind
from smalti.vocab.odrl import (
    LEFT_OPERAND_KINDS,
    LEFT_OPERANDS,
    OPERATORS_OF,
    OPERATORS_OF_PERIODS,
    Measured,
)
from smalti.vocab.terms import (
    ANONYMIZE,
    EDC,
    IRI,
    LEFT_OPERAND,
    ODRL,
    ODRL_PURPOSE,
    OPERATOR,
    RIGHT_OPERAND,
    XSD,
)
from smalti.vocab.words import Kind


class ConditionPlace(Enum):
    """What a condition limits."""

    RULE = "rule"
    """A constraint of a rule."""
    ACTION = "action"
    """A refinement of an action."""
    ASSET = "asset"
    """A refinement of an asset collection."""
    PARTY = "party"
    """A refinement of a party collection."""


@dataclass(frozen=True, slots=True)
class ConditionContext:
    """Where a condition stands."""

    place: ConditionPlace
    targets: tuple[IRI, ...] = ()
    """Of the rule; for a refinement of an asset collection, its source. Their columns may be operands."""
    action: IRI | None = None
    """The action that is refined, where `place` is `ACTION`."""
    is_prohibition: bool = False
    """True where the action is refined in a prohibition: a prohibition may set a bound from either side."""


_KEYS: Final = (LEFT_OPERAND, OPERATOR, RIGHT_OPERAND)
_OF_COLUMNS: Final = ORDERING | {Operator.EQ, Operator.NEQ, Operator.IS_ANY_OF, Operator.IS_NONE_OF}


def read_conditions(
    prop: Property, kind: str, context: ConditionContext, scope: Scope
) -> tuple[Condition, ...]:
    """The conditions under a property; all of them must hold. After an error: those that could be read.

    Args:
        prop: `constraint` or `refinement`.
        kind: `constraint` or `refinement`, for messages.
        context: what the conditions limit.
        scope: where findings go.
    """
    conditions = (_condition(value, kind, context, scope) for value in values_of(prop, scope))
    return tuple(condition for condition in conditions if condition is not None)


def _condition(value: Value, kind: str, context: ConditionContext, scope: Scope) -> Condition | None:
    node = described(value, kind, scope)
    if node is None:
        return None
    if logical_parts(node):
        return read_logical(node, kind, lambda operand: _condition(operand, kind, context, scope), scope)
    targets = context.targets

    def is_foreign(iri: IRI) -> bool:
        if context.place is ConditionPlace.ACTION:
            return False
        return is_foreign_iri(iri, targets)

    way_out = f"a column is named by its IRI, as in `{_column_below(targets[0])}`" if targets else ""
    written = read_comparison(node, kind, is_foreign, scope, way_out)
    return None if written is None else _typed(written, context, scope)


def _column_below(target: IRI) -> str:
    """How a column of a target is named; of a target that is not bound yet, the form alone."""
    return "TARGET/COLUMN" if target.startswith(UNBOUND) else f"{target}/..."


def read_purpose_property(prop: Property, scope: Scope) -> Comparison:
    """The limit that MOSAICrOWN's property `purpose` on a rule means: any of its values.

    After an error, the comparison holds only those values that could be read, and perhaps none.
    """
    values = read_purposes(values_of(prop, scope), scope)
    return Comparison(ODRL_PURPOSE, Operator.IS_ANY_OF, values, where=scope.findings.where(prop.key))


# --- Logical constraints (ODRL IM 2.5.2)


def read_logical(
    node: Node, kind: str, read_operand: Callable[[Value], Condition | None], scope: Scope
) -> Logical | None:
    """Read a logical constraint, with a reader of its operands; None after an error."""
    parts = logical_parts(node)
    prop = node.properties[parts[0]]
    if len(parts) > 1:
        second = node.properties[parts[1]]
        message = f"a {kind} has exactly one of `and`, `or`, `xone` and `andSequence`, not several"
        scope.findings.error("P432", second.key, message, "nest one inside the other")
        return None
    mixed = [node.properties[key] for key in _KEYS if key in node.properties]
    if mixed:
        message = f"a {kind} with {quoted(prop.word)} cannot have {quoted(mixed[0].word)} beside it"
        help_ = f"write the comparison among the operands of {quoted(prop.word)}"
        scope.findings.error("P432", mixed[0].key, message, help_)
        return None
    operator = LogicalOperator(odrl_name(parts[0]))
    if operator is LogicalOperator.AND_SEQUENCE and prop.is_list is False:
        message = f"{quoted(prop.word)} orders its operands, but JSON-LD keeps no order here"
        scope.findings.error("P432", prop.key, message, 'write {"@list": [...]}')
    operands = [read_operand(value) for value in values_of(prop, scope)]
    good = tuple(operand for operand in operands if operand is not None)
    _check_unique(operands, prop, scope)
    if not good or len(good) != len(operands):
        return None
    return Logical(operator, good, scope.findings.where(node.place))


def _check_unique(operands: list[Condition | None], prop: Property, scope: Scope) -> None:
    seen: set[Condition] = set()
    for operand, value in zip(operands, prop.values, strict=True):
        if operand is None:
            continue
        if operand in seen:
            message = f"an operand of {quoted(prop.word)} is repeated"
            scope.findings.error("P432", value.place, message, "keep one of them")
        seen.add(operand)


# --- Comparisons


def _typed(written: WrittenComparison, context: ConditionContext, scope: Scope) -> Condition | None:
    misplaced = _misplaced(written, context, scope)
    if misplaced is not None:
        message, help_ = misplaced
        scope.findings.error(
            "P419", written.operand_name.place, f"{quoted(written.shown)} {message}", help_
        )
        return None
    if written.operand in PURPOSE_OPERANDS:
        return read_purpose_comparison(written, scope)
    if written.word is not None:
        is_free = context.is_prohibition or context.action == ANONYMIZE
        return read_profile_word(written, context.targets, scope, is_bounded=not is_free)
    if odrl_name(written.operand) in LEFT_OPERAND_KINDS:
        return read_odrl_comparison(written, scope)
    return _foreign_comparison(written, context, scope)


def _foreign_comparison(
    written: WrittenComparison, context: ConditionContext, scope: Scope
) -> Condition | None:
    """A comparison whose operand is neither ODRL's nor the profile's."""
    if (declaration := _declaration(written, context, scope)) is not None:
        return _declared_comparison(written, declaration, scope)
    if context.place is ConditionPlace.PARTY:
        _report_unknown(written, "", scope)
        return _fact(written, scope)
    return _column_comparison(written, context, scope)


def _misplaced(
    written: WrittenComparison, context: ConditionContext, scope: Scope
) -> tuple[str, str] | None:
    """Why a word of a profile, or the purpose, cannot stand in this place, and the way out."""
    word, is_of_rule = written.word, context.place is ConditionPlace.RULE
    declaration = None if word is not None else _declaration(written, context, scope)
    if declaration is not None and not is_of_rule:
        is_clause = declaration.kind is OperandKind.CLAUSE
        if is_clause or context.place is ConditionPlace.ACTION:
            return f"is a {declaration.kind}, which limits a rule", "write it as a `constraint` of the rule"
    limits_rules = written.operand in PURPOSE_OPERANDS or (
        word is not None and word.kind is Kind.CONSTRAINT
    )
    if limits_rules and not is_of_rule:
        return "limits a rule", "write it as a `constraint` of the rule"
    if limits_rules or word is None or context.action in word.actions:
        return None
    if is_of_rule:
        return "is not a constraint of a rule", "write it as a `refinement` of the action"
    actions = " or ".join(f"`{scope.terms.shorten(iri)}`" for iri in sorted(word.actions))
    return "does not refine this element", f"it refines the action {actions}"


def read_odrl_comparison(written: WrittenComparison, scope: Scope) -> Comparison | None:
    """Read a comparison whose operand is one of ODRL's own, and not the purpose; None after an error."""
    name = odrl_name(written.operand)
    kind = LEFT_OPERAND_KINDS[name]
    allowed = OPERATORS_OF_PERIODS.get(name, OPERATORS_OF[kind])
    if written.operator not in allowed:
        message = f"{quoted(written.shown)}, which is {kind}, does not support `{written.operator}`"
        listed = ", ".join(f"`{operator}`" for operator in sorted(allowed))
        scope.findings.error("P405", written.operator_name.place, message, f"write one of {listed}")
        return None
    values = read_set(written, lambda value: _of_kind(value, kind, written, scope), scope)
    if not _unit_fits(written, kind, scope) or values is None:
        return None
    where = scope.findings.where(written.operand_name.place)
    return Comparison(written.operand, written.operator, values, written.unit, where)


def _unit_fits(written: WrittenComparison, kind: Measured, scope: Scope) -> bool:
    if written.unit_place is None or kind in {Measured.NUMBER, Measured.WHOLE_NUMBER, Measured.ANY}:
        return True
    return check_no_unit(written, scope)


# --- Operands that a vocabulary declares


def _declaration(
    written: WrittenComparison, context: ConditionContext, scope: Scope
) -> OperandDeclaration | None:
    """What is declared of the operand; None where nothing is, or where it is a column of a target."""
    column = normalised_column(written.operand)
    if any(is_column_of(target, column) for target in context.targets):
        return None
    return scope.hierarchies.declaration(written.operand)


def _declared_comparison(
    written: WrittenComparison, declaration: OperandDeclaration, scope: Scope
) -> Comparison | None:
    if written.operator not in declaration.operators:
        shown = f"{quoted(written.shown)}, a {declaration.kind} that is {declaration.range},"
        listed = ", ".join(f"`{operator}`" for operator in sorted(declaration.operators))
        message = f"{shown} does not support `{written.operator}`"
        scope.findings.error("P405", written.operator_name.place, message, f"write one of {listed}")
        return None
    values = read_set(written, lambda value: _declared_value(value, declaration, written, scope), scope)
    if not check_no_unit(written, scope) or values is None:
        return None
    where = scope.findings.where(written.operand_name.place)
    return Comparison(declaration.iri, written.operator, values, where=where)


def _declared_value(
    value: Value, declaration: OperandDeclaration, written: WrittenComparison, scope: Scope
) -> model.Value | None:
    text = plain_text(value)
    if declaration.range is Measured.CONCEPT:
        return _concept(value, declaration, written, scope)
    if text is not None and declaration.kind is OperandKind.CLOCK and is_anchored(text):
        return Text(text)
    return _of_kind(value, declaration.range, written, scope)


def _concept(
    value: Value, declaration: OperandDeclaration, written: WrittenComparison, scope: Scope
) -> model.Value | None:
    """A concept of the operand's scheme, by its IRI, or the text that stands for it."""
    typed = typed_value(value, written.shown, scope)
    scheme = scope.hierarchies.scheme_of(declaration)
    if isinstance(typed, Text) and typed.text not in scheme.by_notation:
        typed = named_by_text(typed.text, value.place, scope) or typed
    is_of_scheme = (isinstance(typed, Text) and typed.text in scheme.by_notation) or (
        isinstance(typed, Named) and typed.iri in scheme.concepts
    )
    if typed is None or is_of_scheme:
        return typed
    shown = typed.text if isinstance(typed, Text) else typed.iri if isinstance(typed, Named) else ""
    names = [*scheme.by_notation, *scheme.concepts][:_COMPARED]
    listed = ", ".join(quoted(name) for name in sorted(scheme.by_notation or scheme.concepts)[:_LISTED])
    message = f"{quoted(written.shown)} must be {declaration.range}, not {_shown(typed)}"
    help_ = scope.findings.did_you_mean(shown, names) or (f"write one such as {listed}" if listed else "")
    scope.findings.error("P433", value.place, message, help_)
    return None


_LISTED: Final = 6
"""The most values that a help lists."""
_COMPARED: Final = 2000
"""The most words that a misspelt one is compared with."""

_TYPES: Final[dict[Measured, tuple[type[model.Value], ...]]] = {
    Measured.WHOLE_NUMBER: (Number,),
    Measured.NUMBER: (Number,),
    Measured.PERCENTAGE: (Number,),
    Measured.MOMENT: (Day, Instant),
    Measured.DURATION: (Text,),
    Measured.IDENTIFIED: (Named,),
    Measured.NAMED: (Named, Text),
    Measured.TEXT: (Text,),
    Measured.VERSION: (Number, Text),
    Measured.EVENT: (Named, Day, Instant),
    Measured.TRUTH: (Truth,),
}


def _of_kind(value: Value, kind: Measured, written: WrittenComparison, scope: Scope) -> model.Value | None:
    if kind is Measured.DURATION and isinstance(value, Literal) and value.datatype is None:
        value = replace(value, datatype=DURATION)
    if kind is Measured.MOMENT and isinstance(value, Literal) and (text := plain_text(value)) is not None:
        value = replace(value, datatype=XSD + ("date" if len(text) == len("2026-05-01") else "dateTime"))
    typed = typed_value(value, written.shown, scope)
    if isinstance(typed, Text) and kind in {Measured.IDENTIFIED, Measured.NAMED, Measured.EVENT}:
        typed = named_by_text(typed.text, value.place, scope) or typed
    if typed is None or kind is Measured.ANY:
        return typed if is_in_order(typed, value, written, scope) else None
    if not isinstance(typed, _TYPES[kind]) or _is_beyond(typed, kind):
        message = f"{quoted(written.shown)} must be {kind}, not {_shown(typed)}"
        scope.findings.error("P433", value.place, message, _example(kind, typed))
        return None
    if kind in {Measured.DURATION, Measured.EVENT}:  # ordered by the facts of a request
        return typed
    return typed if is_in_order(typed, value, written, scope) else None


def _is_beyond(typed: model.Value, kind: Measured) -> bool:
    if not isinstance(typed, Number):
        return False
    if kind is Measured.WHOLE_NUMBER:
        return typed.value != typed.value.to_integral_value() or typed.value < 0
    return kind is Measured.PERCENTAGE and not 0 <= typed.value <= 100


def _shown(typed: model.Value) -> str:
    match typed:
        case Named(iri=iri):
            return f"the IRI {quoted(iri)}"
        case Text(text=text):
            return f"the text {quoted(text)}"
        case Number(value=number):
            return f"the number {number}"
    return "another kind of value"


def _example(kind: Measured, typed: model.Value) -> str:
    text = typed.text if isinstance(typed, Text) else ""
    if kind in {Measured.MOMENT, Measured.EVENT} and (written := moment_as_written(text)):
        return f"write {written}"
    if kind is Measured.MOMENT:
        return 'write {"@value": "2026-05-01", "@type": "xsd:date"}, or an xsd:dateTime'
    if kind in {Measured.WHOLE_NUMBER, Measured.NUMBER, Measured.PERCENTAGE} and text:
        return f"write {text}, without quotes" if text.strip().isdigit() else "write a number"
    if kind is Measured.TRUTH:
        return "write true or false, without quotes"
    return 'write {"@id": "http://..."}' if kind is Measured.IDENTIFIED else ""


def _fact(written: WrittenComparison, scope: Scope) -> Comparison | None:
    """A condition on a party, under an operand of a foreign vocabulary."""
    values = read_set(written, lambda value: _ordered(value, written, scope), scope)
    if values is None:
        return None
    where = scope.findings.where(written.operand_name.place)
    return Comparison(written.operand, written.operator, values, written.unit, where)


def _ordered(value: Value, written: WrittenComparison, scope: Scope) -> model.Value | None:
    typed = typed_value(value, written.shown, scope)
    return typed if is_in_order(typed, value, written, scope) else None


def _report_unknown(written: WrittenComparison, as_column: str, scope: Scope) -> None:
    """Warn of an operand of a foreign vocabulary.

    Args:
        written: the comparison.
        as_column: the hint to name a column, where columns are allowed.
        scope: where findings go.
    """
    is_column = " or column of a target" if as_column else ""
    message = (
        f"{quoted(written.operand_name.written)} is not a known operand{is_column}: unless it is"
        " declared, permissions that require it do not apply, but prohibitions do"
    )
    local = written.operand.removeprefix(EDC)
    near = get_close_matches(local[:80], LEFT_OPERANDS, 1, 0.8) if local != written.operand else []
    if near:  # what a connector's vocabulary makes of a bare name
        help_ = f"did you mean `{scope.terms.shorten(ODRL + near[0])}`?"
        scope.findings.warning("P508", written.operand_name.place, message, help_)
        return
    namespace = written.operand.rpartition("#")[0] or written.operand.rpartition("/")[0]
    declared = (iri for iri in scope.hierarchies.declarations if iri.startswith(namespace))
    nearest = scope.findings.did_you_mean(written.operand, sorted(declared)[:_COMPARED])
    help_ = nearest or f"declare it in a vocabulary (`a odrl:LeftOperand`){as_column}"
    scope.findings.warning("P508", written.operand_name.place, message, help_)


def _column_comparison(
    written: WrittenComparison, context: ConditionContext, scope: Scope
) -> ColumnComparison | None:
    name = written.operand_name
    iri = normalised_column(written.operand)
    if not any(is_column_of(target, iri) for target in context.targets):
        as_column = f", or name a column: `{_column_below(context.targets[0])}`" if context.targets else ""
        _report_unknown(written, as_column, scope)
    if written.operator not in _OF_COLUMNS:
        listed = ", ".join(f"`{operator}`" for operator in sorted(_OF_COLUMNS))
        message = f"the values of a column do not support `{written.operator}`"
        scope.findings.error("P405", written.operator_name.place, message, f"write one of {listed}")
        return None
    values = read_set(written, lambda value: _ordered(value, written, scope), scope)
    if not check_no_unit(written, scope) or values is None:
        return None
    column = ColumnReference(iri, scope.findings.where(name.place))
    return ColumnComparison(column, written.operator, values, scope.findings.where(written.place))
