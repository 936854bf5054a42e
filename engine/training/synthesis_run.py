"""Synthetic records of one model: trained once, drawn, attacked where that is due, and written.

The order is what protects. A private training is charged before anything random, and nothing that is found
out about its data decides anything. Without noise, data that is too little for its audit is an error before
anything is trained; an attempt counts from before its model exists, and ends with its verdict. The model is
never published, and a run that dies leaves none: another run is another attempt, and another charge.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from smalti.engine.binding.capability import Compiled, Produced, Production
from smalti.engine.binding.run_record import RunUnder, digests_of_inputs, file_name, published_files
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.registry.attempts import (
    AttemptReason,
    AttemptState,
    check_computable,
    error_of_attempt,
)
from smalti.engine.registry.budget import ChargedLoss
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.engine.training.counting import (
    DIVERGED,
    NOT_MET,
    UnderWay,
    Verdict,
    begin_attempt,
    ended,
    next_attempt,
)
from smalti.engine.training.divergence import DivergedError
from smalti.engine.training.figures import AuditFigures, verdict
from smalti.engine.training.plan import Audit
from smalti.engine.training.recipes import training_of
from smalti.engine.training.report import TrainingReport
from smalti.engine.training.synthesis_attack import Attack
from smalti.engine.training.synthesis_compile import architecture
from smalti.engine.training.synthesis_explain import notices_in
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.engine.training.synthetic_table import (
    chosen,
    drawn_within,
    in_order,
    output_columns,
    write_records,
)
from smalti.policy.decide.decision import Reason
from smalti.transforms.learning.randomness import FromSystem
from smalti.transforms.learning.tabular_vae import TabularModel, train
from smalti.transforms.problem import Integers


@contextmanager
def production(
    under: RunUnder, compiled: Compiled[SynthesisPlan], records: Integers, charge: ChargedLoss | None
) -> Iterator[Production]:
    """As `Capability.production`."""
    yield _Synthesized(under, compiled, records, charge)


def trained_model(plan: SynthesisPlan, records: Integers) -> TabularModel:
    """The one model of a run; its noise comes from the operating system.

    Args:
        plan: says how.
        records: values of whom it is trained on, of shape (respondents, columns).
    """
    synthesize = plan.synthesize
    hyperparameters = training_of(synthesize.network, synthesize.epochs, synthesize.private)
    network = architecture(synthesize.network, synthesize.choices)
    return train(network, hyperparameters, chosen(synthesize, records), FromSystem())


def records_of(plan: SynthesisPlan, model: TabularModel) -> Integers:
    """The synthetic records of a model, in the order of their values; drawn anew from the system's seed."""
    generator = np.random.default_rng(secrets.randbits(128))
    parts = [
        drawn_within(plan.synthesize, part, generator)
        for part in model.samples(plan.synthesize.records, generator)
    ]
    return in_order(np.concatenate(parts))


class _Synthesized(Production):
    """Records that are drawn from one model."""

    def __init__(
        self,
        under: RunUnder,
        compiled: Compiled[SynthesisPlan],
        records: Integers,
        charge: ChargedLoss | None,
    ) -> None:
        self.under, self.compiled, self.records, self.charge = under, compiled, records, charge
        self.plan = compiled.plan
        self.audit = self.plan.audit if self.plan.synthesize.private is None else None
        if self.audit is not None:
            check_computable(self.audit.confidence, next_attempt(under, self.plan))

    def produce(self) -> Produced | Reason:
        return self._unaudited() if self.audit is None else self._audited(self.audit)

    def _unaudited(self) -> Produced | Reason:
        """Records of a private training. That it diverged follows from its weights, which were charged."""
        self.under.watch.phase("train")
        model = trained_model(self.plan, self.records)
        if model.has_diverged:
            return self._reason(DIVERGED)
        return self._published(records_of(self.plan, model), None)

    def _audited(self, audit: Audit) -> Produced | Reason:
        """Records of a training without noise, attacked by somebody who sees nothing but them."""
        attack = Attack.prepared(self.plan, audit, self.records, secrets.randbits(128))
        error = error_of_attempt(audit.confidence, next_attempt(self.under, self.plan))
        attack.check(error)
        attack.check_leak(error)
        number = begin_attempt(self.under, self.plan, self.compiled.contents)
        with ended(self.under, self.plan, self.under.stage.run) as attempt:
            synthetic, judged = self._judged(audit, attack, number, attempt)
            attempt.verdict = judged
        if judged.state is not AttemptState.MET:
            return self._reason(NOT_MET)
        return self._published(synthetic, judged.figures)

    def _judged(
        self, audit: Audit, attack: Attack, number: int, attempt: UnderWay
    ) -> tuple[Integers, Verdict]:
        error, watch = error_of_attempt(audit.confidence, number), self.under.watch
        check_computable(audit.confidence, number)
        attack.check(error)
        watch.phase("train")
        model = trained_model(self.plan, attack.members)
        if model.has_diverged:
            attempt.reason = AttemptReason.DIVERGED
            raise DivergedError(AttemptReason.DIVERGED)
        synthetic = records_of(self.plan, model)
        watch.phase("attack")
        figures = attack.figures(synthetic, number, error)
        decided = verdict(figures, audit.bounds)
        return synthetic, Verdict(decided.state, replace(figures, reasons=decided.reasons))

    def _reason(self, text: str) -> Reason:
        request, permission = self.under.request, self.under.granted.permission
        return Reason(text, request.document.policy.uid, permission.uid)

    def _published(self, synthetic: Integers, figures: AuditFigures | None) -> Produced:
        plan, under = self.plan, self.under
        form = OutputFormat(plan.write.format)
        path = under.stage.output / file_name(plan.write.output, form)
        write_records(plan, synthetic, path)
        return Produced(
            files=published_files([path], [file_digest(path)], form),
            content=content_digest([path], form),
            columns=output_columns(plan),
            holds_records=False,
            report=self._report(figures),
            notices=notices_in(plan),
        )

    def _report(self, figures: AuditFigures | None) -> TrainingReport:
        under, run_input = self.under, self.compiled.run_input
        return TrainingReport(
            engine=under.backend.name,
            recipe=self.plan.synthesize.recipe,
            inputs=digests_of_inputs(under.registry, self.compiled.source, self.compiled.contents.digests),
            timings=under.watch.timings,
            withdrawn_at=run_input.at,
            respondents_listed=run_input.circumstances.withdrawn.count,
            figures=figures,
        )
