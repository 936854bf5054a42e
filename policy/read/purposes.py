"""Limits on a rule's purpose: MOSAICrOWN's property, or a constraint in any of its spellings."""

import difflib
from typing import Final

from smalti.policy.document.expansion import UNRESOLVED
from smalti.policy.document.nodes import Literal, Name, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.iris import iri_problem
from smalti.policy.model.model import Comparison, Named
from smalti.policy.read.comparisons import WrittenComparison, check_no_unit
from smalti.policy.read.typed_values import as_set
from smalti.policy.read.values import Scope, bare_name, canonical_word, plain_text, unknown_word
from smalti.vocab.odrl import OPERATORS_OF, Measured
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import DPV, DPV_ODRL, IRI, MOSAICROWN, ODRL, ODRL_PURPOSE, PURPOSE, SMALTI, XSD

OPERANDS: Final = frozenset({PURPOSE, ODRL_PURPOSE})
"""The left operands that stand for the purpose; DPV's is an alias of the first."""
_VOCABULARIES: Final = (ODRL, MOSAICROWN, SMALTI, DPV, DPV_ODRL)
_NAMES: Final = {iri.removeprefix(DPV).removeprefix(MOSAICROWN) for iri in PURPOSES}


def read_purpose_comparison(written: WrittenComparison, scope: Scope) -> Comparison | None:
    """A constraint on the purpose, with `odrl:purpose` as its operand; None after an error.

    Purposes are concepts of a hierarchy: `eq`, `isA` and `isPartOf` mean the purpose or a narrower one.
    """
    allowed = OPERATORS_OF[Measured.PURPOSE]
    if written.operator not in allowed:
        message = f"{quoted(written.shown)} does not support `{written.operator}`"
        listed = ", ".join(f"`{name}`" for name in sorted(allowed))
        scope.findings.error("P405", written.operator_name.place, message, f"write one of {listed}")
        return None
    if written.unit is not None:
        check_no_unit(written, scope)
    values = read_purposes(written.values, scope)
    if len(values) == 0:
        return None
    where = scope.findings.where(written.place)
    return Comparison(ODRL_PURPOSE, written.operator, values, where=where)


def read_purposes(values: tuple[Value, ...], scope: Scope) -> tuple[Named, ...]:
    """The purposes that values name, as a set; after an error, those that could be read."""
    purposes: dict[Named, None] = {}
    for value in values:
        iri = _read_purpose(value, scope)
        if iri is None:
            continue
        if Named(iri) in purposes:
            message = f"the purpose {quoted(iri)} is listed twice"
            scope.findings.warning("P504", value.place, message, "lists are sets: remove one")
        purposes[Named(iri)] = None
    return tuple(value for value in as_set(purposes) if isinstance(value, Named))


def _read_purpose(value: Value, scope: Scope) -> IRI | None:
    name = _name(value, scope)
    if name is None:
        return None
    iri = IRI(canonical_word(name, scope))
    if iri in PURPOSES or scope.hierarchies.purposes.defines(iri):
        return iri
    if not iri_problem(iri) and not iri.startswith(_VOCABULARIES):
        message = (
            f"no known vocabulary defines the purpose {quoted(name.written)}, so it matches only itself"
        )
        help_ = "add a broader purpose with `smalti vocabulary add`, or use a purpose of MOSAICrOWN or DPV"
        scope.findings.warning("P507", name.place, message, help_)
        return iri
    # The nearest purpose may be quite another one: only a misspelling is suggested.
    local = name.written.rpartition(":")[2].rpartition("#")[2].rpartition("/")[2]
    near = difflib.get_close_matches(local[:80], _NAMES, n=1, cutoff=0.8)
    otherwise = "use MOSAICrOWN's `statistical`, `institutional` or `marketing`, or a purpose of DPV"
    help_ = f"did you mean `{_spelling(near[0], scope)}`?" if near else otherwise
    unknown_word("P415", name, "purpose", (), scope, help_)
    return None


def _spelling(local: str, scope: Scope) -> str:
    """A purpose as the document would write it."""
    if scope.terms.meanings.get(local) in PURPOSES:
        return local
    if MOSAICROWN + local in PURPOSES:
        return scope.terms.shorten(MOSAICROWN + local)
    prefix = next((name for name, iri in scope.terms.meanings.items() if iri == DPV), None)
    return f"{prefix}:{local}" if prefix is not None else DPV + local


def _name(value: Value, scope: Scope) -> Name | None:
    """A purpose's name, where ODRL's context may leave it as a text."""
    if not isinstance(value, Literal):
        return bare_name(value, "the purpose", scope)
    text = value.text if value.datatype == XSD + "anyURI" else plain_text(value)
    if text is None:
        return bare_name(value, "the purpose", scope)
    return Name(scope.terms.expand(text) or UNRESOLVED + text, text, value.place)
