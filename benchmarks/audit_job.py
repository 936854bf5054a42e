"""An audit by membership inference, from its data to its figures; CPU seconds of each phase as JSON.

    python benchmarks/audit_job.py audit DATA
    python benchmarks/audit_job.py models DATA

DATA is what `trainings.data_file` writes. One half of its records trains the target, a network of
600-128-100; the other half is what it was not trained on.

audit: 16 shadow models on halves of all records, the attacks by loss, by likelihood ratios (online) and by
relative membership, the same attacks on a planted leak, and what is told of all of them. models: the same
target and as many shadow models are trained, and nothing is attacked. Policy, registry and reports are not
part of it.
"""

# ruff: noqa: PLC0415 (imports are a phase)

import json
import sys
import time
from dataclasses import dataclass, field

SHADOWS = 16
EPOCHS = 10
CONFIDENCE = 0.95
RATE = 0.001
"""Of false positives, at which true ones are counted."""
DELTA = 1e-5


@dataclass(slots=True)
class Clock:
    """CPU seconds of phases."""

    spent: dict[str, float] = field(default_factory=dict)
    since: float = field(default_factory=time.process_time)

    def phase(self, name: str) -> None:
        """What was done since the last phase belongs to this one."""
        now = time.process_time()
        self.spent[name] = self.spent.get(name, 0.0) + now - self.since
        self.since = now


def audited(what: str, data: str) -> dict[str, object]:
    """The CPU seconds of each phase, and what the attacks achieved."""
    clock = Clock()
    import numpy as np

    from smalti.transforms.learning.architecture import Architecture
    from smalti.transforms.learning.hyperparameters import Hyperparameters
    from smalti.transforms.learning.randomness import Seeded
    from smalti.transforms.membership.application import MembershipInference, with_planted_leak
    from smalti.transforms.membership.data import DataSet
    from smalti.transforms.membership.models import ModelGroup, TargetModel
    from smalti.transforms.membership.network_trainer import NetworkTrainer
    from smalti.transforms.membership.planted_leak import MemorisingTrainer
    from smalti.transforms.membership.registry import named
    from smalti.transforms.membership.shadow_sets import halves

    clock.phase("import")
    with np.load(data) as kept:
        features, labels = kept["features"].astype(np.float32), kept["labels"]
    records = DataSet("the records", features, labels, int(labels.max()) + 1)
    half = len(records) // 2
    training, test = records.take(np.arange(half)), records.take(np.arange(half, 2 * half))
    clock.phase("data")
    architecture = Architecture(features.shape[1], (128,), records.classes)
    trainer = NetworkTrainer(architecture, Hyperparameters(EPOCHS, 100, 1e-3), Seeded(1))
    target = TargetModel.trained(
        NetworkTrainer(architecture, trainer.hyperparameters, Seeded(2)), training, test
    )
    clock.phase("train the target")
    if what == "models":
        members = halves(2 * half, SHADOWS, np.random.default_rng(3))
        trainer.train(features[: 2 * half], labels[: 2 * half], members)
        clock.phase("train shadow models")
        return {"phases": clock.spent, "figures": {}}

    class Timed:
        """The trainer, with the phase of its training."""

        recipe = trainer.recipe

        def train(self, *arguments: object) -> ModelGroup:
            clock.phase("attack")
            models = trainer.train(*arguments)  # type: ignore[arg-type]
            clock.phase("train shadow models")
            return models

    attacks = tuple(named(name).attack for name in ("loss", "lira-online", "rmia"))
    audit = MembershipInference(target, Timed(), attacks, shadow_models=SHADOWS, seed=3)
    attacked = audit.run(CONFIDENCE, RATE)
    clock.phase("attack")
    leaks = with_planted_leak(audit, MemorisingTrainer(records.classes)).run(CONFIDENCE)
    clock.phase("attack a planted leak")
    figures = _figures(attacked, leaks)
    clock.phase("figures")
    return {"phases": clock.spent, "figures": figures}


def _figures(attacked, leaks):
    """What is told of each attack. A leak that is not found ends the benchmark: it would judge nothing."""
    from smalti.transforms.auditing.curves import RocCurve
    from smalti.transforms.auditing.epsilon_bounds import clopper_pearson_by_ranks
    from smalti.transforms.auditing.limits import advantage
    from smalti.transforms.membership.planted_leak import detection

    figures = {}
    for (name, scored), (_, leak) in zip(attacked.scored, leaks.scored, strict=True):
        if not detection(leak, CONFIDENCE).is_detected:
            sys.exit(f"{name}: the planted leak was not found")
        scores = scored.split()
        figures[name] = {
            "area": RocCurve.of(scores).area,
            "advantage": advantage(scores, CONFIDENCE).value,
            "true positives": RocCurve.of(scores).true_positive_rate_at(RATE),
            "epsilon": clopper_pearson_by_ranks(scores, DELTA, CONFIDENCE).epsilon,
        }
    return figures


if __name__ == "__main__":
    print(json.dumps(audited(sys.argv[1], sys.argv[2])))
