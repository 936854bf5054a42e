"""Results of audits, for the owners of the training data."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smalti.engine.registry.attempts import Attempt
from smalti.engine.registry.registry import Registry
from smalti.engine.training.figures import AuditFigures, figures_from_json
from smalti.engine.training.quality import quality_certificate
from smalti.errors import UsageError, only_ours
from smalti.policy.decide.names import iri
from smalti.reports import terminal
from smalti.reports.audits import page
from smalti.reports.page import Page
from smalti.reports.web import to_html, write_html
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class Audited:
    """One attempt at a model, with what was measured of it."""

    attempt: Attempt
    figures: AuditFigures | None
    """None where nothing was measured."""


@only_ours()
def audits(target: str, *, party: str, registry: Registry) -> tuple[Audited, ...]:
    """Attempts at a model, or at models of some data, trained on a party's own data; oldest first.

    Those from other people's data at a model of the same IRI are left out.

    Args:
        target: the model, or its training data.
        party: an owner of the data, an IRI that is trusted.
        registry: that recorded the attempts.

    Raises:
        UsageError: there was none, or the party does not own the training data.
    """
    asset, owner = iri(target, "target"), iri(party, "party (--as)")
    attempts = registry.attempts(asset)
    if not attempts:
        raise UsageError(
            target,
            "no audit is recorded for it",
            "a model, or data that a model was trained on",
            "run a policy that requires an audit",
        )
    own = [attempt for attempt in attempts if owner in registry.full_owners(attempt.target)]
    if not own:
        raise UsageError(
            target, f"{owner} does not own the training data", "an owner of the data", "ask one of them"
        )
    return tuple(map(_audited, own))


def every_audit(registry: Registry, *, owner: IRI | None) -> tuple[Audited, ...]:
    """All attempts that a registry recorded, oldest first.

    Args:
        registry: that recorded them.
        owner: of the training data: then its own alone; None: everybody's, for whoever may see all figures.
    """
    return tuple(
        _audited(attempt)
        for attempt in registry.attempts()
        if owner is None or owner in registry.full_owners(attempt.target)
    )


def row(audited: Audited) -> dict[str, Any]:
    """An attempt without its figures, for lists."""
    attempt = audited.attempt
    return {
        "run": attempt.run,
        "model": attempt.output,
        "data": attempt.target,
        "policy": attempt.policy_uid,
        "party": attempt.party,
        "state": str(attempt.state),
        "number": attempt.number,
        "begun": attempt.begun_at.isoformat(),
        "ended": None if attempt.ended_at is None else attempt.ended_at.isoformat(),
        "hasFigures": audited.figures is not None,
    }


def to_page(audited: Audited) -> str:
    """The report of an attempt, as a page of HTML with curves.

    Raises:
        BackendError: the extra `audit` is not installed.
    """
    return to_html(_page(audited, with_drawings=True))


def written_page(place: str) -> bytes | None:
    """A page that a study wrote; None: it wrote none."""
    try:
        return Path(place).read_bytes()
    except OSError:
        return None


def _audited(attempt: Attempt) -> Audited:
    return Audited(attempt, figures_from_json(attempt.figures) if attempt.figures else None)


def to_json(audited: tuple[Audited, ...]) -> dict[str, Any]:
    """The quality certificates, as one document of JSON-LD, also where there is one."""
    certificates = [_certificate(attempt) for attempt in audited]
    context = certificates[0]["@context"] if certificates else {}
    return {
        "@context": context,
        "@graph": [
            {name: value for name, value in certificate.items() if name != "@context"}
            for certificate in certificates
        ],
    }


def _certificate(audited: Audited) -> dict[str, Any]:
    certificate, reason = quality_certificate(audited.attempt, audited.figures), audited.attempt.reason
    return certificate if reason is None else {**certificate, "dct:description": f"{reason.sentence}."}


def show(audited: tuple[Audited, ...], out: "Console") -> None:
    """The same for people, on a terminal."""
    for attempt in audited:
        terminal.show(_page(attempt, with_drawings=False), out)


def write_page(audited: tuple[Audited, ...], path: str) -> None:
    """The newest one that has figures, as a page of HTML.

    Raises:
        UsageError: the file exists, or cannot be written.
        BackendError: the extra `audit` is not installed.
    """
    shown = next((attempt for attempt in reversed(audited) if attempt.figures is not None), audited[-1])
    write_html(_page(shown, with_drawings=True), path)


def _page(audited: Audited, *, with_drawings: bool) -> Page:
    """The report; where nothing was measured it begins with the reason, if there is one."""
    report, reason = (
        page(audited.attempt, audited.figures, with_drawings=with_drawings),
        audited.attempt.reason,
    )
    return report if reason is None else replace(report, lead=f"{reason.sentence}: nothing was released.")
