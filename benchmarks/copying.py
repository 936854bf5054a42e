"""The floor of a run: an engine's own reader and writer copy a CSV file, with nothing between them.

python benchmarks/copying.py local IN OUT
python benchmarks/copying.py spark IN OUT
"""

# ruff: noqa: PLC0415 (each engine is imported only where it is measured)

import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path


def with_local(source: Path, copy: Path) -> None:
    """The reader and the writer of smalti's own engine: one checked pass, then batches of text."""
    from smalti.engine.tables.reading import inspect, text_batches
    from smalti.engine.tables.sources import bind
    from smalti.engine.tables.writing import CsvWriter
    from smalti.vocab.terms import IRI

    bound = bind(IRI("http://example.com/copied"), source)
    contents = inspect(bound)
    with closing(CsvWriter(copy, contents.header)) as writer:
        for batch in text_batches(bound, contents):
            writer.write(batch.select(range(1, batch.num_columns)))


def with_spark(source: Path, copy: Path) -> None:
    """Spark's own CSV reader and writer, all columns as text, on a session that begins and ends here."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(dir=copy.parent) as scratch:
        session = (
            SparkSession.builder.master("local[*]")
            .appName("copy")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.local.dir", scratch)
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        session.read.csv(source.as_uri(), header=True).write.csv(copy.as_uri(), header=True)
        session.stop()


def main() -> None:
    """Copy as the command line says."""
    engine, source, copy = sys.argv[1:]
    {"local": with_local, "spark": with_spark}[engine](Path(source).resolve(), Path(copy).resolve())


if __name__ == "__main__":
    main()
