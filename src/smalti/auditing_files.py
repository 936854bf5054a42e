"""Studies of model files, by whoever has the model and the data: nothing is registered."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.losses.public_tables import read_table
from smalti.engine.tables.reading import file_digest
from smalti.engine.training.attainable import USUAL_DELTA
from smalti.engine.training.examine import Examination, divided
from smalti.engine.training.figures import AuditFigures
from smalti.engine.training.plan import Audit
from smalti.engine.training.quality import study_certificate
from smalti.errors import DataError, UsageError, only_ours
from smalti.reports.audits import study_page
from smalti.reports.page import Page
from smalti.transforms.membership.application import SHADOW_MODELS
from smalti.transforms.membership.attack import Needs
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.model_files import ModelForm, load_classifier
from smalti.transforms.membership.models import Classifier, Trainer
from smalti.transforms.membership.planted_leak import MemorisingTrainer
from smalti.transforms.membership.registry import named

if TYPE_CHECKING:
    from smalti.transforms.learning.hyperparameters import Hyperparameters
    from smalti.transforms.learning.models import Description

_MOST_CLASSES: Final = 10_000
"""Of numbered ones: a larger label is taken for a mistake."""
_HIGHEST_CONFIDENCE: Final = 0.999999
"""Nearer to 1, floats run out of digits for what is left."""
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The attacked model, its data, the attacks and the confidence of their limits."""

    model: Path
    """See `model_files.load_classifier`."""
    members: Path
    """The records that it was trained on, as CSV or Parquet: the label, and numbers in the order that the
    model takes them."""
    others: Path
    """Records of the same kind that it was not trained on."""
    label: str
    """The column of the classes: numbers from 0, or names, which the model numbers in sorted order."""
    attacks: tuple[str, ...]
    """Names of `membership.registry.ATTACKS`."""
    recipe: str | None = None
    """The training recipe, for attacks with shadow models; a network file of smalti states its own."""
    confidence: float = 0.95
    """Of each limit by itself: above 0, at most 0.999999."""
    gives_logits: bool = False
    """Whether a model in ONNX gives logits instead of probabilities."""
    shadow_models: int = SHADOW_MODELS


@dataclass(frozen=True, slots=True)
class Studied:
    """The results of a study. Private: they are about people."""

    model: str
    """The name of the file."""
    digest: str
    """Of the file: hexadecimal digits of SHA-256."""
    figures: AuditFigures
    is_test_only: bool = False
    """Whether it is a network file of smalti that states that its randomness came from a seed."""

    def to_json(self) -> dict[str, Any]:
        """As JSON-LD."""
        return study_certificate(self.digest, self.figures, is_test_only=self.is_test_only)

    def page(self, *, with_drawings: bool) -> Page:
        """For people."""
        return study_page(
            self.model,
            self.digest,
            self.figures,
            with_drawings=with_drawings,
            is_test_only=self.is_test_only,
        )


@only_ours()
def study(request: Study, phase: Callable[[str], None]) -> Studied:
    """Attack a model in a file, and one that memorises; draws from the operating system.

    Args:
        request: the study.
        phase: called with the name of each phase.

    Raises:
        UsageError, DataError, PlanError, ProblemsError: an input cannot be used; before training.
        BackendError: the extra `audit` is not installed.
    """
    needs_shadows = _check(request)
    phase("read")
    members, others, form = _records(request)
    digest = file_digest(request.model).removeprefix("sha256:") if request.model.is_file() else ""
    model = load_classifier(request.model, form, gives_logits=request.gives_logits)
    trainer = _trainer(request, model, form) if needs_shadows else MemorisingTrainer(len(form.classes))
    generator = np.random.default_rng(secrets.randbits(128))
    test, pool = divided(members, others.take(generator.permutation(len(others))), request.attacks)
    shadows = request.shadow_models if needs_shadows else 0
    confidence = Decimal(str(request.confidence))
    audit, error = Audit(request.attacks, (), confidence, shadows), 1 - Fraction(confidence)
    seed = int(generator.integers(1 << 62))
    examination = Examination(audit, USUAL_DELTA, members, test, pool, trainer, error, seed)
    figures, described = examination.measured(model, 1, phase), _described(model)
    return Studied(request.model.name, digest, figures, described is not None and described.is_test_only)


def _described(model: Classifier) -> "Description | None":
    """The description in a network file of smalti."""
    from smalti.transforms.learning.models import TrainedModel  # noqa: PLC0415 (needs an extra)

    return model.description if isinstance(model, TrainedModel) else None


