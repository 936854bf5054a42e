"""Small random tables with people in them, and what an output of them must be like; shared by tests."""

import csv
import io
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import InformationLoss, execute
from smalti.engine.backends.base import Backend
from smalti.engine.binding.circumstances import Options
from smalti.engine.plan.hierarchies import DeclaredHierarchy
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.errors import GuaranteeError
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnReference,
    Comparison,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Permission,
    Text,
    Where,
)
from smalti.transforms.base import Datatype
from smalti.transforms.problem import MISSING, Integers
from smalti.transforms.values.texts import Codebook, make_codebook
from smalti.vocab.terms import ANONYMIZE, COLUMN, IRI, SMALTI

TARGET = IRI("http://example.com/people")
HEADER = ("who", "note", "age", "born", "city", "illness", "spend")
QUASI_IDENTIFIERS = ("age", "born", "city")
TYPES = {"age": "integer", "born": "date"}
HERE = Where("policy.jsonld", 1, 1)


@dataclass(frozen=True)
class People:
    """A table: one list of texts for each row, '' where missing; and what is asked of it."""

    rows: list[list[str]]
    k: int
    l: int  # noqa: E741
    cut_threshold: int
    one_row_each: bool


@st.composite
def people(draw: st.DrawFn) -> People:
    one_row_each = draw(st.booleans())
    row = st.tuples(
        st.sampled_from("abcdefghij"),
        st.sampled_from(["x", "y,z", 'say "hi"', ""]),
        st.sampled_from(["", "7", "41", "-3", "1000"]),
        st.sampled_from(["", "1990-01-31", "2001-12-01", "1975-06-15"]),
        st.sampled_from(["", "Rome", "{Rome|Oslo}", "[1..2]", "a\\b", "Ålesund", "Oslo\nNord", '"'],),
        st.sampled_from(["", "flu", "gout", "asthma", "1"]),
        st.sampled_from(["1.50", "1.5", "", "99.95"]),
    )  # fmt: skip
    rows = [list(found) for found in draw(st.lists(row, min_size=1, max_size=40))]
    if one_row_each:
        for number, found in enumerate(rows):
            found[0] = str(number)
    k = draw(st.integers(2, 4))
    l = draw(st.integers(1, k))  # noqa: E741
    return People(rows, k, l, draw(st.sampled_from([0, 3, 256])), one_row_each)


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def permission(
    table: People,
    words: Mapping[str, str] = MappingProxyType({}),
    quasi_identifiers: Sequence[str] = QUASI_IDENTIFIERS,
    *,
    is_alone: bool = False,
) -> Permission:
    def columns(*names: str) -> tuple[ColumnReference, ...]:
        return tuple(ColumnReference(IRI(f"{TARGET}/{name}"), HERE) for name in names)

    wanted = Anonymization(
        method="l-diversity" if table.l > 1 else "k-anonymity",
        algorithm=words.get("algorithm", "mondrian"),
        k=Bound(Operator.GTEQ, table.k, HERE),
        l=Bound(Operator.GTEQ, table.l, HERE) if table.l > 1 else None,
        identifiers=columns("who"),
        quasi_identifiers=columns(*quasi_identifiers),
        sensitive=() if is_alone else columns("illness"),
        released=() if is_alone else columns("spend"),
        respondent=None if table.one_row_each else columns("who")[0],
        one_row_each=table.one_row_each,
        parameters=tuple(_parameter(name, value) for name, value in words.items() if name != "algorithm"),
        where=HERE,
    )
    return Permission(
        uid=IRI("urn:rule:1"), action=ANONYMIZE, targets=(Asset(TARGET),), where=HERE,
        output=IRI("http://example.com/out"), anonymization=wanted,
    )  # fmt: skip


def _parameter(name: str, value: str) -> Comparison | Logical:
    if name in {"suppressionLimit", "alpha"}:
        return Comparison(IRI(SMALTI + name), Operator.LTEQ, (Number(Decimal(value)),), where=HERE)
    if name == "blocks":
        return Comparison(IRI(SMALTI + name), Operator.EQ, (Number(Decimal(value)),), where=HERE)
    word, _, column = name.partition(".")
    if word == "outputForm" or column:
        of = Comparison(COLUMN, Operator.EQ, (Named(IRI(f"{TARGET}/{column or 'city'}")),), where=HERE)
        form = Comparison(IRI(SMALTI + word), Operator.EQ, (Text(value),), where=HERE)
        return Logical(LogicalOperator.AND, (of, form), HERE)
    text = Named(IRI(f"{TARGET}/{value}")) if name == "fragmentColumn" else Text(value)
    return Comparison(IRI(SMALTI + name), Operator.EQ, (text,), where=HERE)


