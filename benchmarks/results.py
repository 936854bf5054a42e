"""What was measured, as rows: kept as JSON, shown as Markdown.

Each kind of row is a class here; a table shows all kept rows of its kind. A row that is measured again
replaces the one with the same key.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).parent
KEPT = HERE / "results.json"
SHOWN = HERE / "RESULTS.md"
QUOTED = "quoted"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


class NothingToGeneraliseError(Exception):
    """A benchmark whose information loss is 0 measures nothing worth knowing; says which one."""


def checked_gcp(gcp: float, what: str) -> float:
    """The information loss of a benchmark.

    Raises:
        NothingToGeneraliseError: it is 0.
    """
    if gcp <= 0:
        raise NothingToGeneraliseError(
            f"{what}: the GCP is 0, so nothing was generalised; expected data in which k takes work"
        )
    return gcp


def ratio(amount: float, floor: float) -> float | None:
    """How many times the floor an amount is; None if the floor was too small to be measured."""
    return amount / floor if floor > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and when something was measured."""

    date: str
    commit: str
    """With a plus sign where files were changed since."""
    machine: str
    software: str
    base: str
    """The table that the generated rows were drawn from."""


class Row(ABC):
    """One measurement."""

    kind: ClassVar[str]
    title: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    """The fields that say what was measured."""
    order: ClassVar[tuple[str, ...]] = ()
    """The fields that a table is ordered by; the key if empty."""

    @property
    def is_quoted(self) -> bool:
        """Whether it was measured elsewhere, by others or before."""
        return False

    @abstractmethod
    def cells(self) -> dict[str, str]:
        """What is shown, by heading."""

    def line(self) -> str:
        """The same as one line."""
        return f"{self.kind}: " + "; ".join(f"{head} {text}" for head, text in self.cells().items() if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(Row):
    """`smalti run` from beginning to end, beside a plain copy of the same file by the same engine."""

    kind: ClassVar[str] = "run"
    title: ClassVar[str] = "Runs from beginning to end, with verification"
    key: ClassVar[tuple[str, ...]] = ("data", "columns", "rows", "engine", "options")

    data: str
    columns: int
    """Quasi-identifiers."""
    rows: int
    engine: str
    options: str
    """Further options of `smalti run`."""
    first_wall: float
    wall: float
    """Of the fastest later run; CPU, peak and phases are of the same one."""
    cpu: float
    peak: float
    phases: dict[str, float]
    copy_first_wall: float
    copy_wall: float
    copy_cpu: float
    copy_peak: float
    classes: int
    k: int
    gcp: float

    def cells(self) -> dict[str, str]:
        return {
            "data": self.data,
            "quasi-identifiers": str(self.columns),
            "rows": f"{self.rows:,}",
            "engine": " ".join((self.engine, self.options)).strip(),
            "first run s": _seconds(self.first_wall),
            "later run s": _seconds(self.wall),
            "CPU s": _seconds(self.cpu),
            "peak MiB": f"{self.peak:,.0f}",
            "copy s": _seconds(self.copy_wall),
            "copy CPU s": _seconds(self.copy_cpu),
            "copy peak MiB": f"{self.copy_peak:,.0f}",
            "times the copy": _times(ratio(self.wall, self.copy_wall)),
            "in CPU": _times(ratio(self.cpu, self.copy_cpu)),
            "classes": f"{self.classes:,}",
            "least class": str(self.k),
            "GCP": f"{self.gcp:.4f}",
            "phases, s": ", ".join(f"{name} {spent:.1f}" for name, spent in self.phases.items()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow(Row):
    """The kernel alone, from its input to classes."""

    kind: ClassVar[str] = "kernel"
    title: ClassVar[str] = "The kernel alone"
    key: ClassVar[tuple[str, ...]] = ("data", "rows", "threshold")

    data: str
    rows: int
    tuples: int
    threshold: int
    wall: float
    cpu: float
    peak: float
    """MiB of the whole process, which makes the input, too."""
    classes: int
    gcp: float

    def cells(self) -> dict[str, str]:
        return {
            "data": self.data,
            "rows": f"{self.rows:,}",
            "distinct tuples": f"{self.tuples:,}",
            "T": str(self.threshold),
            "CPU s": _seconds(self.cpu),
            "wall s": _seconds(self.wall),
            "peak MiB of the process": f"{self.peak:,.0f}",
            "classes": f"{self.classes:,}",
            "GCP": f"{self.gcp:.4f}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow(Row):
    """What k = 10 costs on the Adult data set."""

    kind: ClassVar[str] = "loss"
    title: ClassVar[str] = "Loss on Adult at k = 10, income released"
    key: ClassVar[tuple[str, ...]] = ("columns", "tool")
    order: ClassVar[tuple[str, ...]] = ("columns", "gcp_steps")

    tool: str
    columns: int
    gcp: float | None
    """As smalti defines it; None where only the other figure is known."""
    gcp_steps: float | None
    """With sets charged (n - 1) / (D - 1); see `quality.Quality`."""
    k: int | None
    classes: int | None
    source: str
    """How the figures were found; `QUOTED` if elsewhere."""

    @property
    def is_quoted(self) -> bool:
        return self.source == QUOTED

    def cells(self) -> dict[str, str]:
        return {
            "quasi-identifiers": str(self.columns),
            "tool": self.tool,
            "GCP": _share(self.gcp),
            "GCP, (n-1)/(D-1)": _share(self.gcp_steps),
            "least class": _number(self.k),
            "classes": _number(self.classes),
            "source": self.source,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow(Row):
    """A Python tool for the same, on the same file; `smalti` stands among them."""

    kind: ClassVar[str] = "peer"
    title: ClassVar[str] = "Beside other Python tools, on the same file"
    key: ClassVar[tuple[str, ...]] = ("data", "columns", "rows", "tool")

    data: str
    columns: int
    rows: int
    tool: str
    outcome: str
    """`done`, or why there are no figures."""
    smalti_cpu: float
    """What `call_cpu` is for smalti, on this file."""
    call_cpu: float | None = None
    """Of the tool's own call; of smalti: frequency table, coding and kernel."""
    call_wall: float | None = None
    cpu: float | None = None
    """Of the whole process."""
    wall: float | None = None
    peak: float | None = None
    k: int | None = None
    classes: int | None = None
    lost: int | None = None
    """Rows that are not in the output."""
    gcp: float | None = None

    def cells(self) -> dict[str, str]:
        times = None if self.call_cpu is None else ratio(self.call_cpu, self.smalti_cpu)
        return {
            "data": self.data,
            "quasi-identifiers": str(self.columns),
            "rows": f"{self.rows:,}",
            "tool": self.tool,
            "outcome": self.outcome,
            "call, CPU s": _seconds(self.call_cpu),
            "call, wall s": _seconds(self.call_wall),
            "times smalti's CPU": _times(times),
            "process, CPU s": _seconds(self.cpu),
            "process, wall s": _seconds(self.wall),
            "peak MiB": "" if self.peak is None else f"{self.peak:,.0f}",
            "k": _number(self.k),
            "classes": _number(self.classes),
            "rows lost": _number(self.lost),
            "GCP": _share(self.gcp),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow(Row):
    """Decisions over stored policies, in memory."""

    kind: ClassVar[str] = "decision"
    title: ClassVar[str] = "Decisions over an index of policies in memory"
    key: ClassVar[tuple[str, ...]] = ("rules",)

    rules: int
    built: float
    """Seconds to make the index."""
    permitted: float
    """Seconds of one decision that permits."""
    permitted_floor: float
    """Seconds of a look-up of the same request in a dictionary."""
    refused: float
    refused_floor: float

    def cells(self) -> dict[str, str]:
        return {
            "rules": f"{self.rules:,}",
            "index s": _seconds(self.built),
            "permitted µs": f"{self.permitted * 1e6:.1f}",
            "times the floor": _times(ratio(self.permitted, self.permitted_floor)),
            "refused µs": f"{self.refused * 1e6:.1f}",
            "times its floor": _times(ratio(self.refused, self.refused_floor)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryRow(Row):
    """Decisions from beginning to end, with the registry and the decision log."""

    kind: ClassVar[str] = "registry"
    title: ClassVar[str] = "Decisions with the registry and the decision log"
    key: ClassVar[tuple[str, ...]] = ("rules",)

    rules: int
    adding: float
    """Seconds to store all of them; the others are medians of one decision, in seconds."""
    opening: float
    cold: float
    warm: float
    followed: float
    """The first decision after another document was stored."""
    floor: float

    def cells(self) -> dict[str, str]:
        times = {name: getattr(self, name) for name in ("opening", "cold", "warm", "followed", "floor")}
        return {
            "rules": f"{self.rules:,}",
            "adding s": _seconds(self.adding),
            **{f"{name} ms": f"{1000 * spent:.3f}" for name, spent in times.items()},
            "warm, times the floor": _times(ratio(self.warm, self.floor)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow(Row):
    """A histogram and a grouped sum with differential privacy, beside the same queries without it."""

    kind: ClassVar[str] = "release"
    title: ClassVar[str] = "A histogram and a grouped sum with differential privacy"
    key: ClassVar[tuple[str, ...]] = ("data", "rows", "engine", "tool")

    data: str
    rows: int
    engine: str
    tool: str
    wall: float
    """Of the fastest later run; CPU and peak are of the same one."""
    cpu: float
    peak: float
    plain_wall: float
    """Of the same engine's own reader and SQL over the same file; DuckDB's for a peer."""
    plain_cpu: float
    plain_peak: float
    phases: dict[str, float]

    def cells(self) -> dict[str, str]:
        return {
            "data": self.data,
            "rows": f"{self.rows:,}",
            "engine": self.engine,
            "tool": self.tool,
            "s": _seconds(self.wall),
            "CPU s": _seconds(self.cpu),
            "peak MiB": f"{self.peak:,.0f}",
            "plain s": _seconds(self.plain_wall),
            "plain CPU s": _seconds(self.plain_cpu),
            "plain peak MiB": f"{self.plain_peak:,.0f}",
            "times the plain": _times(ratio(self.wall, self.plain_wall)),
            "in CPU": _times(ratio(self.cpu, self.plain_cpu)),
            "phases, s": ", ".join(f"{name} {spent:.1f}" for name, spent in self.phases.items()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRow(Row):
    """k-ary randomised response of one column, from the file to the noisy table."""

    kind: ClassVar[str] = "response"
    title: ClassVar[str] = "Randomised response of a column with 17 categories"
    key: ClassVar[tuple[str, ...]] = ("data", "rows", "engine")

    data: str
    rows: int
    engine: str
    wall: float
    """Of the later run with the least CPU; all figures are of the same one."""
    cpu: float
    """Of all processes."""
    peak: float
    phases: dict[str, float]
    """CPU seconds of the process that draws."""

    @property
    def perturbing(self) -> float:
        """CPU seconds of drawing and writing, for each million rows."""
        return (self.phases["draw"] + self.phases["write"]) / self.rows * 1e6

    def cells(self) -> dict[str, str]:
        return {
            "data": self.data,
            "rows": f"{self.rows:,}",
            "engine": self.engine,
            "s": _seconds(self.wall),
            "CPU s": _seconds(self.cpu),
            "peak MiB": f"{self.peak:,.0f}",
            "draw and write, CPU s by million rows": _seconds(self.perturbing),
            "phases, CPU s": ", ".join(f"{name} {spent:.2f}" for name, spent in self.phases.items()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRow(Row):
    """An epoch of private training, beside smalti's own without privacy."""

    kind: ClassVar[str] = "training"
    title: ClassVar[str] = "An epoch of private training on 600-128-100"
    key: ClassVar[tuple[str, ...]] = ("records", "tool")

    records: int
    tool: str
    epoch: float
    """CPU seconds, as are all but the peaks; of later epochs, and the others of the same process."""
    first: float
    """Of the first epoch, which compiles."""
    cpu: float
    """Of the whole process."""
    peak: float
    plain_epoch: float
    """Of smalti without privacy, as the following ones."""
    plain_first: float
    plain_cpu: float
    plain_peak: float

    def cells(self) -> dict[str, str]:
        return {
            "records": f"{self.records:,}",
            "tool": self.tool,
            "epoch, CPU s": f"{self.epoch:.3f}",
            "plain epoch, CPU s": f"{self.plain_epoch:.3f}",
            "times the plain": _times(ratio(self.epoch, self.plain_epoch)),
            "first epoch, CPU s": _seconds(self.first),
            "plain first epoch, CPU s": _seconds(self.plain_first),
            "process, CPU s": _seconds(self.cpu),
            "plain process, CPU s": _seconds(self.plain_cpu),
            "peak MiB": f"{self.peak:,.0f}",
            "plain peak MiB": f"{self.plain_peak:,.0f}",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow(Row):
    """An audit of a model by shadow models, beside the training of the same models alone."""

    kind: ClassVar[str] = "audit"
    title: ClassVar[str] = "An audit with 16 shadow models of 10 epochs on 600-128-100"
    key: ClassVar[tuple[str, ...]] = ("records",)

    records: int
    """That the target is trained on; as many others are audited, too."""
    wall: float
    """Of the later run with the least CPU; all figures are of the same one."""
    cpu: float
    peak: float
    models_wall: float
    """Of the same models without an attack, as the following ones."""
    models_cpu: float
    models_peak: float
    phases: dict[str, float]
    """CPU seconds."""
    found: dict[str, float]
    """By attack: the true positive rate at a false positive rate of 0.1 %."""

    def cells(self) -> dict[str, str]:
        return {
            "records": f"{self.records:,}",
            "s": _seconds(self.wall),
            "CPU s": _seconds(self.cpu),
            "peak MiB": f"{self.peak:,.0f}",
            "models s": _seconds(self.models_wall),
            "models CPU s": _seconds(self.models_cpu),
            "models peak MiB": f"{self.models_peak:,.0f}",
            "times the models": _times(ratio(self.wall, self.models_wall)),
            "in CPU": _times(ratio(self.cpu, self.models_cpu)),
            "phases, CPU s": ", ".join(f"{name} {spent:.1f}" for name, spent in self.phases.items()),
            "TPR at FPR 0.1 %": ", ".join(f"{name} {rate:.4f}" for name, rate in self.found.items()),
        }


KINDS: dict[str, type[Row]] = {
    row.kind: row
    for row in (
        RunRow,
        KernelRow,
        LossRow,
        PeerRow,
        DecisionRow,
        RegistryRow,
        ReleaseRow,
        ResponseRow,
        TrainingRow,
        AuditRow,
    )
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with its setting."""

    row: Row
    setting: Setting

    @property
    def key(self) -> tuple[object, ...]:
        return self.row.kind, *(getattr(self.row, name) for name in self.row.key)


def to_json(measured: Iterable[Measured]) -> str:
    """Rows as text, for `from_json`."""
    documents = [
        {
            "kind": entry.row.kind,
            "row": {f.name: getattr(entry.row, f.name) for f in fields(entry.row)},  # type: ignore[arg-type]
            "setting": asdict(entry.setting),
        }
        for entry in measured
    ]
    return json.dumps(documents, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> list[Measured]:
    """The inverse of `to_json`."""
    return [
        Measured(KINDS[entry["kind"]](**entry["row"]), Setting(**entry["setting"]))
        for entry in json.loads(text)
    ]


def merged(kept: Iterable[Measured], new: Iterable[Measured]) -> list[Measured]:
    """Kept rows, and new ones in place of those with the same key; by kind, then in its order."""
    return sorted({entry.key: entry for entry in (*kept, *new)}.values(), key=_place)


def _place(entry: Measured) -> tuple[int, list[tuple[bool, float, str]]]:
    names = entry.row.order or entry.row.key
    parts = [getattr(entry.row, name) for name in names]
    return list(KINDS).index(entry.row.kind), [
        (False, float(part), "") if isinstance(part, int | float) else (True, 0.0, str(part))
        for part in parts
    ]


def to_markdown(measured: Sequence[Measured]) -> str:
    """One table for each kind, and one of the settings that the last column refers to."""
    if not measured:
        return "Nothing was measured yet.\n"
    settings = list(dict.fromkeys(entry.setting for entry in measured if not entry.row.is_quoted))
    parts = []
    for kind in KINDS.values():
        rows = [
            entry.row.cells()
            | {"where": "" if entry.row.is_quoted else str(settings.index(entry.setting) + 1)}
            for entry in measured
            if isinstance(entry.row, kind)
        ]
        if rows:
            parts.append(f"## {kind.title}\n\n{_table(rows)}")
    where = [{"where": str(number), **asdict(setting)} for number, setting in enumerate(settings, 1)]
    parts.append(f"## Where and when\n\n{_table(where)}")
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[dict[str, str]]) -> str:
    heads = list(rows[0])
    lines = [heads, ["---"] * len(heads), *([row[head] for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', ' ') for cell in line)} |" for line in lines)


def keep(new: Sequence[Measured], kept: Path = KEPT, shown: Path = SHOWN) -> None:
    """Put rows among the kept ones, and write the tables anew between their marks.

    Raises:
        ValueError: the page has no marks.
    """
    before = from_json(kept.read_text(encoding="utf-8")) if kept.exists() else []
    measured = merged(before, new)
    page = shown.read_text(encoding="utf-8")
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{shown.name}: expected the marks `{BEGIN}` and `{END}` around the tables")
    kept.write_text(to_json(measured), encoding="utf-8")
    shown.write_text(f"{head}{BEGIN}\n\n{to_markdown(measured)}\n{END}{tail}", encoding="utf-8")


def _seconds(spent: float | None) -> str:
    if spent is None:
        return ""
    return f"{spent:.1f}" if spent >= 10 else f"{spent:.2f}"


def _times(times: float | None) -> str:
    if times is None:
        return ""
    return f"{times:,.0f}" if times >= 100 else f"{times:.1f}"


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.4f}"


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
