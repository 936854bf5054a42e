"""Perturbations on Spark: the same reports before noise, and with the same draws the same bytes."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import image_worlds
import pytest
from perturbed_worlds import CITIES, DESCRIPTION, HERE, ONE_ROW_EACH, permission, reported, row
from release_plans import NUMBERS
from stub_sampler import StubSampler

import smalti
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.spark import SparkBackend
from smalti.engine.perturbation import capability as running
from smalti.engine.perturbation.draw import draw
from smalti.engine.perturbation.table import write_table
from smalti.engine.tables.description import Description
from smalti.policy.model.model import Comparison, Number, Operator
from smalti.vocab import terms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PEOPLE = ("1", "1.0", "2", "", "x", "-0", "0", "3.50", "3.5", "7")
ROWS = [
    row(
        who=PEOPLE[place % len(PEOPLE)] if place < 40 else str(100 + place),
        sex=("f", "m", "", "wombat")[place % 4],
        city=(*CITIES, "", "rome", "Rome ")[place % 8],
        age=NUMBERS[place % len(NUMBERS)],
        spend=NUMBERS[(7 * place + 3) % len(NUMBERS)],
        note=f"note {place}",
    )
    for place in range(120)
]
COLUMNS = ("sex", "city", "age", "spend")


@pytest.mark.parametrize("description", [DESCRIPTION, ONE_ROW_EACH], ids=["spark-people", "spark-rows"])
@pytest.mark.parametrize("rows", [ROWS, []], ids=["some", "none"])
def test_spark_takes_the_same_reports(
    spark: "SparkSession", description: Description, rows: list[tuple[str, ...]]
) -> None:
    asked = permission(*COLUMNS)
    here = reported(LocalBackend(), rows, asked, description)
    there = reported(SparkBackend(spark), rows, asked, description)
    assert there[0] == here[0]
    assert [codes.tolist() for codes in there[1].codes] == [codes.tolist() for codes in here[1].codes]
    assert there[1].respondents.tolist() == here[1].respondents.tolist()


@pytest.mark.slow
def test_spark_and_local_publish_the_same_gaussian_numbers(spark: "SparkSession", tmp_path: Path) -> None:
    """Slow: what is read is as above, and what is drawn and written knows no engine."""
    delta = Comparison(terms.DELTA, Operator.LTEQ, (Number(Decimal("0.001")),), where=HERE)
    asked = permission(*COLUMNS, mechanisms=("randomized-response", "gaussian"), more=(delta,))
    written = []
    for backend in (LocalBackend(), SparkBackend(spark)):
        plan, exact = reported(backend, ROWS, asked)
        assert [one.mechanism for one in plan.perturbed].count("gaussian") == 2
        path = tmp_path / f"{len(written)}.csv"
        write_table(plan, draw(plan, exact, StubSampler(5)), path)
        written.append(path.read_bytes())
    assert written[0] == written[1]


def run(folder: Path, name: str, engine: Any) -> bytes:
    examples = Path(__file__).parents[3] / "examples"
    with patch.object(running, "SAMPLER", StubSampler(5)):
        outcome = smalti.run(
            examples / "policies" / "contraceptive-local.jsonld",
            data={"http://example.com/survey/contraceptive": folder / "survey.csv"},
            party="http://example.com/party/researcher",
            owner="http://example.com/party/owner",
            purpose="statistical",
            out=folder / name,
            registry=folder / f"{name}.sqlite",
            engine=engine,
        )
    assert outcome.version is not None
    assert outcome.version.report.engine == ("local" if engine == "local" else "spark")
    return (folder / name / "contraceptive-noisy.csv").read_bytes()


def test_spark_and_local_publish_the_same_with_the_same_draws(
    spark: "SparkSession", tmp_path: Path
) -> None:
    lines = ["age,method"] + [
        f"{15 + place % 40},{('none', 'wombat', '')[place % 3]}" for place in range(300)
    ]
    (tmp_path / "survey.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "survey.csv-metadata.json").write_text(
        '{"@context": ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}],'
        ' "url": "survey.csv", "tableSchema": {"columns": ['
        '{"name": "age", "datatype": {"base": "integer", "minimum": 15, "maximum": 49}},'
        '{"name": "method", "csvw-eo:keyValues": ["none", "long-term", "short-term"]}]}}'
    )
    assert run(tmp_path, "on-spark", SparkBackend(spark)) == run(tmp_path, "on-local", "local")


def test_spark_and_local_publish_the_same_images(spark: "SparkSession", tmp_path: Path) -> None:
    """From bytes in Parquet; what is no image is among them, and the same image twice."""
    image_worlds.write_world(tmp_path, kind="parquet", budget=100)
    found = []
    for name, engine in (("on-spark", SparkBackend(spark)), ("on-local", "local")):
        with patch.object(running, "SAMPLER", StubSampler(5)):
            outcome = image_worlds.run(tmp_path, name, engine=engine, output_format="csv")
        assert outcome.version is not None
        found.append((tmp_path / name / "noisy.csv").read_bytes())
    assert found[0] == found[1]
