"""Estimates from a published table of perturbed records: the part of `smalti.api` that reads one."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.deciding import AnyPath
from smalti.engine.arguments import public
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.perturbation.plan import PerturbationPlan, PerturbedColumn
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.errors import GuaranteeError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from smalti.engine.perturbation.estimate import ColumnEstimate
    from smalti.engine.plan.files import PublishedFile

DEFAULT_CONFIDENCE: Final = 0.95


@public
def estimate(
    table: "AnyPath | pa.Table",
    stated: PerturbationPlan | AnyPath | None = None,
    *,
    confidence: float = DEFAULT_CONFIDENCE,
) -> "tuple[ColumnEstimate, ...]":
    """Unbiased shares of categories and means of numbers, from a table of perturbed records.

    Only what was published is read: whoever has the table can do this, and it costs no privacy. Intervals
    come from the noise alone; each holds by itself what the records said with about the confidence.

    Args:
        table: the folder that a run published, or a file of noisy rows, CSV or Parquet, or such a table as
            text columns.
        stated: the plan, or the path of the certificate, that says how the noise was drawn; not needed for
            a folder, which holds its certificate, nor for a file that has it beside it. A file must be the
            one that its certificate is about, byte by byte; for rows in another form give the table itself.
        confidence: of each interval, in (0, 1).

    Raises:
        UsageError: there is no such table, or no statement of how its noise was drawn.
        GuaranteeError: the table is not what its certificate or plan is about.
        DataError: it cannot be read.
    """
    from smalti.engine.perturbation.estimate import estimate_table  # noqa: PLC0415 (only for estimates)

    if not 0 < confidence < 1:
        raise UsageError("confidence", "it is out of range", "a number between 0 and 1, both excluded")
    where = str(table) if isinstance(table, str | PathLike) else "the table"
    if isinstance(stated, PerturbationPlan):
        columns: Sequence[PerturbedColumn] = stated.perturbed
        rows = _rows(table, None)
    else:
        columns, rows = _with_certificate(table, stated)
    return estimate_table(rows, columns, confidence, where)


def _with_certificate(
    table: "AnyPath | pa.Table", stated: AnyPath | None
) -> "tuple[Sequence[PerturbedColumn], pa.Table]":
    from smalti.engine.binding.checks import check_release  # noqa: PLC0415 (only for estimates)
    from smalti.engine.run.recheck import stated_in  # noqa: PLC0415 (only for estimates)

    path = Path(table) if isinstance(table, str | PathLike) else None
    place = _certificate(path, stated)
    stated_there = stated_in(place)
    guarantee, files = stated_there.guarantee, stated_there.files
    if not isinstance(guarantee, LocalGuarantee):
        raise UsageError(
            str(place),
            f"the output promises {guarantee.model}, so it holds no perturbed records",
            "an output of local-differential-privacy",
            "only such tables can be estimated from",
        )
    if path is None:
        return guarantee.perturbed, _rows(table, None)
    if path.is_dir():
        check_release(path, files)
        return guarantee.perturbed, _rows(table, files[0].name)
    _check_same(path, place, files)
    return guarantee.perturbed, _rows(table, None)


def _certificate(path: Path | None, stated: AnyPath | None) -> Path:
    """The path of a table's certificate: as named, in the folder, or beside the file."""
    if stated is not None:
        return Path(stated)
    if path is not None and path.is_dir():
        return path
    if path is not None and (path.parent / CERTIFICATE_NAME).is_file():
        return path.parent / CERTIFICATE_NAME
    raise UsageError(
        "the table" if path is None else str(path),
        "no certificate or plan states how its noise was drawn",
        "the folder of an output, its certificate (--certificate), or its plan",
        "name the folder that holds both, or the certificate",
    )


def _check_same(path: Path, place: Path, files: "tuple[PublishedFile, ...]") -> None:
    """Check that a certificate is about this file: otherwise the wrong noise would be corrected for."""
    from smalti.engine.tables.reading import file_digest  # noqa: PLC0415 (only for estimates)

    if not path.is_file():
        raise UsageError(str(path), "there is no such file", "a table of noisy rows", "check the path")
    if file_digest(path) not in {file.digest for file in files}:
        raise GuaranteeError(
            str(path),
            f"its bytes differ from those that `{place}` certifies",
            "the file and the certificate of one output",
            "name the folder that holds both; for a converted table, pass the rows to `smalti.estimate`",
        )


def _rows(table: "AnyPath | pa.Table", name: str | None) -> "pa.Table":
    """The rows as text; of a folder, those of the file with that name."""
    from smalti.engine.losses.public_tables import read_table  # noqa: PLC0415 (only for estimates)

    if not isinstance(table, str | PathLike):
        return table
    path = Path(table)
    if path.is_dir():
        if name is None:
            raise UsageError(str(path), "it is a folder", "the file of noisy rows", "name the file")
        path /= name
    return read_table(path)