@dataclass(frozen=True)
class Made:
    """An output, with the private link that `execute` leaves."""

    plan: Plan
    bytes: bytes
    header: list[str]
    rows: list[list[str]]
    link: list[int]
    loss: InformationLoss


def make(
    backend: Backend,
    table: People,
    folder: Path,
    output_format: OutputFormat = OutputFormat.CSV,
    words: Mapping[str, str] = MappingProxyType({}),
    sampled: int | None = None,
    hierarchies: Mapping[str, DeclaredHierarchy] = MappingProxyType({}),
    bounds: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    quasi_identifiers: Sequence[str] = QUASI_IDENTIFIERS,
    *,
    is_alone: bool = False,
) -> Made | None:
    """Compile and execute, by further words of the profile; None where the guarantee cannot be met.

    `is_alone` publishes the quasi-identifiers and nothing else.
    """
    folder.mkdir()
    data, workspace = folder / "people.csv", folder / "work"
    workspace.mkdir()
    write_csv(data, HEADER, table.rows)
    described = Description(
        tuple(
            ColumnDescription(
                name,
                None,
                _datatype(TYPES.get(name)),
                None,
                hierarchy=hierarchies.get(name),
                lower=Decimal(bounds[name][0]) if name in bounds else None,
                upper=Decimal(bounds[name][1]) if name in bounds else None,
            )
            for name in HEADER
        )
    )
    source = Source(TARGET, data, OutputFormat.CSV, described)
    output, link = folder / "out.csv", folder / "link.npy"
    with closing(backend.open(source, workspace)) as bound:
        asked, options = (
            permission(table, words, quasi_identifiers, is_alone=is_alone),
            Options(table.cut_threshold, output_format, sampled_fragments=sampled),
        )
        plan = compile_plan(asked, source, bound, options)
        try:
            loss = execute(plan, bound, output, link, lambda _: None, hierarchies)
        except GuaranteeError:
            assert not output.exists()
            return None
    if output_format is not OutputFormat.CSV:
        return Made(plan, output.read_bytes(), [], [], np.load(link).tolist(), loss)
    header, rows = read_csv(output)
    return Made(plan, output.read_bytes(), header, rows, np.load(link).tolist(), loss)


def classes(
    found: Made, quasi_identifiers: Sequence[str] = QUASI_IDENTIFIERS
) -> dict[tuple[str, ...], list[int]]:
    """The input rows behind each combination of published quasi-identifiers."""
    places = [found.header.index(name) for name in quasi_identifiers]
    result: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, source in zip(found.rows, found.link, strict=True):
        result[tuple(row[place] for place in places)].append(source)
    return result


def is_diverse(table: People, rows: list[int]) -> bool:
    """Semantics of distinct l-diversity by brute force, over respondents."""
    holders: dict[str, set[str]] = defaultdict(set)
    who = {row: table.rows[row][0] for row in rows}
    for row in rows:
        holders[table.rows[row][HEADER.index("illness")]].add(who[row])
    if any(held == set(who.values()) for held in holders.values()):
        return False
    return table.l == 1 or any(
        len(set(chosen)) == table.l
        for values in itertools.combinations(holders.values(), table.l)
        for chosen in itertools.product(*values)
    )


def _datatype(name: str | None) -> Datatype | None:
    return Datatype(name) if name else None


def coded(texts: Sequence[str | None], datatype: Datatype) -> tuple[Codebook, Integers]:
    """The codebook of a column, and the code of each of its texts."""
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    book = make_codebook(pa.array(distinct, pa.string()), datatype, None, None in texts)
    code = dict(zip(distinct, book.codes.tolist(), strict=True))
    return book, np.array([MISSING if text is None else code[text] for text in texts], np.int64)


def covers(label: str, original: str) -> bool:
    """Whether a published text stands for an original one; read from the documented grammar alone."""
    if label.startswith("\\"):
        return label[1:] == original
    if label.startswith("{"):
        return original in items(label[1:-1])
    if label in ("", original):
        return label == original
    if label.startswith("["):
        low, high = label[1:-1].removesuffix("|").split("..")
        if original == "":
            return label.endswith("|]")
        return _value(low) <= _value(original) <= _value(high)
    return original != "" and _value(label) == _value(original)


def _value(text: str) -> Decimal | date | str:
    try:
        return date.fromisoformat(text) if text.count("-") == 2 else Decimal(text)
    except (ValueError, InvalidOperation):
        return text


def items(body: str) -> list[str]:
    items, escaped = [""], False
    for character in body:
        if escaped or character not in "\\|":
            items[-1] += character
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            items.append("")
    return items
