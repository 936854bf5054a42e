"""`smalti audit model`: studies of models in files. Real models; about 4 s of CPU in all."""

import base64
import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx_files as onnx
import pytest
import skops.io
from shell import Ran, smalti
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from smalti.transforms.learning.architecture import Architecture
from smalti.transforms.learning.hyperparameters import Hyperparameters
from smalti.transforms.learning.model_files import save
from smalti.transforms.learning.models import Description, TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin

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
    assert "nothing was registered, no attempt was counted, and no duty of a policy is met by it" in told
    assert "with a probability of at most 1/10" in told
    assert "loss: 150 members and 150 others" in told
    assert set(folder.iterdir()) == before


def test_a_page_with_drawings_is_never_written_over(folder: Path) -> None:
    arguments = ("overfitted.skops", "--attack", "loss", "--html", "page.html")
    assert audited(folder, *arguments).code == 0
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "<svg" in text
    assert "no duty of a policy" in text
    again = audited(folder, *arguments)
    assert (again.code, again.message.split(";")[0]) == (2, "page.html: it exists already")


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
    assert "the network says that it was trained otherwise" in ran.message


def test_shadow_models_of_another_model_need_its_recipe(folder: Path) -> None:
    ran = audited(folder, "overfitted.skops", "--attack", "loss", "--attack", "rmia")
    assert ran.code == 2
    assert "nothing says how this model was trained" in ran.message
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
        (("overfitted.pkl",), 1, "can run code of its author"),
        (("nowhere.skops",), 2, "there is no such file"),
        (("overfitted.skops", "--attack", "guess"), 2, "there is no attack `guess`"),
        (("overfitted.skops", "--attack", "set-membership"), 2, "not judged by record"),
        (("overfitted.skops", "--confidence", "1"), 2, "at most 0.999999"),
        (("overfitted.skops", "--confidence", "nan"), 2, "confidence"),
        (("overfitted.skops", "--confidence", "0.9999999"), 2, "at most 0.999999"),
        (("overfitted.skops", "--logits"), 2, "only a model in ONNX"),
        (("overfitted.skops", "--recipe", "none", "--attack", "rmia"), 1, "there is no recipe `none`"),
    ],
)
def test_what_is_asked_for_wrongly(
    folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = audited(folder, *arguments, *(() if "guess" in arguments else ("--attack", "loss")))
    assert (ran.code, message in ran.err) == (code, True), ran.err


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
    missing = changed(folder, "bad.csv", "\nno,", "\n,")
    assert "1 records have no label" in audited(folder, *loss, members=missing).message
    other = changed(folder, "bad.csv", "\nno,", f"\n{CANARY},")
    ran = audited(folder, *loss, members=other)
    assert (ran.code, CANARY in ran.out) == (0, False), "a class that the model was not trained on"
    renamed = changed(folder, "bad.csv", "f0,", "g0,")
    assert "other columns" in audited(folder, *loss, members=renamed).message


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
