"""How well a model learns from a published table: what docs/how-to/learn-from-published.md shows.

    python benchmarks/published_learning.py

The survey of `examples/data` is divided several times into women to learn from and women to test on. What
is learnt from is published first; the tests are on exact values. Nothing is downloaded. It takes minutes.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import smalti

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "how-to" / "learn-from-published.md"
FIGURES: Final = PAGE.with_suffix(".json")
DATA: Final = ROOT / "examples" / "data" / "contraceptive.csv"
POLICY: Final = ROOT / "examples" / "policies" / "contraceptive.jsonld"
TARGET: Final = "http://example.com/survey/contraceptive"
NUMBERS: Final = ("age", "education", "children")
TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "religion": ("Islam", "non-Islam"),
    "working": ("yes", "no"),
    "husband_occupation": ("1", "2", "3", "4"),
}
KS: Final = (5, 10, 20, 50)
SPLITS: Final = 20
HELD_OUT: Final = 0.3
BEGIN: Final = "<!-- Written by benchmarks/published_learning.py: do not edit. -->"
END: Final = "<!-- End of the figures. -->"

Matrix = npt.NDArray[np.float64]
Answers = npt.NDArray[np.bool_]


def publish(rows: pd.DataFrame, k: int, folder: Path) -> pd.DataFrame:
    """The rows as the owner publishes them, read again by whoever gets the output."""
    rows.to_csv(folder / "contraceptive.csv", index=False)
    name = "contraceptive.csv-metadata.json"
    (folder / name).write_text((DATA.parent / name).read_text())
    smalti.run(
        POLICY, data={TARGET: folder / "contraceptive.csv"}, party="http://example.com/party/researcher",
        owner="http://example.com/party/owner", purpose="statistical", parameters=[f"k={k}"],
        out=folder / f"k{k}", registry=smalti.Registry.memory(),
    )  # fmt: skip
    return smalti.read_published(folder / f"k{k}", as_="pandas")


def of_exact(rows: pd.DataFrame) -> Matrix:
    """One column for each number and each text; the texts are 0 or 1."""
    texts = [(rows[name] == text).to_numpy(float) for name, known in TEXTS.items() for text in known]
    return np.column_stack([*(rows[name].to_numpy(float) for name in NUMBERS), *texts])


def of_published(table: pd.DataFrame) -> Matrix:
    """The same from labels: midpoints of ranges, and of n texts in a set 1/n for each."""
    texts = [
        table[f"{name}.values"].map(lambda held, text=text: (text in held) / len(held)).to_numpy(float)
        for name, known in TEXTS.items()
        for text in known
    ]
    return np.column_stack([*(table[f"{name}.mid"].to_numpy(float) for name in NUMBERS), *texts])


def area(
    learn: Matrix, answers: npt.NDArray[np.bool_], test: Matrix, truth: npt.NDArray[np.bool_]
) -> float:
    """The area under the ROC curve of a boosted model; it is the same each time."""
    model = HistGradientBoostingClassifier(max_iter=60, max_depth=3, learning_rate=0.1, random_state=0)
    return float(roc_auc_score(truth, model.fit(learn, answers).predict_proba(test)[:, 1]))


def measured(splits: int = SPLITS, ks: Sequence[int] = KS) -> dict[str, list[float]]:
    """By what was learnt from: the areas of all splits, in their order."""
    survey = pd.read_csv(DATA, dtype=dict.fromkeys(TEXTS, str))
    areas: dict[str, list[float]] = {"original": [], **{f"k = {k}": [] for k in ks}}
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(survey))
        cut = int(len(survey) * HELD_OUT)
        test, learn = survey.iloc[order[:cut]], survey.iloc[order[cut:]]
        asked, truth = of_exact(test), (test["method"] != "none").to_numpy()
        answers = (learn["method"] != "none").to_numpy()
        areas["original"].append(area(of_exact(learn), answers, asked, truth))
        with tempfile.TemporaryDirectory() as folder:
            for k in ks:
                table = publish(learn, k, Path(folder))
                found = area(of_published(table), (table["method"] != "none").to_numpy(), asked, truth)
                areas[f"k = {k}"].append(found)
    return areas


def rows_of_table(areas: Mapping[str, Sequence[float]]) -> list[str]:
    """The table of the page."""
    original = areas["original"]
    lines = [
        "| learnt from | AUC, mean | least and most | difference to the original, mean |",
        "|---|---|---|---|",
    ]
    for name, found in areas.items():
        apart = mean(a - b for a, b in zip(found, original, strict=True))
        shown = "" if name == "original" else f"{apart:+.3f}"
        lines.append(f"| {name} | {mean(found):.3f} | {min(found):.3f} to {max(found):.3f} | {shown} |")
    return lines


def draw(areas: Mapping[str, Sequence[float]], to: Path) -> None:
    """Ages before and after, and the areas of all splits."""
    mpl.rcParams.update({"svg.hashsalt": "smalti", "svg.fonttype": "none", "font.size": 9})
    survey = pd.read_csv(DATA, dtype=dict.fromkeys(TEXTS, str))
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasSVG(figure)
    left, right = figure.subplots(1, 2)
    with tempfile.TemporaryDirectory() as folder:
        ages = {f"midpoints, k = {k}": publish(survey, k, Path(folder))["age.mid"] for k in (5, 50)}
    bins = np.arange(15, 51, 2)
    left.hist(survey["age"], bins, color="0.8", label="original")
    for (name, values), color in zip(ages.items(), ("tab:blue", "tab:orange"), strict=True):
        left.hist(values.to_numpy(float), bins, histtype="step", color=color, label=name)
    left.set(xlabel="age", ylabel="women")
    left.legend(frameon=False, fontsize=8)
    for place, found in enumerate(areas.values()):
        jitter = np.linspace(-0.15, 0.15, len(found))
        right.plot(place + jitter, found, ".", color="0.6", markersize=4)
        right.plot([place - 0.25, place + 0.25], [mean(found)] * 2, color="tab:blue")
    right.set_xticks(range(len(areas)), list(areas))
    right.set(ylabel="AUC on exact values", xlabel="learnt from; a dot for each split, a line for the mean")
    figure.savefig(to, format="svg", metadata={"Date": None, "Creator": None})


def with_figures(page: str, areas: Mapping[str, Sequence[float]]) -> str:
    """The page with its table written anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([before + BEGIN, "", *rows_of_table(areas), "", END + after])


def main() -> None:
    areas = measured()
    FIGURES.write_text(
        json.dumps({name: [round(a, 4) for a in found] for name, found in areas.items()}) + "\n"
    )
    draw(areas, PAGE.with_suffix(".svg"))
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), areas), encoding="utf-8")


if __name__ == "__main__":
    main()
