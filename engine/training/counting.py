"""Attempts under a duty to audit: counted before what they audit exists, and ended with a verdict."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from smalti.engine.binding.binding import input_hmac
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.losses.charging import memberships_said
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.attempts import Attempt, AttemptReason, AttemptState, to_record
from smalti.engine.tables.reading import Contents
from smalti.engine.training.figures import AuditFigures, figures_to_json
from smalti.engine.training.plan import Audit


class Audited(AnyPlan, Protocol):
    """A plan whose output may have to pass an audit."""

    @property
    def audit(self) -> Audit | None: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an output, and what from."""

    state: AttemptState
    """One of those that are judged."""
    figures: AuditFigures | None = None
    reason: AttemptReason | None = None
    """Why there are none."""


class UnderWay:
    """An attempt under way."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None
        self.reason: AttemptReason | None = None
        """Why it came to no figures."""


NOT_MET: Final = (
    "the training did not pass the audit that the permission requires; the owner of the data can see why"
    " (`smalti audit report`)"
)
"""All that is told to whoever asked: not by how much a duty was missed, nor by which figure."""

DIVERGED: Final = (
    "the training diverged: the weights are not finite, or give no confidences. Nothing was registered, but"
    " the training was charged. A recipe with a smaller learning rate, a smaller clipping"
    " norm or less noise may help"
)
"""Told to whoever asked for what is private: it follows from the weights, which were charged."""


def next_attempt(under: RunUnder, plan: Audited) -> int:
    """The number that an attempt would have now, by the target's name; or a lower one.

    Attempts under other names of the same data are counted when the attempt begins.
    """
    attempts = under.registry.trainings.about(plan.read.target)
    return 1 + sum(attempt.target == plan.read.target for attempt in attempts)


def begin_attempt(under: RunUnder, plan: Audited, contents: Contents) -> int:
    """The number of the attempt, which is written down where an audit is due; otherwise 1."""
    if plan.audit is None:
        return 1
    request = under.request
    attempt = Attempt(
        run=under.stage.run,
        target=request.target,
        output=plan.write.output,
        policy_uid=request.document.policy.uid,
        rule_uid=under.granted.permission.uid,
        party=request.asker,
        bound_by=request.submitter,
        plan_digest=plan_digest(plan),
        number=0,
        inputs=tuple(input_hmac(under.registry, digest) for digest in contents.telling_digests),
        begun_at=datetime.now(UTC),
    )
    memberships = memberships_said(request)
    return under.registry.trainings.begin(attempt, memberships, said_by=request.document.issuer).number


@contextmanager
def ended(under: RunUnder, plan: Audited, run: str) -> Iterator[UnderWay]:
    """Write down what became of an attempt, whatever ends it; no verdict is taken back.

    Args:
        under: the run.
        plan: of it.
        run: that began the attempt.
    """
    attempt, state = UnderWay(), AttemptState.FAILED
    try:
        yield attempt
    except (KeyboardInterrupt, SystemExit):
        state = AttemptState.STOPPED
        raise
    finally:
        if plan.audit is not None:
            final = attempt.verdict or Verdict(state, reason=attempt.reason)
            text = "" if final.figures is None else figures_to_json(final.figures)
            under.registry.trainings.end(run, final.state, to_record(text, final.reason))
