"""Measuring all targets of a comparison; one that ended early goes on where it was."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from smalti.studies.comparison.checkpoint import Checkpoint
from smalti.studies.comparison.models import Measured, attacker_of, measured
from smalti.studies.comparison.settings import Case, Central, Comparison, Original
from smalti.transforms.membership.shadow_attack import Attacker


def targets(
    comparison: Comparison,
    trained: Callable[[int], None] = lambda models: None,
    checkpoint: Checkpoint | None = None,
) -> tuple[Measured, ...]:
    """Train and attack all models of a comparison.

    Args:
        comparison: what is compared, and how large.
        trained: called with a number of models, of which there are `comparison.models`, as they are
            trained; with those that the checkpoint has, too.
        checkpoint: holds the targets that were measured already, and takes each further one; None: nothing
            is kept.

    Returns:
        One for each of `comparison.cases`, in that order. A run that went on gives what a whole one gives.

    Raises:
        UsageError: the checkpoint is of other settings.
        BackendError: the extra `audit` is not installed; the disk of the checkpoint.
    """
    kept = () if checkpoint is None else checkpoint.begun(comparison)
    trained(len(kept) * (1 + comparison.shadow_models))
    by_case = {target.case: target for target in kept}
    for target in _remaining(
        comparison, [case for case in comparison.cases if case not in by_case], trained
    ):
        if checkpoint is not None:
            checkpoint.keep(comparison, target)
        by_case[target.case] = target
    return tuple(by_case[case] for case in comparison.cases)


def _remaining(
    comparison: Comparison, cases: list[Case], trained: Callable[[int], None]
) -> Iterator[Measured]:
    plain = _PlainAttack(comparison)
    for case in cases:
        attack = plain.on(case) if isinstance(case.setting, Central) else None
        target, attacker = measured(comparison, case, lambda: trained(1), attack)
        plain.see(case, attacker)
        yield target


@dataclass(slots=True)
class _PlainAttack:
    """The attack by shadow models without privacy, of the last original that was measured."""

    comparison: Comparison
    _last: tuple[Case, Attacker] | None = field(default=None)

    def see(self, case: Case, attacker: Attacker) -> None:
        if case.setting == Original():
            self._last = case, attacker

    def on(self, case: Case) -> Attacker:
        """That of the same records, trained once more where a run goes on in their midst."""
        original = replace(case, setting=Original())
        if self._last is None or self._last[0] != original:
            self._last = original, attacker_of(self.comparison, original)
        return self._last[1]
