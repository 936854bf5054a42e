"""The record of a run of any kind: its files, its certificate, and its conditions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.binding import input_hmac
from smalti.engine.binding.run_inputs import Granted, RunInput
from smalti.engine.binding.run_request import RunRequest, Watch
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.files import Composition, InputDigest, PublishedFile
from smalti.engine.plan.guarantees import AnyGuarantee
from smalti.engine.plan.plan import ModelFormat, OutputFormat
from smalti.engine.plan.reports import Report
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.registry.certificate import Certificate
from smalti.engine.registry.commit import Stage
from smalti.engine.registry.entries import (
    NewVersion,
    OutputColumn,
    OutputTable,
    Permitted,
    TakenOver,
)
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.description import Source
from smalti.policy.decide.decision import Decision
from smalti.policy.model.iris import file_stem
from smalti.policy.model.meaning import grant_digest, meaning_digest
from smalti.vocab.terms import IRI

_MEDIA_TYPES: Final = {
    OutputFormat.CSV: "text/csv",
    OutputFormat.PARQUET: "application/vnd.apache.parquet",
    ModelFormat.SAFETENSORS: "application/octet-stream",
}


@dataclass(frozen=True, slots=True)
class RunUnder:
    """What a run is made under."""

    request: RunRequest
    registry: Registry
    backend: Backend
    decision: Decision
    granted: Granted
    stage: Stage
    watch: Watch
    binds_as_owner: bool
    """Whether the submitter owned the target, or it had no owner, before it was bound to data."""
    takes_over: TakenOver | None = None
    """The version whose folder it takes."""


def new_version(  # noqa: PLR0913, PLR0917 (everything that is known at the end of a run)
    under: RunUnder,
    plan: AnyPlan,
    run_input: RunInput,
    files: tuple[PublishedFile, ...],
    guarantee: AnyGuarantee,
    composition: Composition | None,
    columns: tuple[OutputColumn, ...],
    content: str,
    report: Report,
    tables: tuple[OutputTable, ...] = (),
) -> NewVersion:
    """What to record of an output that is staged.

    Args:
        under: the run.
        plan: the plan that was carried out.
        run_input: of the inputs.
        files: as they are staged.
        guarantee: of the output.
        composition: with all earlier releases, where something is lost.
        columns: of the output.
        content: the digest of its content, whatever its format and files.
        report: for the owners.
        tables: of the output, where it has several.
    """
    request, permission, document = under.request, under.granted.permission, under.request.document
    now, digest = datetime.now(UTC), plan_digest(plan)
    certificate = Certificate(
        version=under.stage.version,
        output=plan.write.output,
        issued=now,
        guarantee=guarantee,
        composition=composition,
        respondent=plan.read.respondent,
        inputs=tuple(entry.iri for entry in run_input.inputs),
        policy_uid=document.policy.uid,
        policy_digest=document.policy.document_digest,
        rule_uid=permission.uid,
        plan_digest=digest,
        files=files,
        tables=tables,
    )
    return NewVersion(
        target=plan.write.output,
        format=plan.write.format,
        output_digest=content,
        files=files,
        plan=plan_to_json(plan),
        plan_digest=digest,
        policy_digest=document.policy.document_digest,
        policy_uid=document.policy.uid,
        rule_uid=permission.uid,
        rule_purposes=permission.purposes,
        party=request.asker,
        purpose=request.purpose,
        inputs=run_input.inputs,
        columns=columns,
        respondent=plan.read.respondent,
        created_at=now,
        certificate=certificate.to_json(),
        report=report,
        document=document.document,
        document_name=document.name,
        issuer=document.issuer or request.submitter,
        bound_by=request.submitter,
        signature=document.signature,
        started_at=run_input.at,
        policy_meaning=meaning_digest(document.policy),
        permitted=_permitted(under),
        binds_as_owner=under.binds_as_owner,
        input_table=run_input.columns,
        population_table=run_input.population_columns,
        replaces=request.replaces,
        takes_over=under.takes_over,
        tables=tables,
    )


def _permitted(under: RunUnder) -> Permitted:
    """What the decision let the run do."""
    granted = under.granted
    return Permitted(
        under.decision.request,
        grant_digest(granted.permission, granted.rows),
        granted.withheld,
        granted.implied,
        granted.spared,
    )


def file_name(output: IRI, kind: OutputFormat | ModelFormat) -> str:
    """The name of an output's file: the last part of its IRI, in letters that every system takes."""
    return f"{file_stem(output)}.{kind}"


def published_files(
    paths: Iterable[Path], digests: Iterable[str], kind: OutputFormat | ModelFormat
) -> tuple[PublishedFile, ...]:
    """The staged files, as they were checked."""
    return tuple(
        PublishedFile(path.name, prefixed(digest), path.stat().st_size, _MEDIA_TYPES[kind])
        for path, digest in zip(paths, digests, strict=True)
    )


def digests_of_inputs(
    registry: Registry, source: Source, digests: Sequence[str]
) -> tuple[InputDigest, ...]:
    """The files that were read, recognisable under the registry's secret only."""
    originals = source.originals or ("",) * len(digests)
    return tuple(
        InputDigest(
            path.name, input_hmac(registry, digest), input_hmac(registry, original) if original else None
        )
        for path, digest, original in zip(source.paths, digests, originals, strict=True)
    )


def prefixed(digest: str) -> str:
    """A digest with the name of its algorithm before it."""
    return digest if digest.startswith("sha256:") else f"sha256:{digest}"
