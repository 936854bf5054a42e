"""One comparison of a constraint or refinement, as a document writes it (ODRL IM 2.5.1)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.expansion import BASE
from smalti.policy.document.nodes import Literal, Name, Node, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import respelled
from smalti.policy.model.model import Operator
from smalti.policy.read.properties import Place, check_properties
from smalti.policy.read.values import (
    Scope,
    bare_name,
    canonical_word,
    iri_is_good,
    is_described_here,
    is_foreign_word,
    odrl_name,
    one_value,
    spellings,
    unknown_word,
    values_of,
)
from smalti.policy.text.json_text import Place as TextPlace
from smalti.vocab.odrl import LEFT_OPERANDS, LOGICAL_OPERANDS, OPERATORS
from smalti.vocab.terms import (
    DATA_TYPE,
    EDC,
    IRI,
    LEFT_OPERAND,
    ODRL,
    OPERATOR,
    RIGHT_OPERAND,
    RIGHT_OPERAND_REFERENCE,
    UNIT,
    XSD,
)
from smalti.vocab.words import BY_IRI, Kind, Word

_OPERANDS: Final = frozenset(
    iri for iri, word in BY_IRI.items() if word.kind in {Kind.REFINEMENT, Kind.CONSTRAINT}
)
_TYPES: Final = frozenset(
    namespace + name
    for namespace in (ODRL, BASE, EDC)
    for name in ("Constraint", "LogicalConstraint", "AtomicConstraint")
)
"""The types of constraints. Drafts of ODRL had AtomicConstraint, which connectors still write. Where no
context defines a type, JSON-LD reads a relative IRI, or a word of the connector's vocabulary."""
SETS: Final = frozenset({Operator.IS_ALL_OF, Operator.IS_ANY_OF, Operator.IS_NONE_OF})
"""The operators that compare with a list (ODRL IM 2.5.1)."""


_COMPARED: Final = 2000
"""The most declared operands that a misspelt one is compared with."""


@dataclass(frozen=True, slots=True)
class WrittenComparison:
    """One comparison whose operator is known, and whose operand is a word or allowed at its place."""

    operand: IRI
    """Canonical."""
    operand_name: Name
    operator: Operator
    operator_name: Name
    values: tuple[Value, ...]
    """At least one; exactly one unless the operator is of `SETS`. Typed by the constraint's `dataType`."""
    unit: IRI | None
    unit_place: TextPlace | None
    place: TextPlace

    @property
    def word(self) -> Word | None:
        """The profile's definition of the operand; None for any other operand."""
        return BY_IRI.get(self.operand)

    @property
    def shown(self) -> str:
        """The operand, as the document writes it."""
        return self.operand_name.written


def described(value: Value, what: str, scope: Scope) -> Node | None:
    """A constraint or refinement that is written here, with its type and properties checked.

    Args:
        value: what the document says.
        what: `constraint` or `refinement`, for messages.
        scope: where findings go.
    """
    if isinstance(value, Literal):
        message = f"a {what} is an object with leftOperand, operator and rightOperand"
        scope.findings.error("P308", value.place, message)
        return None
    if not is_described_here(value, what, scope):
        return None
    for name in value.types:
        if name.iri not in _TYPES:
            message = f"a {what} cannot have the type {quoted(name.written)}"
            scope.findings.error("P320", name.place, message)
    if not _is_reference_kind(value, scope):
        check_properties(value, Place.CONSTRAINT, scope)
    return value


def check_no_unit(written: WrittenComparison, scope: Scope) -> bool:
    """Report a unit on an operand without one; False where there is one."""
    if written.unit_place is None:
        return True
    message = f"{quoted(written.shown)} has no unit"
    scope.findings.error("P434", written.unit_place, message, "remove the unit")
    return False


def logical_parts(node: Node) -> tuple[str, ...]:
    """The IRIs of the logical operands that a constraint has."""
    return tuple(iri for iri in node.properties if iri in {ODRL + name for name in LOGICAL_OPERANDS})


def _is_reference_kind(node: Node, scope: Scope) -> bool:
    prop = node.get(RIGHT_OPERAND_REFERENCE)
    if prop is None:
        return False
    help_ = "write the value itself, as `rightOperand`"
    message = f"{quoted(prop.word)} requires a fetch, and smalti fetches nothing"
    scope.findings.error("P321", prop.key, message, help_)
    return True


