"""Requirements beyond k and l in certificates: stated, read and verified, or refused."""

import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import kind_worlds as world
import pytest
from jsonschema import Draft202012Validator
from toys import EVEN, EvenKAnonymity, EvenValues, toys

import smalti
from smalti import transforms
from smalti.engine.anonymization.guarantee import ClassGuarantee, describe_guarantee, stated_guarantee
from smalti.engine.anonymization.stated_requirements import requirement_from_object, requirement_to_object
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.commit import CERTIFICATE_NAME
from smalti.errors import GuaranteeError
from smalti.transforms.base import RECURSIVE_DIVERSITY, Guarantee, Requirement
from smalti.transforms.requirements import registry

__all__ = ["toys"]
pytestmark = pytest.mark.usefixtures("toys")

SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


class Several(EvenValues):
    """A requirement with a parameter of each type."""

    __slots__ = ()

    name: ClassVar[str] = "several"
    examples: ClassVar[tuple[tuple[int | Fraction | str, ...], ...]] = ((3, Fraction(1, 3), "1/3"),)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "REQUIREMENTS", (*registry.REQUIREMENTS, Several))


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a policy of k-anonymity publishes where its transform promises the toy's requirement, too."""
    monkeypatch.setattr(transforms, "ALL_TRANSFORMS", (EvenKAnonymity, *transforms.ALL_TRANSFORMS))
    world.write(tmp_path, Kind.ANONYMIZATION)
    outcome = world.run(tmp_path, Kind.ANONYMIZATION)
    assert outcome.version is not None
    return outcome.version.path


def certificate(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / CERTIFICATE_NAME).read_text())
    return document


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("t-closeness", ["2/1", "equal"]),
        ("t-closeness", ["-1/2", "equal"]),
        ("t-closeness", ["1/2", "nearly"]),
        ("alpha", [1]),
        ("entropy diversity", [1]),
        ("recursive diversity", [0, 2]),
    ],
)
def test_a_certificate_cannot_promise_what_no_policy_asks(name: str, parameters: list[int | str]) -> None:
    with pytest.raises(GuaranteeError, match="promise nothing"):
        requirement_from_object({"name": name, "parameters": parameters})


@pytest.mark.parametrize("bound", ["0.3333334", "0.99999999", "1000000.5", "1/3"])
def test_a_statement_has_each_digit_of_its_bound(bound: str) -> None:
    at_least_two = Requirement(RECURSIVE_DIVERSITY, (Fraction(bound), 2))
    guarantee = Guarantee("l-diversity", 2, 2, (at_least_two,))
    assert f"below {bound} times" in describe_guarantee(guarantee, ("illness",))


def test_a_requirement_of_tests_is_run_certified_and_verified(output: Path, tmp_path: Path) -> None:
    document = certificate(output)
    Draft202012Validator(SCHEMA).validate(document)
    assert document["guarantee"]["requirements"] == [{"name": EVEN, "parameters": []}]
    assert document["@context"]["requirements"]["@id"] == "s:promisedRequirement"
    for registered in ("r.sqlite", "other.sqlite"):
        seen = smalti.verify(output, registry=tmp_path / registered)
        assert isinstance(seen.guarantee, ClassGuarantee)
        assert seen.guarantee.promised.more == (Requirement(EVEN),)


def test_published_rows_that_miss_it_are_refused(output: Path, tmp_path: Path) -> None:
    """The certificate, changed to promise more than two values of `class`."""
    document = certificate(output)
    document["guarantee"]["requirements"] = [{"name": "distinct values", "parameters": [3]}]
    (output / CERTIFICATE_NAME).write_text(json.dumps(document))
    with pytest.raises(GuaranteeError, match="too few values of `class`"):
        smalti.verify(output, registry=tmp_path / "other.sqlite")


def test_a_requirement_that_nobody_knows_is_refused_by_its_name(output: Path, tmp_path: Path) -> None:
    document = certificate(output)
    document["guarantee"]["requirements"][0]["name"] = "made up"
    (output / CERTIFICATE_NAME).write_text(json.dumps(document))
    with pytest.raises(GuaranteeError, match="cannot verify the requirement `made up`"):
        smalti.verify(output, registry=tmp_path / "other.sqlite")


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(-1, 8), Fraction(2)])
def test_parameters_are_read_as_they_were_written(share: Fraction) -> None:
    requirement = Requirement("several", (3, share, "1/3"))
    guarantee = ClassGuarantee(Guarantee("k-anonymity", 2, None, (requirement,)), ("a",))
    stated = json.loads(json.dumps({"model": "k-anonymity", **guarantee.to_object()}))
    assert stated_guarantee(stated) == guarantee
    rules = {**SCHEMA["$defs"]["classes"], "$defs": SCHEMA["$defs"]}
    Draft202012Validator(rules).validate({**stated, "statement": "it"})


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    "parameters", [[], [3, "1/3"], [3, "1/3", "x", "y"], [3, "1/0", "x"], [3, "a", "x"], ["3", 1, "x"],
                   [3, 1, 1], [3, "1/3\n", "x"]],
)  # fmt: skip
def test_other_parameters_are_refused(parameters: list[int | str]) -> None:
    with pytest.raises(GuaranteeError, match="requirement `several` has other parameters"):
        requirement_from_object({"name": "several", "parameters": parameters})


def test_without_such_requirements_nothing_is_stated() -> None:
    guarantee = ClassGuarantee(Guarantee("l-diversity", 5, 2), ("a",))
    assert "requirements" not in guarantee.to_object()
    assert guarantee.terms == {}


@pytest.mark.parametrize("kind", registry.REQUIREMENTS, ids=lambda kind: kind.name)
def test_every_requirement_can_be_stated(kind: type[EvenValues]) -> None:
    for parameters in kind.examples:
        requirement = Requirement(kind.name, parameters)
        assert requirement_from_object(requirement_to_object(requirement)) == requirement
