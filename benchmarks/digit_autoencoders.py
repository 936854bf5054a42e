"""Repeats D5.2, 4.4.4 at a smaller size: attacks on autoencoders of digits, by the document's protocol.

    python benchmarks/digit_autoencoders.py --subsets 10 --settings all --results digits.json

A conditional variational autoencoder is trained on images of a subset; then 100 of its members are to be
told from 100 other images, by Monte Carlo with distances of principal components and the median heuristic,
and by reconstruction. Beside it the same for images that it was never trained on, which is a guess by
construction. The document trains on a tenth of 60,000 images for more epochs and takes 1,000,000 samples;
here are the 5,000 images that a package ships, so that it runs without a download. Each finished subset is
written at once, and is not repeated.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import TypeAdapter

from smalti.studies.identifiability.samples import digits
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.auditing.network_gradients import LabelledRecords
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.audit import Audited, Settings, attacked
from smalti.transforms.generative.distances import DistanceName, distance_of
from smalti.transforms.generative.models import FromModel
from smalti.transforms.generative.protocol import Achieved, Groups
from smalti.transforms.generative.sampler import Form, Numbers
from smalti.transforms.learning.autoencoders import Autoencoder
from smalti.transforms.learning.generative_models import GenerativeModel, train_generative
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.randomness import Seeded
from smalti.transforms.membership.set_membership import ATTACKS, SIZE

AUDITED: Final = 200
"""Members, others, images that stand for members, and others beside these: two disjoint attacks of each."""
REFERENCE: Final = 1000
"""Images of which principal components are learned."""
CONFIDENCE: Final = 0.95
_ATTACKS: Final = (GenerativeAttack.MONTE_CARLO, GenerativeAttack.RECONSTRUCTION)


@dataclass(frozen=True, slots=True)
class Setting:
    """What is trained; the same attacks follow."""

    name: str
    images: int
    keep_rate: float


SETTINGS: Final = {
    setting.name: setting
    for setting in (
        Setting("500 images", 500, 0.9),
        Setting("500 images, keep rate 0.5", 500, 0.5),
        Setting("2,000 images", 2000, 0.9),
    )
}


@dataclass(frozen=True, slots=True)
class Found:
    """What one attack achieved on one model."""

    attack: str
    members: tuple[float, ...]
    """Single membership of disjoint attacks on members."""
    never: tuple[float, ...]
    """On images that the model was not trained on."""
    sets: tuple[float, ...]
    repeated: float
    """The document's average."""
    repeated_sets: float


@dataclass(frozen=True, slots=True)
class Row:
    """One subset."""

    setting: str
    subset: int
    samples: int
    training: float
    """CPU seconds."""
    attacking: float
    found: tuple[Found, ...]


ROWS: Final = TypeAdapter(list[Row])


def trained(setting: Setting, images: LabelledRecords, places: np.ndarray, seed: int) -> GenerativeModel:
    """An autoencoder of some of the images.

    Args:
        setting: how it is trained.
        images: all of them.
        places: of those that it is trained on.
        seed: of its training.
    """
    network = Autoencoder(images.features.shape[1], 10, keep_rate=setting.keep_rate)
    records = images.features[places], images.labels[places]
    (model,) = train_generative(
        network, Hyperparameters(300, 100, 1e-3), records, np.ones((1, len(places)), bool), Seeded(seed)
    )
    return model


def repeated(setting: Setting, images: LabelledRecords, subset: int, samples: int) -> Row:
    """Train on one subset, and attack.

    Args:
        setting: what is trained.
        images: all of them.
        subset: its number, and the seed of everything.
        samples: of the model, for Monte Carlo.
    """
    draw = np.random.default_rng(subset)
    order = draw.permutation(len(images.labels))
    begun = time.process_time()
    model = trained(setting, images, order[: setting.images], subset)
    training, begun = time.process_time() - begun, time.process_time()
    rest = order[setting.images :]
    reference, rest = rest[:REFERENCE], rest[REFERENCE:]
    places = np.concatenate([order[:AUDITED], rest[: 3 * AUDITED]])
    classes = tuple("0123456789")
    form = Form.of_arrays((28, 28), has_labels=True)
    audited = Audited(
        form, classes, numbers_of(images, places), numbers_of(images, reference), groups_of(draw)
    )
    distance = distance_of(DistanceName.PCA, (28, 28), images.features[reference])
    results = attacked(
        audited, Settings(_ATTACKS, (distance,), samples), FromModel(model, classes, draw, form), model,
        (draw, Seeded(subset)),
    )  # fmt: skip
    found = tuple(found_by(name, result) for name, result in results.membership)
    return Row(setting.name, subset, samples, training, time.process_time() - begun, found)


