"""Times tracing on many statistics, without engine and files; prints JSON, and draws power over noise.

python benchmarks/tracing_alone.py --statistics 10000 --people 1000
python benchmarks/tracing_alone.py --picture docs/how-to/audit-released-statistics.svg
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from smalti.reports.plots import Range, Ranges, SettingAxes, by_setting
from smalti.transforms.auditing.limits import advantage
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.tracing.experiments import ReconstructionExperiment, TracingExperiment
from smalti.transforms.tracing.membership import SCORES, Tracing
from smalti.transforms.tracing.power import signal, tracing_error
from smalti.transforms.tracing.reconstruction import bits, least_squares
from smalti.transforms.tracing.statistics import Background

RATE = 0.05
FACTORS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the threshold."""


def timed(statistics: int, people: int, attack: Tracing) -> dict[str, float]:
    """One attack on as many members as others, with a reference as large: what it took and found."""
    generator = np.random.default_rng(1)
    experiment = TracingExperiment(people, statistics, tracing_error(statistics, people) / 4)
    shares = generator.uniform(0.2, 0.8, statistics)
    drawn = [(generator.random((people, statistics)) < shares).astype(np.float64) for _ in range(3)]
    members, others, reference = drawn
    exact = Background(shares, shares * (1 - shares))
    released = experiment.released(members.sum(axis=0), exact, generator)
    begun = time.process_time()
    background = Background.of(reference, np.ones(statistics))
    scores = Scores(*(SCORES[attack](released, background, each) for each in (members, others)))
    measured, expected = advantage(scores, 0.95), signal(attack, released, background)
    return {
        "cpu": round(time.process_time() - begun, 3),
        "advantage": round(measured.value or 0.0, 3),
        "signal": round(expected, 3),
    }


def picture(repetitions: int) -> str:
    """Measured and calculated power of tracing, and the share of bits that reconstruction gets right."""
    generator = np.random.default_rng(2)
    people, statistics = 100, 1_000
    root = tracing_error(statistics, people)
    measured, calculated, right = [], [], []
    for factor in FACTORS:
        experiment = TracingExperiment(people, statistics, factor * root)
        rate = experiment.run(Tracing.LIKELIHOOD_RATIO, RATE, repetitions, generator).recall(0.95)
        measured.append(Range(rate.value or 0.0, rate.lower, rate.upper))
        expected = experiment.expected(Tracing.LIKELIHOOD_RATIO, RATE, generator)
        calculated.append(Range(expected, expected, expected))
        shares = []
        for _ in range(8):
            secret, sums = ReconstructionExperiment(64, 128, factor * 8).draw(generator)
            shares.append(float((bits(least_squares(sums)) == secret).mean()))
        right.append(Range(float(np.mean(shares)), min(shares), max(shares)))
    drawn = by_setting(
        "",
        "",
        [
            Ranges("tracing: members found (95 % interval)", tuple(measured)),
            Ranges("the same by calculation", tuple(calculated), is_dashed=True),
            Ranges("reconstruction: bits that are right (range)", tuple(right), colour=1),
        ],
        SettingAxes(tuple(f"{factor:g}" for factor in FACTORS), "noise, in thresholds", "share", guess=0.5),
    )
    return drawn.svg


def main() -> None:
    """Print what each attack took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--statistics", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.picture is not None:
        svg = picture(400)
        if "xmlns=" not in svg[:400]:
            raise ValueError("an image of its own names its namespace")
        arguments.picture.write_text(f"{svg}\n", encoding="utf-8")
        return
    taken = {str(attack): timed(arguments.statistics, arguments.people, attack) for attack in Tracing}
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
