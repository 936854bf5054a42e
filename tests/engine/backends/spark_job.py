"""A run on Spark in a process of its own; also one of whose tasks dies, or whose executor is lost, once.

    python spark_job.py FOLDER FRAGMENTS FAULT [MASTER [KEY=VALUE ...]]

Reads `people.csv` and `policy.jsonld` in the folder, and writes `out` there. FAULT is `none`, `kernel`
(a task dies while a kernel runs), `part` (while a part of the output is written) or `executor`.
"""

import os
import signal
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from shell import CUSTOMER, MARKETING, OWNER, USER

import smalti
from smalti.engine.backends import spark_writing
from smalti.engine.backends.publication import Publication
from smalti.engine.backends.spark import SparkRelations
from smalti.errors import SmaltiError


class Once:
    """Ends this process, or the Java one behind it, the first time that it is called anywhere."""

    def __init__(self, marker: Path, is_executor: bool) -> None:
        self.marker, self.is_executor = marker, is_executor

    def __call__(self) -> None:
        try:
            self.marker.open("x").close()
        except FileExistsError:
            return
        if self.is_executor:
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()
            os.kill(int(daemon[1]), signal.SIGKILL)
        os._exit(1)


def break_kernel(once: Once) -> None:
    real = SparkRelations.map_nodes

    def map_nodes(self: SparkRelations, name: str, source: str, function: Any, schema: pa.Schema) -> None:
        def dying(facts: pa.Table) -> pa.Table:
            once()
            return function(facts)

        real(self, name, source, dying, schema)

    SparkRelations.map_nodes = map_nodes  # type: ignore[method-assign]


def break_part(once: Once) -> None:
    real = spark_writing.write_parts

    class Dying(Publication):
        def write(self, *more: Any) -> None:
            Publication.write(self, *more)
            once()

    def write_parts(frame: Any, publication: Publication, folder: Path) -> Any:
        same = {field.name: getattr(publication, field.name) for field in fields(publication)}
        return real(frame, Dying(**same), folder)

    spark_writing.write_parts = write_parts


def main(folder: Path, fragments: int, fault: str, master: str | None, settings: list[str]) -> int:
    once = Once(folder / "died", fault == "executor")
    if fault in ("kernel", "executor"):
        break_kernel(once)
    if fault in ("part", "parts"):
        break_part(once)
    try:
        outcome = smalti.run(
            folder / "policy.jsonld", data={CUSTOMER: folder / "people.csv"}, party=USER, owner=OWNER,
            purpose=MARKETING, out=folder / "out", registry=folder / "r.sqlite", engine="spark",
            master=master, conf=dict(setting.split("=", 1) for setting in settings), fragments=fragments,
            cut_threshold=8, rows_per_part=100 if fault == "parts" else None,
        )  # fmt: skip
    except SmaltiError as error:
        print(error)
        return error.exit_code
    return 0 if outcome.version else 1


if __name__ == "__main__":
    place, number, what, *others = sys.argv[1:]
    sys.exit(main(Path(place), int(number), what, others[0] if others else None, others[1:]))
