"""A published table of values of public domains, read again."""

from pathlib import Path

import pyarrow as pa

from smalti.engine.tables.reading import ROW, inspect, text_batches
from smalti.engine.tables.sources import bind
from smalti.vocab.terms import IRI


def read_table(path: Path) -> pa.Table:
    """The columns of a CSV or Parquet file, as text; empty is missing.

    Raises:
        UsageError: there is no such file.
        DataError: it cannot be read.
    """
    source = bind(IRI(path.name), path)
    contents = inspect(source)
    read = text_batches(source, contents).read_all().drop_columns([ROW])
    return read.rename_columns(list(contents.header))
