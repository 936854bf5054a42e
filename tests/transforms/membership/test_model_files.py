"""Models from files: what each kind gives, and what no file can do. Real libraries; below 5 s in all."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import onnx_files as onnx
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from smalti.errors import DataError, SmaltiError, UsageError
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.model_files import save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin
from smalti.transforms.membership import model_files
from smalti.transforms.membership.confidences import softmax
from smalti.transforms.membership.model_files import ModelForm, load_classifier

FORM = ModelForm(2, ("0", "1", "2"))
NAMED = ModelForm(2, ("blue", "green", "red"))
FEATURES = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [-1.0, 0.5]])
LABELS = np.array([0, 1, 2, 1])
CONFIDENCES = softmax(FEATURES @ onnx.WEIGHTS)
CANARY = "canary_4711"
FITTED = LogisticRegression().fit(FEATURES, LABELS)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def dumped(folder: Path, estimator: object) -> Path:
    path = folder / "model.skops"
    skops.io.dump(estimator, path)
    return path


def network(folder: Path) -> Path:
    description = Description(Architecture(2, (), 3), Hyperparameters(1, 1, 0.1), Origin.SYSTEM)
    layer = Layer(onnx.WEIGHTS, np.zeros(3, np.float32))
    path = folder / "model.safetensors"
    save(TrainedModel(description, (layer,)), path)
    return path


def test_a_network_of_smalti(tmp_path: Path) -> None:
    found = load_classifier(network(tmp_path), FORM)
    assert found.confidences(FEATURES) == pytest.approx(CONFIDENCES, abs=1e-6)


@pytest.mark.parametrize("form", [ModelForm(3, FORM.classes), ModelForm(2, ("0", "1"))])
def test_a_network_of_another_form(tmp_path: Path, form: ModelForm) -> None:
    with pytest.raises(DataError, match="2 features and 3 classes; expected"):
        load_classifier(network(tmp_path), form)


def test_a_truncated_network(tmp_path: Path) -> None:
    path = network(tmp_path)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match="not a network that smalti can read"):
        load_classifier(path, FORM)


def test_a_graph_that_gives_probabilities(tmp_path: Path) -> None:
    found = load_classifier(written(tmp_path, "m.onnx", onnx.softmax_regression()), FORM)
    assert found.confidences(FEATURES) == pytest.approx(CONFIDENCES, abs=1e-6)
    assert found.confidences(FEATURES[:0]).shape == (0, 3)


def test_a_graph_that_gives_logits(tmp_path: Path) -> None:
    content = onnx.softmax_regression(last=onnx.node("Identity", ["z"], "y"))
    path = written(tmp_path, "m.onnx", content)
    assert load_classifier(path, FORM, gives_logits=True).confidences(FEATURES) == pytest.approx(
        CONFIDENCES, abs=1e-6
    )
    with pytest.raises(DataError, match="say so if the model gives logits"):
        load_classifier(path, FORM).confidences(FEATURES)


@pytest.mark.parametrize("name", ["probabilities", "y"])
def test_the_probabilities_among_several_outputs(tmp_path: Path, name: str) -> None:
    last = onnx.node("Softmax", ["z"], name) + onnx.node("Identity", ["z"], "other")
    given = onnx.field(12, onnx.table("other", "n", 3)) + onnx.field(12, onnx.table(name, "n", 3))
    path = written(tmp_path, "m.onnx", onnx.softmax_regression(last=last, given=given))
    if name == "y":
        with pytest.raises(DataError, match="2 of its outputs can be the confidences"):
            load_classifier(path, FORM)
    else:
        found = load_classifier(path, FORM).confidences(FEATURES)
        assert found == pytest.approx(CONFIDENCES, abs=1e-6)


def zipped(names: tuple[str, ...]) -> bytes:
    """As converters write classifiers of scikit-learn: a map from class to confidence for each record."""
    classes = onnx.field(1, "classlabels_strings") + onnx.field(20, 8)
    classes += b"".join(onnx.field(9, name) for name in names)
    last = onnx.node("Softmax", ["z"], "p") + onnx.node(
        "ZipMap", ["p"], "y", onnx.field(5, classes) + onnx.field(7, "ai.onnx.ml")
    )
    kind = onnx.field(5, onnx.field(1, 8) + onnx.field(2, onnx.field(1, onnx.field(1, onnx.FLOAT))))
    given = onnx.field(12, onnx.field(1, "y") + onnx.field(2, onnx.field(4, onnx.field(1, kind))))
    return onnx.softmax_regression(last=last, given=given)


def test_confidences_by_class(tmp_path: Path) -> None:
    path = written(tmp_path, "m.onnx", zipped(("red", "green", "blue")))
    found = load_classifier(path, NAMED).confidences(FEATURES)
    assert found == pytest.approx(CONFIDENCES[:, ::-1], abs=1e-6)
    with pytest.raises(DataError, match="classes that no record has") as refused:
        load_classifier(path, FORM).confidences(FEATURES)
    assert "green" not in str(refused.value)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"taken": onnx.field(11, onnx.table("x", 1, 2))}, "a fixed number of records at once"),
        ({"taken": onnx.field(11, onnx.table("x", "n", "m", 2))}, "does not take one table"),
        (
            {"taken": onnx.field(11, onnx.table("x", "n", 2)) + onnx.field(11, onnx.table("v", "n", 2))},
            "does not take one table",
        ),
        ({"given": b""}, "0 of its outputs"),
        ({"weights": onnx.tensor("w", onnx.WEIGHTS[:1])}, "can be executed here"),
        (
            {
                "weights": onnx.tensor("w", onnx.WEIGHTS[:, :2]),
                "given": onnx.field(12, onnx.table("y", "n", 2)),
            },
            "0 of its outputs",
        ),
        ({"last": onnx.node("Softmax", ["z"], "y", onnx.field(7, CANARY))}, "can be executed here"),
        ({"last": onnx.node(CANARY, ["z"], "y")}, "can be executed here"),
    ],
)
def test_graphs_that_do_not_fit(tmp_path: Path, capfd, parts: dict[str, bytes], message: str) -> None:
    path = written(tmp_path, "m.onnx", onnx.softmax_regression(**parts))
    with pytest.raises(DataError, match=message) as refused:
        load_classifier(path, FORM)
    assert CANARY not in str(refused.value) + "".join(capfd.readouterr())


def test_a_graph_of_other_features(tmp_path: Path) -> None:
    path = written(tmp_path, "m.onnx", onnx.softmax_regression())
    with pytest.raises(DataError, match=r"the model takes 2 features; expected .* 5 features"):
        load_classifier(path, ModelForm(5, FORM.classes))
    free = onnx.softmax_regression(taken=onnx.field(11, onnx.table("x", "n", "m")))
    with pytest.raises(DataError, match="fails to predict records"):
        load_classifier(written(tmp_path, "free.onnx", free), ModelForm(5, FORM.classes)).confidences(
            np.zeros((1, 5))
        )


def test_nothing_of_a_graph_is_printed(tmp_path: Path, capfd) -> None:
    unused = onnx.field(5, onnx.tensor(CANARY, onnx.WEIGHTS))
    content = onnx.softmax_regression(last=onnx.node("Softmax", ["z"], "y") + unused)
    load_classifier(written(tmp_path, "m.onnx", content), FORM).confidences(FEATURES)
    assert "".join(capfd.readouterr()) == ""


OUTSIDE = onnx.tensor("w", onnx.WEIGHTS, onnx.external("secret.bin"))
CONSTANT = onnx.field(1, "value") + onnx.field(20, 4) + onnx.field(5, OUTSIDE)
BRANCH = onnx.field(1, "then_branch") + onnx.field(20, 5) + onnx.field(6, onnx.field(5, OUTSIDE))
SPARSE = onnx.field(15, onnx.field(1, OUTSIDE))


@pytest.mark.parametrize(
    "content",
    [
        onnx.softmax_regression(weights=OUTSIDE),
        onnx.softmax_regression(
            weights=onnx.tensor("w", onnx.WEIGHTS, onnx.field(14, 1)),  # says so, and names none
        ),
        onnx.softmax_regression(last=onnx.node("Constant", [], "y", onnx.field(5, CONSTANT))),
        onnx.softmax_regression(last=onnx.node("If", ["z"], "y", onnx.field(5, BRANCH))),
        onnx.softmax_regression(given=SPARSE),
        onnx.softmax_regression() + onnx.field(25, onnx.field(7, onnx.field(5, CONSTANT))),
        onnx.softmax_regression() + onnx.field(20, onnx.field(1, onnx.field(5, OUTSIDE))),
    ],
    ids=["initializer", "location", "constant", "branch", "sparse", "function", "training"],
)  # fmt: skip
def test_numbers_in_other_files_are_refused(tmp_path: Path, monkeypatch, content: bytes) -> None:
    written(tmp_path, "secret.bin", onnx.WEIGHTS.tobytes())
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, "m.onnx", content)
    with pytest.raises(DataError, match="its numbers are in other files") as refused:
        load_classifier(path, FORM)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x08",
        CANARY.encode() * 50,
        b"\x00\x00\x00\x00ORTM" + bytes(64),
        onnx.softmax_regression()[:-9],
    ],
    ids=["empty", "cut", "text", "ort", "truncated"],
)
def test_what_is_no_graph(tmp_path: Path, capfd, content: bytes) -> None:
    with pytest.raises(DataError, match="not an ONNX model that can be executed here") as refused:
        load_classifier(written(tmp_path, "m.onnx", content), FORM)
    assert CANARY not in str(refused.value) + "".join(capfd.readouterr())


def test_an_estimator_of_numbered_or_named_classes(tmp_path: Path) -> None:
    found = load_classifier(dumped(tmp_path, FITTED), FORM).confidences(FEATURES)
    assert found == pytest.approx(FITTED.predict_proba(FEATURES))
    named = LogisticRegression().fit(FEATURES[:3], np.array(["red", "blue", "red"]))
    found = load_classifier(dumped(tmp_path, named), NAMED).confidences(FEATURES)
    assert found[:, [0, 2]] == pytest.approx(named.predict_proba(FEATURES))
    assert not found[:, 1].any()


@pytest.mark.parametrize(
    ("estimator", "form", "message"),
    [
        (FITTED, NAMED, "classes differ from those of the data"),
        (FITTED, ModelForm(3, FORM.classes), "an estimator of 2 features"),
        (StandardScaler().fit(FEATURES), FORM, "gives no confidences"),
        (LogisticRegression(), FORM, "gives no confidences"),
        ([CANARY], FORM, "gives no confidences"),
    ],
)  # fmt: skip
def test_estimators_that_do_not_fit(
    tmp_path: Path, estimator: object, form: ModelForm, message: str
) -> None:
    with pytest.raises(DataError, match=message) as refused:
        load_classifier(dumped(tmp_path, estimator), form)
    assert CANARY not in str(refused.value)


@pytest.mark.parametrize("name", ["classes_", "intercept_"])
def test_an_attribute_that_numpy_would_take_for_an_address_is_refused(tmp_path: Path, name: str) -> None:
    """NumPy asks any object for `__array_interface__`, which names a place in memory."""
    fitted, hidden = LogisticRegression().fit(FEATURES, LABELS), LogisticRegression()
    hidden.__dict__["__array_interface__"] = {"data": (16, False), "shape": (3,), "typestr": "<f8"}
    setattr(fitted, name, hidden)
    with pytest.raises(DataError, match="not an estimator that can be read here"):
        load_classifier(dumped(tmp_path, fitted), FORM)


def test_a_file_does_not_say_in_how_many_processes_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ColumnTransformer([("one", StandardScaler(), [0]), ("two", StandardScaler(), [1])])
    fitted = make_pipeline(columns, LogisticRegression()).fit(FEATURES, LABELS)
    expected = fitted.predict_proba(FEATURES)
    columns.n_jobs = 24
    path = dumped(tmp_path, fitted)
    monkeypatch.setattr("joblib._parallel_backends.LokyBackend.configure", None)
    read = load_classifier(path, FORM)
    assert read.confidences(FEATURES) == pytest.approx(expected)


def test_types_that_skops_does_not_trust_are_named(tmp_path: Path) -> None:
    tree = DecisionTreeClassifier().fit(FEATURES, LABELS)
    with pytest.raises(DataError, match=r"not known to be harmless: `sklearn\.tree\._tree\.Tree`;"):
        load_classifier(dumped(tmp_path, tree), FORM)
    calling = make_pipeline(FunctionTransformer(os.system), LogisticRegression())
    with pytest.raises(DataError, match=r"harmless: `posix\.system`;.* can run code"):
        load_classifier(dumped(tmp_path, calling), FORM)


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (SVC(), r"`sklearn\.svm\._classes\.SVC`"),
        (make_pipeline(StandardScaler(), NuSVC(nu=0.1)), r"`sklearn\.svm\._classes\.NuSVC`"),
        (OneVsRestClassifier(LinearSVC()), r"`sklearn\.svm\._classes\.LinearSVC`"),
        (KNeighborsClassifier(1, algorithm="brute"), r"`[^`]*\.KNeighborsClassifier`"),
        (make_pipeline(OneHotEncoder(), LogisticRegression()), r"`[^`]*\.OneHotEncoder`"),
        (DummyClassifier(strategy="stratified"), r"`[^`]*\.DummyClassifier`"),
    ],
)
def test_compiled_code_is_given_no_numbers_of_a_file(
    tmp_path: Path, monkeypatch, estimator: BaseEstimator, told: str
) -> None:
    """Nested types, too; and not even the loading begins."""
    path = dumped(tmp_path, estimator.fit(FEATURES, LABELS))
    monkeypatch.setattr(skops.io, "loads", None)
    with pytest.raises(DataError, match=f"which can end the process: {told};.*Export the model to ONNX"):
        load_classifier(path, FORM)


MANY, CLASSES = np.tile(FEATURES, (3, 1)) + np.arange(24).reshape(12, 2) / 100, np.tile(LABELS, 3)


@pytest.mark.parametrize(
    "estimator",
    [
        SGDClassifier(loss="log_loss"),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        GaussianNB(),
        OneVsRestClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), PCA(1), LogisticRegression()),
    ],
)
def test_estimators_that_compute_with_numpy(tmp_path: Path, estimator: BaseEstimator) -> None:
    fitted = estimator.fit(MANY, CLASSES)
    found = load_classifier(dumped(tmp_path, fitted), FORM).confidences(MANY)
    assert found == pytest.approx(fitted.predict_proba(MANY))


def test_names_of_types_are_only_names(tmp_path: Path) -> None:
    calling = make_pipeline(FunctionTransformer(os.system), LogisticRegression())
    path = dumped(tmp_path, calling)
    with zipfile.ZipFile(path) as packed:
        schema = packed.read("schema.json").replace(
            b'"posix"', b'"posix\\u001b[2J ' + CANARY.encode() + b'"'
        )
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("schema.json", schema)
    with pytest.raises(DataError, match="harmless: a type with an unusual name;") as refused:
        load_classifier(path, FORM)
    assert CANARY not in str(refused.value)


class Hostile:
    """A pickle of it makes a folder when it is read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.folder,)


