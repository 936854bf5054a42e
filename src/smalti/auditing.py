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
    found = registry.attempts(asset)
    if not found:
        raise UsageError(
            target,
            "no audit of it was begun",
            "a model, or data that a model was trained on",
            "`smalti run` with a policy that obliges to audit",
        )
    own = [one for one in found if owner in registry.full_owners(one.target)]
    if not own:
        raise UsageError(
            target, f"{owner} does not own what was learned from", "an owner of the data", "ask one of them"
        )
    return tuple(Audited(one, figures_from_json(one.figures) if one.figures else None) for one in own)


def to_json(found: tuple[Audited, ...]) -> dict[str, Any]:
    """The quality certificates, as one document of JSON-LD, also where there is one."""
    made = [_certificate(one) for one in found]
    context = made[0]["@context"] if made else {}
    return {
        "@context": context,
        "@graph": [{name: said for name, said in one.items() if name != "@context"} for one in made],
    }


def _certificate(found: Audited) -> dict[str, Any]:
    made, reason = quality_certificate(found.attempt, found.figures), found.attempt.reason
    return made if reason is None else {**made, "dct:description": f"{reason.sentence}."}


def show(found: tuple[Audited, ...], out: "Console") -> None:
    """The same for people, on a terminal."""
    for one in found:
        terminal.show(_page(one, with_drawings=False), out)


def write_page(found: tuple[Audited, ...], path: str) -> None:
    """The newest one that has figures, as a page of HTML.

    Raises:
        UsageError: the file exists, or cannot be written.
        BackendError: the extra `audit` is not installed.
    """
    shown = next((one for one in reversed(found) if one.figures is not None), found[-1])
    write_html(_page(shown, with_drawings=True), path)


def _page(found: Audited, *, with_drawings: bool) -> Page:
    """The report; where nothing was measured it begins with the reason, if there is one."""
    made, reason = page(found.attempt, found.figures, with_drawings=with_drawings), found.attempt.reason
    return made if reason is None else replace(made, lead=f"{reason.sentence}: nothing was released.")


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
