"""Small tables, their plan of two tables, and a second count of what was published; shared by tests."""

import csv
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from tables import read_csv, write_csv

from smalti.engine.backends.base import Backend
from smalti.engine.bucketization.compile import table_iris
from smalti.engine.bucketization.execute import Places, execute
from smalti.engine.plan.bucketization import BucketizationPlan, Group, WriteTable, WriteTables
from smalti.engine.plan.plan import (
    Column,
    OneRowEach,
    OutputFormat,
    Read,
    Respondent,
    Role,
    Select,
)
from smalti.engine.tables.sources import bind
from smalti.engine.verify.buckets import GroupsVerification, verify_groups
from smalti.engine.verify.verifier import Original
from smalti.errors import GuaranteeError
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TARGET, OUTPUT = IRI("http://example.com/people"), IRI("http://example.com/people-in-groups")
HEADER = ("who", "age", "city", "illness")
SECRET = b"a secret of this test, and no other"
ONE_ROW_EACH = OneRowEach(is_declared=True)


def plan_of(
    header: Sequence[str] = HEADER,
    *,
    l: int = 2,  # noqa: E741
    limit: str = "0",
    respondent: Respondent = ONE_ROW_EACH,
    output_format: OutputFormat = OutputFormat.CSV,
    datatype: Datatype = Datatype.STRING,
) -> BucketizationPlan:
    """All columns but the first and the last one are quasi-identifiers; the last one is sensitive."""
    roles = {header[0]: Role.IDENTIFIER, header[-1]: Role.SENSITIVE}
    columns = tuple(
        Column(
            name, IRI(f"{TARGET}/{name}"), datatype if name == header[-1] else Datatype.STRING, False,
            roles.get(name, Role.QUASI_IDENTIFIER),
        )
        for name in header
    )  # fmt: skip
    records, values = table_iris(OUTPUT)
    return BucketizationPlan(
        Read(TARGET, columns, respondent),
        Select(tuple(header[1:]), (header[0],)),
        Group("l-diversity", "anatomy", l, header[-1], Fraction(limit)),
        WriteTables(
            OUTPUT,
            output_format,
            WriteTable(records, (*header[1:-1], "group")),
            WriteTable(values, ("group", header[-1], "count")),
        ),
    )


@dataclass(frozen=True)
class Grouped:
    """Two tables that were written."""

    plan: BucketizationPlan
    places: Places
    original: Original

    @property
    def bytes(self) -> tuple[bytes, bytes]:
        return self.places.records.read_bytes(), self.places.values.read_bytes()

    @property
    def link(self) -> list[int]:
        return np.load(self.places.link).tolist()

    def verified(self, plan: BucketizationPlan | None = None) -> GroupsVerification:
        return verify_groups(plan or self.plan, self.original, self.places.tables, self.places.link)


def bound(rows: Sequence[Sequence[str]], folder: Path, header: Sequence[str] = HEADER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "out").mkdir()
    (folder / "spill").mkdir()
    path = folder / "in.csv"
    write_csv(path, header, rows)
    return path


def made(
    backend: Backend,
    rows: Sequence[Sequence[str]],
    folder: Path,
    plan: BucketizationPlan,
    secret: bytes = SECRET,
) -> Grouped | None:
    """Both tables; None where the data is refused."""
    header = [column.name for column in plan.read.columns]
    source = bind(TARGET, bound(rows, folder, header))
    places = Places.in_folder(plan, folder / "out", folder / "link.npy")
    with closing(backend.open(source, folder / "spill")) as table:
        try:
            execute(plan, table, places, secret)
        except GuaranteeError:
            assert not list((folder / "out").iterdir())
            return None
    return Grouped(plan, places, Original(source.path, source.format, source.parts))


def recount(grouped: Grouped, rows: Sequence[Sequence[str]]) -> None:
    """Hold both tables, as CSV, against the rows that they come from."""
    least = grouped.plan.group.l
    header, records = read_csv(grouped.places.records)
    values_header, values = read_csv(grouped.places.values)
    assert (tuple(header), tuple(values_header)) == (
        grouped.plan.write.records.columns,
        grouped.plan.write.values.columns,
    )
    link = grouped.link
    assert len(set(link)) == len(link) == len(records)
    for record, row in zip(records, link, strict=True):
        assert record[:-1] == list(rows[row][1:-1])
    said: dict[str, Counter[str]] = {}
    for group, value, count in values:
        assert value not in said.setdefault(group, Counter())
        said[group][value] = int(count)
    seen: dict[str, Counter[str]] = {}
    for record, row in zip(records, link, strict=True):
        seen.setdefault(record[-1], Counter())[rows[row][-1]] += 1
    assert said == seen
    assert all(len(counted) >= least for counted in said.values())
    assert records == sorted(records, key=lambda row: [text.encode() for text in row])
    assert values == sorted(values, key=lambda row: [text.encode() for text in row])
    digits = len(str(len(said)))
    assert sorted(said) == [str(number).rjust(digits, "0") for number in range(1, len(said) + 1)]


def write_records(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write other rows, in the order that a table has."""
    with path.open("w", encoding="utf-8", newline="") as file:
        ordered = sorted(rows, key=lambda row: [text.encode() for text in row])
        csv.writer(file, lineterminator="\n").writerows([header, *ordered])
