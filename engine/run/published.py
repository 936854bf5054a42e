"""A published table with the certificate beside it, read by whoever got it."""

import os
from pathlib import Path

import pyarrow as pa

from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.reading import Reading
from smalti.engine.run.recheck import stated_in
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.engine.tables.published import published_table
from smalti.engine.tables.published_files import check_single_table, source_of
from smalti.errors import UsageError


def read_published(path: Path, reading: Reading) -> pa.Table:
    """The table of a published folder, or of one of its files, typed.

    Nothing is verified: the certificate says what columns hold, and whoever wrote the folder wrote both.

    Args:
        path: of the folder, or of a file in it; the certificate is beside the file.
        reading: what is wanted.

    Raises:
        UsageError: there is no such folder, certificate or column, or it is a model, or a folder with
            several tables.
        DataError: a file is not as its certificate and its format say.
        GuaranteeError: the certificate is none of smalti's.
    """
    is_folder = path.is_dir()
    if not is_folder and not os.path.lexists(path):
        raise UsageError(
            str(path),
            "there is no such folder or file",
            f"a published folder, or a table with its {CERTIFICATE_NAME} beside it",
            "check the path",
        )
    folder = path if is_folder else path.parent
    stated = stated_in(folder)
    if is_folder:
        check_single_table(folder, stated.tables)
    files = stated.files if is_folder else _the_file(path, stated.files)
    return published_table(source_of(folder, files), stated.guarantee.published, reading)


def _the_file(path: Path, files: tuple[PublishedFile, ...]) -> tuple[PublishedFile, ...]:
    named = tuple(file for file in files if file.name == path.name)
    if not named:
        raise UsageError(
            str(path),
            f"the {CERTIFICATE_NAME} beside it is about other files",
            f"one of {', '.join(file.name for file in files[:3])}",
            "take file and certificate from one published folder",
        )
    return named
