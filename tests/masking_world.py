"""People, plans of single techniques about them, and what must be published, by a checker in plain Python.

The checker shares nothing with the engine and its verifier: it goes through rows one by one.
"""

import csv
import hmac
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from smalti.engine.backends.base import Backend
from smalti.engine.masking.execute import Places, execute
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.masking.recheck import masked_output
from smalti.engine.plan.hierarchies import Calendar, DeclaredHierarchy, OrderedList
from smalti.engine.plan.masks import (
    AtLevel,
    Averaged,
    Coded,
    Mask,
    MaskedColumn,
    Noisy,
    Pseudonymized,
    RareCells,
    Recoded,
)
from smalti.engine.plan.plan import (
    Column,
    OneRowEach,
    OutputForm,
    OutputFormat,
    Read,
    RespondentColumn,
    Role,
    Select,
    Write,
)
from smalti.engine.tables.sources import bind
from smalti.engine.techniques.mechanisms import Secrets
from smalti.engine.verify.masked import MaskedCount, verify_masked
from smalti.engine.verify.read import Original, Output
from smalti.transforms.base import Datatype
from smalti.transforms.class_models import Distance
from smalti.transforms.noise.samplers import SAMPLER, Sampler
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/people")
HEADER = ("who", "age", "pay", "born", "city")
KEY = b"0123456789abcdef" * 2
CALENDAR = DeclaredHierarchy(Calendar(("year", "decade")))
CITIES = ("Bern", "ä", "Rome", 'a "b", c', "Oslo")
LISTED = DeclaredHierarchy(OrderedList(CITIES, (2,)))
SECRETS = Secrets(KEY, {"born": CALENDAR, "city": LISTED})
DATATYPES = {"age": Datatype.INTEGER, "pay": Datatype.DECIMAL, "born": Datatype.DATE}
Row = tuple[str, ...]


def column(name: str, nodes: Sequence[MaskedColumn], kept: Iterable[str]) -> Column:
    node = next((each for each in nodes if each.column == name), None)
    role = Role.MASKED if node is not None else Role.RELEASED if name in kept else Role.UNLISTED
    form, distance, decimals = None, None, None
    if isinstance(node, Averaged):
        form, distance = OutputForm(node.figure), node.distance and Distance(node.distance)
        decimals = {"pay": 1}.get(name, 0) if distance is None else None
    has_hierarchy = isinstance(node, AtLevel) or distance not in (None, Distance.EQUAL)
    hierarchy = SECRETS.hierarchies[name].in_plan if has_hierarchy else None
    datatype = DATATYPES.get(name, Datatype.STRING)
    iri = IRI(f"{TARGET}/{name}")
    return Column(
        name, iri, datatype, False, role, hierarchy=hierarchy, form=form, decimals=decimals,
        distance=distance,
    )  # fmt: skip


def plan_of(
    mask: Mask, kept: Iterable[str] = (), *, one_row_each: bool = False, **write: Any
) -> MaskingPlan:
    columns = tuple(column(name, mask.columns, kept) for name in HEADER)
    published = tuple(each.name for each in columns if each.role.is_published)
    dropped = tuple(each.name for each in columns if not each.role.is_published)
    respondent = OneRowEach(True) if one_row_each else RespondentColumn("who")
    output = IRI("http://example.com/masked")
    return MaskingPlan(
        Read(TARGET, columns, respondent),
        Select(published, dropped),
        mask,
        Write(output, published, OutputFormat.CSV),
    )


@dataclass(frozen=True)
class Masked:
    """What a run wrote."""

    plan: MaskingPlan
    folder: Path
    rows: list[Row]
    """Published ones, in the order of the file."""
    origins: list[int]
    """The input row of each."""

    @property
    def bytes(self) -> bytes:
        return (self.folder / "out" / "published").read_bytes()

    def verified(self, secrets: Secrets = SECRETS) -> MaskedCount:
        return verify_masked(
            masked_output(self.plan),
            Original(self.folder / "people.csv", OutputFormat.CSV),
            Output.in_folder(self.folder / "out", self.plan.write.format),
            self.folder / "link.npy",
            hierarchies=secrets.hierarchies,
            key=secrets.key,
        )


def mask_rows(
    backend: Backend, rows: Sequence[Row], plan: MaskingPlan, folder: Path, sampler: Sampler = SAMPLER
) -> Masked:
    """Carry a plan out on some people, in a new folder."""
    (folder / "out").mkdir(parents=True)
    (folder / "work").mkdir()
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    with closing(backend.open(bind(TARGET, folder / "people.csv"), folder / "work")) as table:
        places = Places(folder / "out" / "published", folder / "link.npy")
        execute(plan, table, places, lambda _: None, SECRETS, sampler)
    return read_again(plan, folder)


def read_again(plan: MaskingPlan, folder: Path) -> Masked:
    with (folder / "out" / "published").open(encoding="utf-8", newline="") as file:
        _, *published = csv.reader(file)
    return Masked(plan, folder, [*map(tuple, published)], np.load(folder / "link.npy").tolist())


