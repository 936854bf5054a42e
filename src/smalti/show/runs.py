"""Runs in a terminal: the decision, the output, the owner's figures."""

from importlib import import_module
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.files import Composition
from smalti.engine.plan.losses import up
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.show.decisions import headline, show_decision
from smalti.show.terminal import fields, place_of, show_notices

if TYPE_CHECKING:
    from smalti.engine.binding.run_request import Outcome
    from smalti.engine.plan.any_plan import AnyPlan


def show_outcome(out: Console, outcome: "Outcome", registry: str, *, in_full: bool = False) -> None:
    """Show the decision, what was done, the owner's figures, and where the output is."""
    plan, version = outcome.plan, outcome.version
    if plan is None or version is None:
        show_decision(out, outcome.decision)
        return
    folder = version.path
    out.print(Text(headline(outcome.decision), style="bold green"))
    show_notices(out, outcome.notices, in_full=in_full)
    not_protected = _show_output(out, plan, outcome, in_full=in_full)
    if outcome.report is not None:
        fields(out, *(("owner's view", line) for line in outcome.report.lines("respondents")))
    if outcome.examination is not None:
        from smalti.reports.examinations import summary  # noqa: PLC0415 (only where it was asked for)

        fields(out, *summary(outcome.examination))
    fields(
        out,
        ("not covered", "; ".join(not_protected)),
        ("output", place_of(folder, version.files, are_tables=bool(version.tables))),
        ("certificate", f"{folder / CERTIFICATE_NAME} (unsigned)"),
        ("target", f"{version.target} version {version.number}, recorded in {registry}"),
        *(("  table", table.iri) for table in version.tables),
    )


def _show_output(out: Console, plan: "AnyPlan", outcome: "Outcome", *, in_full: bool) -> tuple[str, ...]:
    """Show an output by the function `show` of the module with its kind's name; return its limits."""
    shown_as = import_module(f"smalti.show.{plan.kind}")
    not_protected: tuple[str, ...] = shown_as.show(out, plan, outcome, in_full=in_full)
    return not_protected


def show_composition(out: Console, together: Composition) -> None:
    """Show the loss of a release together with all earlier ones about the same respondents."""
    loss = together.loss
    text = (
        f"{together.releases} release{'' if together.releases == 1 else 's'} about the same respondents,"
        f" including this one: epsilon {loss.epsilon:f}, delta {loss.delta:f}, posterior belief at most"
        f" {up(loss.belief)}, membership advantage at most {up(loss.advantage)}"
    )
    fields(out, ("together", text))
