"""A table with noise: taken from what is exact, drawn once behind the charge, and recorded."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from smalti.engine.binding.capability import Capability, Compiled, Produced, Production
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_record import (
    RunUnder,
    digests_of_inputs,
    file_name,
    published_files,
)
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.reports import ReleaseReport
from smalti.engine.plan.values import NoisyValue
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.errors import InternalError, PlanError
from smalti.transforms.noise.samplers import check_available

P = TypeVar("P", bound=AnyPlan)
E = TypeVar("E")


class NoisyTables(Capability[P, E], Generic[P, E]):
    """What runs share that publish a table with noise."""

    def check_installed(self) -> None:
        check_available()

    @abstractmethod
    def drawn(self, plan: P, exact: E, path: Path) -> tuple[NoisyValue, ...]:
        """Draw the noise, and write the output to a new file; called once for each charge.

        Returns:
            The statistics of a release.
        """

    @abstractmethod
    def output_columns(self, plan: P) -> tuple[OutputColumn, ...]:
        """The columns of the output."""

    @contextmanager
    def production(self, under: RunUnder, compiled: Compiled[P], exact: E) -> Iterator[Production]:
        yield _Drawn(self, under, compiled, exact)


class _Drawn(Production, Generic[P, E]):
    """The table, once its noise was drawn."""

    def __init__(self, kind: NoisyTables[P, E], under: RunUnder, compiled: Compiled[P], exact: E) -> None:
        self.kind, self.under, self.compiled, self.exact = kind, under, compiled, exact
        self.charge = kind.loss(compiled.plan)

    def produce(self) -> Produced:
        plan, under, kind = self.compiled.plan, self.under, self.kind
        under.watch.phase("draw")
        form = plan.write.format
        if not isinstance(form, OutputFormat):
            raise InternalError("a table with noise is no model")
        path = under.stage.output / file_name(plan.write.output, form)
        values = kind.drawn(plan, self.exact, path)
        return Produced(
            files=published_files([path], [file_digest(path)], form),
            content=content_digest([path], form),
            columns=kind.output_columns(plan),
            report=self._report(),
            notices=kind.plan_notices(plan),
            values=values,
        )

    def _report(self) -> ReleaseReport:
        under, run_input = self.under, self.compiled.run_input
        return ReleaseReport(
            engine=under.backend.name,
            inputs=digests_of_inputs(under.registry, self.compiled.source, self.compiled.contents.digests),
            timings=under.watch.timings,
            withdrawn_at=run_input.at,
            respondents_listed=run_input.circumstances.withdrawn.count,
        )


def refuse_output(source: Source, circumstances: Circumstances) -> None:
    """Refuse an output as the input of what is charged.

    Rows of an output depend on many people each: with one respondent more, all classes may be others, and
    noise that covers one row covers nothing of that.

    Raises:
        PlanError: it is an output.
    """
    if circumstances.inherited is not None:
        raise PlanError(
            str(source.target),
            "it is an output, in which one person can influence many rows",
            "the original data, in which a row is about one person",
            "ask its owner for a policy about the original data",
        )
