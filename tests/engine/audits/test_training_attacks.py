"""Attacks on many records, on attributes and on the noise of training, through whole runs.

The run that is not slow takes about 2 s of CPU.
"""

import json
import shutil
from pathlib import Path

import pytest
from model_worlds import OUTPUT, TARGET, people, policy, registry, run

import smalti
from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training.figures import AuditFigures, figures_from_json
from smalti.errors import UsageError
from smalti.transforms.membership import registry as attacks
from smalti.vocab.terms import IRI

EXAMPLES = Path(__file__).parents[3] / "examples"
SURVEY = "http://example.com/survey/contraceptive"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/researcher"
ON_MODEL = ("model-inversion", "set-membership", "single-membership")


def measured(folder: Path, output: str) -> tuple[AttemptState, AuditFigures]:
    (attempt,) = registry(folder).attempts(IRI(output))
    return attempt.state, figures_from_json(attempt.figures)


def test_a_run_is_judged_by_attacks_on_many_records_and_on_attributes(tmp_path: Path) -> None:
    asked = policy(tmp_path, attacks=["model-inversion", "single-membership"], bound=0.95)
    outcome = run(tmp_path, people(tmp_path, 1300), policy=asked)
    assert outcome.version is not None, outcome.decision.reasons
    state, found = measured(tmp_path, OUTPUT)
    assert state is AttemptState.MET
    assert [one.attack for one in found.results] == ["model-inversion", "single-membership"]
    assert all(one.finds_leak for one in found.results)
    seen = smalti.verify(tmp_path / "out", registry=registry(tmp_path))
    assert "the sentences of the certificate match its figures" in seen.check.recounted
    told = json.loads(outcome.version.certificate)["guarantee"]["statement"]
    assert "the attacks model-inversion, single-membership were tried" in told
    assert "trainings with hardly any noise" not in told


def test_an_attack_that_nothing_implements_is_refused_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    implemented = {name: attack for name, attack in attacks.ATTACKS.items() if name != "loss"}
    monkeypatch.setattr(attacks, "ATTACKS", implemented)
    asked = policy(tmp_path, attacks=["loss"])
    with pytest.raises(UsageError, match="there is no attack `loss`"):
        run(tmp_path, people(tmp_path, 60), policy=asked)
    assert not registry(tmp_path).ledger.budget(IRI(TARGET)).charges
    assert not registry(tmp_path).attempts(IRI(OUTPUT))


def contraceptive(folder: Path, policy_name: str, attacks: tuple[str, ...], bound: float) -> smalti.Outcome:
    document = json.loads((EXAMPLES / "policies" / policy_name).read_text("utf-8"))
    attack, advantage = document["permission"][0]["duty"][0]["action"][0]["refinement"]
    attack["rightOperand"], advantage["rightOperand"] = list(attacks), bound
    asked = folder / "policy.jsonld"
    asked.write_text(json.dumps(document), encoding="utf-8")
    for name in ("contraceptive.csv", "contraceptive.csv-metadata.json"):
        shutil.copy(EXAMPLES / "data" / name, folder)
    return smalti.run(
        asked, data={SURVEY: folder / "contraceptive.csv"}, party=USER, owner=OWNER, purpose="statistical",
        out=folder / "out", registry=folder / "r.sqlite",
    )  # fmt: skip


@pytest.mark.slow
def test_a_training_with_noise_passes_all_of_them(tmp_path: Path) -> None:
    """All but those on sets, of which there are seven: their limit may be 1, by chance alone."""
    attacks = ("differential-identifiability", "loss", "model-inversion", "single-membership")
    outcome = contraceptive(tmp_path, "contraceptive-model.jsonld", attacks, 0.9)
    assert outcome.version is not None, outcome.decision.reasons
    state, found = measured(tmp_path, f"{SURVEY}-model")
    assert state is AttemptState.MET
    assert tuple(one.attack for one in found.results) == attacks
    assert all(one.finds_leak for one in found.results)
    noise = found.results[0].figures[0]
    assert outcome.plan is not None
    stated = outcome.plan.train.loss.advantage
    assert noise.value < stated + 0.2


@pytest.mark.slow
def test_a_training_without_noise_that_memorises_is_found_by_each(tmp_path: Path) -> None:
    name = "contraceptive-model-without-noise.jsonld"
    outcome = contraceptive(tmp_path, name, ON_MODEL, 0.7)  # which a guess can keep with so few records
    assert outcome.version is None
    state, found = measured(tmp_path, f"{SURVEY}-model-without-noise")
    assert state is AttemptState.NOT_MET
    inversion, sets, single = (one.figures[0] for one in found.results)
    assert sets.value > 0.7
    assert single.value > 0.2
    assert inversion.value > 0
