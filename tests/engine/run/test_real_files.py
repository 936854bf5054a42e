"""Files as people have them give, byte for byte, what their content in canonical CSV gives."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import real_files
from shell import CUSTOMER, OWNER, USER, small_policy

from smalti import api
from smalti.engine.backends.spark import SparkBackend

Writer = Callable[[Path], Path]


def policy_in(folder: Path) -> Path:
    columns = [{"@id": f"{CUSTOMER}/{name}"} for name in ("born", "seen", "weight", "city")]
    return small_policy(
        folder, **{"k": ("gteq", 3), "quasi-identifier": ("isAllOf", columns), "respondent": None}
    )


def published(folder: Path, data: Path | Any, name: str, **choices: Any) -> bytes:
    outcome = api.run(
        policy_in(folder), data={CUSTOMER: data}, party=USER, owner=OWNER, purpose="marketing",
        out=folder / name, registry=folder / f"{name}.sqlite", **choices,
    )  # fmt: skip
    assert outcome.version is not None, outcome.decision
    (file,) = outcome.version.files
    return (folder / name / file.name).read_bytes()


@pytest.fixture(scope="module")
def in_canonical_csv(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Writer], bytes]:
    """What is published of a canonical CSV file."""

    @cache
    def of(write: Writer) -> bytes:
        folder = tmp_path_factory.mktemp("canonical")
        return published(folder, write(folder), "out")

    return of


@pytest.mark.parametrize("kind", real_files.KINDS)
def test_each_kind_gives_what_its_content_in_canonical_csv_gives(
    tmp_path: Path, kind: str, in_canonical_csv: Callable[[Writer], bytes]
) -> None:
    write, write_canonical = real_files.KINDS[kind]
    content = published(tmp_path, write(tmp_path), "out")
    assert b"[1950-01-01.." in content, "dates become ranges"
    assert b"[2024-01-" in content
    assert b"..1041.25]" in content, "numbers become ranges"
    assert content == in_canonical_csv(write_canonical)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["german", "duckdb"])
def test_spark_gives_the_same(
    tmp_path: Path, spark: Any, kind: str, in_canonical_csv: Callable[[Writer], bytes]
) -> None:
    write, write_canonical = real_files.KINDS[kind]
    content = published(tmp_path, write(tmp_path), "out", engine=SparkBackend(spark))
    assert content == in_canonical_csv(write_canonical)