def numbers_of(images: LabelledRecords, places: np.ndarray) -> Numbers:
    return Numbers(images.features[places], images.labels[places])


def groups_of(draw: np.random.Generator) -> Groups:
    """Disjoint attacks on members, then disjoint ones on what was never a member, then the document's."""
    members, others, never, beside = np.arange(4 * AUDITED).reshape(4, -1)
    disjoint = [
        np.concatenate([part[start : start + SIZE] for part in pair])
        for pair in ((members, others), (never, beside))
        for start in range(0, AUDITED, SIZE)
    ]
    again = [
        np.concatenate([draw.choice(part, SIZE, replace=False) for part in (members, others)])
        for _ in range(ATTACKS)
    ]
    return Groups(SIZE, tuple(disjoint), tuple(again))


def found_by(name: str, result: Achieved) -> Found:
    real = AUDITED // SIZE
    return Found(
        name, tuple(result.single[:real].tolist()), tuple(result.single[real:].tolist()),
        tuple(result.sets[:real].tolist()), float(result.repeated_single.mean()),
        float(result.repeated_sets.mean()),
    )  # fmt: skip


def joined(rows: list[Row], setting: str, attack: str) -> tuple[Figure, Figure, Figure, Found]:
    """Single membership, that of images that were no members, and of sets, each with limits; and averages.

    Images of the 5,000 return in other subsets, so the limits over subsets are approximate.
    """
    parts = [part for row in rows if row.setting == setting for part in row.found if part.attack == attack]

    def all_of(values: list[tuple[float, ...]]) -> np.ndarray:
        return np.concatenate([np.array(value) for value in values])

    members, never = all_of([part.members for part in parts]), all_of([part.never for part in parts])
    sets = all_of([part.sets for part in parts])
    nothing = np.zeros(0)
    of_members = Achieved(SIZE, members, sets, nothing, nothing)
    of_others = Achieved(SIZE, never, sets, nothing, nothing)
    means = Found(
        attack, (), (), (), float(np.mean([part.repeated for part in parts])),
        float(np.mean([part.repeated_sets for part in parts])),
    )  # fmt: skip
    limits = of_members.single_accuracy(CONFIDENCE), of_others.single_accuracy(CONFIDENCE)
    return *limits, of_members.set_accuracy(CONFIDENCE), means


def shown(figure: Figure) -> str:
    return f"{100 * (figure.value or 0):.1f} % ({100 * figure.lower:.1f} to {100 * figure.upper:.1f})"


def main() -> None:
    """Print one line for each setting and attack."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--subsets", type=int, default=10)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--settings", nargs="+", choices=[*SETTINGS, "all"], default=["all"])
    parser.add_argument("--results", type=Path, default=Path("digits.json"))
    arguments = parser.parse_args()
    images = digits()
    rows = ROWS.validate_json(arguments.results.read_bytes()) if arguments.results.exists() else []
    chosen = list(SETTINGS) if "all" in arguments.settings else arguments.settings
    for name in chosen:
        for subset in range(arguments.subsets):
            if not any(row.setting == name and row.subset == subset for row in rows):
                rows.append(repeated(SETTINGS[name], images, subset, arguments.samples))
                arguments.results.write_text(json.dumps([asdict(row) for row in rows]))
    for name in chosen:
        done = [row for row in rows if row.setting == name]
        training = np.mean([row.training for row in done])
        attacking = np.mean([row.attacking for row in done])
        seconds = f"{training:.0f} s of CPU of training, {attacking:.0f} s of attacks"
        print(f"{name}: {len(done)} subsets, {seconds}")
        for attack in [part.attack for part in done[0].found]:
            members, never, sets, means = joined(rows, name, attack)
            print(
                f"  {attack}: single {shown(members)}, never trained on {shown(never)}, sets {shown(sets)};"
                f" averages {100 * means.repeated:.1f} % and {100 * means.repeated_sets:.1f} %"
            )


if __name__ == "__main__":
    main()
