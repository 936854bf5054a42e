"""The command that compares central and local differential privacy by membership inference."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import format_option

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported
    from smalti.studies.comparison.settings import Comparison

_FOLDER: click.Path = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option(
    "--out",
    metavar="DIR",
    type=_FOLDER,
    help="Folder for the page and the figures; a study that was begun there goes on.",
)
@click.option(
    "--paper-size",
    is_flag=True,
    help="Use the sizes of D5.2: more than a day of CPU time instead of a quarter of an hour.",
)
@click.option(
    "--estimate",
    "only_estimates",
    is_flag=True,
    help="Estimate the CPU time by a pilot, and train nothing else.",
)
@click.option("--seed", type=int, metavar="N", help="Seed of the data and of all noise.  [default: 0]")
@click.option("--repetitions", type=int, metavar="N", help="Repetitions, each with new records and models.")
@click.option("--classes", type=int, multiple=True, metavar="N", help="Number of classes; may be repeated.")
@click.option("--records", type=int, metavar="N", help="Records of each training set.")
@click.option("--epochs", type=int, metavar="N", help="Epochs of each training.")
@click.option("--shadow-models", type=int, metavar="N", help="Shadow models of each attacked model.")
@click.option(
    "--noise-multiplier",
    "noise_multipliers",
    type=float,
    multiple=True,
    metavar="Z",
    help="Noise multiplier of central differential privacy; may be repeated.",
)
@click.option(
    "--local-epsilon",
    "local_epsilons",
    type=float,
    multiple=True,
    metavar="E",
    help="Epsilon of each bit, for local differential privacy; may be repeated.",
)
@click.option(
    "--noise-in-training",
    "noises",
    type=float,
    multiple=True,
    metavar="P",
    help="Noise in the training data, which skews it, from 0 to 0.5; may be repeated.",
)
@format_option("human", "json")
def compare(out: Path | None, paper_size: bool, only_estimates: bool, shown_as: str, **changes: Any) -> int:
    """Compare central and local differential privacy.

    It works on generated data, as MOSAICrOWN D5.2 does, and says which of its statements hold. A study: the
    noise comes from a seed, and nothing is released or registered. One that was interrupted goes on with
    the same options.
    """  # fmt: skip
    from smalti.cli.reporting import deliver
    from smalti.engine.jobs.requests import COMPARED_PAGE, COMPARED_REPORT
    from smalti.errors import UsageError

    if only_estimates:
        return _estimate(_comparison(paper_size, changes), out, shown_as)
    if out is None:
        raise UsageError("--out", "it is missing", "a folder for the study", "or take --estimate alone")
    results = reported(out, paper_size, **changes)
    page, report = out / COMPARED_PAGE, out / COMPARED_REPORT
    deliver(results, page=str(page), report=str(report), shown_as=shown_as)
    return 0


def reported(out: Path, paper_size: bool, **changes: Any) -> "Reported":
    """Compare; the folder is made, or checked, before anything is trained.

    Args:
        out: the folder; what another process left there of the same comparison is not trained again.
        paper_size: whether the sizes are the document's.
        **changes: other fields of `Comparison`; None, and nothing, are left as they are.
    """
    comparison = _comparison(paper_size, changes)
    from smalti import comparing
    from smalti.cli.progress import counting
    from smalti.cli.reporting import Reported, check_pages

    check_pages(str(out))
    with comparing.held(out), counting("train models", comparison.models) as trained:
        study = comparing.study(comparison, trained, out)
    return Reported(study.to_json(), lambda drawn: study.page(in_full=drawn))


def _comparison(paper_size: bool, changes: dict[str, Any]) -> "Comparison":
    from dataclasses import replace

    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import comparing

    settings = {name: value for name, value in changes.items() if value not in {None, ()}}
    return replace(comparing.PAPER if paper_size else comparing.REDUCED, **settings)


def _estimate(comparison: "Comparison", out: Path | None, shown_as: str) -> int:
    from smalti import comparing
    from smalti.json.text import as_json

    estimate = comparing.estimated(comparison, out)
    if shown_as == "json":
        click.echo(as_json(comparing.estimate_json(estimate)), nl=False)
        return 0
    hours = estimate.seconds / 3600
    duration = f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"
    click.echo(
        f"about {duration} of CPU for {estimate.remaining} of {estimate.models} models,"
        f" by a pilot that took {estimate.pilot_seconds:.0f} s"
    )
    return 0
