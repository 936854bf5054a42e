"""A run of each kind that is killed at each step: all of its output or nothing, and no charge is lost.

Processes are real. A training learns nothing here, so that it takes no time; `audits/test_run_killed` kills
real ones, with an audit and a checkpoint.
"""

import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import kind_worlds as world
import pytest
from forked import run_forked
from killed_kinds import (
    CHARGED,
    OF_PRODUCTION,
    POINTS,
    PUBLISHED,
    is_past,
    place_of,
    run_and_kill,
    untaught,
)
from kind_worlds import (
    EXAMPLES,
    OWNER,
    TARGET,
    charges,
    is_charged,
    is_whole,
    leftovers,
    output_of,
    registry,
)

import smalti
from smalti.engine.plan.kinds import TABLE, Kind
from smalti.engine.registry import commit
from smalti.vocab.terms import IRI

QUICK = {
    Kind.ANONYMIZATION: ("produce:after", "rename:after"),
    Kind.RELEASE: ("charge:after", "draw:after", "rename:before", "finish:before"),
    Kind.PERTURBATION: ("charge:after", "draw:after", "rename:before", "finish:before"),
    Kind.MASKING: ("produce:after", "rename:after"),
    Kind.TRAINING: ("draw:after", "rename:after"),
}
"""What `make test` kills; the rest is for `make test-full`. All of a kind that is not named."""


def deaths() -> Iterator[object]:
    """Where runs of each kind die; what is not charged has no charge, and draws nothing."""
    for kind in (entry.kind for entry in TABLE):
        for point in POINTS:
            is_of_charge = point.partition(":")[0] in {"charge", "draw"}
            if is_of_charge and kind in EXAMPLES and not is_charged(kind):
                continue
            is_quick = point in QUICK.get(kind, (point,))
            yield pytest.param(
                kind, point, marks=[] if is_quick else [pytest.mark.slow], id=f"{kind}-{point}"
            )


@pytest.mark.parametrize("kind", [entry.kind for entry in TABLE if entry.kind in EXAMPLES])
def test_every_step_is_one_of_the_code(kind: Kind) -> None:
    """Most deaths are tried in `make test-full` alone, where a renamed step would be seen late."""
    steps = {point.partition(":")[0] for point in POINTS} - OF_PRODUCTION.keys()
    steps -= set() if is_charged(kind) else {"draw"}
    for step in sorted(steps):
        owner, name = place_of(step, kind)
        assert callable(getattr(owner, name)), step


def staged(folder: Path) -> list[Path]:
    """What stands in the private folders of dead runs for publication."""
    return [one for place in leftovers(folder) for one in (place / "output").rglob("*")]


@pytest.mark.parametrize(("kind", "point"), [*deaths()])
def test_a_killed_run_is_all_or_nothing_and_keeps_its_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, point: str
) -> None:
    world.write(tmp_path, kind)
    ended = run_forked(run_and_kill, kind, point, folder=tmp_path)
    assert ended.code == -signal.SIGKILL, ended.err.decode()
    is_done = is_past(point, PUBLISHED)
    charged = int(is_charged(kind) and is_past(point, CHARGED))

    # As the dead process left it.
    assert charges(tmp_path) == charged
    assert is_whole(tmp_path / "out") == is_done
    if is_charged(kind) and not charged:
        assert staged(tmp_path) == [], "nothing is drawn before the charge"
    assert {stat.S_IMODE(one.stat().st_mode) for one in leftovers(tmp_path)} <= {0o700}
    if charged:
        assert registry(tmp_path).full_owners(IRI(TARGET)) == {OWNER}, "what is charged is somebody's"

    # As whoever comes next finds it.
    known = registry(tmp_path)
    commit.recover(known)
    assert len(known.versions(output_of(kind))) == is_done
    assert known.intents.pending() == ()
    assert charges(tmp_path) == charged
    assert is_whole(tmp_path / "out") == is_done

    # A run begins anew: it takes up nothing, and is charged as any other.
    untaught(kind, monkeypatch.setattr)
    again = world.run(tmp_path, kind, "again" if is_done else "out")
    assert again.version is not None, again.decision.reasons
    assert again.version.number == 1 + is_done
    assert charges(tmp_path) == charged + is_charged(kind)
    assert leftovers(tmp_path) == []
    for version in registry(tmp_path).versions(output_of(kind)):
        assert smalti.verify(version.path, registry=tmp_path / "r.sqlite").version == version
