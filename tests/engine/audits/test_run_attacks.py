"""Every attack that scores single records, through a whole run on real data. About 6 s of CPU in all."""

import json
import shutil
from pathlib import Path

import pytest
from model_worlds import registry

import smalti
from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training.figures import figures_from_json
from smalti.engine.training.plan import TrainingPlan
from smalti.vocab.terms import IRI

EXAMPLES = Path(__file__).parents[3] / "examples"
SURVEY = "http://example.com/survey/contraceptive"
MODEL = f"{SURVEY}-model-without-noise"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/researcher"


def contraceptive(folder: Path, *attacks: str, bound: float) -> smalti.Outcome:
    """A softmax regression, which has no room for memories, on a survey of 1,473 people."""
    text = (EXAMPLES / "policies" / "contraceptive-model-without-noise.jsonld").read_text("utf-8")
    document = json.loads(text.replace("mlp-256-256", "softmax-regression"))
    (rule,) = document["permission"]
    epochs = next(one for one in rule["action"][0]["refinement"] if one["leftOperand"] == "smalti:epochs")
    epochs["rightOperand"] = 3
    attack, advantage = rule["duty"][0]["action"][0]["refinement"]
    attack["rightOperand"], advantage["rightOperand"] = list(attacks), bound
    policy = folder / "policy.jsonld"
    policy.write_text(json.dumps(document), encoding="utf-8")
    for name in ("contraceptive.csv", "contraceptive.csv-metadata.json"):
        shutil.copy(EXAMPLES / "data" / name, folder)
    return smalti.run(
        policy, data={SURVEY: folder / "contraceptive.csv"}, party=USER, owner=OWNER, purpose="statistical",
        out=folder / "out", registry=folder / "r.sqlite",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("attacks", "part"),
    [
        pytest.param(("lira-offline", "loss", "rmia", "shokri"), "1/5", marks=pytest.mark.slow),
        pytest.param(("lira-offline",), "1/2", marks=pytest.mark.slow),
        pytest.param(("rmia",), "1/2", marks=pytest.mark.slow),
        pytest.param(("lira-online",), "1/2", marks=pytest.mark.slow),
        pytest.param(("shokri",), "1/5", marks=pytest.mark.slow),
    ],
    ids="+".join,
)
def test_an_attack_is_made_on_real_data(tmp_path: Path, attacks: tuple[str, ...], part: str) -> None:
    outcome = contraceptive(tmp_path, *attacks, bound=0.5)
    assert outcome.version is not None, outcome.decision.reasons
    assert isinstance(outcome.plan, TrainingPlan)
    assert outcome.plan.train.part == part
    (attempt,) = registry(tmp_path).attempts(IRI(MODEL))
    assert (attempt.state, attempt.reason) == (AttemptState.MET, None)
    figures = figures_from_json(attempt.figures)
    assert tuple(one.attack for one in figures.results) == attacks
    for one in figures.results:
        assert one.finds_leak, one.attack
        assert one.leak_advantage > 0.1, "half of the records are memorised"
        assert one.members == one.non_members > 1473 / 6
