"""`smalti audit model`: studies of models in files. Real models; about 6 s of CPU in all."""

import base64
import csv
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx_files as onnx
import pytest
import skops.io
from shell import Ran, smalti
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import FunctionTransformer

from smalti import auditing_files
from smalti.auditing_files import Study
from smalti.cli.performing import perform
from smalti.engine.jobs import requests
from smalti.engine.registry.job_entries import JobResult
from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.model_files import load, save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin
from smalti.transforms.membership import network_trainer

RECORDS, FEATURES = 150, 90
CANARY = "4711.0815x"


def write(path: Path, features: np.ndarray, labels: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["class", *(f"f{i}" for i in range(features.shape[1]))])
        rows.writerows([label, *record] for label, record in zip(labels, features.tolist(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An estimator of nearly as many weights as records, which knows its records by heart."""
    folder = tmp_path_factory.mktemp("study")
    draw = np.random.default_rng(7)
    features = draw.normal(size=(2 * RECORDS, FEATURES))
    labels = np.where(features[:, 0] + draw.normal(size=2 * RECORDS) > 0, "yes", "no")
    write(folder / "members.csv", features[:RECORDS], labels[:RECORDS])
    write(folder / "others.csv", features[RECORDS:], labels[RECORDS:])
    model = LinearDiscriminantAnalysis().fit(features[:RECORDS], labels[:RECORDS])
    skops.io.dump(model, folder / "overfitted.skops")
    narrow = np.zeros((FEATURES, 2), np.float32)
    narrow[0] = [-1, 1]
    description = Description(Architecture(FEATURES, (), 2), Hyperparameters(1, 50, 0.01), Origin.SYSTEM)
    save(TrainedModel(description, (Layer(narrow, np.zeros(2, np.float32)),)), folder / "own.safetensors")
    return folder


def audited(
    folder: Path, model: str, *more: str, members: str = "members.csv", label: str = "class"
) -> Ran:
    data = ("--members", members, "--others", "others.csv", "--label", label)
    return smalti("audit", "model", model, *data, *more, cwd=folder)


def test_a_model_that_memorises_is_found_out(folder: Path) -> None:
    ran = audited(folder, "overfitted.skops", "--attack", "loss", "--format", "json")
    assert ran.code == 0, ran.err
    (result,) = ran.json["results"]
    advantage = next(one for one in result["measurements"] if one["figure"] == "attackAdvantage")
    assert result["attack"] == "loss"
    assert (result["members"], result["nonMembers"]) == (RECORDS, RECORDS)
    assert result["areaUnderCurve"] > 0.6
    assert result["plantedLeakFound"]
    assert advantage["limit"] > advantage["value"] > 0.25
    assert ran.json["trainAccuracy"] > ran.json["testAccuracy"] + 0.2
    assert ran.json["errorProbability"] == "1/20"
    assert ran.json["shadowModels"] == 0


def test_many_records_at_once_are_judged_too(folder: Path) -> None:
    attacks = ("--attack", "single-membership", "--attack", "set-membership")
    ran = audited(folder, "overfitted.skops", *attacks, "--format", "json")
    assert ran.code == 0, ran.err
    single, of_sets = ran.json["results"]
    assert (single["attack"], of_sets["attack"]) == ("single-membership", "set-membership")
    for result in (single, of_sets):
        (advantage,) = (one for one in result["measurements"] if one["figure"] == "attackAdvantage")
        assert 0.1 < advantage["value"] <= advantage["limit"] <= 1
    assert "state" not in ran.json
    digest = hashlib.sha256((folder / "overfitted.skops").read_bytes()).digest()
    assert ran.json["computedOn"] == "ni:///sha-256;" + base64.urlsafe_b64encode(digest).decode().rstrip(
        "="
    )


def test_a_study_is_told_from_a_duty_and_registers_nothing(folder: Path) -> None:
    before = set(folder.iterdir())
    ran = audited(folder, "overfitted.skops", "--attack", "loss", "--confidence", "0.9")
    assert ran.code == 0, ran.err
    told = " ".join(ran.out.split())
    assert "nothing was registered, no attempt was counted, and it fulfils no duty of a policy" in told
    assert "with a probability of at most 1/10" in told
    assert "loss: 150 members and 150 others" in told
    assert set(folder.iterdir()) == before


def test_a_page_with_drawings_is_never_written_over(folder: Path) -> None:
    arguments = ("overfitted.skops", "--attack", "loss", "--html", "page.html")
    assert audited(folder, *arguments).code == 0
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert (folder / "page.html").stat().st_mode & 0o077 == 0
    assert "<svg" in text
    assert "no duty of a policy" in text
    again = audited(folder, *arguments)
    assert (again.code, again.message.split(";")[0]) == (2, "page.html: the file cannot be created")


def test_a_network_from_a_seed_is_test_only(folder: Path) -> None:
    own = load(folder / "own.safetensors")
    seeded = replace(own, description=replace(own.description, randomness=Origin.SEED))
    save(seeded, folder / "seeded.safetensors")
    for name, said in (("own", None), ("seeded", "seed, test only")):
        study = Study(model=folder / f"{name}.safetensors", members=folder / "members.csv",
                      others=folder / "others.csv", label="class", attacks=("loss",))  # fmt: skip
        found = auditing_files.study(study, lambda _: None)
        assert found.to_json().get("randomness") == said
        assert ("Test only" in found.page(with_drawings=False).lead) is (said is not None)


@pytest.mark.slow
def test_a_network_of_smalti_says_how_shadow_models_are_trained(folder: Path) -> None:
    more = ("--attack", "lira-offline", "--shadow-models", "2")
    ran = audited(folder, "own.safetensors", *more, "--format", "json")
    assert ran.code == 0, ran.err
    assert ran.json["shadowModels"] == 2
    assert [one["attack"] for one in ran.json["results"]] == ["lira-offline"]


def test_a_network_of_smalti_was_trained_by_no_other_recipe(folder: Path) -> None:
    ran = audited(folder, "own.safetensors", "--attack", "rmia", "--recipe", "mlp-128")
    assert ran.code == 2
    assert "the network file states another recipe" in ran.message


def test_shadow_models_of_another_model_need_its_recipe(folder: Path) -> None:
    ran = audited(folder, "overfitted.skops", "--attack", "loss", "--attack", "rmia")
    assert ran.code == 2
    assert "the training recipe of this model is not known" in ran.message
    assert "--recipe" in ran.message


@pytest.mark.slow
def test_shadow_models_by_a_recipe(folder: Path) -> None:
    named = ("--recipe", "softmax-regression", "--shadow-models", "2", "--format", "json")
    ran = audited(folder, "overfitted.skops", "--attack", "rmia", *named)
    assert ran.code == 0, ran.err


def test_a_graph_with_numbered_classes(folder: Path) -> None:
    draw = np.random.default_rng(3)
    for name in ("few.csv", "more.csv"):
        write(folder / name, draw.normal(size=(60, 2)), np.arange(60) % 3)
    (folder / "graph.onnx").write_bytes(onnx.softmax_regression())
    data = ("--members", "few.csv", "--others", "more.csv", "--label", "class", "--attack", "loss")
    ran = smalti("audit", "model", "graph.onnx", *data, "--format", "json", cwd=folder)
    assert ran.code == 0, ran.err
    assert ran.json["results"][0]["plantedLeakFound"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("overfitted.pkl",), 1, "can run its author's code"),
        (("nowhere.skops",), 2, "there is no such file"),
        (("overfitted.skops", "--attack", "guess"), 2, "there is no attack `guess`"),
        (("overfitted.skops", "--confidence", "1"), 2, "at most 0.999999"),
        (("overfitted.skops", "--confidence", "nan"), 2, "confidence"),
        (("overfitted.skops", "--confidence", "0.9999999"), 2, "at most 0.999999"),
        (("overfitted.skops", "--logits"), 2, "only a model in ONNX"),
        (("overfitted.skops", "--recipe", "none", "--attack", "rmia"), 1, "no recipe `none` is installed"),
    ],
)
def test_what_is_asked_for_wrongly(
    folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = audited(folder, *arguments, *(() if "guess" in arguments else ("--attack", "loss")))
    assert (ran.code, message in ran.err) == (code, True), ran.err


# --- Bad input: each is told before any shadow model is trained ------------------------------------

BY_SHADOWS = ("--attack", "rmia", "--attack", "shokri", "--recipe", "softmax-regression")


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network may be trained."""

    def trained(*given: object) -> None:
        raise AssertionError("a model was trained")

    monkeypatch.setattr(network_trainer, "train", trained)


@dataclass(frozen=True)
class Small:
    """A folder with a model in ONNX for two features and three classes, and records of both kinds."""

    folder: Path

    def data(self, name: str, records: int, seed: int, labels: np.ndarray | None = None) -> np.ndarray:
        features = np.random.default_rng(seed).normal(size=(records, 2))
        write(self.folder / name, features, np.arange(records) % 3 if labels is None else labels)
        return features

    def audited(self, *more: str, model: str = "model.onnx") -> Ran:
        data = ("--members", "members.csv", "--others", "others.csv", "--label", "class")
        return smalti("audit", "model", model, *data, *(more or BY_SHADOWS), cwd=self.folder)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    found = Small(tmp_path)
    found.data("members.csv", 90, 1)
    found.data("others.csv", 400, 2)
    (tmp_path / "model.onnx").write_bytes(onnx.softmax_regression())
    return found


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("operators", "problem"),
    [
        (
            ["Abs", "Neg"],
            "are not probabilities; expected numbers from 0 to 1; say so if the model gives logits"
            " (`gives_logits`; of an ONNX file --logits)",
        ),
        (["Sigmoid", "Sigmoid"], "do not sum to one; expected a sum of one for each record, within 0.001"),
        (["Abs", "Neg", "Sqrt"], "are not finite; expected numbers from 0 to 1"),
    ],
    ids=["negative", "sum", "not-finite"],
)
def test_confidences_that_are_none(small: Small, operators: list[str], problem: str) -> None:
    """Each record has such confidences: which one is asked about first is drawn at random."""
    names = ["z", *(f"z{at}" for at in range(1, len(operators))), "y"]
    last = b"".join(
        onnx.node(operator, [taken], given)
        for operator, taken, given in zip(operators, names[:-1], names[1:], strict=True)
    )
    (small.folder / "model.onnx").write_bytes(onnx.softmax_regression(last=last))
    ran = small.audited()
    assert (ran.code, problem in ran.message) == (1, True), ran.err


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("attack", ["rmia", "shokri", "lira-online"])
def test_a_class_that_a_shadow_set_lacks(small: Small, attack: str) -> None:
    """Only one record has the third class: half of the shadow models could not be trained on it."""
    labels = np.arange(90) % 2
    labels[0] = 2
    small.data("members.csv", 90, 1, labels)
    small.data("others.csv", 400, 2, np.arange(400) % 2)
    ran = small.audited("--attack", attack, "--recipe", "softmax-regression")
    assert ran.code == 1
    told = "1 classes have too few records" if attack == "shokri" else "1 classes have no record inside"
    assert told in ran.message, ran.err
    assert "`--others`" in ran.message, "where a larger pool comes from"
    assert "pool" in ran.message, "the way out"


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("model.onnx", b"no graph", "not an ONNX model that can be executed here"),
        ("model.onnx", b"", "not an ONNX model that can be executed here"),
        ("model.skops", b"no archive", "not an estimator that can be read here"),
        ("model.safetensors", b"no numbers", "not a network that smalti can read"),
        ("model.pkl", b"", "loading a file of this type can run its author's code"),
        ("model.joblib", b"", "loading a file of this type can run its author's code"),
        ("model.pt", b"", "loading a file of this type can run its author's code"),
        ("model.h5", b"", "loading a file of this type can run its author's code"),
        ("model.txt", b"", "models cannot be read from a file of this type"),
    ],
)
def test_a_model_that_cannot_be_loaded(small: Small, name: str, content: bytes, problem: str) -> None:
    (small.folder / name).write_bytes(content)
    ran = small.audited(model=name)
    assert (ran.code, problem in ran.message) == (1, True), ran.err
    if "run code" in problem:
        assert "export the model to ONNX" in ran.message.replace("Export", "export")