@pytest.mark.parametrize("ending", ["skops", "onnx", "safetensors", "pkl", "joblib", "pt", "SKOPS"])
def test_no_pickle_is_read_whatever_its_name(tmp_path: Path, ending: str) -> None:
    made = tmp_path / CANARY
    path = written(tmp_path, f"model.{ending}", pickle.dumps(Hostile(str(made))))
    with pytest.raises(DataError) as refused:
        load_classifier(path, FORM)
    assert not made.exists()
    assert CANARY not in str(refused.value)
    pickle.loads(path.read_bytes())
    assert made.exists(), "the pickle is none that acts, so the test shows nothing"


@pytest.mark.parametrize("ending", [".pkl", ".joblib", ".pt", ".pth", ".h5", ".keras", ".bin"])
def test_kinds_that_can_run_code_are_refused_with_the_reason_and_the_way_out(ending: str) -> None:
    with pytest.raises(
        DataError, match=r"can run its author's code.*`\.onnx`, `\.skops`.*Export the model to ONNX"
    ):
        load_classifier(Path(f"nowhere{ending}"), FORM)


@pytest.mark.parametrize("name", ["model", "model.txt", "model.onnx.gz"])
def test_other_kinds(name: str) -> None:
    with pytest.raises(DataError, match="models cannot be read from a file of this type"):
        load_classifier(Path(name), FORM)


@pytest.mark.parametrize("name", ["m.onnx", "m.skops", "m.safetensors"])
def test_large_files(tmp_path: Path, monkeypatch, name: str) -> None:
    monkeypatch.setattr(model_files, "LARGEST_FILE", 100)
    with pytest.raises(DataError, match="too large"):
        load_classifier(written(tmp_path, name, bytes(101)), FORM)
    with pytest.raises(DataError, match=r": not an? (network|estimator|ONNX model) that "):
        load_classifier(written(tmp_path, name, bytes(100)), FORM)


def test_much_in_a_small_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(model_files, "LARGEST_FILE", 10_000)
    path = tmp_path / "m.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", bytes(1_000_000))
    with pytest.raises(DataError, match="too large"):
        load_classifier(path, FORM)


def test_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        load_classifier(tmp_path / "m.onnx", FORM)
    with pytest.raises(UsageError, match="there is no such file"):
        load_classifier(written(tmp_path, "f", b"").parent.with_suffix(".onnx"), FORM)
    with pytest.raises(SmaltiError, match="only a model in ONNX can give logits"):
        load_classifier(network(tmp_path), FORM, gives_logits=True)
