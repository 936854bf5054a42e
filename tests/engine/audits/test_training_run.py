"""Whole trainings: charged, trained once, attacked and published; or nothing but charge and attempt."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from certificates import at, changed, fields, instead, is_found, other, recorded
from effort import is_full
from model_worlds import OUTPUT, OWNER, TARGET, USER, people, policy, registry, run, untrained
from pydantic import TypeAdapter

import smalti
from smalti.engine.binding.run_request import Watch
from smalti.engine.registry import trainings
from smalti.engine.registry.attempts import Attempt, AttemptState
from smalti.engine.registry.commit import publish
from smalti.engine.registry.decision_log import DecisionLog
from smalti.engine.registry.entries import NewVersion, TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.run import driver
from smalti.engine.training import attempt as running
from smalti.engine.training import compile as compiling
from smalti.engine.training import examine, records
from smalti.engine.training.checkpoint import Begun, Checkpoint
from smalti.engine.training.figures import figures_from_json
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.training.records import TrainingRecords, training_records
from smalti.engine.training.report import TrainingReport
from smalti.errors import DataError, InternalError, UsageError
from smalti.policy.decide.decision import Decision
from smalti.transforms.learning.model_files import load
from smalti.transforms.learning.models import TrainedModel
from smalti.transforms.learning.randomness import Origin
from smalti.transforms.membership.planted_leak import MemorisingTrainer
from smalti.vocab.terms import IRI

SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())


def attempts(folder: Path) -> tuple[Attempt, ...]:
    return registry(folder).attempts(IRI(OUTPUT))


def states(folder: Path) -> list[AttemptState]:
    return [one.state for one in attempts(folder)]


def charges(folder: Path) -> int:
    return len(registry(folder).ledger.budget(IRI(TARGET)).charges)


def models(folder: Path) -> int:
    """Targets that others may use."""
    return len(registry(folder).versions(IRI(OUTPUT)))


def left_nothing(folder: Path, name: str = "out") -> bool:
    return not models(folder) and not (folder / name).exists() and not [*folder.glob("**/*.safetensors")]


def failing(*given: Any, **named: Any) -> Any:
    raise RuntimeError("wombat")


def interrupted(*given: Any, **named: Any) -> Any:
    raise KeyboardInterrupt


def room_of(phase: str) -> Any:
    """The module that calls a phase."""
    return next(module for module in (running, driver, records, compiling) if hasattr(module, phase))


# --- One training, for real --------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, smalti.Outcome]:
    """One training with noise that passes its audit by two attacks, one of them with shadow models."""
    folder = tmp_path_factory.mktemp("world")
    asked = policy(folder, attacks=["loss", "lira-online"], bound=0.95)
    return folder, run(folder, people(folder), policy=asked)


def test_a_model_that_passes_is_registered_with_its_certificate(world: tuple[Path, smalti.Outcome]) -> None:
    folder, outcome = world
    assert outcome.version is not None, outcome.decision.reasons
    certificate = json.loads(outcome.version.certificate)
    jsonschema.validate(certificate, SCHEMA)
    assert certificate["guarantee"]["model"] == "differential-privacy"
    assert certificate["guarantee"]["composition"]["releases"] == 1
    assert models(folder) == 1
    (attempt,) = attempts(folder)
    assert (attempt.state, attempt.number) == (AttemptState.MET, 1)
    figures = figures_from_json(attempt.figures)
    assert [one.attack for one in figures.results] == ["lira-online", "loss"]
    assert all(one.finds_leak for one in figures.results)
    model = load(outcome.version.path / outcome.version.files[0].name)
    assert model.description.randomness is Origin.SYSTEM, "its noise has no seed"


def test_a_model_is_verified_with_the_registry_and_without(world: tuple[Path, smalti.Outcome]) -> None:
    folder, _ = world
    seen = smalti.verify(folder / "out", registry=registry(folder))
    assert seen.version is not None
    assert "that the stated loss matches the stated noise" in seen.check.recounted
    alone = smalti.verify(folder / "out", registry=folder / "another.sqlite")
    assert alone.version is None
    assert "that the model was trained and audited as stated" in alone.check.attested


def test_each_field_of_a_model_that_says_something_else_is_found(
    world: tuple[Path, smalti.Outcome],
) -> None:
    """Also where certificate and record were changed alike; but for what the certificate alone says."""
    folder, _ = world
    known = registry(folder)
    document = json.loads((folder / "out" / "certificate.jsonld").read_text())
    on_trust = {"wasGeneratedBy/qualifiedAssociation/agent/softwareVersion"}
    found = fields(document)
    tried = {one for one in found if is_full() or one.startswith("guarantee/")} - on_trust
    assert {"guarantee/training/noiseMultiplier", "guarantee/audit/bounds/*/most"} <= tried
    for name in sorted(tried):
        value = other(at(document, found[name][0]))[0]
        with instead(folder, "out", certificate=changed(document, found[name][0], value)):
            assert is_found(folder, "out", known), name
    assert not is_found(folder, "out", known)


def test_a_plan_that_states_less_than_its_noise_loses_is_found(world: tuple[Path, smalti.Outcome]) -> None:
    folder, _ = world
    known, plan = registry(folder), json.loads(recorded(folder, "out"))
    document = json.loads((folder / "out" / "certificate.jsonld").read_text())
    step = next(one for one in plan["steps"] if one["step"] == "train")
    step["private"]["noise_multiplier"] = "0.5"
    lie = changed(document, ("guarantee", "training", "noiseMultiplier"), "0.5")
    with instead(folder, "out", plan=json.dumps(plan), certificate=lie):
        assert is_found(folder, "out", known)


def test_other_weights_are_found(world: tuple[Path, smalti.Outcome]) -> None:
    folder, _ = world
    (model,) = (folder / "out").glob("*.safetensors")
    before = model.read_bytes()
    try:
        model.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        assert is_found(folder, "out", registry(folder))
    finally:
        model.write_bytes(before)


def test_no_figure_is_public(world: tuple[Path, smalti.Outcome]) -> None:
    _, outcome = world
    assert outcome.version is not None
    text = outcome.version.certificate
    assert "areaUnderCurve" not in text
    assert "Accuracy" not in text
    assert outcome.report is None or outcome.version.report is not None


def test_the_ledger_is_charged_once_with_what_the_plan_states(world: tuple[Path, smalti.Outcome]) -> None:
    folder, outcome = world
    assert isinstance(outcome.plan, TrainingPlan)
    stated = outcome.plan.train.loss
    assert stated is not None
    (charge,) = registry(folder).ledger.budget(IRI(TARGET)).charges
    assert (charge.epsilon, charge.delta) == (stated.epsilon, stated.delta)
    assert (str(charge.loss.pure), str(charge.loss.mu_squared)) == (stated.pure, stated.mu_squared)
    assert charge.selection_delta == stated.selection_delta
    assert charge.run == attempts(folder)[0].run


# --- What becomes of others: with that model in the place of a training ---------------------------


class Trainings:
    """Stands for training, and counts."""

    def __init__(self, model: TrainedModel | None) -> None:
        self.model = model
        """None: one that knows nothing, of the plan's form."""
        self.number = 0

    def __call__(self, plan: TrainingPlan, *given: Any) -> TrainedModel:
        self.number += 1
        return self.model or untrained(plan)


