"""What a rule's purpose is limited to: MOSAICrOWN's property, or a constraint."""

import difflib
from typing import Final

from smalti.policy.comparisons import Comparison, read_comparison
from smalti.policy.expansion import UNRESOLVED
from smalti.policy.findings import quoted
from smalti.policy.nodes import Literal, Name, Node, Value
from smalti.policy.values import (
    Scope,
    bare_name,
    known_word,
    plain_text,
    spellings,
    unknown_word,
    values_of,
)
from smalti.vocab.terms import CONSTRAINT, IRI, ODRL_PURPOSE, PURPOSE
from smalti.vocab.words import BY_IRI, UNIMPLEMENTED_PURPOSES, Kind

_OPERANDS: Final = frozenset({PURPOSE, ODRL_PURPOSE})
_OPERATORS: Final = frozenset({"eq", "isA", "isAnyOf"})
_PURPOSES: Final = frozenset(iri for iri, word in BY_IRI.items() if word.kind is Kind.PURPOSE)


def read_purposes(rule: Node, scope: Scope) -> frozenset[IRI] | None:
    """The purposes that a rule is limited to; None when there is no limit, or after an error."""
    prop, constraint = rule.get(PURPOSE), rule.get(CONSTRAINT)
    limits = [comparison for value in (values_of(constraint, scope) if constraint else ())
              if (comparison := _read_constraint(value, scope)) is not None]  # fmt: skip
    if len(limits) + (prop is not None) > 1:
        place = limits[-1].operand_name.place
        message = "the rule's purpose is limited in more than one place"
        scope.findings.error("P420", place, message, "keep one; list several purposes with `isAnyOf`")
        return None
    values = values_of(prop, scope) if prop else limits[0].values if limits else None
    return None if values is None else _read_all(values, scope)


def _read_constraint(value: Value, scope: Scope) -> Comparison | None:
    comparison = read_comparison(value, "constraint", scope)
    if comparison is None:
        return None
    name = comparison.operand_name
    if comparison.operand not in _OPERANDS:
        help_ = ""
        if comparison.word is not None and comparison.word.kind is Kind.REFINEMENT:
            help_ = "did you mean a `refinement` of the action?"
        scope.findings.not_implemented(name.place, f"a constraint on {quoted(name.written)}", help_)
        return None
    if comparison.operator not in _OPERATORS:
        shown = comparison.operator_name
        feature = f"a purpose with the operator {quoted(shown.written)}"
        scope.findings.not_implemented(shown.place, feature, "write `eq`, `isA` or `isAnyOf`")
        return None
    return comparison if _count_fits(comparison, scope) else None


def _count_fits(comparison: Comparison, scope: Scope) -> bool:
    if comparison.operator == "isAnyOf" or len(comparison.values) == 1:
        return True
    message = f"`{comparison.operator}` compares with one purpose, and several are listed"
    scope.findings.error("P304", comparison.values[1].place, message, "write `isAnyOf`")
    return False


def _read_all(values: tuple[Value, ...], scope: Scope) -> frozenset[IRI]:
    return frozenset(iri for value in values if (iri := _read_purpose(value, scope)) is not None)


def _read_purpose(value: Value, scope: Scope) -> IRI | None:
    name = _name(value, scope)
    if name is None:
        return None
    iri = known_word(name, scope)
    if iri in _PURPOSES:
        return IRI(iri)
    if iri.startswith(UNIMPLEMENTED_PURPOSES):
        scope.findings.not_implemented(name.place, f"the purpose {quoted(name.written)} (of DPV)")
        return None
    names = sorted(BY_IRI[known].name for known in _PURPOSES)
    # The nearest purpose may be quite another one: only a misspelling is taken for what was meant.
    local = name.written.rpartition(":")[2]
    near = difflib.get_close_matches(local, names, n=1, cutoff=0.8)
    listed = ", ".join(f"`{known}`" for known in spellings(sorted(_PURPOSES), scope))
    unknown_word("P415", name, "purpose", near, scope, f"the purposes are {listed}")
    return None


def _name(value: Value, scope: Scope) -> Name | None:
    if not isinstance(value, Literal):
        return bare_name(value, "the purpose", scope)
    text = plain_text(value)
    if text is None:
        return bare_name(value, "the purpose", scope)
    return Name(scope.terms.expand(text) or UNRESOLVED + text, text, value.place)
