"""A run of one kind that dies at one step; what `test_killed_kinds` runs in child processes."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import kind_worlds as world

from smalti.engine.binding.capability import capability_of
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry import commit
from smalti.engine.registry.intents import Intents
from smalti.engine.run import driver

BOTH = ("before", "after")
POINTS = (
    *(f"{step}:{when}" for step in ("stage", "bind", "respondents", "compile", "admit") for when in BOTH),
    *(f"{step}:{when}" for step in ("exact", "unchanged", "production", "charge") for when in BOTH),
    "produce:before", "draw:before", "draw:after", "produce:after",
    *(f"{step}:{when}" for step in ("certify", "check") for when in BOTH),
    "publish:before",
    *(f"{step}:{when}" for step in ("link", "sync", "intent") for when in BOTH),
    "move:before", "rename:before", "rename:after", "move:after", "finish:before", "finish:after",
    "publish:after",
    "published:before", "published:after",
)  # fmt: skip
"""Before and after the steps of the driver and of the publication, in their order."""
CHARGED, PUBLISHED = "charge:after", "rename:after"


def is_past(point: str, other: str) -> bool:
    """Whether a run that comes to a point has come to another one."""
    return POINTS.index(point) >= POINTS.index(other)


def place_of(step: str, kind: Kind) -> tuple[Any, str]:
    """What is called at a step."""
    capability = type(capability_of(kind))
    places: dict[str, tuple[Any, str]] = {
        "stage": (commit, "_make_stage"),
        "bind": (driver, "bound"),
        "respondents": (driver, "with_respondents"),
        "compile": (capability, "compile"),
        "admit": (driver, "admit"),
        "exact": (capability, "exact"),
        "unchanged": (driver, "check_unchanged"),
        "production": (capability, "production"),
        "charge": (driver, "refusal"),
        "certify": (driver, "new_version"),
        "publish": (driver, "publish"),
        "link": (commit, "forget_link"),
        "sync": (commit, "_sync_tree"),
        "intent": (Intents, "begin"),
        "move": (commit, "_move"),
        "rename": (os, "rename"),
        "finish": (Intents, "finish"),
    }
    if step == "draw":
        module, _, name = world.EXAMPLES[kind].draw.partition(":")
        return import_module(module), name
    return places[step]


OF_PRODUCTION = {"produce": "produce", "check": "check_publication", "published": "published"}


def die(*_: Any, **__: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is dead")


def dying(real: Callable[..., Any], when: str, end: Callable[..., Any] = die) -> Callable[..., Any]:
    """A function, with another one before or after it, which may end all."""

    def step(*given: Any, **named: Any) -> Any:
        if when == "before":
            end()
        found = real(*given, **named)
        if when == "after":
            end()
        return found

    return step


def end_at(kind: Kind, point: str, end: Callable[..., Any], put: Callable[[Any, str, Any], None]) -> None:
    """Have a run end at a point.

    Args:
        kind: of the run.
        point: such as `charge:after`.
        end: what ends it; it goes on where this returns.
        put: sets an attribute.
    """
    step, when = point.split(":")
    if step not in OF_PRODUCTION:
        owner, name = place_of(step, kind)
        put(owner, name, dying(getattr(owner, name), when, end))
        return
    owner, name = type(capability_of(kind)), OF_PRODUCTION[step]
    real = owner.production

    @contextmanager
    def production(*given: Any) -> Iterator[Any]:
        with real(*given) as found:
            setattr(found, name, dying(getattr(found, name), when, end))
            yield found

    put(owner, "production", production)


def run_and_kill(name: str, point: str) -> None:
    """A run in this folder that kills itself."""
    kind = Kind(name)
    untaught(kind, setattr)
    end_at(kind, point, die, setattr)
    world.run(Path.cwd(), kind)


def untaught(kind: Kind, put: Callable[[Any, str, Any], None]) -> None:
    """Put a model that knows nothing in the place of a training, which takes its time."""
    if kind is Kind.TRAINING:
        from model_worlds import untrained  # noqa: PLC0415 (an extra)

        put(*place_of("draw", kind), lambda plan, *_: untrained(plan))
    if kind is Kind.SYNTHESIS:
        from model_worlds import unlearned  # noqa: PLC0415 (an extra)

        put(*place_of("draw", kind), lambda plan, *_: unlearned(plan))