@pytest.fixture
def trained(world: tuple[Path, smalti.Outcome], monkeypatch: pytest.MonkeyPatch) -> Trainings:
    version = world[1].version
    assert version is not None
    found = Trainings(load(version.path / version.files[0].name))
    monkeypatch.setattr(running, "target", found)
    return found


@pytest.fixture
def untaught(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    """For plans of any form."""
    found = Trainings(None)
    monkeypatch.setattr(running, "target", found)
    return found


@pytest.mark.usefixtures("trained")
def test_a_figure_above_its_bound_refuses(tmp_path: Path) -> None:
    outcome = run(tmp_path, people(tmp_path), policy=policy(tmp_path, bound=0.01))
    assert not outcome.decision.is_permitted
    assert (outcome.version, outcome.plan, outcome.report) == (None, None, None)
    assert states(tmp_path) == [AttemptState.NOT_MET]
    assert charges(tmp_path) == 1, "what was learned was learned"
    assert left_nothing(tmp_path)
    assert registry(tmp_path).full_owners(IRI(TARGET)) == {OWNER}, "the figures are somebody's"
    (reason,) = outcome.decision.reasons
    assert "did not pass the audit" in reason.text
    assert not any(letter.isdigit() for letter in reason.text), "by how much is the owner's to know"


@pytest.mark.usefixtures("trained")
def test_an_audit_that_does_not_find_the_leak_is_not_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examine, "MemorisingTrainer", lambda classes: MemorisingTrainer(classes, 1e-9))
    outcome = run(tmp_path, people(tmp_path))
    assert not outcome.decision.is_permitted
    assert states(tmp_path) == [AttemptState.INCONCLUSIVE]
    assert left_nothing(tmp_path)


