"""Descriptions that are written beside files, so that they are found by themselves."""

import json
import os
from pathlib import Path
from typing import Final

from smalti.engine.tables.parts import METADATA_SUFFIX
from smalti.engine.tables.sources import read_description, split_url
from smalti.errors import DataError, SmaltiError

_DRAFT: Final = f"description{METADATA_SUFFIX}"


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
    """The description beside a file, as it was written; None: there is none."""
    try:
        return beside(place).read_bytes()
    except OSError:
        return None


def beside(place: Path) -> Path:
    """Where the description of a file stands."""
    return place.with_name(place.name + METADATA_SUFFIX)
