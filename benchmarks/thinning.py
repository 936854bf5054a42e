"""Which models of a population's uniques a simulation confirms: a whole table is thinned, and they guess.

    python benchmarks/thinning.py --adult adult.csv

For each of twelve sets of columns the table is the population, and samples of a tenth are drawn without
replacement, ten times. Printed are the population's uniques, in how many draws the bounds of
`smalti.transforms.uniqueness.population_uniques` hold them, and the mean ratio of each model's guess to
them: Pitman's as it is shipped, but also where `CONFIRMED` withholds it, Zayatz's and the shifted
negative binomial, which stand here alone, and the Benedetti-Franconi model, by which a unique of the
sample is one of the population with the sampling rate as probability. Decision 55 rests on it.
"""

import argparse
import csv
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from smalti.transforms.uniqueness.population_uniques import pitman_uniques, population_uniques

Codes = npt.NDArray[np.int64]
RATE = 10
DRAWS = 10
SETS = (
    (0, 6, 7), (0, 1, 2), (0, 2, 4), (10, 11, 0, 3), (0, 2, 10), (0, 4, 10), (0, 1, 2, 3, 4),
    (0, 2, 4, 10), (0, 1, 2, 3, 4, 6, 7, 11), (0, 1, 2, 3, 4, 5, 6, 7),
    (0, 1, 2, 3, 4, 5, 6, 7, 10, 11), tuple(range(13)),
)  # fmt: skip
"""Places of Adult's 13 columns; from hardly anybody to nearly everybody unique."""


def zayatz(sizes: Codes, counts: Codes, rate: float) -> float:
    """Zayatz (1991): combinations of the population are as large as those of the sample."""
    unique = counts[sizes == 1].sum()
    drawn_once = (counts * sizes * rate * (1 - rate) ** (sizes - 1.0)).sum()
    return float(unique / rate * unique * rate / drawn_once)


def shifted_negative_binomial(sizes: Codes, counts: Codes, rate: float, population: int) -> float:
    """Chen and Keller-McNulty (1998): sizes less 1 are negative binomial; by maximum likelihood."""
    log_gamma = np.vectorize(math.lgamma, otypes=[float])

    def density(size: Codes, r: float, q: float) -> npt.NDArray[np.float64]:
        at = np.maximum(size, 0)
        log = log_gamma(at + r) - math.lgamma(r) - log_gamma(at + 1) + r * math.log1p(-q) + at * math.log(q)
        return np.where(size >= 0, np.exp(log), 0.0)

    def likelihood(r: float, q: float) -> float:
        thinned = q * rate / (1 - q * (1 - rate))
        drawn = (1 - rate) * density(sizes, r, thinned) + rate * density(sizes - 1, r, thinned)
        none = (1 - rate) * (1 - thinned) ** r
        with np.errstate(divide="ignore"):
            return float((counts * np.log(drawn / (1 - none))).sum())

    rs, qs = np.exp(np.linspace(-5, 3, 60)), 1 / (1 + np.exp(-np.linspace(-6, 9, 60)))
    r, q = max(((r, q) for r in rs for q in qs), key=lambda pair: likelihood(*pair))
    return float(population / (1 + r * q / (1 - q)) * (1 - q) ** r)


def row(people: Codes, generator: np.random.Generator) -> str:
    """One set of columns: what is true, and what is said of it."""
    population = len(people)
    truth = int((np.bincount(people) == 1).sum())
    covered = 0
    ratios: dict[str, list[float]] = {"pitman": [], "zayatz": [], "snb": [], "benedetti-franconi": []}
    for _ in range(DRAWS):
        drawn = np.bincount(people[generator.choice(population, population // RATE, replace=False)])
        by_size = np.bincount(drawn[drawn > 0])
        sizes = np.nonzero(by_size)[0]
        counts = by_size[sizes]
        pairs = [(int(size), int(count)) for size, count in zip(sizes, counts, strict=True)]
        bounds = population_uniques(pairs, population)
        covered += bounds.least <= truth <= bounds.most
        guess = pitman_uniques(pairs, population)
        guesses = {
            "pitman": math.nan if guess is None else guess,
            "zayatz": zayatz(sizes, counts, 1 / RATE),
            "snb": shifted_negative_binomial(sizes, counts, 1 / RATE, population),
            "benedetti-franconi": float(counts[sizes == 1].sum()),
        }
        for name, guessed in guesses.items():
            ratios[name].append(guessed / truth)
    shown = "  ".join(f"{np.mean(values):18.2f}" for values in ratios.values())
    return f"{truth:8,}  {truth / population:6.1%}  {covered:7}  {shown}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path, required=True)
    with parser.parse_args().adult.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    generator = np.random.default_rng(1)
    names = "  ".join(f"{name:>18}" for name in ("Pitman", "Zayatz", "SNB", "Benedetti-Franconi"))
    print(f" uniques   share  covered  {names}")
    for columns in SETS:
        texts = ["\x00".join(line[place] for place in columns) for line in rows]
        print(row(np.unique(texts, return_inverse=True)[1].reshape(-1), generator), flush=True)


if __name__ == "__main__":
    main()
