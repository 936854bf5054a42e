"""Verify published generalised rows, by their bytes alone or with the owner's data."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from smalti.engine.anonymization.beside import mask_rows
from smalti.engine.anonymization.execute import execute
from smalti.engine.anonymization.guarantee import ClassGuarantee
from smalti.engine.anonymization.pseudonyms import key_of
from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import OwnersData
from smalti.engine.binding.checks import CHANGED_LATER
from smalti.engine.binding.kept_rows import leave_out_rows, leave_out_withdrawn
from smalti.engine.binding.ladders import Hierarchies, hierarchies_of
from smalti.engine.binding.stated import Published
from smalti.engine.plan.hierarchies import hierarchy_of
from smalti.engine.plan.masks import Noisy
from smalti.engine.plan.plan import OutputFormat, Plan, RespondentColumn, columns_of_respondent
from smalti.engine.tables.description import Source
from smalti.engine.tables.disk import private_folder
from smalti.engine.tables.reading import read_names
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.engine.tables.writing import content_digest
from smalti.engine.verify.combined import ReleasedRows
from smalti.engine.verify.masked_form import check_masked_form
from smalti.engine.verify.population import OriginalPopulation
from smalti.engine.verify.promise import Promise, Property, PublishedCheck
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
        seen = verify_published(promise, output, digests, folder=output.path.parent)
        return _with_techniques(seen, guarantee, columns, output)
    except GuaranteeError as error:
        raise GuaranteeError(
            error.where,
            error.problem,
            error.expected,
            CHANGED_LATER,
        ) from None


def _with_techniques(
    seen: PublishedCheck, guarantee: ClassGuarantee, columns: tuple[str, ...], output: Output
) -> PublishedCheck:
    """The same with what the bytes can show of single techniques, and what stays attested.

    Raises:
        GuaranteeError: a masked value is none that its technique can produce.
    """
    is_sample, attested = guarantee.sampling_rate is not None, seen.attested
    if guarantee.masked:
        labelled, folder = guarantee.quasi_identifiers, output.path.parent
        check_masked_form(guarantee.masked, columns, output, folder, is_sample=is_sample, labelled=labelled)
        seen = replace(seen, recounted=(*seen.recounted, Property.MASKED_FORM))
        attested = (*attested, Property.MASKED)
        attested = tuple(Property.UNMASKED if each is Property.KEPT else each for each in attested)
    if is_sample:
        attested = tuple(Property.SAMPLED if each is Property.ROWS else each for each in attested)
    if is_sample or any(isinstance(each, Noisy) for each in guarantee.masked):
        attested = (*attested, Property.DRAWN)
    return replace(seen, attested=attested)


def content_again(plan: Plan, data: OwnersData, backend: Backend, place: Path) -> str:
    """As `Capability.content_again`: everything is repeated, the verification too."""
    key = key_of(plan, None if data.registry is None else data.registry.path)
    with _again(plan, data, backend, place) as (released, population):
        verify_run(
            plan,
            released.original,
            released.output,
            released.link,
            data.withdrawn.known_form,
            folder=place / "spill",
            hierarchies=released.hierarchies,
            population=population,
            key=key,
        )
        return content_digest(released.output.paths, plan.write.format)


def released_again(plan: Plan, data: OwnersData, backend: Backend, place: Path) -> tuple[ReleasedRows, str]:
    """As `Capability.released_again`: the rows with the link from them to the data."""
    with _again(plan, data, backend, place) as (released, _):
        return released, content_digest(released.output.paths, plan.write.format)


@contextmanager
def _again(
    plan: Plan, data: OwnersData, backend: Backend, place: Path
) -> Iterator[tuple[ReleasedRows, OriginalPopulation | None]]:
    """What a recorded plan publishes of this data, written once more into a private place."""
    source, written, link = data.source, place / "again", place / "link"
    hierarchies = hierarchies_of(source.description)
    written.mkdir()
    with _population(plan, data, backend, place) as (staged, population):
        with closing(backend.open(source, place / "spill")) as table:
            if table.contents.header != tuple(column.name for column in plan.read.columns):
                raise UsageError(
                    source.path.name, "its columns differ from those of the plan", "the same header"
                )
            _check_hierarchies(plan, source, hierarchies)
            leave_out_rows(plan, table, data.withdrawn)
            registry = None if data.registry is None else data.registry.path
            mask_rows(plan, table, hierarchies, registry)
            execute(
                plan.once_masked, table, written / "published", link, lambda _: None, hierarchies, staged
            )
        output = Output.in_folder(written, plan.write.format)
        yield released_rows(plan, source, output, link, data.withdrawn), population


def _check_hierarchies(plan: Plan, source: Source, hierarchies: Hierarchies) -> None:
    """Refuse a description that declares other hierarchies by now."""
    for column in plan.read.columns:
        said = column.hierarchy
        if said is not None and hierarchy_of(said, hierarchies.get(column.name)) is None:
            raise UsageError(
                source.path.name,
                f"its description declares another hierarchy of `{column.name}` than the plan read",
                "the description that the output was made with",
                "bind the data with that description",
            )


def released_rows(
    plan: Plan, source: Source, output: Output, link: Path, withdrawn: Withdrawn
) -> ReleasedRows:
    """Rows that a plan published, beside the data that they came from."""
    original = Original(source.path, source.format, source.parts)
    hierarchies = hierarchies_of(source.description)
    return ReleasedRows.of(plan, original, output, link, hierarchies, withdrawn.known_form)


@contextmanager
def _population(
    plan: Plan, data: OwnersData, backend: Backend, place: Path
) -> Iterator[tuple[StagedTable | None, OriginalPopulation | None]]:
    """The population table of a plan, staged and as its owner's file; nothing where it names none."""
    source, respondent = data.population, plan.read.respondent
    if source is None:
        yield None, None
        return
    with closing(backend.open(source, private_folder(place / "population"))) as table:
        names = {*plan.apply.transform.quasi_identifiers, *columns_of_respondent(respondent)}
        if not names <= set(table.contents.header):
            raise UsageError(source.path.name, "it lacks columns that the plan reads", "the same columns")
        if data.withdrawn_from_population and isinstance(respondent, RespondentColumn):
            column = plan.column(respondent.column)
            leave_out_withdrawn(
                table, column.name, column.datatype, column.time_zone, data.withdrawn_from_population
            )
        files = Original(source.path, source.format, source.parts)
        is_withdrawn = data.withdrawn_from_population.known_form
        yield table, OriginalPopulation(files, table.contents.header, is_withdrawn)


def _format(name: str) -> OutputFormat:
    return OutputFormat.PARQUET if name.endswith(".parquet") else OutputFormat.CSV


def _columns(output: Output) -> tuple[str, ...]:
    return read_names(output.paths[0], output.format)