@pytest.mark.usefixtures("trained")
def test_later_attempts_are_judged_at_smaller_errors(tmp_path: Path) -> None:
    data, asked = people(tmp_path), policy(tmp_path, noise=False)
    for name in ("one", "two"):
        assert run(tmp_path, data, name, policy=asked).decision.is_permitted
    first, second = (figures_from_json(one.figures) for one in attempts(tmp_path))
    assert (first.error, second.error) == ("1/40", "1/120")
    limits = [one.results[0].figures[0] for one in (first, second)]
    widths = [one.limit - one.value for one in limits if one.limit and one.value is not None]
    assert widths[0] < widths[1]
    assert charges(tmp_path) == 0, "nothing bounds the loss of a training without noise"


@pytest.mark.usefixtures("trained")
def test_what_does_not_fit_the_budget_is_not_trained(tmp_path: Path, trained: Trainings) -> None:
    outcome = run(tmp_path, people(tmp_path), policy=policy(tmp_path, budget=0.01))
    assert not outcome.decision.is_permitted
    assert (trained.number, charges(tmp_path), states(tmp_path)) == (0, 0, [])


PHASES = [
    ("compile_training", 0, []),
    ("training_records", 0, []),
    ("prepare", 1, [AttemptState.FAILED]),
    ("refusal", 0, []),
    ("target", 1, [AttemptState.FAILED]),
    ("verdict", 1, [AttemptState.FAILED]),
    ("save", 1, [AttemptState.MET]),
    ("new_version", 1, [AttemptState.MET]),
    ("publish", 1, [AttemptState.MET]),
]


@pytest.mark.parametrize(("phase", "charged", "ended"), PHASES, ids=[name for name, *_ in PHASES])
@pytest.mark.usefixtures("trained")
def test_an_error_leaves_no_target(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    phase: str,
    charged: int,
    ended: list[AttemptState],
) -> None:
    monkeypatch.setattr(room_of(phase), phase, failing)
    with pytest.raises((InternalError, RuntimeError)):
        run(tmp_path, people(tmp_path))
    assert (charges(tmp_path), states(tmp_path)) == (charged, ended)
    assert left_nothing(tmp_path)


@pytest.mark.parametrize("phase", ["target", "verdict"])
@pytest.mark.usefixtures("trained")
def test_ctrl_c_leaves_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    monkeypatch.setattr(room_of(phase), phase, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, people(tmp_path))
    assert states(tmp_path) == [AttemptState.STOPPED]
    assert left_nothing(tmp_path)


