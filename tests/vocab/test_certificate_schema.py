"""The lists of names in the schema of certificates are those of the vocabulary."""

import json
from importlib.resources import files
from typing import Any

from smalti.engine.plan.kinds import Kind, kind_of
from smalti.engine.training.attacks import FIGURES
from smalti.transforms import ALL_TRANSFORMS
from smalti.vocab import words
from smalti.vocab.attacks import OF_SAMPLES
from smalti.vocab.terms import ANONYMIZE

SCHEMA: dict[str, Any] = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())
PARTS = SCHEMA["$defs"]


def audit_names(member: str, *path: str, part: str = "trained") -> list[str]:
    place = PARTS[part]["properties"]["audit"]["properties"][member]["items"]
    for name in path:
        place = place[name]
    names: list[str] = place["enum"]
    return names


def test_models_of_classes_are_the_methods_that_form_classes() -> None:
    methods = [word.name for word in words.words(words.Kind.METHOD) if word.implemented]
    forming = {name for name in methods if kind_of(ANONYMIZE, name) is Kind.ANONYMIZATION}
    assert set(PARTS["classes"]["properties"]["model"]["enum"]) == forming
    assert {transform.method for transform in ALL_TRANSFORMS} == forming


def test_attacks_are_those_that_policies_can_name() -> None:
    of_records = audit_names("attacks", part="synthetic")
    assert set(of_records) == OF_SAMPLES
    assert sorted(audit_names("attacks") + of_records) == sorted(words.ATTACKS)


def test_figures_are_those_that_attacks_have() -> None:
    assert set(audit_names("bounds", "properties", "figure")) == frozenset().union(*FIGURES.values())
