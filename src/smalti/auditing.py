"""What audits showed, for the owners of the data that models learned from."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smalti.engine.registry.attempts import Attempt
from smalti.engine.registry.registry import Registry
from smalti.engine.training.figures import AuditFigures, figures_from_json
from smalti.engine.training.quality import quality_certificate
from smalti.errors import UsageError, only_ours
from smalti.policy.decide.names import iri
from smalti.reports import terminal, web
from smalti.reports.audits import page
from smalti.reports.page import Page

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class Audited:
    """One attempt at a model, with what was measured of it."""

    attempt: Attempt
    figures: AuditFigures | None
    """None where it did not come so far."""


@only_ours()
def audits(target: str, *, party: str, registry: Registry) -> tuple[Audited, ...]:
    """Attempts at a model, or at models of some data, that learned from a party's own; oldest first.

    Those from other people's data at a model of the same IRI are left out.

    Args:
        target: the model, or what it was trained on.
        party: an owner of the data, an IRI that is trusted.
        registry: that recorded the attempts.

    Raises:
        UsageError: there was none, or the party does not own what was learned from.
    """
    asset, owner = iri(target, "target"), iri(party, "party (--as)")
    attempts = registry.attempts(asset)
    if not attempts:
        raise UsageError(
            target,
            "no audit of it was begun",
            "a model, or data that a model was trained on",
            "`smalti run` with a policy that obliges to audit",
        )
    own = [attempt for attempt in attempts if owner in registry.full_owners(attempt.target)]
    if not own:
        raise UsageError(
            target, f"{owner} does not own what was learned from", "an owner of the data", "ask one of them"
        )
    return tuple(
        Audited(attempt, figures_from_json(attempt.figures) if attempt.figures else None) for attempt in own
    )


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


def write_html(shown: Page, path: str) -> None:
    """Any report as a page of HTML.

    Raises:
        UsageError: the file exists, or cannot be written.
        BackendError: the extra `audit` is not installed.
    """
    text = web.to_html(shown)
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(path, "it exists already", "a new file", "name another one") from None
    except OSError as error:
        raise UsageError(
            path, f"it cannot be written ({error.strerror})", "a folder that you may write to"
        ) from None