@pytest.mark.parametrize("count", [0, 1, 13])
def test_too_little_data_for_a_private_model_is_told_to_nobody(
    tmp_path: Path, trained: Trainings, count: int
) -> None:
    """An error for it would tell for nothing whether one more is in the data."""
    outcome = run(tmp_path, people(tmp_path, count), checkpoint=tmp_path / "kept")
    assert (trained.number, charges(tmp_path), states(tmp_path)) == (0, 1, [AttemptState.INCONCLUSIVE])
    assert (outcome.version, outcome.plan, outcome.report) == (None, None, None)
    assert left_nothing(tmp_path)
    (reason,) = outcome.decision.reasons
    assert reason.text == refused_by_figures(tmp_path)


@pytest.mark.usefixtures("trained")
def test_the_phases_of_a_private_training_do_not_tell_how_far_it_came(tmp_path: Path) -> None:
    def phases(count: int) -> list[str]:
        name, watch = f"people-{count}.csv", Watch()
        asked = policy(tmp_path, bound=0.01)
        outcome = run(tmp_path, people(tmp_path, count, name), f"out-{count}", policy=asked, watch=watch)
        assert outcome.version is None
        return [one.phase for one in watch.timings]

    refused = phases(400)
    assert phases(13) == refused
    assert refused[-2:] == ["charge", "train and audit"]
    assert states(tmp_path) == [AttemptState.NOT_MET, AttemptState.INCONCLUSIVE]


def test_the_phases_of_a_training_without_noise_are_told(tmp_path: Path, untaught: Trainings) -> None:
    watch = Watch()
    data = people(tmp_path)
    run(tmp_path, data, policy=policy(tmp_path, noise=False), watch=watch)
    phases = {one.phase for one in watch.timings}
    assert {"train", "attack the model", "plant a leak", "judge"} <= phases
    assert "train shadow models" not in phases, "`loss` asks none"
    with pytest.raises(UsageError, match="it depends on random numbers, which are never drawn again"):
        smalti.verify(tmp_path / "out", registry=registry(tmp_path), data=data)


def refused_by_figures(folder: Path) -> str:
    """What is said to whoever asked for a model with a figure above its bound."""
    asked = policy(folder, name="strict", bound=0.01)
    (reason,) = run(folder, people(folder, name="more.csv"), "more", policy=asked).decision.reasons
    assert states(folder)[-1] is AttemptState.NOT_MET
    return reason.text


@pytest.mark.parametrize("count", [0, 1, 13])
def test_too_little_data_for_a_model_without_noise_is_an_error_before_anything(
    tmp_path: Path, untaught: Trainings, count: int
) -> None:
    with pytest.raises(DataError) as caught:
        run(tmp_path, people(tmp_path, count), policy=policy(tmp_path, noise=False))
    said = str(caught.value)
    assert "too little" in said
    assert not any(letter.isdigit() for letter in said), "how many there are is the owner's to know"
    assert (untaught.number, states(tmp_path)) == (0, [])
    assert left_nothing(tmp_path)


# --- Taken up again ------------------------------------------------------------------------------


