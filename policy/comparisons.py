"""Constraints and refinements, as comparisons of an operand with values (ODRL IM 2.5)."""

from dataclasses import dataclass
from typing import Final

from smalti.policy.findings import quoted
from smalti.policy.json_text import Place as TextPlace
from smalti.policy.nodes import Literal, Name, Node, Value
from smalti.policy.properties import Place, check_properties
from smalti.policy.values import (
    Scope,
    bare_name,
    known_word,
    odrl_name,
    one_value,
    spellings,
    unknown_word,
    values_of,
)
from smalti.vocab.odrl import LEFT_OPERANDS, LOGICAL_OPERANDS, OPERATORS
from smalti.vocab.terms import (
    LEFT_OPERAND,
    MOSAICROWN,
    ODRL,
    OPERATOR,
    RIGHT_OPERAND,
    RIGHT_OPERAND_REFERENCE,
    SMALTI,
)
from smalti.vocab.words import BY_IRI, Kind, Word

_OPERANDS: Final = frozenset(
    iri for iri, word in BY_IRI.items() if word.kind in {Kind.REFINEMENT, Kind.CONSTRAINT}
)
_VOCABULARIES: Final = (ODRL, MOSAICROWN, SMALTI)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One constraint or refinement, whose operand and operator are known words."""

    operand: str
    """Canonical IRI."""
    operand_name: Name
    operator: str
    """Local name."""
    operator_name: Name
    values: tuple[Value, ...]
    """At least one."""
    place: TextPlace

    @property
    def word(self) -> Word | None:
        """The profile's definition of the operand; None for an operand of ODRL's own."""
        return BY_IRI.get(self.operand)


def read_comparison(value: Value, what: str, scope: Scope) -> Comparison | None:
    """Read one constraint or refinement; None after an error.

    Args:
        value: what the document says.
        what: `constraint` or `refinement`, for messages.
        scope: where findings go.
    """
    node = _described(value, what, scope)
    if node is None:
        return None
    if not _is_reference_kind(node, scope):
        check_properties(node, Place.CONSTRAINT, scope)
    if not node.is_complete or set(node.properties) & {ODRL + name for name in LOGICAL_OPERANDS}:
        return None
    return _parts(node, what, scope)


def _described(value: Value, what: str, scope: Scope) -> Node | None:
    if isinstance(value, Literal):
        message = f"a {what} is an object with leftOperand, operator and rightOperand"
        scope.findings.error("P308", value.place, message)
        return None
    if value.is_reference and value.name is not None:
        message = f"the {what} {quoted(value.name.written)} is only named"
        scope.findings.error("P311", value.name.place, message, f"write the {what} here")
        return None
    allowed = {ODRL + "Constraint", ODRL + "LogicalConstraint"}
    for name in value.types:
        if name.iri not in allowed:
            message = f"the type {quoted(name.written)} is not that of a {what}"
            scope.findings.error("P320", name.place, message)
    return value


def _is_reference_kind(node: Node, scope: Scope) -> bool:
    prop = node.get(RIGHT_OPERAND_REFERENCE)
    if prop is None:
        return False
    help_ = "write the value itself, as `rightOperand`"
    message = f"{quoted(prop.word)} would have to be fetched, and nothing is ever fetched"
    scope.findings.error("P321", prop.key, message, help_)
    return True


def _parts(node: Node, what: str, scope: Scope) -> Comparison | None:
    operand = _operand(node, what, scope)
    operator = _operator(node, what, scope)
    right = node.get(RIGHT_OPERAND)
    if right is None and node.get(RIGHT_OPERAND_REFERENCE) is None:
        _missing("rightOperand", node, what, scope)
    if operand is None or operator is None or right is None or not values_of(right, scope):
        return None
    return Comparison(*operand, *operator, right.values, node.place)


def _missing(part: str, node: Node, what: str, scope: Scope) -> None:
    scope.findings.error("P308", node.place, f"the {what} has no `{part}`")


def _word(node: Node, iri: str, what: str, scope: Scope) -> Name | None:
    if node.get(iri) is None:
        _missing(odrl_name(iri), node, what, scope)
        return None
    value = one_value(node, iri, scope)
    return bare_name(value, f"the {odrl_name(iri)}", scope) if value is not None else None


def _operand(node: Node, what: str, scope: Scope) -> tuple[str, Name] | None:
    name = _word(node, LEFT_OPERAND, what, scope)
    if name is None:
        return None
    iri = known_word(name, scope)
    if iri in _OPERANDS or odrl_name(iri) in LEFT_OPERANDS:
        return iri, name
    if (
        what == "constraint"
        and iri.startswith(("http://", "https://"))
        and not iri.startswith(_VOCABULARIES)
    ):
        scope.findings.not_implemented(name.place, f"a constraint on the values of {quoted(name.written)}")
        return None
    known = [*spellings(_OPERANDS, scope), *LEFT_OPERANDS]
    unknown_word("P307", name, "operand", known, scope)
    return None


def _operator(node: Node, what: str, scope: Scope) -> tuple[str, Name] | None:
    name = _word(node, OPERATOR, what, scope)
    if name is None:
        return None
    operator = odrl_name(known_word(name, scope))
    if operator in OPERATORS:
        return operator, name
    unknown_word("P306", name, "operator", OPERATORS, scope)
    return None