def read_comparison(
    node: Node, what: str, is_foreign: Callable[[IRI], bool], scope: Scope, way_out: str = ""
) -> WrittenComparison | None:
    """Read one comparison; None after an error.

    Args:
        node: a constraint or refinement that is no logical one.
        what: `constraint` or `refinement`, for messages.
        is_foreign: whether an IRI that is no word may be an operand here.
        scope: where findings go.
        way_out: the help for an unknown operand without a similar word.
    """
    if not node.is_complete:
        return None
    operand = _operand(node, what, is_foreign, scope, way_out)
    operator = _operator(node, what, scope)
    right = node.get(RIGHT_OPERAND)
    if right is None and node.get(RIGHT_OPERAND_REFERENCE) is None:
        _missing("rightOperand", node, what, scope)
    if operand is None or operator is None or right is None or not values_of(right, scope):
        return None
    unit, values = _unit(node, scope), _with_datatype(right.values, node, scope)
    if not _count_fits(operator[0], right.values, operand[1], scope) or values is None:
        return None
    unit_place = node.properties[UNIT].key if UNIT in node.properties else None
    return WrittenComparison(*operand, *operator, values, unit, unit_place, node.place)


def is_foreign_iri(iri: IRI, under: tuple[IRI, ...]) -> bool:
    """Whether an IRI is no word, but may name a column or a fact: below a target, or any HTTP IRI."""
    if not is_foreign_word(iri):
        return False
    return is_under(iri, under) or iri.startswith(("http://", "https://"))


def is_under(iri: IRI, targets: tuple[IRI, ...]) -> bool:
    """Whether an IRI is a column's by default: that of one of the targets, a slash, a name."""
    return any(iri.startswith(f"{target}/") and len(iri) > len(target) + 1 for target in targets)


def _count_fits(operator: Operator, values: tuple[Value, ...], operand: Name, scope: Scope) -> bool:
    if operator in SETS or len(values) == 1:
        return True
    message = f"{quoted(operand.written)} has more than one value, but `{operator}` compares with one"
    scope.findings.error("P304", values[1].place, message, "list several with `isAnyOf`")
    return False


def _missing(part: str, node: Node, what: str, scope: Scope) -> None:
    scope.findings.error("P308", node.place, f"the {what} has no `{part}`")


def _word(node: Node, iri: str, what: str, scope: Scope) -> Name | None:
    if node.get(iri) is None:
        _missing(odrl_name(iri), node, what, scope)
        return None
    value = one_value(node, iri, scope)
    return bare_name(value, f"the {odrl_name(iri)}", scope) if value is not None else None


def _operand(
    node: Node, what: str, is_foreign: Callable[[IRI], bool], scope: Scope, way_out: str
) -> tuple[IRI, Name] | None:
    name = _word(node, LEFT_OPERAND, what, scope)
    if name is None:
        return None
    iri = IRI(canonical_word(name, scope))
    is_declared = scope.hierarchies.declaration(iri) is not None
    if iri in _OPERANDS or odrl_name(iri) in LEFT_OPERANDS or is_declared or is_foreign(iri):
        return iri, name
    declarations = list(scope.hierarchies.declarations)[:_COMPARED]
    candidates = [
        *spellings((*_OPERANDS, *declarations), scope),
        *LEFT_OPERANDS,
        *map(_local, declarations),
    ]
    unknown_word("P307", name, "operand", candidates, scope, way_out)
    return None


def _local(iri: IRI) -> str:
    return iri.rpartition("#")[2].rpartition("/")[2]


def _operator(node: Node, what: str, scope: Scope) -> tuple[Operator, Name] | None:
    name = _word(node, OPERATOR, what, scope)
    if name is None:
        return None
    operator = odrl_name(canonical_word(name, scope))
    if operator in OPERATORS:
        return Operator(operator), name
    unknown_word("P306", name, "operator", OPERATORS, scope)
    return None


def _unit(node: Node, scope: Scope) -> IRI | None:
    name = _iri_or_text(node, UNIT, "the unit", scope)
    return iri_is_good(name, "the unit", scope) if name is not None else None


def _with_datatype(values: tuple[Value, ...], node: Node, scope: Scope) -> tuple[Value, ...] | None:
    """The values, those without a type typed by the constraint's `dataType`; None after an error."""
    if node.get(DATA_TYPE) is None:
        return values
    name = _iri_or_text(node, DATA_TYPE, "the dataType", scope)
    datatype = iri_is_good(name, "the dataType", scope) if name is not None else None
    if datatype is None:
        return None
    good = True
    for value in values:
        kind = value.datatype if isinstance(value, Literal) else XSD + "anyURI"
        if kind is not None and kind != datatype:
            message = f"the type {quoted(kind)} of a value contradicts `dataType`"
            scope.findings.error("P426", value.place, message, "keep one of them")
            good = False
    typed = (replace(v, datatype=datatype) if isinstance(v, Literal) else v for v in values)
    return tuple(typed) if good else None


def _iri_or_text(node: Node, iri: str, what: str, scope: Scope) -> Name | None:
    """An IRI that the context of ODRL leaves as a text, in full or with a prefix."""
    value = one_value(node, iri, scope)
    if value is None:
        return None
    if isinstance(value, Node):
        return bare_name(value, what, scope)
    if not value.is_text or value.has_language or not value.text:
        scope.findings.error("P314", value.place, f"{what} is named by an IRI")
        return None
    return Name(respelled(scope.terms.expand(value.text) or value.text), value.text, value.place)
