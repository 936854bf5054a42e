"""Verify a published masked table, by its bytes alone or with the owner's data."""

from contextlib import closing
from pathlib import Path

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import OwnersData
from smalti.engine.binding.checks import CHANGED_LATER, ReleaseCheck, check_release
from smalti.engine.binding.kept_rows import leave_out_rows
from smalti.engine.binding.ladders import hierarchies_of
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.masking.execute import Places, execute
from smalti.engine.masking.guarantee import MaskingGuarantee, guarantee_of
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.masks import AtLevel, Averaged, Noisy, Pseudonymized, Recoded
from smalti.engine.plan.plan import OutputFormat, RespondentColumn
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import read_names
from smalti.engine.tables.writing import content_digest
from smalti.engine.techniques.mechanisms import Secrets
from smalti.engine.verify.combined import ReleasedRows, shown_beside
from smalti.engine.verify.masked import MaskedOutput, verify_masked
from smalti.engine.verify.masked_form import check_masked_form
from smalti.engine.verify.read import Original, Output
from smalti.errors import GuaranteeError, UsageError
from smalti.transforms.base import Datatype


def masked_output(plan: MaskingPlan) -> MaskedOutput:
    """What the verifier needs of a plan."""
    return MaskedOutput(plan, plan.mask, plan.write, plan.select.dropped)


def datatype_of(plan: MaskingPlan, name: str) -> Datatype:
    """What a published column holds."""
    node = next((each for each in plan.mask.columns if each.column == name), None)
    if isinstance(node, AtLevel | Recoded | Pseudonymized | Averaged):
        return Datatype.STRING
    return Datatype.DECIMAL if isinstance(node, Noisy) else plan.column(name).datatype


def check_masked(published: Published, stated: Stated[MaskingGuarantee]) -> ReleaseCheck:
    """Check what the bytes can show by themselves; hold the certificate against them and the record.

    Raises:
        GuaranteeError: they contradict each other; no value is named.
    """
    seen = check_release(published.folder, published.files)
    guarantee, version = stated.guarantee, published.version
    if not stated.has_own_sentences:
        raise _broken(published.certificate, "its sentences are not those of its techniques")
    format_ = OutputFormat.PARQUET if published.files[0].name.endswith(".parquet") else OutputFormat.CSV
    output = Output(
        published.folder, format_, tuple(published.folder / file.name for file in published.files)
    )
    columns = read_names(output.paths[0], output.format)
    named = {*(each.column for each in guarantee.masked), *guarantee.unchanged}
    if set(columns) != named or len(columns) != len(named):
        raise _broken(output.paths[0], "its columns are not the stated ones")
    try:
        is_sample = guarantee.sampling_rate is not None
        check_masked_form(guarantee.masked, columns, output, published.folder.parent, is_sample=is_sample)
    except GuaranteeError as error:
        raise GuaranteeError(
            error.where,
            error.problem,
            error.expected,
            CHANGED_LATER,
        ) from None
    if version is not None:
        plan = published.recorded_plan(version, MaskingPlan)
        if guarantee_of(plan) != guarantee:
            raise _broken(published.certificate, "what it states is not what the recorded plan does")
    return ReleaseCheck(
        (
            *seen.recounted,
            "the columns are exactly the stated ones",
            "each published value is one that its technique can produce",
            "rows are ordered by published values only",
        ),
        (
            "each published value is what its technique makes of its original",
            "unchanged columns are unchanged, and no other row is published or left out",
            *(("how the sample was drawn",) if guarantee.sampling_rate is not None else ()),
            *(("how the noise was drawn",) if any(isinstance(m, Noisy) for m in guarantee.masked) else ()),
        ),
    )


def content_again(
    plan: MaskingPlan, data: OwnersData, backend: Backend, place: Path, secrets: Secrets
) -> str:
    """As `Capability.content_again`: everything is repeated, the verification too."""
    released, content = released_again(plan, data, backend, place, secrets)
    verify_masked(
        masked_output(plan),
        released.original,
        released.output,
        released.link,
        data.withdrawn.known_form,
        folder=place / "spill",
        hierarchies=secrets.hierarchies,
        key=secrets.key,
    )
    return content


def released_again(
    plan: MaskingPlan, data: OwnersData, backend: Backend, place: Path, secrets: Secrets
) -> tuple[ReleasedRows, str]:
    """As `Capability.released_again`: the rows with the link from them to the data."""
    source, written, link = data.source, place / "again", place / "link"
    written.mkdir()
    with closing(backend.open(source, place / "spill")) as table:
        if table.contents.header != tuple(column.name for column in plan.read.columns):
            raise UsageError(
                source.path.name, "its columns differ from those of the plan", "the same header"
            )
        leave_out_rows(plan, table, data.withdrawn)
        execute(plan, table, Places(written / "published", link), lambda _: None, secrets)
    output = Output.in_folder(written, plan.write.format)
    return released_rows(plan, source, output, link), content_digest(output.paths, plan.write.format)


def released_rows(plan: MaskingPlan, source: Source, output: Output, link: Path) -> ReleasedRows:
    """Rows that a plan published, beside the data that they came from; nothing of them is promised.

    What somebody may know of a person tells a row: each masked column, but for noise and pseudonyms.
    """
    respondent = plan.read.respondent
    masked = plan.mask.columns
    telling = tuple(each.column for each in masked if not isinstance(each, Noisy | Pseudonymized))
    return ReleasedRows(
        Original(source.path, source.format, source.parts),
        tuple(column.name for column in plan.read.columns),
        output,
        link,
        plan.write.columns,
        telling,
        (),
        plan.column(respondent.column) if isinstance(respondent, RespondentColumn) else None,
        None,
        hierarchies_of(source.description),
        beside=shown_beside(plan, plan.write.columns, masked, telling),
    )


def _broken(place: Path, problem: str) -> GuaranteeError:
    return GuaranteeError(
        str(place),
        problem,
        "a certificate and bytes that belong to each other",
        "get it again from its registered place, or ask the publisher",
    )