def broken_off(folder: Path, data: Path, phase: str, fault: Any = interrupted, **more: Any) -> None:
    """A run with a checkpoint that ends in a phase."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room_of(phase), phase, fault)
        with pytest.raises((KeyboardInterrupt, InternalError, RuntimeError)):
            run(folder, data, checkpoint=folder / "kept", **more)


@pytest.mark.parametrize("fault", [interrupted, failing])
def test_a_model_is_trained_once_for_one_charge(tmp_path: Path, trained: Trainings, fault: Any) -> None:
    # No second charge would fit.
    data, asked = people(tmp_path), policy(tmp_path, budget=2)
    broken_off(tmp_path, data, "verdict", fault, policy=asked)
    assert (trained.number, charges(tmp_path)) == (1, 1)
    assert ((tmp_path / "kept").stat().st_mode & 0o777) == 0o700
    outcome = run(tmp_path, data, checkpoint=tmp_path / "kept", policy=asked)
    assert outcome.decision.is_permitted, outcome.decision.reasons
    assert (trained.number, charges(tmp_path), models(tmp_path)) == (1, 1, 1)
    (attempt,) = attempts(tmp_path)
    assert (attempt.number, attempt.state) == (1, AttemptState.MET)
    assert not run(tmp_path, data, "again", policy=asked).decision.is_permitted, "no second one fits"


def test_a_training_that_did_not_come_to_a_model_is_charged_anew(
    tmp_path: Path, trained: Trainings
) -> None:
    data = people(tmp_path)
    broken_off(tmp_path, data, "target")
    assert run(tmp_path, data, checkpoint=tmp_path / "kept").decision.is_permitted
    assert (trained.number, charges(tmp_path)) == (1, 2)
    assert states(tmp_path) == [AttemptState.STOPPED, AttemptState.MET]


@pytest.mark.parametrize("change", ["plan", "data", "registry"])
def test_a_checkpoint_of_something_else_is_not_taken(
    tmp_path: Path, trained: Trainings, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("SMALTI_SECRET", "0123456789abcdef" * 4)
    data = people(tmp_path)
    broken_off(tmp_path, data, "verdict")
    more: dict[str, Any] = {}
    if change == "plan":
        more["policy"] = policy(tmp_path, name="other", bound=0.8)
    elif change == "data":
        data = people(tmp_path, 401)
    else:
        more["registry"] = tmp_path / "other.sqlite"
    assert run(tmp_path, data, checkpoint=tmp_path / "kept", **more).decision.is_permitted
    assert trained.number == 2
    assert charges(tmp_path) == (1 if change == "registry" else 2)


def test_nothing_is_judged_twice(
    tmp_path: Path, trained: Trainings, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = people(tmp_path)
    broken_off(tmp_path, data, "publish")
    assert states(tmp_path) == [AttemptState.MET]
    monkeypatch.setattr(running, "verdict", failing)
    assert run(tmp_path, data, checkpoint=tmp_path / "kept").decision.is_permitted
    assert (trained.number, charges(tmp_path), models(tmp_path)) == (1, 1, 1)
    assert states(tmp_path) == [AttemptState.MET]


def test_a_refused_model_is_gone_and_another_one_is_charged(tmp_path: Path, trained: Trainings) -> None:
    data, asked = people(tmp_path), policy(tmp_path, bound=0.01)
    for number in (1, 2):
        outcome = run(tmp_path, data, policy=asked, checkpoint=tmp_path / "kept")
        assert not outcome.decision.is_permitted
        assert not (tmp_path / "kept").exists()
        assert (trained.number, charges(tmp_path)) == (number, number)
        assert states(tmp_path) == [AttemptState.NOT_MET] * number


def test_a_verdict_is_not_taken_back_by_dying_after_it(
    tmp_path: Path, trained: Trainings, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, asked = people(tmp_path), policy(tmp_path, bound=0.01)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "forget", interrupted)  # as if killed before the model was removed
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, data, policy=asked, checkpoint=tmp_path / "kept")
    assert states(tmp_path) == [AttemptState.NOT_MET]
    monkeypatch.setattr(running, "verdict", failing)
    assert not run(tmp_path, data, policy=asked, checkpoint=tmp_path / "kept").decision.is_permitted
    assert (trained.number, charges(tmp_path), states(tmp_path)) == (1, 1, [AttemptState.NOT_MET])
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("trained")
def test_ctrl_c_after_a_verdict_changes_nothing_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def late(*given: Any) -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_too_little", late)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, people(tmp_path), policy=policy(tmp_path, bound=0.01), checkpoint=tmp_path / "kept")
    assert states(tmp_path) == [AttemptState.NOT_MET]
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("trained")
def test_a_refusal_is_written_down_after_its_attempt_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[AttemptState]] = []

    def full(log: DecisionLog, decision: Decision, *_: object, **__: object) -> None:
        if not decision.is_permitted:
            seen.append(states(tmp_path))
            raise KeyboardInterrupt

    monkeypatch.setattr(DecisionLog, "append", full)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, people(tmp_path), policy=policy(tmp_path, bound=0.01), checkpoint=tmp_path / "kept")
    assert seen == [states(tmp_path)] == [[AttemptState.NOT_MET]]


@pytest.mark.usefixtures("trained")
def test_a_refused_model_is_gone_where_the_registry_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainings.Trainings, "end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, people(tmp_path), policy=policy(tmp_path, bound=0.01), checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.usefixtures("trained")
def test_a_file_that_changed_during_the_run_is_charged_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = people(tmp_path)

    def changing(*given: Any) -> TrainingRecords:
        data.write_text(data.read_text() + data.read_text().splitlines()[-1] + "\n")
        return training_records(*given)

    monkeypatch.setattr(records, "training_records", changing)
    with pytest.raises(DataError, match="changed during the run"):
        run(tmp_path, data)
    assert (charges(tmp_path), states(tmp_path)) == (0, [])
    assert left_nothing(tmp_path)


# What a checkpoint is held against


def test_a_model_of_other_records_is_not_taken(
    tmp_path: Path, trained: Trainings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same files by the same plan: somebody may have withdrawn."""
    data = people(tmp_path)
    broken_off(tmp_path, data, "publish")

    def others(*given: Any) -> TrainingRecords:
        found = training_records(*given)
        return TrainingRecords(found.features, 1 - found.labels)

    monkeypatch.setattr(records, "training_records", others)
    assert run(tmp_path, data, checkpoint=tmp_path / "kept").decision.is_permitted
    assert (trained.number, charges(tmp_path)) == (2, 2)


