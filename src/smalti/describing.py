"""Descriptions that are written beside files, so that they are found by themselves."""

import json
import os
import stat
from pathlib import Path
from typing import Final

from smalti.engine.registry.bound_data import BoundData
from smalti.engine.tables.parts import METADATA_SUFFIX
from smalti.engine.tables.sources import read_description, split_url
from smalti.errors import DataError, SmaltiError, UsageError

_DRAFT: Final = f"description{METADATA_SUFFIX}"
_LONGEST: Final = 16 << 20
"""Bytes of a description that is shown."""


def describe_file(place: Path, description: bytes, *, looks: bool) -> tuple[str, ...]:
    """Write the CSVW description of a file beside it, in place of an earlier one.

    Args:
        place: the file, in a folder of its own.
        description: CSVW metadata, whose `url` is the file's name.
        looks: whether the file is read through, to see that it has the columns, of these datatypes.

    Returns:
        The names of the columns that it describes.

    Raises:
        DataError, ProblemsError: it is not understood, describes another file, or says of columns what
            they do not hold; nothing was changed.
    """
    draft = place.with_name(_DRAFT)
    try:
        draft.write_bytes(description)
        described, url = read_description(draft)
        if url != place.name:
            raise DataError(
                _DRAFT, f"it describes `{url}`", f"`{place.name}` as its `url`", "correct `url`"
            )
        if looks:
            from smalti.engine.run.described_values import check_described  # noqa: PLC0415 (an engine)

            check_described(draft)
        os.replace(draft, beside(place))
    finally:
        draft.unlink(missing_ok=True)
    return tuple(column.name for column in described.columns)


def describe_as(place: Path, earlier: Path, *, looks: bool) -> bool:
    """Describe a file as the one that it replaces was.

    Args:
        place: the new file, in a folder of its own, not described yet.
        earlier: the file with a description beside it.
        looks: whether the file is read through, to see that it has the columns.

    Returns:
        Whether the description fits; if not, the file stays without one.
    """
    try:
        _, url = read_description(beside(earlier))
        document = json.loads(beside(earlier).read_bytes())
        _, table = split_url(url)
        document["url"] = place.name if table is None else f"{place.name}#{table}"
        describe_file(place, json.dumps(document, ensure_ascii=False, indent=2).encode(), looks=looks)
        fits = True
    except SmaltiError:
        fits = False
    if not fits:
        beside(place).unlink(missing_ok=True)
    return fits


def described_text(place: Path) -> bytes | None:
    """The description beside a file, as it was written; None: there is none, or it is a link or no file."""
    try:
        descriptor = os.open(beside(place), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            content = file.read(_LONGEST + 1)
    except OSError:
        return None
    return content if len(content) <= _LONGEST else None


def check_as_bound(bound: BoundData) -> None:
    """Refuse a file below a root in whose place a link stands by now, which could lead out of the root.

    Asked before each use: whoever binds a file can often write where it lies. What is replaced while it is
    being read is not noticed.

    Raises:
        UsageError: the file, a folder above it, or the description beside it is a link.
    """
    if bound.is_uploaded:
        return
    if os.path.realpath(bound.place) != str(bound.place) or beside(bound.place).is_symlink():
        raise UsageError(
            bound.name, "a link stands in the place of the file, of its folder or of its description",
            "the file that was bound", "put the file there, or bind another one",
        )  # fmt: skip


def beside(place: Path) -> Path:
    """Where the description of a file stands."""
    return place.with_name(place.name + METADATA_SUFFIX)
