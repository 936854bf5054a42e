"""Some columns staged are what they are among all, and the whole file is checked all the same."""

from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from smalti.engine.backends import local
from smalti.engine.backends.local import LocalBackend, LocalRelations
from smalti.engine.backends.staged import STAGED, Listed, staged_places
from smalti.engine.tables.reading import inspect, text_batches
from smalti.engine.tables.sources import bind
from smalti.errors import DataError
from smalti.vocab.terms import IRI

T = IRI("http://example.com/t")
COLUMNS = {
    "a": ["1", None, "3", "4"],
    "b": ['say "hi"', "x,y", "two\nlines", None],
    "c": ["é", "é", "Ünsal", ""],
    "d": [None, None, None, "last"],
}


def written(folder: Path, form: str) -> Path:
    path = folder / f"t.{form}"
    if form == "parquet":
        pq.write_table(pa.table(COLUMNS), path, row_group_size=3)
        return path
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [",".join('"' + (text or "").replace('"', '""') + '"' for text in row) for row in rows]
    path.write_text("\n".join(["a,b,c,d", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("names", [("b",), ("a", "d"), ("d", "c", "no such column"), tuple("abcd")])
def test_some_columns_are_read_as_among_all(tmp_path: Path, form: str, names: tuple[str, ...]) -> None:
    source = bind(T, written(tmp_path, form))
    contents = inspect(source)
    whole = text_batches(source, contents).read_all()
    places = staged_places(contents, names)
    some = text_batches(source, contents, places).read_all()
    assert places == tuple(place for place, name in enumerate("abcd") if name in names)
    assert some.to_pydict() == whole.select(["row", *(f"c{place}" for place in places)]).to_pydict()


def test_rows_are_there_without_any_column(tmp_path: Path) -> None:
    contents = inspect(bind(T, written(tmp_path, "csv")))
    assert staged_places(contents, ()) == (0,)
    assert staged_places(contents, None) == (0, 1, 2, 3)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_steps_over_some_columns_find_what_they_find_among_all(tmp_path: Path, form: str) -> None:
    source = bind(T, written(tmp_path, form))
    (tmp_path / "work").mkdir()
    with closing(LocalBackend().open(source, tmp_path / "work", ("d", "b"))) as table:
        assert sorted(table.texts("b").to_pylist()) == ['say "hi"', "two\nlines", "x,y"]
        assert [table.first_missing(name) for name in ("b", "d")] == [3, 0]
        table.keep(Listed("d", pa.array(["last"])))
        assert (table.first_missing("b"), table.texts("b").to_pylist()) == (3, [])
        with pytest.raises(KeyError):
            table.texts("a")


@pytest.mark.parametrize("record", [b"1,2\n", b"1,2,3,4\n", b"1,\xff,3\n", b'1,"2,3\n', b"1,\x00,3\n"])
def test_what_is_wrong_in_another_column_is_refused(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b,c\n" + b"1,2,3\n" * 5 + record)
    (tmp_path / "work").mkdir()
    with pytest.raises(DataError):
        LocalBackend().open(bind(T, path), tmp_path / "work", ("a",))


def test_the_rows_that_show_which_columns_vary_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, path = 5000, tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{row},x\n" for row in range(rows)))
    source = bind(T, path)
    contents, readers = inspect(source), []
    monkeypatch.setattr(local, "text_batches", lambda *given: readers.append(given) or text_batches(*given))
    with closing(LocalRelations(tmp_path)) as relations:
        columns = relations.stage(source, contents, (0, 1))
        found = relations.take(f"SELECT row, CAST(t0 AS BIGINT) AS a, c1 FROM {STAGED} ORDER BY row")
    assert len(readers) == 1
    assert [column is not None and column.has_text for column in columns] == [True, False]
    assert found.to_pydict() == {"row": list(range(rows)), "a": list(range(rows)), "c1": [1] * rows}
