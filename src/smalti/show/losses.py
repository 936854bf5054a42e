"""The privacy loss of a run as a table: by itself, and with all earlier ones."""

from rich.table import Table

from smalti.engine.binding.run_request import Outcome
from smalti.engine.plan.losses import PlannedLoss, StatedLoss, up
from smalti.show.terminal import LABEL


def losses(loss: PlannedLoss, outcome: Outcome) -> Table:
    """Epsilon, delta, belief and advantage side by side."""
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("privacy loss", "epsilon", "delta", "belief (from one half)", "advantage"):
        table.add_column(title)
    table.add_row("this release", *_cells(loss))
    together = outcome.composition
    if together is not None:
        # The loss of the plan is more exact than the ledger's account of one release.
        lost = loss if together.releases == 1 else together.loss
        table.add_row(f"all {together.releases} so far", *_cells(lost))
    return table


def _cells(loss: StatedLoss) -> tuple[str, ...]:
    return format(loss.epsilon, "f"), format(loss.delta, "f"), up(loss.belief), up(loss.advantage)
