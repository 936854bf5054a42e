"""The contract of attacks that score records, for each of their table; and their lists agree."""

import re
from pathlib import Path

import click
import numpy as np
import pytest

from smalti.cli.audit import audit
from smalti.engine.training.attacks import WITH_POOL, WITH_SHADOWS
from smalti.errors import UsageError
from smalti.transforms.auditing.curves import RocCurve
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.attack import Attack, Needs
from smalti.transforms.membership.observation import Observation, ShadowAnswers
from smalti.transforms.membership.registry import ATTACKS
from smalti.transforms.membership.shadow_sets import halves
from smalti.vocab import attacks, words

DOCS = Path(__file__).parents[3] / "docs"
RECORDS, MODELS, CLASSES = 120, 8, 3
each_attack = pytest.mark.parametrize(
    "attack", [entry.attack for entry in ATTACKS.values()], ids=[*ATTACKS]
)


def confident(labels: np.ndarray, sure: np.ndarray, draw: np.random.Generator, dtype: type) -> np.ndarray:
    """Confidences that favour the true class by 4 logits where a model is sure, else by none."""
    logits = draw.normal(size=(*sure.shape, CLASSES))
    logits[..., np.arange(len(labels)), labels] += 4 * sure
    growth = np.exp(logits)
    return (growth / growth.sum(axis=-1, keepdims=True)).astype(dtype)


def observed(seed: int = 0, dtype: type = np.float64) -> tuple[Observation, np.ndarray]:
    """All that any attack needs, of models that overfit their training sets; and who is a member."""
    draw = np.random.default_rng(seed)
    labels = np.arange(RECORDS) % CLASSES
    is_member = draw.permutation(np.arange(RECORDS) < RECORDS // 2)
    answers = []
    for _ in range(2):
        members = halves(RECORDS, MODELS, draw)
        answers.append(ShadowAnswers(labels, confident(labels, members, draw, dtype), members))
    target = confident(labels, is_member, draw, dtype)
    return Observation(labels, target, answers[0], shadow_pool=answers[1]), is_member


@each_attack
def test_an_overfitted_model_gives_its_members_away(attack: Attack) -> None:
    seen, is_member = observed()
    scores = attack.scores(seen)
    assert RocCurve.of(Scores(scores[is_member], scores[~is_member])).area > 0.8


@each_attack
def test_scores_are_one_finite_double_for_each_record_and_the_same_each_time(attack: Attack) -> None:
    seen, _ = observed(1)
    scores = attack.scores(seen)
    assert scores.dtype == np.float64
    assert scores.shape == (RECORDS,)
    assert np.isfinite(scores).all()
    assert np.array_equal(attack.scores(seen), scores)


@each_attack
def test_certain_models_give_finite_scores(attack: Attack) -> None:
    """Confidences of exactly 0 and 1, as float32 has them, of the target and of all shadow models."""
    seen, is_member = observed(2, np.float32)
    certain = np.eye(CLASSES, dtype=np.float32)
    wrong = (seen.labels + 1) % CLASSES
    assert seen.shadows is not None
    assert seen.shadow_pool is not None

    def sure(members: np.ndarray) -> np.ndarray:
        return certain[np.where(members, seen.labels, wrong)]

    shadows, pool = (
        ShadowAnswers(answers.labels, sure(answers.members), answers.members)
        for answers in (seen.shadows, seen.shadow_pool)
    )
    for members in (is_member, np.zeros(RECORDS, np.bool_)):
        scores = attack.scores(Observation(seen.labels, sure(members), shadows, shadow_pool=pool))
        assert np.isfinite(scores).all()


@each_attack
def test_the_order_of_records_does_not_matter(attack: Attack) -> None:
    seen, _ = observed(3)
    order = np.random.default_rng(4).permutation(RECORDS)
    assert seen.shadows is not None
    shadows = ShadowAnswers(
        seen.labels[order], seen.shadows.confidences[:, order], seen.shadows.members[:, order]
    )
    again = Observation(seen.labels[order], seen.target[order], shadows, shadow_pool=seen.shadow_pool)
    assert attack.scores(again) == pytest.approx(attack.scores(seen)[order])


@each_attack
def test_what_is_needed_and_missing_is_named(attack: Attack) -> None:
    seen, _ = observed(5)
    alone = Observation(seen.labels, seen.target)
    if not attack.needs:
        assert np.array_equal(attack.scores(alone), attack.scores(seen))
        return
    with pytest.raises(UsageError, match=rf"the attack {attack.name}: .* missing"):
        attack.scores(alone)
    if Needs.SHADOW_POOL in attack.needs:
        attack.scores(Observation(seen.labels, seen.target, shadow_pool=seen.shadow_pool))
    else:
        attack.scores(Observation(seen.labels, seen.target, seen.shadows))


# --- The lists


def test_the_registry_implements_every_attack_of_the_vocabulary_that_scores_records() -> None:
    scoring = {attack.name: attack.family for attack in attacks.TABLE if attack.family.has_scores}
    assert set(ATTACKS) == set(scoring)
    for name, family in scoring.items():
        assert (ATTACKS[name].judged_as is not None) == (family is attacks.Family.REPEATED)
    assert len(attacks.TABLE) == len(set(words.ATTACKS))


def test_the_vocabulary_knows_what_each_attack_needs() -> None:
    assert {name for name, entry in ATTACKS.items() if entry.attack.needs} == WITH_SHADOWS
    assert {name for name, entry in ATTACKS.items() if Needs.SHADOW_POOL in entry.attack.needs} == WITH_POOL


def test_the_help_names_every_attack_that_scores_records() -> None:
    (option,) = (each for each in audit.commands["model"].params if each.name == "attacks")
    assert isinstance(option, click.Option)
    assert option.help is not None
    assert sorted(option.help.partition(";")[0].split(", ")) == sorted(ATTACKS)


def names_in_first_column(page: str, head: str) -> list[str]:
    """The names in the first column of the table with this head."""
    _, _, rest = (DOCS / page).read_text("utf-8").partition(head)
    rows = rest.partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_the_table_of_attacks_has_each_that_scores_records() -> None:
    listed = names_in_first_column("membership-inference.md", "| `s:attack` | what it is")
    assert sorted(listed) == sorted(ATTACKS)


def test_the_guide_has_each_attack_of_the_vocabulary() -> None:
    listed = names_in_first_column("how-to/audit-a-model.md", "| attack | what is tried")
    assert sorted(listed) == sorted(words.ATTACKS)
