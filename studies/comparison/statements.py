"""What MOSAICrOWN D5.2, section 4.3, says of its comparison: claims about quantities, in our words.

The document gives points in figures and words such as "close"; where a claim takes a number that the
document does not print, the number is stated here, chosen before anything was measured.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from smalti.studies.comparison.quantities import (
    Contrast,
    FigureKind,
    KeptProduct,
    LargestPhi,
    Phi,
    Place,
    Quantity,
    Term,
)
from smalti.studies.comparison.settings import Central, Comparison, Local, Original
from smalti.studies.comparison.verdicts import Region
from smalti.transforms.auditing.mitigation import GUESS

SAME: Final = 0.05
"""The most by which figures differ that are said to be as they were, or at a guess. Not the document's."""
SMALL: Final = 0.1
"""The most of a small change. Not the document's."""
PRINTED_PHI: Final = 50.0
"""Of recall, at the strongest randomised response (page 41)."""
_FACTOR: Final = 2.0
"""By which phi may differ from the printed one, and be as large as that. Not the document's."""

FEW: Final = (10, 20)
MANY: Final = (50, 100)
CLASSES: Final = FEW + MANY
NOISES: Final = (2.0, 4.0, 6.0, 8.0, 16.0)
EPSILONS: Final = (8.0, 5.0, 3.0, 1.0, 0.1)
STRONGEST: Final = 0.1
"""Epsilon of a bit."""
ATTACKS: Final = (FigureKind.PRECISION, FigureKind.RECALL)

_ABOVE: Final = Region(low=0)
_BELOW: Final = Region(high=0)
_UNCHANGED: Final = Region(-SAME, SAME)
_LITTLE: Final = Region(-SMALL, SMALL)
_AT_GUESS: Final = Region(GUESS - SAME, GUESS + SAME)


@dataclass(frozen=True, slots=True)
class Condition:
    """A quantity, and where it is claimed to lie."""

    what: str
    quantity: Quantity
    region: Region


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """Conditions of one kind, and how many of them the claim needs."""

    what: str
    """The quantity, in words."""
    conditions: tuple[Condition, ...]
    needed: int


@dataclass(frozen=True, slots=True)
class Statement:
    """What the document says, as a claim: all of its parts."""

    name: str
    page: int
    """Of the document, as printed."""
    figure: str
    """`4.5a`, or empty."""
    said: str
    parts: tuple[ClaimPart, ...]


def _every(what: str, conditions: Iterable[Condition]) -> ClaimPart:
    several = tuple(conditions)
    return ClaimPart(what, several, len(several))


def _any(what: str, conditions: Iterable[Condition]) -> ClaimPart:
    return ClaimPart(what, tuple(conditions), 1)


def _central(classes: int, noise: float) -> Place:
    return Place(classes, Central(noise))


def _local(classes: int, epsilon: float) -> Place:
    return Place(classes, Local(epsilon))


def named(place: Place) -> str:
    """A place, in few words."""
    match place.setting:
        case Central(noise_multiplier=noise):
            setting = f", z {noise:g}"
        case Local(epsilon=epsilon):
            setting = f", epsilon {epsilon:g}"
        case Original():
            setting = ""
    return f"{place.classes} classes{setting}"


def _changes(figure: FigureKind, region: Region, places: Iterable[Place]) -> Iterable[Condition]:
    """Of the change from the original."""
    return (Condition(named(place), Contrast.change(figure, place), region) for place in places)


def _means(figure: FigureKind, region: Region, places: Iterable[Place]) -> Iterable[Condition]:
    return (Condition(named(place), Contrast.mean(figure, place), region) for place in places)


def _phis(region: Region, places: Iterable[Place]) -> Iterable[Condition]:
    return (
        Condition(f"{named(place)}, {attack}", Phi(attack, place), region)
        for place in places
        for attack in ATTACKS
    )


def _all_central(classes: tuple[int, ...] = CLASSES) -> list[Place]:
    return [_central(number, noise) for number in classes for noise in NOISES]


def _all_local(classes: tuple[int, ...], epsilons: tuple[float, ...] = EPSILONS) -> list[Place]:
    return [_local(number, epsilon) for number in classes for epsilon in epsilons]


def _skew() -> Statement:
    pairs = [(Place(number, Original()), Place(number, Original(), 0.5)) for number in CLASSES]
    return Statement(
        "skew",
        39,
        "4.4",
        "the attack is more precise where training and test data are distributed differently",
        (
            _every(
                "precision on the original, less that without skew",
                (
                    Condition(named(skewed), Contrast.change(FigureKind.PRECISION, skewed, even), _ABOVE)
                    for skewed, even in pairs
                ),
            ),
        ),
    )


def _adapted() -> Statement:
    pairs = (
        (FigureKind.PRECISION, FigureKind.UNADAPTED_PRECISION),
        (FigureKind.RECALL, FigureKind.UNADAPTED_RECALL),
    )
    return Statement(
        "adapted-shadows",
        38,
        "",
        "an attack achieves more if shadow models are trained with the target's noise than without",
        tuple(
            _every(
                f"{figure}, less {other}",
                (
                    Condition(
                        named(place), Contrast((Term(1, figure, place), Term(-1, other, place))), _ABOVE
                    )
                    for place in _all_central()
                ),
            )
            for figure, other in pairs
        ),
    )


