"""The report of a study of identifiability: Figures 4 to 9 of arXiv 2103.02913, and its two tables."""

import math
from collections.abc import Callable
from typing import Final

from smalti.reports.page import Drawing, Page, Paragraph, Part, Section, Table
from smalti.reports.plots import Line, curves
from smalti.studies.identifiability.results import BINS, Cell, Identified
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.sensitivity import NeighboringRelation

_LEAD: Final = (
    "How well the adversary of differential privacy tells two neighbouring data sets apart, by what the"
    " noise is a multiple of: the experiments of arXiv 2103.02913 on {}."
)
_LIMITS: Final = (
    "Only noise of the global sensitivity gives differential privacy; noise of a distance between these"
    " data sets depends on them, and is for study. All noise came from a seed. One pair of data sets was"
    " told apart, the one that a dissimilarity chose: another pair may be told apart better. The network is"
    " trained by plain gradient descent, with steps over all records. Limits hold each by itself."
)
_KINDS: Final = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "unbounded",
    NeighboringRelation.CHANGE_ONE: "bounded",
}
_OF_EPSILONS: Final = (
    "From sensitivities: exact, of the largest distance that occurred. From beliefs: the loss that is"
    " exceeded with probability delta, which is above the epsilon of the same noise; the largest one is the"
    " paper's, no bound, and grows with repetitions. From the advantage: of Gaussian noise that has it. The"
    " lower bound takes all thresholds."
)


