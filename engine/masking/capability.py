"""Masked rows: what a run of single techniques does at each step."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import column_iri
from smalti.engine.binding.capability import (
    Capability,
    Compiled,
    OwnersData,
    PlanFigures,
    Produced,
    Production,
    refuse_query,
)
from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.circumstances import Circumstances, Options
from smalti.engine.binding.ladders import hierarchies_of
from smalti.engine.binding.run_inputs import Granted, check_unchanged
from smalti.engine.binding.run_record import (
    RunUnder,
    digests_of_inputs,
    file_name,
    prefixed,
    published_files,
)
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.masking.compile import compile_masking
from smalti.engine.masking.execute import Places, execute
from smalti.engine.masking.explain import as_object, explain_masking, notices_in, to_lines
from smalti.engine.masking.guarantee import MaskingGuarantee, guarantee_of, stated_guarantee
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.masking.recheck import (
    check_masked,
    content_again,
    datatype_of,
    masked_output,
    released_again,
    released_rows,
)
from smalti.engine.masking.report import ChangedCells, ColumnError, MaskingReport
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice, of_no_rows
from smalti.engine.plan.origins import Origins, of_rows
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.registry.commit import Stage
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.secret import pseudonym_key
from smalti.engine.tables.writing import content_digest
from smalti.engine.techniques.mechanisms import Secrets
from smalti.engine.verify.combined import ReleasedRows
from smalti.engine.verify.masked import MaskedCount, verify_masked
from smalti.engine.verify.read import Original, Output
from smalti.errors import GuaranteeError, UsageError
from smalti.vocab.terms import IRI, MASKING


@dataclass(frozen=True, slots=True)
class Written:
    """Rows in the stage, and the secrets that they were made with."""

    secrets: Secrets
    errors: tuple[ColumnError, ...]


class MaskedRows(Capability[MaskingPlan, Written]):
    """Rows that single techniques changed, verified against the data; no privacy model is promised."""

    kind = Kind.MASKING
    not_tried = (
        "a try measures what a privacy model costs, and masking promises none; `plan` says what it does"
    )

    def gives_content_again(self, plan: MaskingPlan) -> bool:
        return not plan.mask.draws_at_random

    def check_request(self, request: RunRequest) -> None:
        refuse_query(request)
        own = replace(request.options, output_format=OutputFormat.CSV, rows_per_part=None)
        if request.recoding_of is not None or own != Options():
            raise UsageError(
                "options of the run",
                "these options are about classes, and masking makes none",
                "none of --first-cuts, --cut-threshold and --recoding-of",
                "leave them out",
            )

    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> MaskingPlan:
        return compile_masking(granted.permission, source, table, request.options, circumstances)

    def key_named(self, plan: MaskingPlan) -> str | None:
        return plan.mask.key

    def promise(self, plan: MaskingPlan) -> str:
        return explain_masking(plan).promise

    def lines(self, plan: MaskingPlan, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        return to_lines(plan, notices, in_full=in_full)

    def figures(self, plan: MaskingPlan) -> PlanFigures:
        del plan
        return PlanFigures(MASKING)

    def as_object(self, plan: MaskingPlan) -> Mapping[str, object]:
        return as_object(plan)

    def plan_notices(self, plan: MaskingPlan) -> tuple[Notice, ...]:
        return notices_in(plan)

    def origins(self, plan: MaskingPlan, table: IRI) -> Origins:
        del table
        changed = [each.column for each in plan.mask.columns]
        return of_rows(plan.read.columns, plan.write.columns, changed, plan.read.respondent, plan.filter)

    def guarantee(self, plan: MaskingPlan) -> MaskingGuarantee:
        return guarantee_of(plan)

    def guarantee_from(self, promised: Mapping[str, Any]) -> MaskingGuarantee:
        return stated_guarantee(promised)

    def check_again(self, published: Published, stated: Stated[MaskingGuarantee]) -> ReleaseCheck:
        return check_masked(published, stated)

    def content_again(self, plan: MaskingPlan, data: OwnersData, backend: Backend, place: Path) -> str:
        registry = None if data.registry is None else data.registry.path
        return content_again(plan, data, backend, place, _secrets(plan, data.source, registry))

    def released(self, compiled: Compiled[MaskingPlan], stage: Stage) -> ReleasedRows:
        output = Output.in_folder(stage.output, compiled.plan.write.format)
        return released_rows(compiled.plan, compiled.source, output, stage.link)

    def released_again(
        self, plan: MaskingPlan, data: OwnersData, backend: Backend, place: Path
    ) -> tuple[ReleasedRows, str] | None:
        if plan.mask.draws_at_random:
            return None
        registry = None if data.registry is None else data.registry.path
        return released_again(plan, data, backend, place, _secrets(plan, data.source, registry))

    def exact(self, under: RunUnder, compiled: Compiled[MaskingPlan], table: StagedTable) -> Written:
        """Mask: the rows are written into the stage, and the link from them to the input's rows.

        What is drawn at random is drawn here, once for each run: nothing is charged for it.
        """
        plan, stage, watch = compiled.plan, under.stage, under.watch
        watch.rows(compiled.contents.rows)
        secrets = _secrets(plan, compiled.source, under.registry.path)
        places = Places(stage.output / file_name(plan.write.output, plan.write.format), stage.link)
        errors = execute(plan, table, places, watch.phase, secrets)
        return Written(secrets, tuple(ColumnError(name, float(share)) for name, share in errors.items()))

    @contextmanager
    def production(
        self, under: RunUnder, compiled: Compiled[MaskingPlan], exact: Written
    ) -> Iterator[Production]:
        yield _Verified(under, compiled, exact)


def _secrets(plan: MaskingPlan, source: Source, registry: Path | None) -> Secrets:
    key = b"" if plan.mask.key is None else pseudonym_key(registry, plan.mask.key)
    return Secrets(key, hierarchies_of(source.description))


class _Verified(Production):
    """The rows, once an independent verifier has worked them out again."""

    def __init__(self, under: RunUnder, compiled: Compiled[MaskingPlan], written: Written) -> None:
        self.under, self.compiled, self.written = under, compiled, written

    def produce(self) -> Produced:
        plan = self.compiled.plan
        self.under.watch.phase("verify")
        output = Output.in_folder(self.under.stage.output, plan.write.format)
        counted = self._counted(output)
        files = published_files(output.paths, counted.output_digests, plan.write.format)
        return Produced(
            files=files,
            content=content_digest(output.paths, plan.write.format),
            columns=_output_columns(plan, self.compiled.source),
            report=self._report(counted),
            notices=notices_in(plan),
            of_output=of_no_rows(counted.rows, is_sample=plan.mask.sampling_rate is not None),
        )

    def _counted(self, output: Output) -> MaskedCount:
        under, source, secrets = self.under, self.compiled.source, self.written.secrets
        try:
            counted = verify_masked(
                masked_output(self.compiled.plan),
                Original(source.path, source.format, source.parts),
                output,
                under.stage.link,
                self.compiled.run_input.circumstances.withdrawn.known_form,
                folder=under.stage.spill,
                hierarchies=secrets.hierarchies,
                key=secrets.key,
            )
        except GuaranteeError:
            # A file that is another one by now breaks promises, too.
            check_unchanged(source, [file_digest(path) for path in source.paths], self.compiled.contents)
            raise
        digests = [prefixed(digest) for digest in counted.input_digests]
        check_unchanged(source, digests, self.compiled.contents)
        return counted

    def _report(self, counted: MaskedCount) -> MaskingReport:
        under, run_input = self.under, self.compiled.run_input
        return MaskingReport(
            engine=under.backend.name,
            inputs=digests_of_inputs(under.registry, self.compiled.source, counted.input_digests),
            rows_in=counted.rows + counted.rows_withdrawn + counted.rows_filtered + counted.rows_left_out,
            rows_out=counted.rows,
            changed=tuple(ChangedCells(name, cells) for name, cells in counted.changed),
            timings=under.watch.timings,
            rows_withdrawn=counted.rows_withdrawn,
            rows_filtered=counted.rows_filtered,
            rows_left_out=counted.rows_left_out,
            respondents_listed=run_input.circumstances.withdrawn.count,
            withdrawn_at=run_input.at,
            errors=self.written.errors,
        )


def _output_columns(plan: MaskingPlan, source: Source) -> tuple[OutputColumn, ...]:
    published = replace(source, target=plan.write.output, description=type(source.description)())
    return tuple(
        OutputColumn(name, column_iri(published, name), datatype_of(plan, name))
        for name in plan.write.columns
    )


CAPABILITY: Final = MaskedRows()
