"""The kinds of runs, and the table of the capabilities that carry them out."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from smalti.errors import InternalError
from smalti.policy.model.model import Permission
from smalti.vocab.terms import (
    ANATOMY,
    ANONYMIZE,
    DIFFERENTIAL_PRIVACY,
    IRI,
    L_DIVERSITY,
    LOCAL_DIFFERENTIAL_PRIVACY,
    MASKING,
    SYNTHESIS,
    TRAIN,
)


class Kind(StrEnum):
    """The kind of a run's output; plans and certificates name it."""

    ANONYMIZATION = "anonymization"
    BUCKETIZATION = "bucketization"
    RELEASE = "release"
    PERTURBATION = "perturbation"
    MASKING = "masking"
    TRAINING = "training"
    SYNTHESIS = "synthesis"


@dataclass(frozen=True, slots=True)
class Entry:
    """A capability: what of a policy it carries out, and where it is."""

    kind: Kind
    room: str
    """The package that holds it. Kinds that share most of what they do stand in one."""
    plan: str
    """The module and the name of the class of its plans."""
    report: str
    """Likewise the class of its reports."""
    action: IRI
    method: str | None = None
    """The `mosaicrown:method`, or the way to train, that it does; None: each that no other entry of the
    action does."""
    algorithm: str | None = None
    """The `smalti:algorithm` of that method that it does; None: each that no other entry does."""
    capability: str = "capability"
    """The module of the room that has the object; loaded when it is first used."""
    step: str | None = None
    """The step that only its plans have: by it those are read that were made before plans named their kind.
    None: there are none."""
    member: str | None = None
    """Likewise what only its guarantees have in a certificate."""
    promises_nothing: bool = False
    """Whether its outputs promise nothing about people; they narrow down all the same who is who."""
    holds_beside_others: bool = False
    """Whether what it promises holds whatever else is published, as a bound on privacy loss does; outputs
    of other kinds narrow down together who is who."""


TABLE: Final = (
    Entry(
        Kind.RELEASE,
        "smalti.engine.releases",
        "smalti.engine.releases.plan:ReleasePlan",
        "smalti.engine.plan.reports:ReleaseReport",
        ANONYMIZE,
        DIFFERENTIAL_PRIVACY,
        step="release",
        member="measurement",
        holds_beside_others=True,
    ),
    Entry(
        Kind.PERTURBATION,
        "smalti.engine.perturbation",
        "smalti.engine.perturbation.plan:PerturbationPlan",
        "smalti.engine.plan.reports:ReleaseReport",
        ANONYMIZE,
        LOCAL_DIFFERENTIAL_PRIVACY,
        step="perturb",
        member="perturbed",
        holds_beside_others=True,
    ),
    Entry(
        Kind.MASKING,
        "smalti.engine.masking",
        "smalti.engine.masking.plan:MaskingPlan",
        "smalti.engine.masking.report:MaskingReport",
        ANONYMIZE,
        MASKING,
        promises_nothing=True,
    ),
    Entry(
        Kind.ANONYMIZATION,
        "smalti.engine.anonymization",
        "smalti.engine.plan.plan:Plan",
        "smalti.engine.plan.reports:OwnerReport",
        ANONYMIZE,
        step="apply",
        member="quasiIdentifiers",
    ),
    Entry(
        Kind.BUCKETIZATION,
        "smalti.engine.bucketization",
        "smalti.engine.plan.bucketization:BucketizationPlan",
        "smalti.engine.bucketization.report:GroupsReport",
        ANONYMIZE,
        L_DIVERSITY,
        ANATOMY,
    ),
    Entry(
        Kind.TRAINING,
        "smalti.engine.training",
        "smalti.engine.training.plan:TrainingPlan",
        "smalti.engine.training.report:TrainingReport",
        TRAIN,
        step="train",
        member="recipe",
        holds_beside_others=True,
    ),
    Entry(
        Kind.SYNTHESIS,
        "smalti.engine.training",
        "smalti.engine.training.synthesis_plan:SynthesisPlan",
        "smalti.engine.training.report:TrainingReport",
        TRAIN,
        SYNTHESIS,
        capability="synthesis",
        holds_beside_others=True,
    ),
)
"""All capabilities. Nothing else names their rooms."""


def kind_of(action: IRI, method: str | None, algorithm: str | None = None) -> Kind:
    """What carries out an action by a method, with an algorithm.

    Raises:
        KeyError: nothing does.
    """
    offered = [
        entry
        for entry in TABLE
        if entry.action == action
        and entry.method in (method, None)
        and entry.algorithm in (algorithm, None)
    ]
    if not offered:
        raise KeyError(action)
    return min(offered, key=lambda entry: (entry.algorithm is None, entry.method is None)).kind


def granted_kind(permission: Permission) -> Kind:
    """What a permission lets a run make.

    Args:
        permission: one that says how.
    """
    if permission.how is None:
        raise InternalError("a permission without a method reached a run")
    return kind_of(*permission.how)


def action_of(kind: Kind) -> IRI:
    """The policy's action that a kind of run does."""
    return _entry(kind).action


def kind_in_sole_room(action: IRI) -> Kind | None:
    """A kind that carries out an action, where all that do stand in one room and need the same libraries.

    None where the room depends on the method.
    """
    offered = [entry for entry in TABLE if entry.action == action]
    return offered[0].kind if len({entry.room for entry in offered}) == 1 else None


def kind_by_step(steps: Collection[str]) -> Kind:
    """The kind of a plan that was made before plans named it, by its steps.

    Raises:
        KeyError: it has none that tells.
    """
    return _single(entry.kind for entry in TABLE if entry.step in steps)


def kind_by_member(members: Collection[str]) -> Kind:
    """The kind of a guarantee in a certificate that was written before certificates named it.

    Raises:
        KeyError: it has no member that tells.
    """
    return _single(entry.kind for entry in TABLE if entry.member in members)


def _single(kinds: Iterable[Kind]) -> Kind:
    matching = list(kinds)
    if len(matching) != 1:
        raise KeyError(matching)
    return matching[0]


def holds_beside_others(kind: Kind) -> bool:
    """Whether the promise of a kind holds whatever else is published about the same people."""
    return _entry(kind).holds_beside_others


def promises_nothing(kind: Kind) -> bool:
    """Whether outputs of a kind promise nothing about people."""
    return _entry(kind).promises_nothing


def capability_module(kind: Kind) -> ModuleType:
    """The module that holds the capability of a kind."""
    entry = _entry(kind)
    return import_module(f"{entry.room}.{entry.capability}")


def plan_class(kind: Kind) -> type[Any]:
    """The class of a kind's plans."""
    return _named(_entry(kind).plan)


def report_class(kind: Kind) -> type[Any]:
    """The class of a kind's reports."""
    return _named(_entry(kind).report)


def _named(name: str) -> type[Any]:
    module, _, attribute = name.partition(":")
    loaded: type[Any] = getattr(import_module(module), attribute)
    return loaded


def _entry(kind: Kind) -> Entry:
    return next(entry for entry in TABLE if entry.kind == kind)
