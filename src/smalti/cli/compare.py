"""The command that compares central and local differential privacy by membership inference."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import format_option

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported

_FOLDER: click.Path = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=_FOLDER,
    help="Folder for the page and the figures; it must not hold them yet.",
)
@click.option(
    "--paper-size",
    is_flag=True,
    help="Use the sizes of D5.2: more than a day of CPU time instead of a minute.",
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
def compare(out: Path, paper_size: bool, shown_as: str, **changes: Any) -> int:
    """Compare central and local differential privacy.

    It works on generated data, as MOSAICrOWN D5.2 does. A study: the noise comes from a seed, and
    nothing is released or registered.
    """  # fmt: skip
    from smalti.cli.reporting import deliver
    from smalti.engine.jobs.requests import COMPARED_PAGE, COMPARED_REPORT

    results = reported(out, paper_size, **changes)
    page, report = out / COMPARED_PAGE, out / COMPARED_REPORT
    deliver(results, page=str(page), report=str(report), shown_as=shown_as)
    return 0


def reported(out: Path, paper_size: bool, **changes: Any) -> "Reported":
    """Compare; the folder is made, or checked, before anything is trained.

    Args:
        out: the folder.
        paper_size: whether the sizes are the document's.
        **changes: other fields of `Comparison`; None, and nothing, are left as they are.
    """
    from dataclasses import replace

    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import comparing
    from smalti.cli.progress import counting
    from smalti.cli.reporting import Reported, check_pages

    check_pages(str(out))
    settings = {name: value for name, value in changes.items() if value not in {None, ()}}
    comparison = replace(comparing.PAPER if paper_size else comparing.REDUCED, **settings)
    comparing.prepared(out)
    with counting("train models", comparison.models) as trained:
        study = comparing.study(comparison, lambda: trained(1))
    return Reported(study.to_json(), lambda drawn: study.page(with_drawings=drawn))
