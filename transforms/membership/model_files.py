"""Files of trained classifiers, read without running any code that they hold.

Three kinds are read: networks of smalti (safetensors: numbers only), ONNX (a graph of operators), and
estimators of scikit-learn as skops writes them (of types that are known to be harmless and compute with
NumPy alone; a pickle can call anything). The ending of its name says what a file is read as. Nothing is
promised about the memory and the time that a model takes when it is asked.
"""

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from smalti.errors import DataError, UsageError, not_installed
from smalti.transforms.membership.confidences import Floats
from smalti.transforms.membership.models import Classifier, FromEstimator
from smalti.transforms.membership.onnx_models import onnx_classifier
from smalti.transforms.problem import Integers

LARGEST_FILE: Final = 1 << 29
"""Bytes of a file that is read, and of what is packed in one of skops."""
_SHOWN_TYPES: Final = 5
_TYPE_NAME: Final = re.compile(r"[A-Za-z_][\w.]{0,99}", re.ASCII)
_RUNS_CODE: Final = "loading a file of this type can run its author's code"
_REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys(
        (".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth", ".ckpt", ".bin", ".h5", ".hdf5", ".keras"),
        _RUNS_CODE,
    )
)
_WAY_OUT: Final = (
    "export the model to ONNX, or save a scikit-learn estimator by `skops.io.dump`; a pickle file that"
    " you trust can be converted so"
)
_WORDS_OF_SKOPS: Final = frozenset({"__class__", "__module__", "__loader__", "__id__", "__reduce__"})
_COMPUTE_WITH_NUMPY: Final = (
    "linear_model._logistic.LogisticRegression", "linear_model._logistic.LogisticRegressionCV",
    "linear_model._stochastic_gradient.SGDClassifier", "linear_model._sgd_fast.", "_loss._loss.",
    "discriminant_analysis.", "naive_bayes.",
    "multiclass.OneVsRestClassifier", "preprocessing._label.LabelBinarizer",
    "pipeline.Pipeline", "compose._column_transformer.ColumnTransformer",
    "preprocessing._data.", "preprocessing._polynomial.PolynomialFeatures",
    "decomposition._pca.PCA", "feature_selection._variance_threshold.VarianceThreshold",
)  # fmt: skip
"""Types of scikit-learn, or with a dot at the end modules, that give confidences without compiled code of
their own or of SciPy's sparse matrices, and without drawing. Such code takes sizes and indices from a file
as they are: out of bounds, they end the process."""


@dataclass(frozen=True, slots=True)
class ModelForm:
    """What a model takes and gives."""

    features: int
    """Numbers of a record."""
    classes: tuple[str, ...]
    """Their names, in the order of their numbers; `0`, `1`, ... where they have none."""


