"""Columns, as a policy names them: by IRI, or by bare name under the rule's one target."""

from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.nodes import Literal, Name, Value
from smalti.policy.findings.findings import quoted
from smalti.policy.model.column_iris import column_iri, normalised_column
from smalti.policy.model.iris import SCHEMES, respelled
from smalti.policy.read.values import Scope, bare_name, iri_is_good, plain_text
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import IRI, ONE_ROW_EACH, XSD

_ONE_ROW_EACH_NAME: Final = "oneRowEach"


@dataclass(frozen=True, slots=True)
class Column:
    """A column where the document names it."""

    iri: IRI
    """As `normalised_column` spells it."""
    written: str
    place: Place


def read_columns(
    values: tuple[Value, ...], targets: tuple[IRI, ...], scope: Scope
) -> tuple[Column, ...] | None:
    """All columns of a list; None after an error."""
    columns = [read_column(value, targets, scope) for value in values]
    seen: set[IRI] = set()
    for column in columns:
        if column is not None and column.iri in seen:
            message = f"the column {quoted(column.written)} is listed twice"
            scope.findings.warning("P504", column.place, message, "lists are sets: remove one")
        elif column is not None:
            seen.add(column.iri)
    good = tuple(column for column in columns if column is not None)
    return good if len(good) == len(columns) else None


def read_column(value: Value, targets: tuple[IRI, ...], scope: Scope) -> Column | None:
    """A column that is named by an IRI or a text; None after an error."""
    name = _name(value, targets, scope)
    if name is None:
        return None
    if ":" not in name.iri:
        if len(targets) > 1:
            message = f"the rule has several targets, so the bare name {quoted(name.written)} is ambiguous"
            help_ = f"write the column's IRI, as in `{column_iri(targets[0], name.iri)}`"
            scope.findings.error("P416", name.place, message, help_)
            return None
        # After an error in the target there is nothing to resolve the name under.
        base = targets[0] if targets else IRI("urn:smalti:unknown-target")
        _warn_of_list(name, scope)
        return Column(normalised_column(column_iri(base, name.iri)), name.written, name.place)
    way_out = _as_bare_name(name.written, targets)
    iri = iri_is_good(replace(name, iri=respelled(name.iri)), "the column", scope, way_out)
    return Column(normalised_column(iri), name.written, name.place) if iri is not None else None


def _as_bare_name(written: str, targets: tuple[IRI, ...]) -> str:
    """The advice to name a column as its table does, where that is understood; otherwise empty."""
    bare = written.rpartition("/")[2]
    if not bare or ":" in bare or len(targets) > 1:
        return ""
    return f"write the bare name as a text, {quoted(bare)}: its IRI is made of that"


def _warn_of_list(name: Name, scope: Scope) -> None:
    """Warn of several names in one text: together they name one column, which the data has hardly."""
    parts = [part.strip() for part in name.written.split(",")]
    if len(parts) > 1 and all(parts):
        message = f"{quoted(name.written)} is read as the name of one column"
        written = ", ".join(f'"{part}"' for part in parts)
        scope.findings.warning("P511", name.place, message, f"if several are meant, write [{written}]")


def read_respondent(value: Value, targets: tuple[IRI, ...], scope: Scope) -> Column | None:
    """The column of the respondent, or `s:oneRowEach`; None after an error."""
    if plain_text(value) == _ONE_ROW_EACH_NAME:
        iri = scope.findings.word(ONE_ROW_EACH, value.place)
        return Column(IRI(iri), _ONE_ROW_EACH_NAME, value.place)
    return read_column(value, targets, scope)


def _name(value: Value, targets: tuple[IRI, ...], scope: Scope) -> Name | None:
    if not isinstance(value, Literal):
        name = bare_name(value, "the column", scope)
        way_out = "" if name is None else _as_bare_name(name.written, targets)
        if name is None or iri_is_good(name, "the column", scope, way_out) is None:
            return None
        return name
    text = value.text if value.datatype == XSD + "anyURI" else plain_text(value)
    if not text or not text.strip():
        shown = quoted(value.text)
        scope.findings.error("P416", value.place, f"a column is named by a text or an IRI, not by {shown}")
        return None
    return Name(_in_full(text, scope), text, value.place)


def _in_full(text: str, scope: Scope) -> str:
    """Texts are not expanded by JSON-LD here, since rightOperand has no type in ODRL's context."""
    prefix, colon, _ = text.partition(":")
    if not colon or prefix in SCHEMES:
        return text
    return scope.terms.expand(text) or text
