"""Small worlds of trainings: a policy, people without any pattern, and whole runs; shared by tests."""

import csv
import json
import random
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from perturbed_worlds import DESCRIPTION, HEADER, HERE, Row, column
from tables import TARGET as PEOPLE
from tables import write_csv

import smalti
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import Description, Source
from smalti.engine.training.compile import compile_training
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.recipes import architecture_of, hyperparameters_of
from smalti.engine.training.records import TrainingRecords, training_records
from smalti.engine.training.synthesis_compile import architecture
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.policy.model.model import (
    Asset,
    Audit,
    Bound,
    DecimalBound,
    Duty,
    Operator,
    Permission,
    Training,
)
from smalti.transforms.learning import models
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.learning.networks import Layer
from smalti.transforms.learning.randomness import Origin
from smalti.transforms.learning.tabular_vae import TabularModel
from smalti.transforms.membership import overfitted
from smalti.vocab.terms import IRI, SMALTI

# --- Permissions and plans, of the people of perturbed worlds

MODEL = IRI("http://example.com/model")


def most(value: str) -> DecimalBound:
    return DecimalBound(Operator.LTEQ, Decimal(value), HERE)


def training(**others: Any) -> Training:
    """Without noise: the class is the sex, and the note is dropped."""
    wanted = Training(
        recipe="softmax-regression",
        label_column=column("sex"),
        identifiers=(column("note"),),
        epochs=Bound(Operator.LTEQ, 2, HERE),
        where=HERE,
    )
    return replace(wanted, **others)


def private(**others: Any) -> Training:
    """With a noise that is fixed."""
    said = {
        "noise_multiplier": most("2"),
        "clipping_norm": most("1"),
        "sampling_rate": most("0.5"),
        "delta": most("0.001"),
    }
    return training(**{**said, **others})


AUDIT = Audit(attacks=("loss",), attack_advantage=Decimal("0.3"), where=HERE)


def untrained(plan: TrainingPlan) -> TrainedModel:
    """A model as the plan would make it, that knows nothing: it is as confident in each class."""
    architecture = architecture_of(plan)
    layers = (Layer(np.zeros((i, o), np.float32), np.zeros(o, np.float32)) for i, o in architecture.shapes)
    description = models.Description(architecture, hyperparameters_of(plan), Origin.SYSTEM)
    return TrainedModel(description, tuple(layers))


def unlearned(plan: SynthesisPlan) -> TabularModel:
    """A generative model as the plan would make it, to which each value is as likely."""
    network = architecture(plan.synthesize.network, plan.synthesize.choices)
    layers = (Layer(np.zeros((i, o), np.float32), np.zeros(o, np.float32)) for i, o in network.shapes)
    return TabularModel(network, tuple(layers), Origin.SYSTEM)


def permission(wanted: Training, *audits: Audit) -> Permission:
    duties = tuple(
        Duty(uid=IRI(f"{MODEL}/duty/{i}"), action=IRI(f"{SMALTI}audit"), targets=(), audit=one)
        for i, one in enumerate(audits)
    )
    return Permission(
        uid=IRI("http://example.com/rule"), action=IRI(f"{SMALTI}train"), targets=(Asset(PEOPLE),),
        training=wanted, duties=duties, output=MODEL, where=HERE,
    )  # fmt: skip


def recorded(
    backend: Backend,
    rows: Sequence[Row],
    given: Permission,
    description: Description = DESCRIPTION,
    circumstances: Circumstances | None = None,
) -> tuple[TrainingPlan, TrainingRecords]:
    """The plan on a table, and what the model would see of its respondents."""
    with tempfile.TemporaryDirectory() as folder:
        data, workspace = Path(folder) / "people.csv", Path(folder) / "work"
        workspace.mkdir()
        write_csv(data, HEADER, rows)
        source = Source(PEOPLE, data, OutputFormat.CSV, description)
        with closing(backend.open(source, workspace)) as table:
            plan = compile_training(given, source, table, circumstances or Circumstances())
            return plan, training_records(plan, table)


def planned(given: Permission, *arguments: Any) -> TrainingPlan:
    return recorded(LocalBackend(), [], given, *arguments)[0]