@pytest.mark.parametrize("who", ["p7", "p400"], ids=["of the data", "nobody of the data"])
def test_a_model_is_not_taken_once_somebody_withdrew(tmp_path: Path, untaught: Trainings, who: str) -> None:
    data = people(tmp_path, is_named=True)
    asked = policy(tmp_path, respondent={"@id": f"{TARGET}/person"}, noise=False)
    assert run(tmp_path, data, policy=asked).decision.is_permitted
    broken_off(tmp_path, data, "publish", policy=asked, out=tmp_path / "two")
    registry(tmp_path).withdraw(IRI(TARGET), [who], by=IRI(OWNER))
    again = run(tmp_path, data, "two", policy=asked, checkpoint=tmp_path / "kept")
    assert again.decision.is_permitted
    assert untaught.number == 3


@pytest.mark.usefixtures("trained")
def test_who_withdraws_between_is_compared_with_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, seen = people(tmp_path), list[NewVersion]()
    broken_off(tmp_path, data, "publish")
    between = datetime.now(UTC)

    def watched(known: Registry, stage: Any, record: NewVersion) -> TargetVersion:
        seen.append(record)
        return publish(known, stage, record)

    monkeypatch.setattr(driver, "publish", watched)
    run(tmp_path, data, checkpoint=tmp_path / "kept")
    (record,) = seen
    assert isinstance(record.report, TrainingReport)
    assert record.started_at is not None
    assert record.started_at == record.report.withdrawn_at < between


def tampered(folder: Path, how: str) -> None:
    """Another checkpoint, made by somebody without the registry's secret; but for `seeded`."""
    state, model = folder / "kept" / "state.json", folder / "kept" / "target.safetensors"
    said = json.loads(state.read_text())
    if how == "weights":
        content = model.read_bytes()
        model.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif how == "seeded":
        trained, begun = load(model), checkpoint_of(said)
        seeded = replace(trained, description=replace(trained.description, randomness=Origin.SEED))
        Checkpoint(folder / "kept", registry(folder)).keep(begun, seeded)
    elif how == "code":
        state.write_text(json.dumps({**said, "code": "hmac-sha256:" + "0" * 64}))
    else:
        said["begun"][how] = {"seed": 1, "at": "2020-01-01T00:00:00Z"}[how]
        state.write_text(json.dumps(said))


