"""Verify a published table of synthetic records: its bytes, its columns, its values, its number of rows."""

from pathlib import Path

from smalti.engine.binding.checks import ReleaseCheck, check_release
from smalti.engine.plan.files import PublishedFile
from smalti.engine.training.synthesis_guarantee import SynthesisGuarantee
from smalti.engine.training.synthetic_table import in_order, read_records
from smalti.errors import GuaranteeError

AS_STATED = "that the records were drawn from a model that was trained and audited as stated"
_SHOWN = (
    "the columns are exactly the promised ones",
    "each value is one of its column's public domain",
    "there are as many records as promised, in the order of their values",
)


def check_records(
    folder: Path, files: tuple[PublishedFile, ...], guarantee: SynthesisGuarantee
) -> ReleaseCheck:
    """Compare the bytes with what was recorded, and the records with the guarantee.

    Raises:
        GuaranteeError: they are others; no value is named.
    """
    seen = check_release(folder, files)
    for file in files:
        _check(folder / file.name, guarantee)
    return seen + ReleaseCheck(_SHOWN, ())


def _check(path: Path, guarantee: SynthesisGuarantee) -> None:
    records = read_records(path, guarantee.columns)
    if records is None:
        raise _broken(
            path,
            "its columns are not the promised ones, or a value lies outside of its domain",
            "the public values of the promised columns",
        )
    if len(records) != guarantee.records:
        raise _broken(path, "it has another number of records than promised", "as many as are promised")
    if not (in_order(records) == records).all():
        raise _broken(
            path, "the order of its rows reveals more than their values", "rows in the order of values"
        )


def _broken(path: Path, problem: str, expected: str) -> GuaranteeError:
    return GuaranteeError(
        str(path), problem, expected, "get it again from its registered place, or ask the publisher"
    )
