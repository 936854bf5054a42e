"""The public function `audit_release`: what attackers would reach on the statistics of a release."""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smalti.engine.arguments import public
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.addresses import ArrowStream, Frame, Location, data_at
from smalti.errors import UsageError, not_installed, raise_all
from smalti.policy.decide.names import iri
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from smalti.engine.registry.entries import TargetVersion
    from smalti.engine.releases.attack_results import ReleaseAttacks
    from smalti.errors import SmaltiError

AnyPath = str | PathLike[str]
DEFAULT_RATE: Final = 0.05
DEFAULT_CONFIDENCE: Final = 0.95
_HIGHEST: Final = 0.999999


@public
def audit_release(  # noqa: PLR0913 (each is a choice)
    output: AnyPath,
    *,
    party: str,
    data: AnyPath | ArrowStream,
    population: AnyPath | ArrowStream | None,
    registry: Registry,
    secret: str | None = None,
    false_positive_rate: float = DEFAULT_RATE,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    phase: Callable[[str], None] | None = None,
) -> "ReleaseAttacks":
    """What attackers would reach on the statistics of a release, and on the same without noise.

    For the owner of the data alone. Nothing is recorded, no duty is fulfilled, and the attack draws from a
    seed: it is no release, and the statistics without noise are never shown. Attacks: tracing by inner
    product and by likelihood ratio, and reconstruction of a column by subset sums.

    Args:
        output: the published folder, or the IRI of a target or of a version.
        party: an owner of the data, an IRI that is trusted.
        data: that the release was made from.
        population: people like those of the data, with the columns that the release reads. Who is in the
            data, too, is left out where a column tells people apart; otherwise nobody in it may be.
        registry: that recorded the release.
        secret: the column to reconstruct; when not given, each that statistics count by, where it can be.
        false_positive_rate: at which true positive rates are measured, above 0 and below 1.
        confidence: of each limit by itself, above 0 and at most 0.999999.
        seed: of the attack, at least 0.
        phase: called with the name of each phase.

    Raises:
        UsageError: there is no population or no such output, it is no release, the party does not own the
            data, or an argument is out of range. Raised before any data is read.
        DataError: the data is other data, or an attack lacks people or statistics.
        GuaranteeError: the published table is not what was recorded.
        BackendError: the extra `audit` is not installed.
    """
    raise_all(list(_out_of_range(false_positive_rate, confidence, seed, population is None)))
    if find_spec("scipy") is None:
        raise not_installed("audits", "the library of statistics", "scipy", "audit")
    # They load an engine, and the libraries of attacks.
    from smalti.engine.backends.local import LocalBackend  # noqa: PLC0415
    from smalti.engine.registry.commit import scratch  # noqa: PLC0415
    from smalti.engine.releases.attacking import Settings  # noqa: PLC0415
    from smalti.engine.releases.release_audit import (  # noqa: PLC0415
        ReleaseAudit,
        attack_release,
        recorded_release,
    )
    from smalti.engine.run.recheck import find_output, recheck  # noqa: PLC0415

    owner = iri(party, "party (--as)")
    folder = find_output(registry, os.fspath(output))
    version = recheck(registry, folder).version
    if version is None:
        raise UsageError(
            str(folder), "the registry has no such output", "the registry that recorded it",
            "name it with --registry",
        )  # fmt: skip
    plan = recorded_release(version)
    if owner not in registry.ownership.full(plan.read.target):
        raise UsageError(
            str(version.target), f"{owner} does not own its data", "an owner of the data", "ask one of them"
        )
    audit = ReleaseAudit(
        version,
        folder,
        _location(data, "data (--data)"),
        _location(population, "population (--population)"),
        Settings(false_positive_rate, confidence, seed, secret),
    )
    with scratch(None) as place:
        return attack_release(audit, registry, LocalBackend(), Path(place), phase or (lambda _: None))


def attackable_data(version: "TargetVersion") -> IRI:
    """The target that a release was made from.

    Raises:
        UsageError: it is the output of another kind of run.
        DataError: none of its statistics is attacked.
    """
    from smalti.engine.releases.release_audit import recorded_release  # noqa: PLC0415 (loads an engine)

    return recorded_release(version).read.target


def _out_of_range(
    rate: float, confidence: float, seed: int, lacks_population: bool
) -> Iterator["SmaltiError"]:
    if lacks_population:
        yield UsageError(
            "population (--population)",
            "an attack is measured on people who are not in the data, and there are none",
            "a table of such people, with the columns that the release reads",
            "bind held-out records, or those of a reference population",
        )
    if not 0 < rate < 1:
        yield UsageError("false positive rate", "it is out of range", "a number above 0 and below 1")
    if not 0 < confidence <= _HIGHEST:
        yield UsageError("confidence", "it is out of range", f"a number above 0, at most {_HIGHEST}")
    if seed < 0:
        yield UsageError("seed", "it is below 0", "a whole number of at least 0")


def _location(data: AnyPath | ArrowStream | None, role: str) -> Location:
    if isinstance(data, str | PathLike):
        return data_at(os.fspath(data), role)
    if data is None:
        raise UsageError(role, "no data is bound", "a file or a table")
    return Frame(data)