# --- Whole runs

TARGET, OUTPUT = "http://example.com/people", "http://example.com/people-model"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/researcher"
NOISE = {"noiseMultiplier": 2, "clippingNorm": 1, "samplingRate": 0.5, "delta": 0.001}
"""The words that make a training private."""


def words(said: dict[str, Any]) -> list[dict[str, Any]]:
    exact = ("recipe", "labelColumn", "respondent", "noiseMultiplier")
    return [
        {
            "leftOperand": f"smalti:{word}",
            "operator": "eq" if word in exact else "lteq",
            "rightOperand": value,
        }
        for word, value in said.items()
    ]


def policy(
    folder: Path,
    *,
    bound: float = 0.9,
    attacks: Sequence[str] = ("loss",),
    noise: bool = True,
    is_audited: bool = True,
    budget: float = 8,
    name: str = "policy",
    **said: Any,
) -> Path:
    """To train on people, with noise or without; unless it is said, under the duty to audit."""
    refinements = {
        "recipe": "softmax-regression",
        "labelColumn": {"@id": f"{TARGET}/class"},
        "respondent": {"@id": "smalti:oneRowEach"},
        "epochs": 1,
        **(NOISE if noise else {}),
        **said,
    }
    tried = {"leftOperand": "smalti:attack", "operator": "isAllOf", "rightOperand": list(attacks)}
    action = {
        "rdf:value": {"@id": "smalti:audit"},
        "refinement": [tried, *words({"attackAdvantage": bound})],
    }
    document = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": "http://example.com/policy/model",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": "http://example.com/policy/model/1",
                "target": TARGET,
                "assignee": USER,
                "action": [{"rdf:value": {"@id": "smalti:train"}, "refinement": words(refinements)}],
                **({"constraint": words({"budgetEpsilon": budget, "budgetDelta": 0.1})} if noise else {}),
                **({"duty": [{"action": [action]}]} if is_audited else {}),
                "output": OUTPUT,
            }
        ],
    }
    path = folder / f"{name}.jsonld"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def people(folder: Path, count: int = 400, name: str = "people.csv", *, is_named: bool = False) -> Path:
    """A table whose classes follow from nothing; no two rows are alike. It is described beside it.

    Where it is named, the first column says whom a row is about, from `p0`.
    """
    drawn = random.Random(count)
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        header = ("number", "group", "class")
        writer.writerow(("person", *header) if is_named else header)
        for i in range(count):
            row = (i * 7 % 4999, "ab"[i % 2], drawn.choice("xy"))
            writer.writerow((f"p{i}", *row) if is_named else row)
    integer = {"base": "integer", "minimum": 0, "maximum": 5000}
    said = {
        "@context": ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}],
        "url": name,
        "tableSchema": {
            "columns": [
                *([{"name": "person", "datatype": "string"}] if is_named else []),
                {"name": "number", "datatype": integer},
                {"name": "group", "datatype": "string", "csvw-eo:keyValues": ["a", "b"]},
                {"name": "class", "datatype": "string", "csvw-eo:keyValues": ["x", "y"]},
            ]
        },
    }
    (folder / f"{name}-metadata.json").write_text(json.dumps(said), encoding="utf-8")
    return path


def run(folder: Path, data: Path, name: str = "out", **more: Any) -> smalti.Outcome:
    """A whole run, but for the overfitted control, which decides nothing and takes most of the time.

    It is trained for a hundredth of its steps. `test_control` and the documentation train it for all.
    """
    given = more.pop("policy", None) or policy(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overfitted, "STEPS", overfitted.STEPS // 100)
        return smalti.run(
            given,
            **{
                "data": {TARGET: data},
                "party": USER,
                "owner": OWNER,
                "out": folder / name,
                "registry": folder / "r.sqlite",
                **more,
            },
        )


def numbers_of(network: bytes) -> dict[str, bytes]:
    """The parameters in a file; what is registered says more in its header than what is kept."""
    return {name: array.tobytes() for name, array in safetensors.numpy.load(network).items()}


def registry(folder: Path) -> smalti.Registry:
    return smalti.Registry.open(folder / "r.sqlite")