def _check(request: Study) -> bool:
    """Check the request, and return whether any attack needs shadow models."""
    if not 0 < request.confidence <= _HIGHEST_CONFIDENCE:
        expected = f"a number above 0, at most {_HIGHEST_CONFIDENCE}"
        raise UsageError("--confidence", "it is out of range", expected)
    attacks = [named(name) for name in request.attacks]
    return any(entry.attack.needs is not Needs.NOTHING for entry in attacks)


def _records(request: Study) -> tuple[DataSet, DataSet, ModelForm]:
    tables = [(path, read_table(path)) for path in (request.members, request.others)]
    (_, members), (_, others) = tables
    if members.column_names != others.column_names:
        raise DataError(
            str(request.others),
            "the columns or their order differ",
            f"those of {request.members.name}",
        )
    texts = [_labels(path, table, request.label) for path, table in tables]
    classes = classes_of(request.label, {text for labels in texts for text in labels})
    places = {name: number for number, name in enumerate(classes)}
    members_set, others_set = (
        DataSet(
            str(path),
            _numbers(path, table.drop_columns([request.label])),
            np.array([places[text] for text in labels], np.int64),
            len(classes),
        )
        for (path, table), labels in zip(tables, texts, strict=True)
    )
    return members_set, others_set, ModelForm(members_set.features.shape[1], classes)


def _labels(path: Path, table: pa.Table, label: str) -> list[str]:
    if label not in table.column_names or table.num_columns < 2:
        near = get_close_matches(label, table.column_names, n=1)
        raise UsageError(
            str(path),
            f"there is no column `{label}` beside features",
            "the label and at least one feature",
            f"did you mean `{near[0]}`?" if near and near[0] != label else "",
        )
    texts: list[str | None] = table.column(label).to_pylist()
    labels = [text for text in texts if text]
    if len(labels) < len(texts):
        raise DataError(
            f"{path}, column `{label}`",
            f"{len(texts) - len(labels)} records have no label",
            "a class for each record",
        )
    return labels


def classes_of(label: str, texts: set[str]) -> tuple[str, ...]:
    """The classes by their numbers: numbers from 0, or names in sorted order.

    Args:
        label: the column, for messages.
        texts: all labels.

    Raises:
        DataError: a number is taken for a mistake.
    """
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return tuple(sorted(texts))
    count = 1 + max(map(int, texts), default=0)
    if count > _MOST_CLASSES:
        raise DataError(
            f"column `{label}`", "a class number is too large", f"numbers below {_MOST_CLASSES}"
        )
    return tuple(map(str, range(count)))


def _numbers(path: Path, table: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.stack([_column(path, name, table.column(name)) for name in table.column_names], axis=1)


def _column(path: Path, name: str, texts: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        numbers = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is None or numbers.null_count:
        raise DataError(
            f"{path}, column `{name}`",
            "some values are missing or not numbers",
            "a number in every record, as the model takes it",
            "encode and scale the columns as for training",
        )
    values: np.ndarray[Any, np.dtype[np.float64]] = numbers.to_numpy()
    return values


def _trainer(request: Study, model: Classifier, form: ModelForm) -> Trainer:
    """The trainer of shadow models: by the named recipe, or by the description in a network file."""
    from smalti.transforms.learning.randomness import FromSystem  # noqa: PLC0415
    from smalti.transforms.learning.recipes import recipe  # noqa: PLC0415
    from smalti.transforms.membership.network_trainer import NetworkTrainer  # noqa: PLC0415

    described = _described(model)
    hyperparameters: Hyperparameters
    if request.recipe is not None:
        named_recipe = recipe(request.recipe)
        architecture = named_recipe.architecture(form.features, len(form.classes))
        hyperparameters = named_recipe.defaults
    elif described is not None:
        architecture, hyperparameters = described.architecture, described.hyperparameters
    else:
        raise UsageError(
            "the audit",
            "an attack needs shadow models, but the training recipe of this model is not known",
            "--recipe with the recipe of its training",
            "name the recipe, or use the attack `loss` alone",
        )
    stated = (architecture, hyperparameters)
    if described is not None and stated != (described.architecture, described.hyperparameters):
        raise UsageError(
            "--recipe",
            "the network file states another recipe",
            "the architecture and hyper-parameters of the model",
            "leave the option out: shadow models are trained as the file states",
        )
    return NetworkTrainer(architecture, hyperparameters, FromSystem())
