"""k and the global certainty penalty of a published table, from its labels alone.

This shares no code with smalti, and reads what other tools publish, too; so all are judged alike.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

COUNT = "count"
"""The column of a published table that holds numbers of rows, where it has one."""


@dataclass(frozen=True, slots=True)
class Domain:
    """What a column holds before it is generalised."""

    width: float | None
    """Greatest minus least value of a column of numbers; None for one of categories."""
    size: int
    """Distinct values, missing among them."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a table keeps k, and what it lost."""

    k: int
    """Rows of the rarest published combination of labels."""
    classes: int
    """Published combinations of labels."""
    rows: int
    """Published rows."""
    gcp: float
    """Global certainty penalty (Ghinita et al., VLDB 2007), from 0 to 1, as smalti defines it.

    A range is charged its share of the domain, a set of several values its share of the distinct ones
    (Xu et al., KDD 2006, Definition 2), a row that is not there the whole."""
    gcp_steps: float
    """The same, with a set of n of D values charged (n - 1) / (D - 1): what rivals' figures rest on."""


Extent = Callable[[str, Domain], float]
"""How far a label reaches: a share of the domain of numbers, or a number of categories."""

_RANGE = re.compile(r"\[(-?[0-9.]+)\.\.(-?[0-9.]+)(\|?)\]")
_HYPHENATED = re.compile(r"(-?[0-9.]+)-(-?[0-9.]+)")


def of_smalti(label: str, domain: Domain) -> float:
    r"""The extent of a label as smalti writes it.

    >>> age, race = Domain(50.0, 51), Domain(None, 5)
    >>> of_smalti("[20..30]", age), of_smalti("[20..30|]", age), of_smalti("20", age)
    (0.2, 1.0, 0.0)
    >>> of_smalti(r"{a\|b|c}", race), of_smalti("{a|}", race), of_smalti("a|b", race)
    (2, 2, 1)
    """
    if domain.width is None:
        return len(re.findall(r"(?<!\\)(?:\\\\)*\|", label)) + 1 if label.startswith("{") else 1
    if match := _RANGE.fullmatch(label):
        return 1.0 if match[3] else (float(match[2]) - float(match[1])) / domain.width
    return 0.0


def of_peer(label: str, domain: Domain) -> float:
    """The extent of a label as the peers write it: `20-30`, `a,b`, or `*` for anything.

    >>> age, race = Domain(50.0, 51), Domain(None, 5)
    >>> of_peer("20-30", age), of_peer("*", age), of_peer("a,b", race), of_peer("*", race)
    (0.2, 1.0, 2, 5)
    """
    if domain.width is None:
        return domain.size if label == "*" else label.count(",") + 1
    if label == "*":
        return 1.0
    match = _HYPHENATED.fullmatch(label)
    return (float(match[2]) - float(match[1])) / domain.width if match else 0.0


def share_penalty(extent: float, domain: Domain) -> float:
    """What an extent is charged by Xu et al.: its share of the domain; nothing for a single value.

    >>> share_penalty(0.2, Domain(50.0, 51)), share_penalty(2, Domain(None, 5))
    (0.2, 0.4)
    """
    if domain.width is not None:
        return extent
    return extent / domain.size if extent > 1 else 0.0


def step_penalty(extent: float, domain: Domain) -> float:
    """The same, with a set charged its steps from a single value to the whole domain.

    >>> step_penalty(0.2, Domain(50.0, 51)), step_penalty(2, Domain(None, 5))
    (0.2, 0.25)
    """
    if domain.width is not None:
        return extent
    return (extent - 1) / (domain.size - 1) if domain.size > 1 else 0.0


def domains(original: Path, columns: tuple[str, ...], numbers: frozenset[str]) -> dict[str, Domain]:
    """What the columns of a table hold."""
    table = _texts(original, columns)
    return {name: _domain(table.column(name), name in numbers) for name in columns}


def _domain(column: pa.ChunkedArray, is_number: bool) -> Domain:
    distinct = pc.unique(column)
    if not is_number:
        return Domain(None, len(distinct))
    ends = pc.min_max(distinct.filter(pc.not_equal(distinct, "")).cast(pa.float64())).as_py()
    return Domain(ends["max"] - ends["min"], len(distinct))


def measure_quality(
    published: Path, held: Mapping[str, Domain], original_rows: int, extent: Extent
) -> Quality:
    """Count and judge a published table.

    Args:
        published: a CSV file with the columns of `held`, and `count` if a line stands for several rows.
        held: the columns' domains before they were generalised.
        original_rows: how many rows there were.
        extent: reads the tool's labels.
    """
    table = _texts(published, tuple(held))
    if table.num_rows == 0:
        return Quality(0, 0, 0, 1.0, 1.0)
    if COUNT in table.column_names:
        counts = table.column(COUNT).cast(pa.int64())
    else:
        counts = pa.chunked_array([pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)])
    weighted = table.select(list(held)).append_column("n", counts)
    classes = weighted.group_by(list(held)).aggregate([("n", "sum")]).column("n_sum")
    rows = pc.sum(classes).as_py()
    gcp, gcp_steps = (
        (_charged(weighted, held, extent, penalty) + original_rows - rows) / original_rows
        for penalty in (share_penalty, step_penalty)
    )
    return Quality(pc.min(classes).as_py(), len(classes), rows, gcp, gcp_steps)


def _charged(
    weighted: pa.Table,
    held: Mapping[str, Domain],
    extent: Extent,
    penalty: Callable[[float, Domain], float],
) -> float:
    """The penalties of all published rows together, the mean over the columns of each."""
    total = 0.0
    for name, domain in held.items():
        by_label = weighted.group_by([name]).aggregate([("n", "sum")])
        labels, rows = by_label.column(name).to_pylist(), by_label.column("n_sum").to_pylist()
        total += sum(
            penalty(extent(label, domain), domain) * n for label, n in zip(labels, rows, strict=True)
        )
    return total / len(held)


def _texts(path: Path, columns: tuple[str, ...]) -> pa.Table:
    names = pv.open_csv(path).schema.names
    kept = [*columns, *([COUNT] if COUNT in names else [])]
    convert = pv.ConvertOptions(
        column_types=dict.fromkeys(kept, pa.string()), include_columns=kept, strings_can_be_null=False
    )
    parse = pv.ParseOptions(newlines_in_values=True)
    return pv.read_csv(path, parse_options=parse, convert_options=convert)