def load_classifier(path: Path, form: ModelForm, *, gives_logits: bool = False) -> Classifier:
    """A classifier from a file; its name says of which kind it is.

    Args:
        path: ends in `.safetensors`, `.onnx` or `.skops`.
        form: what the records are like that it is to be asked about.
        gives_logits: whether what it gives is no probability yet; of ONNX only.

    Raises:
        UsageError: there is no such file, or it gives logits and is not ONNX.
        DataError: a kind that is not read, a file that is damaged, too large or holds types that are not
            known to be harmless, or a model of other features or classes. Of the content, only the names of
            such types are in the message.
        BackendError: the extra `audit` is not installed.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise _refused(path)
    if not path.is_file():
        raise UsageError(str(path), "there is no such file", "a file of a model")
    if gives_logits and path.suffix.lower() != ".onnx":
        raise UsageError(str(path), "only a model in ONNX can give logits", "probabilities")
    return read(path, form, gives_logits)


def _refused(path: Path) -> DataError:
    return DataError(
        str(path),
        _REFUSED.get(path.suffix.lower(), "models cannot be read from a file of this type"),
        "a file that ends in " + ", ".join(f"`{suffix}`" for suffix in _READERS),
        _WAY_OUT,
    )


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DataError(
            str(path), f"it cannot be read ({error.strerror})", "a file that you may read"
        ) from None
    if len(content) > LARGEST_FILE:
        raise _too_large(str(path))
    return content


def _too_large(where: str) -> DataError:
    return DataError(where, "the model is too large", f"at most {LARGEST_FILE >> 20} MiB")


def _network(path: Path, form: ModelForm, _: bool) -> Classifier:
    from smalti.transforms.learning.model_files import load  # noqa: PLC0415 (needs an extra)

    if path.stat().st_size > LARGEST_FILE:
        raise _too_large(str(path))
    model = load(path)
    architecture = model.description.architecture
    if (architecture.features, architecture.classes) != (form.features, len(form.classes)):
        raise DataError(
            str(path),
            f"a network of {architecture.features} features and {architecture.classes} classes",
            f"{form.features} features and {len(form.classes)} classes, as in the data",
            "give the columns that it was trained on, in their order",
        )
    return model


def _graph(path: Path, form: ModelForm, gives_logits: bool) -> Classifier:
    return onnx_classifier(str(path), _content(path), form.features, form.classes, gives_logits)


def _estimator(path: Path, form: ModelForm, _: bool) -> Classifier:
    where = str(path)
    loaded = _unpacked(where, _content(path))
    labels = np.asarray(getattr(loaded, "classes_", None))
    if not hasattr(loaded, "predict_proba") or labels.ndim != 1:
        raise DataError(
            where,
            "its content gives no confidences",
            "one fitted classifier of scikit-learn that has `predict_proba`",
        )
    places = {name: number for number, name in enumerate(form.classes)}
    if any(str(name) not in places for name in labels):
        raise DataError(
            where,
            "its classes differ from those of the data",
            f"some of the {len(form.classes)} classes that the labels name",
            "give the labels as the model was trained on them",
        )
    width = getattr(loaded, "n_features_in_", form.features)
    if width != form.features:
        raise DataError(
            where,
            f"an estimator of {width} features",
            f"{form.features} features, as in the data",
            "give the columns that it was trained on, in their order",
        )
    numbers = np.array([places[str(name)] for name in labels], np.int64)
    return FromEstimator(_Numbered(where, loaded, numbers), len(form.classes))


def _unpacked(where: str, content: bytes) -> Any:
    try:
        import skops.io  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("models", "the library that reads estimators", "skops", "audit") from None
    try:
        with ZipFile(io.BytesIO(content)) as packed:
            size = sum(member.file_size for member in packed.infolist())
    except (BadZipFile, ValueError, OSError):
        raise _unreadable(where) from None
    if size > LARGEST_FILE:
        raise _too_large(where)
    try:
        unknown = skops.io.get_untrusted_types(data=content)
    except Exception:
        raise _unreadable(where) from None
    if unknown:
        raise _untrusted(where, unknown)
    schema = _schema(where, content)
    if any(name.startswith("__") and name not in _WORDS_OF_SKOPS for name in _names_in(schema)):
        raise _unreadable(where)  # NumPy would ask an attribute of such a name for an address in memory
    if compiled := _with_compiled_code(schema):
        raise _unchecked(where, compiled)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions of scikit-learn
            return skops.io.loads(content, trusted=[])
    except Exception:
        raise _unreadable(where) from None


def _schema(where: str, content: bytes) -> Any:
    try:
        with ZipFile(io.BytesIO(content)) as packed:
            return json.loads(packed.read("schema.json"))
    except Exception:
        raise _unreadable(where) from None


def _names_in(schema: Any) -> Iterator[str]:
    """The names of all attributes, and other names, in a file of skops."""
    if isinstance(schema, dict):
        yield from schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _names_in(part)


def _with_compiled_code(schema: Any) -> list[str]:
    """The types in a file of skops, nested ones too, that are not known to do without compiled code."""
    names = set(_types_in(schema))
    allowed = tuple(f"sklearn.{type_name}" for type_name in _COMPUTE_WITH_NUMPY)
    return sorted(
        type_name
        for type_name in names
        if type_name.startswith(("sklearn.", "scipy."))
        and not any(
            type_name.startswith(name) if name.endswith(".") else type_name == name for name in allowed
        )
    )


def _types_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "__module__" in schema:
            yield f"{schema['__module__']}.{schema.get('__class__')}"
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _types_in(part)


def _unreadable(where: str) -> DataError:
    return DataError(
        where,
        "not an estimator that can be read here",
        "a file written by `skops.io.dump`, with compatible versions of scikit-learn and skops",
        _WAY_OUT,
    )


def _untrusted(where: str, types: list[str]) -> DataError:
    return DataError(
        where,
        f"it contains types that are not known to be harmless: {_shown(types)}",
        "types that skops trusts: loading others can run code of the file's author",
        "export the model to ONNX",
    )


def _unchecked(where: str, types: list[str]) -> DataError:
    return DataError(
        where,
        f"it contains types that are not known to check a file's content before compiled code uses it,"
        f" which can end the process: {_shown(types)}",
        "logistic regression, discriminant analysis or naive Bayes, also behind scalers and PCA",
        "export the model to ONNX; if you trust the file, load it yourself and use `FromEstimator`",
    )


def _shown(types: list[str]) -> str:
    shown = ", ".join(
        f"`{type_name}`" if _TYPE_NAME.fullmatch(type_name) else "a type with an unusual name"
        for type_name in types[:_SHOWN_TYPES]
    )
    return f"{shown} and {len(types) - _SHOWN_TYPES} more" if len(types) > _SHOWN_TYPES else shown


@dataclass(slots=True)  # not frozen: the classes of an estimator can be set
class _Numbered:
    """An estimator as one that was trained on classes numbered from 0."""

    where: str
    estimator: Any
    classes_: NDArray[np.generic]

    def fit(self, features: Floats, labels: Integers) -> object:
        raise TypeError("an estimator from a file is not trained again")

    def predict_proba(self, features: Floats) -> Floats:
        import joblib  # noqa: PLC0415 (comes with scikit-learn)

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that columns have no names here
                with joblib.parallel_config(backend="sequential"):  # whatever the file says of processes
                    confidences: Floats = self.estimator.predict_proba(features)
        except Exception:
            raise DataError(
                self.where, "the model fails to predict records", "a fitted classifier"
            ) from None
        return confidences


_READERS: Final[Mapping[str, Callable[[Path, ModelForm, bool], Classifier]]] = MappingProxyType(
    {".safetensors": _network, ".onnx": _graph, ".skops": _estimator}
)
