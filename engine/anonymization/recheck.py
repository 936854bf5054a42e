"""Verify published generalised rows, by their bytes alone or with the owner's data."""

from contextlib import closing
from pathlib import Path

from smalti.engine.anonymization.codebooks import hierarchies_of
from smalti.engine.anonymization.execute import execute
from smalti.engine.anonymization.guarantee import ClassGuarantee
from smalti.engine.backends.base import Backend
from smalti.engine.binding.kept_rows import leave_out_rows
from smalti.engine.binding.stated import Published
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import read_names
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.engine.tables.writing import content_digest
from smalti.engine.verify.promise import Promise, PublishedCheck
from smalti.engine.verify.verifier import Original, Output, verify_published, verify_run
from smalti.errors import GuaranteeError, UsageError


def check_published(published: Published, guarantee: ClassGuarantee) -> PublishedCheck:
    """Recount what the bytes can show of classes.

    Raises:
        GuaranteeError: the bytes are others, or break a promise.
    """
    folder, files, version = published.folder, published.files, published.version
    output = Output(folder, _format(files[0].name), tuple(folder / file.name for file in files))
    columns = tuple(column.name for column in version.columns) if version else _columns(output)
    promise = Promise(columns, guarantee.quasi_identifiers, guarantee.sensitive, (), guarantee.promised)
    digests = tuple(file.digest.removeprefix("sha256:") for file in files)
    try:
        return verify_published(promise, output, digests, folder=output.path.parent)
    except GuaranteeError as error:
        raise GuaranteeError(
            error.where,
            error.problem,
            error.expected,
            "the file was changed or damaged after the run: copy it from its registered folder again",
        ) from None


def content_again(plan: Plan, source: Source, backend: Backend, place: Path, withdrawn: Withdrawn) -> str:
    """As `Capability.content_again`: everything is repeated, the verification too."""
    written, link = place / "again", place / "link"
    hierarchies = hierarchies_of(source.description)
    written.mkdir()
    with closing(backend.open(source, place / "spill")) as table:
        if table.contents.header != tuple(column.name for column in plan.read.columns):
            raise UsageError(
                source.path.name, "its columns differ from those of the plan", "the same header"
            )
        leave_out_rows(plan, table, withdrawn)
        execute(plan, table, written / "published", link, lambda _: None, hierarchies)
    original = Original(source.path, source.format, source.parts)
    output = Output.in_folder(written, plan.write.format)
    verify_run(
        plan, original, output, link, withdrawn.known_form, folder=place / "spill", hierarchies=hierarchies
    )
    return content_digest(output.paths, plan.write.format)


def _format(name: str) -> OutputFormat:
    return OutputFormat.PARQUET if name.endswith(".parquet") else OutputFormat.CSV


def _columns(output: Output) -> tuple[str, ...]:
    return read_names(output.paths[0], output.format)