@pytest.mark.usefixtures("untrained")
def test_an_estimator_that_holds_code_is_not_loaded(small: Small) -> None:
    model = FunctionTransformer(os.system)
    skops.io.dump(model, small.folder / "model.skops")
    ran = small.audited(model="model.skops")
    assert ran.code == 1
    assert "it contains types that are not known to be harmless" in ran.message
    assert "loading others can run code of the file's author" in ran.message


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("short", ["members.csv", "others.csv"])
def test_too_little_data_for_the_confidence(small: Small, short: str) -> None:
    small.data(short, 9, 5)
    ran = small.audited("--attack", "loss")
    assert ran.code == 1
    assert "9 members and as many others can be audited; expected 30 of each" in ran.message
    more = small.audited("--attack", "loss", "--confidence", "0.1")
    assert more.code == 0, more.err


@pytest.mark.usefixtures("untrained")
@pytest.mark.parametrize("attack", ["loss", "rmia", "shokri"])
def test_members_that_are_also_in_the_shadow_data(small: Small, attack: str) -> None:
    """By content, not by position: also where it is one record, wherever it is drawn to."""
    members = (small.folder / "members.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    with (small.folder / "others.csv").open("a", encoding="utf-8") as others:
        others.write(members[7])
    ran = small.audited("--attack", attack, "--recipe", "softmax-regression")
    assert ran.code == 1
    assert "1 records are also in" in ran.message, ran.err
    assert "remove these records" in ran.message.lower()


def changed(folder: Path, name: str, old: str, new: str) -> str:
    text = (folder / "members.csv").read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return name


def first_number(folder: Path) -> str:
    return (folder / "members.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[1]


def test_data_that_is_no_table_of_numbers(folder: Path) -> None:
    number = first_number(folder)
    for bad in (CANARY, "", "nan"):
        ran = audited(folder, "overfitted.skops", "--attack", "loss",
                      members=changed(folder, "bad.csv", number, bad))  # fmt: skip
        assert (ran.code, "numbers" in ran.message) == (1, True), ran.err
        assert CANARY not in ran.message
    assert "column `f0`" in audited(
        folder, "overfitted.skops", "--attack", "loss", members=changed(folder, "bad.csv", number, CANARY)
    ).message  # fmt: skip


def test_labels_that_are_missing_or_other(folder: Path) -> None:
    loss = ("overfitted.skops", "--attack", "loss")
    assert "there is no column `target`" in audited(folder, *loss, label="target").message
    assert "Did you mean `class`?" in audited(folder, *loss, label="clas").message
    missing = changed(folder, "bad.csv", "\nno,", "\n,")
    assert "1 records have no label" in audited(folder, *loss, members=missing).message
    other = changed(folder, "bad.csv", "\nno,", f"\n{CANARY},")
    ran = audited(folder, *loss, members=other)
    assert (ran.code, CANARY in ran.out) == (0, False), "a class that the model was not trained on"
    renamed = changed(folder, "bad.csv", "f0,", "g0,")
    assert "the columns or their order differ" in audited(folder, *loss, members=renamed).message


def test_members_among_the_others(folder: Path) -> None:
    ran = audited(folder, "overfitted.skops", "--attack", "loss", members="others.csv")
    assert (ran.code, "150 records are also in others.csv" in ran.message) == (1, True), ran.err


def test_parquet_gives_the_same_as_csv(folder: Path) -> None:
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(folder / "members.csv"), folder / "members.parquet")
    shown = [
        audited(folder, "overfitted.skops", "--attack", "loss", "--format", "json", members=name).json
        for name in ("members.csv", "members.parquet")
    ]
    areas = [json.dumps(one["results"][0]["areaUnderCurve"]) for one in shown]
    assert areas[0] == areas[1]


def test_a_job_studies_a_model(folder: Path, tmp_path: Path) -> None:
    request = requests.Study(
        model=str(folder / "overfitted.skops"),
        members=str(folder / "members.csv"),
        others=str(folder / "others.csv"),
        label="class",
        attacks=("loss",),
    )
    report = tmp_path / "report.json"
    assert perform(request, "r.sqlite", report) == JobResult(0, report=report)
    (result,) = json.loads(report.read_text())["results"]
    assert result["plantedLeakFound"]
