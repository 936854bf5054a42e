"""The refinements of an `odrl:anonymize` action: what is promised, and of which columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from smalti.policy.columns import Column, read_columns, read_respondent
from smalti.policy.comparisons import Comparison, read_comparison
from smalti.policy.findings import quoted
from smalti.policy.json_text import Place
from smalti.policy.model import Anonymization, Bound, ColumnReference, Operator
from smalti.policy.nodes import Property, Value
from smalti.policy.values import Scope, chosen_name, values_of, whole_number
from smalti.vocab.terms import (
    ALGORITHM,
    IDENTIFIER,
    IRI,
    K_ANONYMITY,
    L_DIVERSITY,
    METHOD,
    MONDRIAN,
    ONE_ROW_EACH,
    QUASI_IDENTIFIER,
    RELEASED,
    RESPONDENT,
    SENSITIVE,
    K,
    L,
)
from smalti.vocab.words import Kind, Range

_ROLES: Final = (IDENTIFIER, QUASI_IDENTIFIER, SENSITIVE, RELEASED)
_UPPER: Final = frozenset({"lteq", "lt"})
_STRICT: Final = {"gt": "gteq", "lt": "lteq"}


@dataclass(slots=True)
class _Found:
    """What the refinements say, as far as they could be read."""

    place: Place
    names: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, tuple[Bound, Place]] = field(default_factory=dict)
    columns: dict[str, tuple[Column, ...]] = field(default_factory=dict)
    respondent: Column | None = None
    seen: dict[str, Comparison] = field(default_factory=dict)
    is_whole: bool = True
    """False when a refinement could not be read: what seems to be missing may be there."""


def read_anonymization(
    refinements: Property, target: IRI | None, place: Place, scope: Scope
) -> Anonymization | None:
    """Read and check all refinements of an anonymize action; None after an error."""
    found = _Found(place)
    found.is_whole = bool(values_of(refinements, scope))
    for value in refinements.values:
        found.is_whole &= _read_refinement(value, target, found, scope)
    _check_roles(found, scope)
    _check_method(found, scope)
    return _assemble(found, scope) if found.is_whole and not scope.findings.has_errors else None


def _read_refinement(value: Value, target: IRI | None, found: _Found, scope: Scope) -> bool:
    comparison = read_comparison(value, "refinement", scope)
    if comparison is None or not _is_usable(comparison, scope):
        return False
    if comparison.operand in found.seen:
        word = quoted(comparison.operand_name.written)
        first = scope.findings.where(found.seen[comparison.operand].place)
        message = f"{word} is said again; the first time was at line {first.line}"
        scope.findings.error("P412", comparison.operand_name.place, message, "keep one of them")
        return False
    found.seen[comparison.operand] = comparison
    return _check_operator(comparison, scope) and _read_value(comparison, target, found, scope)


def _is_usable(comparison: Comparison, scope: Scope) -> bool:
    word, name = comparison.word, comparison.operand_name
    if word is None:
        scope.findings.not_implemented(name.place, f"a refinement with {quoted(name.written)}")
    elif word.kind is Kind.CONSTRAINT:
        message = f"{quoted(name.written)} is no refinement of an action"
        scope.findings.error("P419", name.place, message, "write it as a `constraint` of the rule")
    elif not word.implemented:
        scope.findings.not_implemented(name.place, f"{quoted(name.written)} ({word.meaning})")
    else:
        return True
    return False


def _check_operator(comparison: Comparison, scope: Scope) -> bool:
    word, operator = comparison.word, comparison.operator
    if word is None or operator in word.operators:
        return True
    shown, place = quoted(comparison.operand_name.written), comparison.operator_name.place
    allowed = " or ".join(f"`{name}`" for name in sorted(word.operators))
    if operator in _UPPER and "gteq" in word.operators:
        message = f"`{operator}` makes {shown} an upper bound on privacy"
        scope.findings.error("P406", place, message, "write `gteq` for the least that is promised")
    elif operator in _STRICT and _STRICT[operator] in word.operators:
        scope.findings.error("P405", place, f"`{operator}` is not used with {shown}", f"write {allowed}")
    else:
        scope.findings.error("P405", place, f"`{operator}` makes no sense for {shown}", f"write {allowed}")
    return False


def _read_value(comparison: Comparison, target: IRI | None, found: _Found, scope: Scope) -> bool:
    word = comparison.word
    if word is not None and word.range is Range.COLUMNS:
        columns = read_columns(comparison, target, scope)
        found.columns[comparison.operand] = columns or ()
        return columns is not None
    if len(comparison.values) > 1:
        message = f"{quoted(comparison.operand_name.written)} has more than one value"
        scope.findings.error("P304", comparison.values[1].place, message)
        return False
    if comparison.operand == RESPONDENT:
        found.respondent = read_respondent(comparison.values[0], target, scope)
        return found.respondent is not None
    return _read_scalar(comparison, found, scope)


def _read_scalar(comparison: Comparison, found: _Found, scope: Scope) -> bool:
    word, shown, value = comparison.word, comparison.operand_name.written, comparison.values[0]
    if word is None:
        return False
    if word.range is Range.INTEGER:
        number = whole_number(value, word.minimum or 0, shown, scope)
        if number is not None:
            bound = Bound(Operator(comparison.operator), number, scope.findings.where(value.place))
            found.bounds[comparison.operand] = (bound, value.place)
        return number is not None
    name = chosen_name(value, shown, word, scope)
    if name is None:
        return False
    found.names[comparison.operand] = name
    return _is_implemented_name(comparison.operand, name, value.place, scope)


def _is_implemented_name(operand: str, name: str, place: Place, scope: Scope) -> bool:
    implemented = {METHOD: {K_ANONYMITY, L_DIVERSITY}, ALGORITHM: {MONDRIAN}}[IRI(operand)]
    if name in implemented:
        return True
    what = "the method" if operand == METHOD else "the algorithm"
    scope.findings.not_implemented(place, f"{what} `{name}`")
    return False


def _check_roles(found: _Found, scope: Scope) -> None:
    role_of: dict[str, str] = {}
    for role in _ROLES:
        for column in found.columns.get(role, ()):
            first = role_of.setdefault(column.iri, role)
            if first != role:
                message = (
                    f"the column {quoted(column.written)} is in two roles: "
                    f"{_local(first)} and {_local(role)}"
                )
                scope.findings.error("P407", column.place, message, "keep it in one of them")


def _local(role: str) -> str:
    return quoted(role.rpartition("/")[2].rpartition("#")[2])


def _check_method(found: _Found, scope: Scope) -> None:
    method = found.names.get(METHOD)
    _check_l_is_wanted(found, method, scope)
    _check_l_fits_k(found, scope)
    if not found.is_whole:
        return
    needs = {None: (METHOD, K), K_ANONYMITY: (K,), L_DIVERSITY: (K, L)}[method]
    missing = [quoted(scope.terms.shorten(iri)) for iri in needs if iri not in found.seen]
    if missing:
        what = f"the method `{method}`" if method else "an anonymize action"
        message = f"{what} needs a refinement with {' and '.join(missing)}"
        scope.findings.error("P411", found.place, message)
    if method == L_DIVERSITY and not found.columns.get(SENSITIVE):
        message = "l-diversity is promised, and no column is `sensitive`"
        scope.findings.error("P408", found.place, message, "list the columns with `mosaicrown:sensitive`")
    if not found.columns.get(QUASI_IDENTIFIER):
        message = "no column is a `quasi-identifier`, so that nothing is promised"
        help_ = "list the columns with `mosaicrown:quasi-identifier`"
        scope.findings.error("P417", found.place, message, help_)


def _check_l_is_wanted(found: _Found, method: str | None, scope: Scope) -> None:
    if method == K_ANONYMITY and L in found.seen:
        name = found.seen[L].operand_name
        message = f"the method `{K_ANONYMITY}` has no {quoted(name.written)}"
        scope.findings.error("P409", name.place, message, f"did you mean the method `{L_DIVERSITY}`?")


def _check_l_fits_k(found: _Found, scope: Scope) -> None:
    if K not in found.bounds or L not in found.bounds or found.names.get(METHOD) == K_ANONYMITY:
        return
    (k, _), (l_bound, place) = found.bounds[K], found.bounds[L]
    if k.operator is Operator.EQ and l_bound.value > k.value:
        message = f"l is {l_bound.value} and k is exactly {k.value}: k respondents have at most k values"
        scope.findings.error("P410", place, message, "lower l, or write `gteq` for k")


def _assemble(found: _Found, scope: Scope) -> Anonymization:
    one_row_each = found.respondent is not None and found.respondent.iri == ONE_ROW_EACH
    respondent = _references([found.respondent] if found.respondent and not one_row_each else [], scope)
    roles = {role: _references(found.columns.get(role, ()), scope) for role in _ROLES}
    bound_of_l = found.bounds.get(L)
    return Anonymization(
        method=found.names[METHOD],
        algorithm=found.names.get(ALGORITHM, MONDRIAN),
        k=found.bounds[K][0],
        l=bound_of_l[0] if bound_of_l else None,
        identifiers=roles[IDENTIFIER],
        quasi_identifiers=roles[QUASI_IDENTIFIER],
        sensitive=roles[SENSITIVE],
        released=roles[RELEASED],
        respondent=respondent[0] if respondent else None,
        one_row_each=one_row_each,
        where=scope.findings.where(found.place),
    )


def _references(columns: Sequence[Column], scope: Scope) -> tuple[ColumnReference, ...]:
    """Sorted by IRI: a list is a set in ODRL."""
    first = {column.iri: column for column in reversed(columns)}
    return tuple(
        ColumnReference(first[iri].iri, scope.findings.where(first[iri].place)) for iri in sorted(first)
    )
