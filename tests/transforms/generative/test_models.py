"""Models of ours as samplers: samples in the form of the records, and refusals of other records."""

from pathlib import Path

import numpy as np
import pytest

from smalti.auditing_generative import GenerativeStudy, audit_generative
from smalti.errors import DataError, UsageError
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.logan import AuxiliarySamples, auxiliary_discriminator
from smalti.transforms.generative.models import FromModel, check_fits
from smalti.transforms.generative.sampler import Form, Numbers, numbers, samples
from smalti.transforms.learning.autoencoders import Autoencoder
from smalti.transforms.learning.generative_models import (
    GenerativeDescription,
    GenerativeModel,
    save_generative,
)
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin, Seeded

TABLE = Form(("height", "class", "weight"), None, "class")


def untrained(features: int, classes: int) -> GenerativeModel:
    network, draw = Autoencoder(features, classes, (3, 3), 2), np.random.default_rng(0)
    parameters = tuple(
        Layer(draw.normal(size=shape).astype(np.float32), np.zeros(shape[-1:], np.float32))
        for shape in network.shapes
    )
    description = GenerativeDescription(network, Hyperparameters(1, 2, 0.1), Origin.SEED)
    return GenerativeModel(description, parameters)


@pytest.mark.parametrize("form", [TABLE, Form.of_arrays((1, 2), has_labels=True)])
def test_a_model_writes_records_of_a_form_with_labels_of_its_classes(form: Form) -> None:
    model, classes = untrained(2, 3), ("a", "b", "c")
    check_fits(model, form, classes)
    sampler = FromModel(model, classes, np.random.default_rng(1), form)
    (block,) = samples(sampler, form, 60)
    assert {*block.column(form.label).to_pylist()} == {*classes}
    written = numbers("here", form, block, classes)
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 3, 60)
    assert (written.labels == labels).all()
    assert written.features == pytest.approx(model.generated(labels, draw), abs=1e-6)


@pytest.mark.parametrize(("features", "classes"), [(3, 3), (2, 2)])
def test_a_model_of_other_records_is_refused(features: int, classes: int) -> None:
    with pytest.raises(DataError, match=f"it writes {features} numbers for each of {classes} labels"):
        check_fits(untrained(features, classes), TABLE, ("a", "b", "c"))


def test_a_model_file_is_attacked_by_its_samples_and_by_itself(tmp_path: Path) -> None:
    """Parameters never saw a record: chance, and records beyond 0 to 1 are not those of such a model."""
    save_generative(untrained(2, 1), tmp_path / "model.safetensors")
    draw = np.random.default_rng(0)
    for name in ("members", "others"):
        rows = (f"{height:.6f},{draw.integers(2)},{weight:.6f}" for height, weight in draw.random((40, 2)))
        (tmp_path / f"{name}.csv").write_text("\n".join(["height,class,weight", *rows]))
    (tmp_path / "wide.csv").write_text("height,class,weight\n180,1,0.2\n0.1,0,0.3\n")
    study = GenerativeStudy(
        members=tmp_path / "members.csv", others=tmp_path / "others.csv", label="class", number=200,
        attacks=("reconstruction", "monte-carlo"), model=tmp_path / "model.safetensors", size=10,
    )  # fmt: skip
    audit = audit_generative(study)
    assert (audit.model, audit.samples, audit.disjoint) == ("model.safetensors", 200, 4)
    assert audit.is_test_only
    assert [each.attack for each in audit.attacks] == ["reconstruction", "monte-carlo, plain"]
    assert all(each.single.lower < 0.5 < each.single.upper for each in audit.attacks)
    for wrong, kind, problem in (
        ({"others": tmp_path / "wide.csv"}, DataError, "outside of 0 to 1"),
        ({"attacks": (str(GenerativeAttack.LOGAN_WHITE_BOX),)}, UsageError, "no discriminator"),
    ):
        changed = {name: getattr(study, name) for name in study.__slots__} | wrong
        with pytest.raises(kind, match=problem):
            audit_generative(GenerativeStudy(**changed))


def test_auxiliary_networks_are_trained_on_the_first_samples_of_labels_of_records() -> None:
    auxiliary = AuxiliarySamples(3)
    for start in (0, 4):
        block = np.arange(start, start + 4, dtype=np.float32)[:, None]
        auxiliary.add(Numbers(block, np.array([0, -1, 0, 0])))
    assert auxiliary.kept.features.ravel().tolist() == [0, 2, 3]


@pytest.mark.slow
def test_auxiliary_networks_know_records_that_samples_copy_and_no_others() -> None:
    """Three draws of 80 records: chance has a standard deviation of 0.033 around one half."""
    reached = []
    for seed in range(3):
        members, others, never = (np.random.default_rng(seed).random((3, 40, 200)) < 0.5).astype(np.float32)
        copies = Numbers(np.tile(members, (120, 1)), np.zeros(4800, np.int64))
        audited = Numbers(np.concatenate([members, others, never]), np.zeros(120, np.int64))
        scores = auxiliary_discriminator(copies, audited, 0, Seeded(seed)).reshape(3, 40)
        reached.append([share_on_top(scores[questioned], scores[1]) for questioned in (0, 2)])
    of_members, of_never = np.mean(reached, axis=0)
    assert of_members > 0.5 + 5 * 0.033
    assert abs(of_never - 0.5) < 5 * 0.033


def share_on_top(questioned: np.ndarray, others: np.ndarray) -> float:
    return float((np.argsort(-np.concatenate([questioned, others]))[:40] < 40).mean())
