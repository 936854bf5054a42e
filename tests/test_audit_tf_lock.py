"""The environment of `make test-tf`: what the extra asks for is what is locked."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements" / "audit-tf.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}
LOCKED = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))


def test_the_lock_meets_the_core_the_extra_and_its_own_list() -> None:
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["audit-tf"]]
    listed = (ROOT / "requirements" / "audit-tf.in").read_text(encoding="utf-8").splitlines()
    asked += [line for line in listed if line and not line.startswith("#")]
    for requirement in map(Requirement, asked):
        assert requirement.marker is None or requirement.marker.evaluate(PYTHON)
        assert requirement.specifier.contains(LOCKED[requirement.name]), requirement


def test_on_later_pythons_the_extra_asks_for_no_tensorflow() -> None:
    asked = map(Requirement, PROJECT["project"]["optional-dependencies"]["audit-tf"])
    later = PYTHON | {"python_version": "3.12", "python_full_version": "3.12.0"}
    here = {one.name for one in asked if one.marker is None or one.marker.evaluate(later)}
    assert here == {"dp-accounting", "scikit-learn", "scipy"}
