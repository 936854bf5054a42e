"""The command `audit generative`: attacks on a generative model, which register nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import PLACE, format_option

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported

_FILE: click.Path = click.Path(path_type=Path)


@click.command("generative")
@click.option("--members", required=True, metavar="DATA", type=_FILE,
              help="Records that the model was trained on: CSV, Parquet or npy.")  # fmt: skip
@click.option("--others", required=True, metavar="DATA", type=_FILE,
              help="Records that the model was not trained on.")  # fmt: skip
@click.option("--samples", metavar="DATA", type=_FILE, help="Samples of the model.")
@click.option("--command", metavar="WORDS",
              help="Writes {number} samples to {file}, {file}.npy or {file}.parquet.")  # fmt: skip
@click.option("--model", metavar="FILE", type=_FILE, help="A generative model of smalti (safetensors).")
@click.option("--label", metavar="COLUMN", help="Labels, of a conditional model.")
@click.option("--attack", "attacks", required=True, multiple=True, metavar="NAME",
              help="monte-carlo, mc-distance, mc-percentile, kernel-density, nearest-record,"
              " logan-black-box; of tables singling-out, linkability, attribute-inference; of a model of"
              " smalti reconstruction, logan-white-box; may be repeated.")  # fmt: skip
@click.option("--distance", "distances", multiple=True, metavar="NAME",
              help="plain, pca, hog, colours; of tables gower; may be repeated.  [plain]")  # fmt: skip
@click.option("--number", type=int, metavar="N",
              help="Samples to take.  [default: all of a file, otherwise 10,000]")  # fmt: skip
@click.option("--size", type=int, default=100, show_default=True, metavar="M",
              help="Members, and as many others, in one attack.")  # fmt: skip
@click.option("--secret", "secrets", multiple=True, metavar="COLUMN",
              help="Inferred from the others; may be repeated.  [default: each column]")  # fmt: skip
@click.option("--side", multiple=True, metavar="COLUMN",
              help="A column of one of two tables to link; may be repeated.")  # fmt: skip
@click.option("--confidence", type=float, default=0.95, show_default=True, metavar="P",
              help="Confidence of each limit by itself; below 1.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of the attacks.")
@click.option("--report", metavar="FILE", type=PLACE,
              help="Write the JSON report to a new file that its owner alone can read.")  # fmt: skip
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write it as a page of HTML to a new file that its owner alone can read.")  # fmt: skip
@format_option("human", "json")
def generative(report: str | None, page: str | None, shown_as: str, **options: Any) -> int:
    """Attack a generative model by its samples.

    Shows whether records, or sets of them, can be told to be those that it was trained on. Records are
    numbers, or arrays of numbers. This is a study: it registers nothing and fulfils no duty.
    """
    from smalti.cli.reporting import check_pages, deliver

    check_pages(page)
    deliver(reported(**options), page=page, report=report, shown_as=shown_as)
    return 0


def reported(**options: Any) -> "Reported":
    """Attack a generative model.

    Args:
        **options: of `auditing_generative.GenerativeStudy`; without distances, its own.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti.auditing_generative import GenerativeStudy, audit_generative
    from smalti.cli.progress import showing_phases
    from smalti.cli.reporting import Reported
    from smalti.json.generative_audits import generative_audit_json
    from smalti.reports.generative_audits import page

    if not options["distances"]:
        options.pop("distances")
    with showing_phases() as watch:
        audit = audit_generative(GenerativeStudy(**options), watch.phase)
    return Reported(generative_audit_json(audit), lambda _: page(audit))
