"""Published tables as Arrow tables and data frames: the part of `smalti.api` that reads results."""

import os
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from smalti.deciding import AnyPath
from smalti.engine.arguments import public
from smalti.engine.plan.reading import ReadingChoices, reading_of
from smalti.engine.run import published
from smalti.engine.tables.published_frames import as_frame
from smalti.engine.tables.stores import on_disk

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@overload
def read_published(
    path: AnyPath, *, as_: Literal["arrow"] = "arrow", **choices: Unpack[ReadingChoices]
) -> "pa.Table": ...
@overload
def read_published(
    path: AnyPath, *, as_: Literal["pandas"], **choices: Unpack[ReadingChoices]
) -> "pd.DataFrame": ...
@overload
def read_published(path: AnyPath, *, as_: str, **choices: Unpack[ReadingChoices]) -> Any: ...
@public
def read_published(path: AnyPath, *, as_: str = "arrow", **choices: Unpack[ReadingChoices]) -> Any:
    """Read a published table: labels become numbers, dates and lists.

    A column `Age` that was generalised to ranges becomes `Age.low` and `Age.high` (both ends included),
    `Age.mid`, half way between them, and `Age.missing`: whether the value may be missing. Where nothing but
    missing values were published, the first three are null. A column `City` that was generalised to sets
    becomes `City.values`, a list of the texts that it may be, and `City.missing`; one that was generalised
    to prefixes `City.prefix`, `City.exact` and `City.missing`. Of means and medians `Age.mid` is the
    figure, and `Age.low` and `Age.high` are null. All other columns keep their names. `docs/labels.md`
    states the types.

    It reads, and does NOT verify: neither the digests of files, nor that they keep what the certificate
    promises, nor who made them. `smalti.verify` does, with the registry that recorded the output.

    Args:
        path: the folder that a run published, or a CSV or Parquet file with its certificate beside it.
        as_: `arrow` (the default), `pandas` or `polars`; the latter two are imported only when asked for.
        **choices: see `ReadingChoices`.

    Returns:
        A `pyarrow.Table`, a `pandas.DataFrame` or a `polars.DataFrame`.

    Raises:
        UsageError: there is no such folder, certificate or column; or an argument is not known.
        DataError: a file is not as certificate and format say, or larger than wanted.
        GuaranteeError: the certificate is none of smalti's.
        BackendError: pandas or Polars is not installed.
    """
    place = on_disk(os.fspath(path), "path")
    return as_frame(as_, lambda: published.read_published(place, reading_of(choices)))
