"""The refinements of an action that are read together: each once, and with those that it requires."""

from collections.abc import Callable

from smalti.policy.document.nodes import Node, Property, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.read.combinations import check_needs_of_words, is_met, shown_word
from smalti.policy.read.comparisons import described, logical_parts, read_comparison
from smalti.policy.read.profile_words import read_profile_word
from smalti.policy.read.purposes import OPERANDS as PURPOSE_OPERANDS
from smalti.policy.read.reading_conditions import read_odrl_comparison
from smalti.policy.read.stated_refinements import Refinement, Refinements
from smalti.policy.read.values import Scope, values_of
from smalti.vocab.terms import IRI
from smalti.vocab.words import ACTION_NEEDS, Kind


def read_refinements(
    prop: Property, refinements: Refinements, read: Callable[[Value], Refinement | None], scope: Scope
) -> None:
    """Read every refinement under a property, and add those without error."""
    refinements.is_whole = bool(values_of(prop, scope))
    for value in prop.values:
        refinement = read(value)
        refinements.is_whole &= refinement is not None and refinements.add(refinement, scope)


def read_plain_refinement(
    value: Value, action: IRI, targets: tuple[IRI, ...], scope: Scope
) -> Refinement | None:
    """Read a refinement of an action that has no parameters of single columns; None after an error."""
    node = described(value, "refinement", scope)
    if node is None:
        return None
    parts = logical_parts(node)
    if not parts:
        return read_refinement(node, action, targets, scope)
    logical = node.properties[parts[0]]
    message = (
        f"all refinements of this action apply together, so {quoted(logical.word)} has no meaning here"
    )
    scope.findings.error("P419", logical.key, message, "write them beside each other")
    return None


def read_refinement(node: Node, action: IRI, targets: tuple[IRI, ...], scope: Scope) -> Refinement | None:
    """Read one comparison among the refinements of an action; None after an error.

    Args:
        node: a refinement that is no logical one.
        action: the one that is refined.
        targets: of the rule; bare names of columns stand for columns of its one target.
        scope: where findings go.
    """
    written = read_comparison(node, "refinement", lambda _: False, scope)
    if written is None:
        return None
    if written.operand in PURPOSE_OPERANDS or (written.word and written.word.kind is Kind.CONSTRAINT):
        message = f"{quoted(written.shown)} is not a refinement of an action"
        help_ = "write it as a `constraint` of the rule"
        scope.findings.error("P419", written.operand_name.place, message, help_)
        return None
    if written.word is None:
        comparison = read_odrl_comparison(written, scope)
    elif action not in written.word.actions:
        actions = " or ".join(f"`{scope.terms.shorten(iri)}`" for iri in sorted(written.word.actions))
        message = f"{quoted(written.shown)} does not refine this action"
        scope.findings.error("P419", written.operand_name.place, message, f"it refines {actions}")
        return None
    else:
        comparison = read_profile_word(written, targets, scope)
    return None if comparison is None else Refinement(comparison, written, targets)


def check_needs(action: IRI, refinements: Refinements, scope: Scope) -> None:
    """Report missing refinements of an action (`vocab.words.ACTION_NEEDS`), if all were read."""
    if not refinements.is_whole:
        return
    lacking = [need for need in ACTION_NEEDS[action] if not is_met(need, refinements)]
    if lacking:
        listed = " and ".join(" or ".join(shown_word(iri, scope) for iri in need) for need in lacking)
        message = f"the action {shown_word(action, scope)} requires a refinement with {listed}"
        scope.findings.error("P411", refinements.place, message)
    check_needs_of_words(refinements, scope)