def _central_attack() -> tuple[Statement, ...]:
    at_guess = [_central(number, NOISES[-1]) for number in MANY]
    others = [place for place in _all_central() if place not in at_guess]
    first = _central(50, NOISES[0])
    return (
        Statement(
            "central-precision-kept",
            40,
            "4.5a",
            f"with {_either(FEW)} classes, noise in training leaves the attack's precision as it was",
            (
                _every(
                    "change of precision",
                    _changes(FigureKind.PRECISION, _UNCHANGED, _all_central(FEW)),
                ),
            ),
        ),
        Statement(
            "central-precision-lost",
            40,
            "4.5a",
            "with 50 classes, the least noise in training already brings the precision near 0.53",
            (
                _every("change of precision", _changes(FigureKind.PRECISION, _BELOW, [first])),
                _every(
                    "precision", _means(FigureKind.PRECISION, Region(0.53 - SAME, 0.53 + SAME), [first])
                ),
            ),
        ),
        Statement(
            "central-recall-kept",
            40,
            "4.5b",
            "noise in training has a small effect on the attack's recall, but for the most noise with"
            f" {_either(MANY)} classes",
            (_every("change of recall", _changes(FigureKind.RECALL, _LITTLE, others)),),
        ),
        Statement(
            "central-recall-guess",
            41,
            "4.5b",
            f"the recall is that of a guess for the most noise with {_either(MANY)} classes, and nowhere"
            " else",
            (
                _every("recall, of a guess", _means(FigureKind.RECALL, _AT_GUESS, at_guess)),
                _every(
                    "recall, elsewhere",
                    _means(
                        FigureKind.RECALL, Region(_AT_GUESS.low, _AT_GUESS.high, is_outside=True), others
                    ),
                ),
            ),
        ),
    )


def _central_cost() -> tuple[Statement, ...]:
    accuracy = FigureKind.TEST_ACCURACY
    return (
        Statement(
            "central-accuracy",
            41,
            "4.5c",
            f"noise in training takes more accuracy with {_either(FEW)} classes than with {_either(MANY)}",
            (
                _every(
                    f"mean loss of accuracy with {_either(FEW)} classes, less that with {_either(MANY)}",
                    (Condition(f"z {noise:g}", _difference_of_losses(noise), _ABOVE) for noise in NOISES),
                ),
            ),
        ),
        Statement(
            "central-cost",
            41,
            "4.5",
            "noise in training weakens the attack's precision, and costs accuracy",
            tuple(
                _every(
                    f"change of {figure}, mean of all noise",
                    (
                        Condition(named(Place(number, Original())), _mean_change(figure, number), _BELOW)
                        for number in CLASSES
                    ),
                )
                for figure in (FigureKind.PRECISION, accuracy)
            ),
        ),
        Statement(
            "central-phi",
            41,
            "4.5d",
            "with noise in training almost all phi are below 1: accuracy loses more than the attack does",
            (_almost_all("phi", _phis(Region(high=1), _all_central())),),
        ),
    )


