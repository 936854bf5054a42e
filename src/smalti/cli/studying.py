"""The command `audit model`: attacks on a model file, which register nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import PLACE, format_option
from smalti.vocab.attacks import TABLE

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported

_FILE: click.Path = click.Path(path_type=Path)


@click.command("model")
@click.argument("model", metavar="FILE", type=_FILE)
@click.option(
    "--members",
    required=True,
    metavar="DATA",
    type=_FILE,
    help="Records that the model was trained on.",
)
@click.option(
    "--others", required=True, metavar="DATA", type=_FILE, help="Records that the model was not trained on."
)
@click.option("--label", required=True, metavar="COLUMN", help="The column of class labels.")
@click.option(
    "--attack", "attacks", required=True, multiple=True, metavar="NAME",
    help=f"{', '.join(attack.name for attack in TABLE if attack.family.has_scores)}; may be repeated.",
)  # fmt: skip
@click.option(
    "--recipe", metavar="NAME",
    help="The training recipe, for attacks that train shadow models; a network file of smalti states it.",
)  # fmt: skip
@click.option("--shadow-models", type=click.IntRange(2), default=16, show_default=True, metavar="N")
@click.option(
    "--confidence", default=0.95, show_default=True, metavar="P", type=click.FloatRange(0, 1),
    help="Confidence of each limit by itself; below 1.",
)  # fmt: skip
@click.option(
    "--logits",
    "gives_logits",
    is_flag=True,
    help="The ONNX model gives logits, not probabilities.",
)
@click.option(
    "--html", metavar="FILE", type=PLACE, help="Write a page with drawings; the file must not exist."
)
@format_option("human", "json")
def model_file(html: str | None, shown_as: str, **options: Any) -> int:
    """Attack a model file (safetensors, ONNX, skops).

    The attacks use the records that it was trained on, and others: CSV or Parquet, with numbers as the
    model takes them. This is a study: it registers nothing and fulfils no duty.
    """
    from smalti.cli.reporting import check_pages, deliver

    check_pages(html)
    deliver(reported(**options), page=html, report=None, shown_as=shown_as)
    return 0


def reported(**options: Any) -> "Reported":
    """Attack a model file.

    Args:
        **options: of `auditing_files.Study`.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import auditing_files
    from smalti.cli.progress import showing_phases
    from smalti.cli.reporting import Reported

    with showing_phases() as watch:
        studied = auditing_files.study(auditing_files.Study(**options), watch.phase)
    return Reported(studied.to_json(), lambda drawn: studied.page(with_drawings=drawn))
