"""All attempts count: they share one probability of error, whatever became of them, and each ends once."""

import itertools
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from audit_samples import TARGET, attempt

from smalti.engine.registry.attempts import (
    HIGHEST_CONFIDENCE,
    Attempt,
    AttemptReason,
    AttemptState,
    check_computable,
    error_of_attempt,
    to_record,
)
from smalti.engine.registry.registry import Registry
from smalti.errors import InternalError, PlanError
from smalti.transforms.auditing.epsilon_bounds import clopper_pearson_by_ranks
from smalti.transforms.auditing.limits import Outcomes, advantage, of_two
from smalti.transforms.auditing.scores import Scores
from smalti.vocab.terms import IRI

OTHER = IRI("http://example.com/other")
CONFIDENCE = Decimal("0.95")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def test_the_errors_of_all_attempts_add_up_to_the_whole_one() -> None:
    whole = 1 - Fraction(CONFIDENCE)
    errors = [error_of_attempt(CONFIDENCE, number) for number in range(1, 2001)]
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    assert sum(errors) == whole * Fraction(2000, 2001), "1 / (i (i + 1)) telescopes"


@pytest.mark.parametrize(("confidence", "number"), [("0", 1), ("1", 1), ("0.95", 0), ("0.95", -1)])
def test_there_is_no_attempt_before_the_first(confidence: str, number: int) -> None:
    with pytest.raises(ValueError, match="confidence in"):
        error_of_attempt(Decimal(confidence), number)


@pytest.mark.parametrize(("confidence", "last"), [("0.999999", 999), ("0.95", 223_606), ("1e-30", 999_999)])
def test_an_attempt_with_an_error_that_floats_cannot_hold_is_refused(confidence: str, last: int) -> None:
    check_computable(Decimal(confidence), last)
    assert float(1 - error_of_attempt(Decimal(confidence), last)) < 1
    with pytest.raises(PlanError) as caught:
        check_computable(Decimal(confidence), last + 1)
    assert "lower confidence" in caught.value.way_out
    assert not any(letter.isdigit() for letter in str(caught.value)), "how many there were is the owner's"


def test_limits_can_be_computed_for_every_attempt_that_is_not_refused() -> None:
    error = error_of_attempt(HIGHEST_CONFIDENCE, 999)
    one_of_many = error / 200
    kept = Fraction(1) - Fraction(float(1 - one_of_many))
    assert abs(kept - one_of_many) < one_of_many / 50, "a part of the error survives as a float"
    confidence, draw = float(1 - error), np.random.default_rng(3)
    scores = Scores(draw.normal(1, 1, 2000), draw.normal(0, 1, 2000))
    assert 0 < advantage(scores, confidence).upper < 1
    assert 0 < Outcomes.at(scores, 0.5).precision(confidence).upper < 1
    assert 0 < clopper_pearson_by_ranks(scores, 1e-5, of_two(confidence)).epsilon < math.inf


def test_attempts_at_models_of_one_target_are_counted_together(registry: Registry) -> None:
    numbers = [registry.trainings.begin(attempt(f"run-{i}")).number for i in range(3)]
    assert numbers == [1, 2, 3], "one that never ended counts, too"
    assert registry.trainings.begin(attempt("run-4", target=OTHER)).number == 1
    assert registry.trainings.begin(attempt("run-5", output=OTHER)).number == 4, "under another name, too"
    registry.trainings.end("run-1", AttemptState.STOPPED)
    assert registry.trainings.begin(attempt("run-6")).number == 5
    assert [one.run for one in registry.attempts(TARGET)] == ["run-0", "run-1", "run-2", "run-5", "run-6"]
    assert [one.run for one in registry.attempts(OTHER)] == ["run-4", "run-5"]
    assert len(registry.attempts()) == 6


def read(run: str, target: str, *digests: str) -> Attempt:
    """An attempt that reads files with these digests."""
    made = attempt(run, target=IRI(f"http://example.com/{target}"), output=IRI(f"http://example.com/{run}"))
    return replace(made, inputs=digests)


def test_the_same_bytes_under_another_name_are_counted_together(registry: Registry) -> None:
    assert registry.trainings.begin(read("run-1", "a", "hmac-1")).number == 1
    assert registry.trainings.begin(read("run-2", "b", "hmac-2")).number == 1
    assert registry.trainings.begin(read("run-3", "c", "hmac-1")).number == 2
    assert registry.trainings.begin(read("run-4", "d", "hmac-3", "hmac-1")).number == 3, (
        "one file is enough"
    )
    assert registry.trainings.begin(read("run-5", "a", "hmac-4")).number == 4, "files that changed, as well"
    assert registry.trainings.begin(read("run-6", "e", "hmac-4")).number == 5
    assert registry.trainings.begin(read("run-7", "b", "hmac-2")).number == 2


def test_data_that_turns_out_to_be_the_same_is_counted_together_from_then_on(registry: Registry) -> None:
    for number, target in enumerate(("a", "a", "b")):
        registry.trainings.begin(read(f"run-{number}", target, f"hmac-{target}"))
    assert registry.trainings.begin(read("run-4", "c", "hmac-a", "hmac-b")).number == 4
    assert registry.trainings.begin(read("run-5", "b", "hmac-b")).number == 5


def test_counting_attempts_charges_nothing(registry: Registry) -> None:
    registry.trainings.begin(read("run-1", "a", "hmac-1"))
    assert registry.ledger.budget(IRI("http://example.com/a")).charges == ()


def test_why_there_are_no_figures_is_kept(registry: Registry) -> None:
    registry.trainings.begin(attempt("run"))
    kept = to_record("", AttemptReason.TOO_LITTLE)
    registry.trainings.end("run", AttemptState.INCONCLUSIVE, kept)
    (ended,) = registry.attempts()
    assert (ended.figures, ended.reason) == ("", AttemptReason.TOO_LITTLE)


def test_what_became_of_an_attempt_is_kept(registry: Registry) -> None:
    begun = registry.trainings.begin(attempt("run"))
    assert registry.attempts() == (begun,)
    registry.trainings.end("run", AttemptState.NOT_MET, "{}")
    (ended,) = registry.attempts()
    assert (ended.state, ended.figures) == (AttemptState.NOT_MET, "{}")
    assert ended.ended_at is not None
    assert ended.begun_at == begun.begun_at


def test_an_attempt_ends_once(registry: Registry) -> None:
    registry.trainings.begin(attempt("run"))
    registry.trainings.end("run", AttemptState.NOT_MET)
    for run in ("run", "another"):
        with pytest.raises(InternalError, match="not under way"):
            registry.trainings.end(run, AttemptState.MET)
    assert registry.attempts()[0].state is AttemptState.NOT_MET


def test_a_registry_of_version_3_is_mended_when_it_is_used(registry: Registry, tmp_path: Path) -> None:
    registry.trainings.begin(attempt("run"))
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("DROP TABLE audits")
        connection.execute("UPDATE smalti_meta SET value = '3' WHERE key = 'schema'")
    again = Registry.open(tmp_path / "r.sqlite")
    assert again.attempts() == ()
    assert again.trainings.begin(attempt("run")).number == 1
