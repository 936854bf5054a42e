"""The command `audit model`: attacks on a model file, which register nothing."""

from pathlib import Path
from typing import Any

import click

from smalti.cli.options import PLACE, format_option
from smalti.vocab.attacks import TABLE

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
    study(html, shown_as, **options)
    return 0


def study(html: str | None, shown_as: str, report: str | None = None, **options: Any) -> None:
    """Attack a model file, write the reports that are asked for, and show what was found.

    Args:
        html: where the page is written; None: nowhere.
        shown_as: `human` or `json`.
        report: where the JSON report is written; None: nowhere.
        **options: of `auditing_files.Study`.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import auditing_files
    from smalti.cli.keys import write_new
    from smalti.cli.progress import showing_phases
    from smalti.json.text import as_json
    from smalti.reports import terminal
    from smalti.reports.web import write_html
    from smalti.show.terminal import console

    with showing_phases() as watch:
        studied = auditing_files.study(auditing_files.Study(**options), watch.phase)
    text = as_json(studied.to_json())
    if report is not None:
        write_new(report, text.encode())
    if html is not None:
        write_html(studied.page(with_drawings=True), html)
    if shown_as == "json":
        click.echo(text, nl=False)
    else:
        terminal.show(studied.page(with_drawings=False), console())