def _almost_all(what: str, conditions: Iterable[Condition]) -> ClaimPart:
    """Nine in ten; the document does not say how many."""
    several = tuple(conditions)
    return ClaimPart(what, several, -(-9 * len(several) // 10))


def _difference_of_losses(noise: float) -> Contrast:
    accuracy, terms = FigureKind.TEST_ACCURACY, []
    for sign, several in ((1, FEW), (-1, MANY)):
        for number in several:
            place = _central(number, noise)
            weight = sign / len(several)
            terms += [Term(weight, accuracy, place.original), Term(-weight, accuracy, place)]
    return Contrast(tuple(terms))


def _mean_change(figure: FigureKind, classes: int) -> Contrast:
    places = [_central(classes, noise) for noise in NOISES]
    return Contrast(
        (
            *(Term(1 / len(places), figure, place) for place in places),
            Term(-1, figure, Place(classes, Original())),
        )
    )


def _local_attack() -> tuple[Statement, ...]:
    weak, strong = EPSILONS[:3], _all_local(FEW, (STRONGEST,))
    others = [place for place in _all_local(CLASSES) if place not in strong]
    return (
        Statement(
            "local-precision-kept",
            41,
            "4.6a",
            "but for 100 classes, randomised response hardly affects the precision until epsilon is 1",
            (
                _every(
                    "change of precision",
                    _changes(FigureKind.PRECISION, _LITTLE, _all_local((10, 20, 50), weak)),
                ),
            ),
        ),
        Statement(
            "local-recall-kept",
            41,
            "4.6b",
            f"randomised response affects the recall at epsilon {STRONGEST:g} with {_either(FEW)} classes,"
            " and nowhere else",
            (
                _every("change of recall, there", _changes(FigureKind.RECALL, _BELOW, strong)),
                _every("change of recall, elsewhere", _changes(FigureKind.RECALL, _UNCHANGED, others)),
            ),
        ),
    )


def _local_accuracy() -> tuple[Statement, ...]:
    affected = Region(-SAME, SAME, is_outside=True)
    strong = _all_local(FEW, (STRONGEST,))
    accuracy = FigureKind.TEST_ACCURACY
    return (
        Statement(
            "local-accuracy-kept",
            41,
            "4.6c",
            f"randomised response affects accuracy with {_either(FEW)} classes at epsilon {STRONGEST:g}"
            f" alone, and with {_either(MANY)} at 5 already",
            (
                _every(
                    "change of accuracy, kept",
                    _changes(accuracy, _UNCHANGED, _all_local(FEW, EPSILONS[:-1])),
                ),
                _every("change of accuracy, affected", _changes(accuracy, affected, strong)),
                _every(
                    "change of accuracy, affected early",
                    _changes(accuracy, affected, _all_local(MANY, (5.0,))),
                ),
            ),
        ),
        Statement(
            "local-regularises",
            41,
            "4.6c",
            f"randomised response regularises with {_either(FEW)} classes: at epsilon {STRONGEST:g} test"
            " accuracy rises, the gap to training accuracy narrows, and the recall falls",
            (
                _every("change of test accuracy", _changes(accuracy, _ABOVE, strong)),
                _every("change of the gap", _changes(FigureKind.GAP, _BELOW, strong)),
                _every("change of recall", _changes(FigureKind.RECALL, _BELOW, strong)),
            ),
        ),
    )


def _local_phi() -> tuple[Statement, ...]:
    above, strong = Region(low=1), _all_local(FEW, (STRONGEST,))
    of_recall = [Phi(FigureKind.RECALL, place) for place in strong]
    as_printed = Region(PRINTED_PHI / _FACTOR, PRINTED_PHI * _FACTOR)
    return (
        Statement(
            "local-phi",
            41,
            "4.6d",
            f"some phi of randomised response is above 1 with {_either(FEW)} classes, and none with"
            f" {_either(MANY)}",
            (
                *(
                    _any(f"phi, one with {number} classes", _phis(above, _all_local((number,))))
                    for number in FEW
                ),
                _every("phi, elsewhere", _phis(Region(high=1), _all_local(MANY))),
            ),
        ),
        Statement(
            "local-phi-strong",
            41,
            "4.6d",
            f"with {_either(FEW)} classes, phi of randomised response is high at epsilon 1 and"
            f" {STRONGEST:g}",
            (_every("phi, above 1", _phis(above, _all_local(FEW, EPSILONS[3:]))),),
        ),
        Statement(
            "phi-largest",
            41,
            "4.6d",
            f"phi is about {PRINTED_PHI:g} at most: of recall, by randomised response at epsilon"
            f" {STRONGEST:g}",
            (
                _any(
                    f"phi of recall, within a factor {_FACTOR:g} of {PRINTED_PHI:g}",
                    (Condition(named(phi.place), phi, as_printed) for phi in of_recall),
                ),
                _every(
                    f"the largest phi, within a factor {_FACTOR:g} of {PRINTED_PHI:g}",
                    [Condition("all settings", LargestPhi(EVERY_PHI), as_printed)],
                ),
            ),
        ),
        Statement(
            "phi-by-accuracy",
            42,
            "4.6d",
            "high phi are due to a rise of accuracy, while precision and recall fall little",
            (
                _every(
                    "accuracy kept times attack kept, above 1",
                    (
                        Condition(f"{named(place)}, {attack}", KeptProduct(attack, place), above)
                        for place in strong
                        for attack in ATTACKS
                    ),
                ),
                *(_every(f"change of {attack}", _changes(attack, _LITTLE, strong)) for attack in ATTACKS),
            ),
        ),
    )


def _against_each_other() -> Statement:
    local, central = _local(10, STRONGEST), _central(10, NOISES[0])
    wanted = ((FigureKind.TEST_ACCURACY, _ABOVE), *((attack, _BELOW) for attack in ATTACKS))
    return Statement(
        "local-over-central",
        41,
        "4.7a",
        f"with 10 classes, randomised response at epsilon {STRONGEST:g} is better than the least noise in"
        " training: accuracy is higher, precision and recall lower",
        tuple(
            _every(
                f"{figure}, local less central",
                [Condition("10 classes", Contrast.change(figure, local, central), region)],
            )
            for figure, region in wanted
        ),
    )


def _either(numbers: tuple[int, ...]) -> str:
    return " or ".join(map(str, numbers))


def every_phi(comparison: Comparison) -> tuple[Phi, ...]:
    """All that a comparison has."""
    return tuple(
        Phi(attack, Place(number, setting))
        for number in comparison.classes
        for setting in comparison.settings
        if setting != Original()
        for attack in ATTACKS
    )


EVERY_PHI: Final = tuple(
    Phi(attack, place) for place in (*_all_central(), *_all_local(CLASSES)) for attack in ATTACKS
)
"""Of the document's settings."""

STATEMENTS: Final = (
    _adapted(),
    _skew(),
    *_central_attack(),
    *_central_cost(),
    *_local_attack(),
    *_local_accuracy(),
    *_local_phi(),
    _against_each_other(),
)
"""In the order of the document, by figure."""