def page(results: Identified, *, with_drawings: bool) -> Page:
    """The report.

    Args:
        results: the results.
        with_drawings: whether figures are drawn; they need the extra `audit`.
    """
    return Page(
        "Identifiability under noise of local, dataset and global sensitivity",
        _LEAD.format(results.name),
        (
            Section("The study", (_facts(results), _parameters(results))),
            Section("What was found", (_statements(results), _wins(results))),
            Section("Neighbours that are unlike (Figure 4)", (_neighbors(results),)),
            Section("Sensitivities (Figure 5)", (_sensitivities(results),)),
            Section("Beliefs and accuracy (Figure 6)", _beliefs(results, with_drawings)),
            Section("Empirical epsilons (Figures 7 to 9)", _epsilons(results, with_drawings)),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def statements(results: Identified) -> tuple[tuple[str, str], ...]:
    """The paper's statements, each with whether it was seen here."""
    rows = []
    for relation in results.settings.relations:
        means = {
            scale: math.fsum(cell.mean_belief for cell in _of(results, relation, scale))
            / max(1, len(_of(results, relation, scale)))
            for scale in results.settings.scales
        }
        ordered = sorted(means, key=lambda scale: -means[scale])
        rows.append((
            f"mean belief, {_KINDS[relation]} neighbours, the largest first",
            ", ".join(f"{scale} {means[scale]:.3f}" for scale in ordered),
        ))  # fmt: skip
    cells = results.cells
    rows += [
        (
            "epsilon from sensitivities is within that of the noise",
            _counted(
                cells, lambda cell: cell.epsilons.from_sensitivities <= cell.noise_epsilon * (1 + 1e-6)
            ),
        ),
        (
            "epsilon from the advantage is not above that of the noise, beyond its limit",
            _counted(cells, lambda cell: cell.epsilons.from_advantage.lower <= cell.noise_epsilon),
        ),
        (
            "the lower bound is within the epsilon of the noise",
            _counted(cells, lambda cell: cell.epsilons.lower_bound <= cell.noise_epsilon),
        ),
        (
            "beliefs above the bound are not more than delta, beyond their limit",
            _counted(cells, lambda cell: cell.above.lower <= cell.delta),
        ),
        (
            "who sees the model alone has no greater advantage, beyond both limits",
            _counted(cells, lambda cell: cell.loss_advantage.lower <= cell.advantage.upper),
        ),
    ]
    return tuple(rows)


def _counted(cells: tuple[Cell, ...], holds: Callable[[Cell], bool]) -> str:
    return f"in {sum(map(holds, cells))} of {len(cells)} experiments"


def _of(results: Identified, relation: object, scale: object) -> list[Cell]:
    return [cell for cell in results.cells if cell.relation is relation and cell.scale is scale]


def _statements(results: Identified) -> Table:
    return Table("The paper's statements", ("statement", "seen"), statements(results))


def _facts(results: Identified) -> Table:
    settings = results.settings
    rows = (
        ("data", results.name),
        ("records", f"{results.records} to train on, {results.others} others"),
        ("network", results.network),
        (
            "training",
            f"{settings.steps} steps, C {settings.clipping_norm:g}, rate {settings.learning_rate:g}",
        ),
        ("noise", f"calibrated: {settings.calibration}"),
        (
            "dissimilarity",
            f"{settings.dissimilarity}; {settings.neighbors} neighbours for local sensitivity",
        ),
        ("repetitions", str(settings.repetitions)),
        ("seed", f"{settings.seed}: test only"),
    )
    return Table("What was done", ("what", "which"), rows)


def _parameters(results: Identified) -> Table:
    first = {cell.belief: cell for cell in results.cells}
    rows = tuple(
        (
            f"{cell.belief:g}",
            f"{cell.delta:g}",
            f"{cell.epsilon:.4f}",
            f"{cell.printed_advantage:.4f}",
            f"{cell.expected_advantage:.4f}",
            f"{cell.noise_multiplier:.3f}",
        )
        for cell in first.values()
    )
    header = ("belief", "delta", "epsilon", "advantage, Theorem 2", "advantage of the noise", "z of a step")
    return Table("Parameters", header, rows)


def _wins(results: Identified) -> Table:
    rows = tuple(
        (*_name(cell), _figure(cell.advantage), _figure(cell.above), _figure(cell.loss_advantage))
        for cell in results.cells
    )
    header = (*_NAMES, "advantage", "beliefs above the bound", "advantage, model alone")
    return Table("Success of the adversary, with limits", header, rows)


_NAMES: Final = ("belief", "neighbours", "noise of")


def _name(cell: Cell) -> tuple[str, str, str]:
    return f"{cell.belief:g}", _KINDS[cell.relation], str(cell.scale)


def _figure(figure: Figure) -> str:
    value = "-" if figure.value is None else f"{figure.value:.3f}"
    return f"{value} ({figure.lower:.3f} to {figure.upper:.3f})"


def _neighbors(results: Identified) -> Table:
    rows = tuple(
        (_KINDS[neighbor.relation], str(neighbor.rank), *_middle(neighbor.distances))
        for neighbor in results.neighbors
    )
    caption = "Distances from neighbours during training; rank 1 is the most unlike one, -1 the most alike"
    return Table(caption, ("neighbours", "rank", "5 %", "median", "95 %"), rows)


def _middle(quantiles: tuple[float, ...]) -> tuple[str, str, str]:
    return f"{quantiles[1]:.4f}", f"{quantiles[3]:.4f}", f"{quantiles[5]:.4f}"


def _sensitivities(results: Identified) -> Table:
    rows = tuple(
        (*_name(cell), *_middle(cell.distances), *_middle(cell.sensitivities)) for cell in results.cells
    )
    header = (*_NAMES, "distance, 5 %", "median", "95 %", "noise of, 5 %", "median", "95 %")
    return Table("Distance of both data sets, and what the noise was a multiple of", header, rows)


def _beliefs(results: Identified, with_drawings: bool) -> tuple[Part, ...]:
    rows = tuple(
        (
            *_name(cell),
            f"{cell.mean_belief:.3f}",
            *_middle(cell.belief_quantiles),
            f"{cell.accuracy:.3f} ± {cell.accuracy_deviation:.3f}",
        )
        for cell in results.cells
    )
    header = (*_NAMES, "mean", "5 %", "median", "95 %", "accuracy")
    table = Table("Belief in the data set that was used, and accuracy on other records", header, rows)
    if not with_drawings:
        return (table,)
    return (table, *(_histogram(results, relation) for relation in results.settings.relations))


def _histogram(results: Identified, relation: NeighboringRelation) -> Drawing:
    belief = min(results.settings.beliefs, key=lambda bound: abs(bound - 0.9))
    lines = [
        Line(
            f"{cell.scale} sensitivity",
            tuple(
                ((place + 0.5) / BINS, count / sum(cell.belief_counts))
                for place, count in enumerate(cell.belief_counts)
            ),
        )
        for cell in results.cells
        if cell.relation is relation and cell.belief == belief
    ]
    return curves(
        f"Beliefs of single trainings, {_KINDS[relation]} neighbours, bound {belief:g}",
        "A line chart of the share of trainings by the belief in the right data set.",
        lines,
        x="belief in the data set that was used",
        y="share of trainings",
    )


def _epsilons(results: Identified, with_drawings: bool) -> tuple[Part, ...]:
    rows = tuple(
        (
            *_name(cell),
            f"{cell.noise_epsilon:.3f}",
            f"{cell.epsilons.from_sensitivities:.3f}",
            _figure(cell.epsilons.from_beliefs),
            f"{cell.epsilons.from_largest_belief:.3f}",
            _figure(cell.epsilons.from_advantage),
            f"{cell.epsilons.lower_bound:.3f}",
        )
        for cell in results.cells
    )
    header = (
        *_NAMES, "epsilon", "from sensitivities", "from beliefs", "largest belief", "from advantage",
        "lower bound",
    )  # fmt: skip
    table = Table("Epsilon three ways, beside that of the noise", header, rows)
    parts: tuple[Part, ...] = (Paragraph(_OF_EPSILONS), table)
    if not with_drawings:
        return parts
    drawn = []
    ways: tuple[tuple[str, Callable[[Cell], float | None]], ...] = (
        ("sensitivities", lambda cell: cell.epsilons.from_sensitivities),
        ("the largest belief", lambda cell: cell.epsilons.from_largest_belief),
        ("the advantage", lambda cell: cell.epsilons.from_advantage.value),
    )
    for name, of in ways:
        drawn += [_compared(results, relation, name, of) for relation in results.settings.relations]
    return (*parts, *drawn, *(_adversaries(results, relation) for relation in results.settings.relations))


def _compared(
    results: Identified, relation: NeighboringRelation, name: str, of: Callable[[Cell], float | None]
) -> Drawing:
    lines = [
        Line(
            f"{scale} sensitivity",
            tuple(
                (cell.noise_epsilon, value)
                for cell in _of(results, relation, scale)
                if (value := of(cell)) is not None and math.isfinite(value)
            ),
        )
        for scale in results.settings.scales
    ]
    ideal = sorted({cell.noise_epsilon for cell in results.cells})
    lines.append(Line("epsilon itself", tuple((epsilon, epsilon) for epsilon in ideal)))
    return curves(
        f"Epsilon from {name}, {_KINDS[relation]} neighbours",
        "A line chart of the empirical epsilon by the epsilon of the noise.",
        lines,
        x="epsilon of the noise",
        y=f"epsilon from {name}",
    )


def _adversaries(results: Identified, relation: NeighboringRelation) -> Drawing:
    cells = _of(results, relation, results.settings.scales[0])
    ways: tuple[tuple[str, Callable[[Cell], float | None]], ...] = (
        ("sees all gradients", lambda cell: cell.advantage.value),
        ("sees the model alone", lambda cell: cell.loss_advantage.value),
        ("of the noise", lambda cell: cell.expected_advantage),
    )
    lines = [
        Line(name, tuple((cell.noise_epsilon, value) for cell in cells if (value := of(cell)) is not None))
        for name, of in ways
    ]
    return curves(
        f"Advantage of two adversaries, {_KINDS[relation]} neighbours, noise of"
        f" {results.settings.scales[0]} sensitivity",
        "A line chart of the advantage by the epsilon of the noise.",
        lines,
        x="epsilon of the noise",
        y="membership advantage",
    )
