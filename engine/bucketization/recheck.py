"""Verify two published tables, by their bytes alone or with the owner's data."""

from contextlib import closing
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import OwnersData
from smalti.engine.binding.checks import CHANGED_LATER
from smalti.engine.binding.kept_rows import leave_out_rows
from smalti.engine.binding.stated import Published
from smalti.engine.bucketization.execute import Places, execute
from smalti.engine.bucketization.guarantee import GroupsGuarantee
from smalti.engine.plan.bucketization import BucketizationPlan
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.writing import content_digest, digest_of_tables
from smalti.engine.verify.buckets import GroupsPromise, verify_groups, verify_published_groups
from smalti.engine.verify.promise import PublishedCheck
from smalti.engine.verify.verifier import Original
from smalti.errors import GuaranteeError, UsageError

_TABLES: Final = 2


def check_published(published: Published, guarantee: GroupsGuarantee) -> PublishedCheck:
    """Recount what the bytes can show of both tables.

    Raises:
        GuaranteeError: the bytes are others, or break a promise.
    """
    folder, files = published.folder, published.files
    if len(files) != _TABLES or len({Path(file.name).suffix for file in files}) != 1:
        raise GuaranteeError(
            str(published.certificate),
            "its files are not the two tables that it promises",
            "records and values, in one format",
            "take the output from its registered folder again",
        )
    promise = GroupsPromise(
        (*guarantee.columns, guarantee.group),
        (guarantee.group, guarantee.sensitive, guarantee.count),
        guarantee.l,
    )
    records, values = (file.digest.removeprefix("sha256:") for file in files)
    try:
        return verify_published_groups(
            promise,
            (folder / files[0].name, folder / files[1].name),
            _format(files[0].name),
            (records, values),
        )
    except GuaranteeError as error:
        raise GuaranteeError(
            error.where,
            error.problem,
            error.expected,
            CHANGED_LATER,
        ) from None


def content_again(plan: BucketizationPlan, data: OwnersData, backend: Backend, place: Path) -> str:
    """As `Capability.content_again`: everything is repeated, the verification too."""
    source, written = data.source, place / "again"
    written.mkdir()
    places = Places.in_folder(plan, written, place / "link")
    with closing(backend.open(source, place / "spill")) as table:
        if table.contents.header != tuple(column.name for column in plan.read.columns):
            raise UsageError(
                source.path.name, "its columns differ from those of the plan", "the same header"
            )
        leave_out_rows(plan, table, data.withdrawn)
        execute(plan, table, places, data.secret())
    original = Original(source.path, source.format, source.parts)
    verify_groups(plan, original, places.tables, places.link, data.withdrawn.known_form)
    return content_of(plan, places)


def content_of(plan: BucketizationPlan, places: Places) -> str:
    """The digest of the content of both tables, whatever their format."""
    return digest_of_tables([content_digest([path], plan.write.format) for path in places.tables])


def _format(name: str) -> OutputFormat:
    return OutputFormat.PARQUET if name.endswith(".parquet") else OutputFormat.CSV