def checkpoint_of(said: dict[str, Any]) -> Begun:
    return TypeAdapter(Begun).validate_python(said["begun"])


@pytest.mark.parametrize("how", ["weights", "seed", "at", "code", "seeded"])
def test_a_checkpoint_that_was_tampered_with_is_not_taken(
    tmp_path: Path, trained: Trainings, how: str
) -> None:
    data = people(tmp_path)
    broken_off(tmp_path, data, "publish")
    tampered(tmp_path, how)
    assert run(tmp_path, data, checkpoint=tmp_path / "kept").decision.is_permitted
    assert (trained.number, charges(tmp_path)) == (2, 2)


def test_an_attempt_that_is_taken_up_keeps_its_number(tmp_path: Path, untaught: Trainings) -> None:
    data, asked = people(tmp_path), policy(tmp_path, noise=False)
    run(tmp_path, data, policy=asked)
    broken_off(tmp_path, data, "verdict", policy=asked, out=tmp_path / "two")
    run(tmp_path, data, "two", policy=asked, checkpoint=tmp_path / "kept")
    figures = figures_from_json(attempts(tmp_path)[1].figures)
    assert (untaught.number, figures.attempt, figures.error) == (2, 2, "1/120")


@pytest.mark.usefixtures("trained")
def test_one_charge_makes_one_version(tmp_path: Path) -> None:
    data, kept = people(tmp_path), tmp_path / "kept"
    broken_off(tmp_path, data, "publish")
    shutil.copytree(kept, tmp_path / "copy")
    assert run(tmp_path, data, checkpoint=kept).decision.is_permitted
    assert not kept.exists()
    with pytest.raises(UsageError, match="registered already"):
        run(tmp_path, data, "again", checkpoint=tmp_path / "copy")
    assert (models(tmp_path), charges(tmp_path)) == (1, 1)
    assert not (tmp_path / "again").exists()
    assert not (tmp_path / "copy").exists()


@pytest.mark.usefixtures("trained")
def test_a_run_that_died_as_it_was_registered_is_not_registered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = people(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "forget", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, data, checkpoint=tmp_path / "kept")
    assert models(tmp_path) == 1
    with pytest.raises(UsageError, match="registered already"):
        run(tmp_path, data, "again", checkpoint=tmp_path / "kept")
    assert (models(tmp_path), charges(tmp_path)) == (1, 1)


@pytest.mark.parametrize(
    ("recorded", "name"),
    [("charge", "party"), ("attempt", "party"), ("charge", "policy"), ("attempt", "rule")],
)
def test_what_others_began_is_not_taken(
    tmp_path: Path, untaught: Trainings, recorded: str, name: str
) -> None:
    data, is_charged = people(tmp_path), recorded == "charge"
    asked = policy(tmp_path, noise=is_charged, is_audited=not is_charged)
    broken_off(tmp_path, data, "publish", policy=asked)
    said = {
        "party": USER,
        "policy": "http://example.com/policy/model",
        "rule": "http://example.com/policy/model/1",
    }
    asked.write_text(asked.read_text().replace(f'"{said[name]}"', f'"{said[name]}-2"'))
    party = f"{USER}-2" if name == "party" else USER
    assert run(
        tmp_path, data, policy=asked, party=party, checkpoint=tmp_path / "kept"
    ).decision.is_permitted
    assert untaught.number == 2
    assert (charges(tmp_path), len(states(tmp_path))) == ((2, 0) if is_charged else (0, 2))


def test_a_checkpoint_that_others_can_read_is_refused(tmp_path: Path, trained: Trainings) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o755)
    with pytest.raises(UsageError, match="other users may read it"):
        run(tmp_path, people(tmp_path), checkpoint=tmp_path / "kept")
    assert (trained.number, charges(tmp_path), states(tmp_path)) == (0, 0, [])