def tampered(masked: Masked, change: Callable[[list[Row], list[int]], None]) -> Masked:
    """The same run, as if it had written other rows; they stand in their order."""
    rows, origins = list(masked.rows), list(masked.origins)
    change(rows, origins)
    pairs = sorted(zip(rows, origins, strict=True), key=lambda each: [text.encode() for text in each[0]])
    with (masked.folder / "out" / "published").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([masked.plan.write.columns, *(row for row, _ in pairs)])
    np.save(masked.folder / "link.npy", np.array([origin for _, origin in pairs], np.int64))
    return read_again(masked.plan, masked.folder)


# --- What must be published


def expected_cell(  # noqa: PLR0911 (one for each technique)
    node: MaskedColumn | None, text: str, rows: Sequence[Row], one_row_each: bool
) -> str:
    """What stands in the place of one text; noise and figures apart."""
    if not text or node is None:
        return text
    match node:
        case Coded(column=name, top=top, bottom=bottom):
            if top is not None and _value(name, text) >= _value(name, top):
                return top
            return bottom if bottom is not None and _value(name, text) <= _value(name, bottom) else text
        case AtLevel(level=level):
            return {1: text[:4], 2: f"{text[:3]}0s", 3: "*"}[level]
        case Recoded(column="age", width=width, start=start):
            low = int(start)
            while not low <= int(text) < low + int(width):
                low += int(width) if int(text) >= low + int(width) else -int(width)
            return f"{low}..{low + int(width) - 1}"
        case Recoded(width=width):
            low_end = Decimal(text) // width * width
            low_end -= width if low_end > Decimal(text) else 0
            return f"{_plain(low_end)}..<{_plain(low_end + width)}"
        case Pseudonymized(column="who"):
            return hmac.new(KEY, text.encode(), "sha256").hexdigest()
        case Pseudonymized():
            return hmac.new(KEY, _plain(Decimal(text)).encode(), "sha256").hexdigest()
        case RareCells(column=name, minimum=minimum):
            return text if holders(name, text, rows, one_row_each) >= minimum else ""
    raise AssertionError(node)


def holders(name: str, text: str, rows: Sequence[Row], one_row_each: bool) -> int:
    """How many respondents have the value, in whatever spelling."""
    place = HEADER.index(name)
    same = [
        number if one_row_each else row[0]
        for number, row in enumerate(rows)
        if row[place] and _value(name, row[place]) == _value(name, text)
    ]
    return len(set(same))


def _value(name: str, text: str) -> Any:
    return Decimal(text) if name in ("age", "pay") else text


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def partitions(
    values: list[Decimal], held: dict[Decimal, set[object]], k: int
) -> list[list[list[Decimal]]]:
    """All ways to cut values in their order into groups of k respondents."""
    if not values:
        return [[]]
    return [
        [values[:end], *rest]
        for end in range(1, len(values) + 1)
        if len(set().union(*(held[value] for value in values[:end]))) >= k
        for rest in partitions(values[end:], held, k)
    ]


# --- Random people


def people(least: int = 0, most: int = 24) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(
        st.sampled_from(["p1", "p2", "p3", "p4", "p5", "p6"]),
        st.sampled_from(["", "0", "7", "17", "18", "19", "44", "89", "90", "91", "119"]),
        st.sampled_from(["", "-5.0", "-0.5", "0", "0.0", "1", "1.0", "2.5", "99.9", "100", "1234.5"]),
        st.sampled_from(["", "1919-12-31", "1950-01-01", "1950-06-07", "1959-12-31", "2004-02-29"]),
        st.sampled_from(["", "Rome", "Oslo", "Bern", 'a "b", c', "ä"]),
    )
    return st.lists(row, min_size=least, max_size=most)


def nodes() -> st.SearchStrategy[tuple[MaskedColumn, ...]]:
    """At most one deterministic technique for each column, figures apart."""
    of_columns = (
        [None, Pseudonymized("who", "people")],
        [
            None,
            Coded("age", "90", None, "top-coding"),
            Coded("age", None, "18", "bottom-coding"),
            Coded("age", "44", "17", "top- and bottom-coding"),
            Recoded("age", Decimal(7), "3"),
            RareCells("age", 2),
        ],
        [
            None,
            Coded("pay", "100.0", "0", "top- and bottom-coding"),
            Recoded("pay", Decimal("2.5"), "0"),
            Pseudonymized("pay", "people"),
            RareCells("pay", 3),
        ],
        [None, AtLevel("born", 1), AtLevel("born", 2), AtLevel("born", 3), RareCells("born", 2)],
        [None, RareCells("city", 2)],
    )
    chosen = st.tuples(*(st.sampled_from(each) for each in of_columns))
    return chosen.map(lambda each: tuple(node for node in each if node is not None))


def noisy(distribution: str = "uniform", **changes: Any) -> Noisy:
    fields: dict[str, Any] = {
        "column": "pay", "distribution": distribution, "scale": Decimal("2.5"), "unit": Decimal("0.1"),
        "lower": Decimal(0), "upper": Decimal(1000),
    }  # fmt: skip
    return Noisy(**fields | changes)
