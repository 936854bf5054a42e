"""The command `audit identifiability`: the experiments of arXiv 2103.02913 on one data set."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from smalti.cli.layout import TunedCommand
from smalti.cli.options import FINDINGS, PARTIES, PLACE, asker_options, bind_option, format_option
from smalti.cli.runs import bound_options, run_options, workspace_option


@click.command(cls=TunedCommand, epilog=PARTIES)
@click.argument("policy", metavar="[POLICY]", required=False, type=PLACE)
@click.option("--sample", metavar="NAME",
              help="Public data instead of a policy's: purchases (generated), digits.")  # fmt: skip
@click.option("--belief", "beliefs", type=float, multiple=True, metavar="P",
              help="Bound of the belief; may be repeated.  [default: 0.75, 0.9, 0.99]")  # fmt: skip
@click.option("--delta", type=float, metavar="D", help="Delta.  [default: one in as many records]")
@click.option("--calibration", type=click.Choice(["exact", "belief", "paper"]),
              help="How much noise a bound takes.  [default: exact]")  # fmt: skip
@click.option("--records", type=int, metavar="N", help="Records to train on.  [default: 100]")
@click.option("--repetitions", type=int, metavar="N", help="Trainings by experiment.  [default: 100]")
@click.option("--steps", type=int, metavar="N", help="Steps over all records.  [default: 30]")
@click.option("--clipping-norm", type=float, metavar="C", help="Clipping norm.  [default: 1]")
@click.option("--learning-rate", type=float, metavar="R", help="Of the mean gradient.  [default: 5]")
@click.option("--neighbors", type=int, metavar="N",
              help="Neighbours stated for the local sensitivity.  [default: 5]")  # fmt: skip
@click.option("--dissimilarity", metavar="NAME",
              help="Chooses neighbours: hamming, euclidean, cityblock, cosine, structural.")  # fmt: skip
@click.option("--hidden", type=int, multiple=True, metavar="N",
              help="Units of a hidden layer with ReLU, instead of the policy's network.")  # fmt: skip
@click.option("--convolutional", is_flag=True, help="The paper's network for square images.")
@click.option("--seed", type=int, metavar="N", help="Seed of all that is drawn.  [default: 0]")
@click.option("--page", metavar="FILE", type=PLACE,
              help="Write a page of HTML to a new file that its owner alone can read.")  # fmt: skip
@bind_option
@run_options
@workspace_option
@asker_options(required=False)
@click.option("--registry", metavar="FILE|URL",
              help="A registry whose prohibitions, withdrawals and owners hold; it is only read.  [default:"
              " none]")  # fmt: skip
@format_option("human", "json")
def identifiability(policy: str | None, sample: str | None, **options: Any) -> int:
    """Tell neighbouring data sets apart under noise.

    The policy must permit a training of the data, and only the data's owner may ask. Nothing is recorded,
    charged or released; all noise comes from a seed. It repeats Experiment 2 of arXiv 2103.02913.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import identifying
    from smalti.cli.keys import write_new
    from smalti.errors import UsageError
    from smalti.json.text import as_json
    from smalti.reports import terminal
    from smalti.reports.web import check_installed as check_pages
    from smalti.reports.web import to_html
    from smalti.show.terminal import console

    shown_as, page = options.pop("shown_as"), options.pop("page")
    names = (
        "beliefs", "delta", "calibration", "records", "repetitions", "steps", "clipping_norm",
        "learning_rate", "neighbors", "dissimilarity", "seed",
    )  # fmt: skip
    settings = identifying.checked(sample, **{name: options.pop(name) for name in names})
    choice = identifying.NetworkChoice(options.pop("hidden"), options.pop("convolutional"))
    if (policy is None) == (sample is None):
        raise UsageError(
            "what is studied",
            "it is not one thing",
            "a policy with --data, or --sample",
            "state one of both",
        )
    if page is not None:
        check_pages()
    if sample is not None:
        with _showing(settings.trainings) as trained:
            study = identifying.study_of_sample(sample, settings, choice, trained)
    else:
        permitted, name = _permitted(str(policy), options)
        if not permitted.decision.is_permitted:
            from smalti.show.decisions import show_decision

            show_decision(console(), permitted.decision)
            return FINDINGS
        with _showing(settings.trainings) as trained:
            study = identifying.study_of_records(permitted, name, settings, choice, trained)
    if page is not None:
        write_new(page, to_html(study.page(with_drawings=True)).encode())
    if shown_as == "json":
        click.echo(as_json(study.to_json()), nl=False)
    else:
        terminal.show(study.page(with_drawings=False), console())
    return 0


def _permitted(policy: str, options: dict[str, Any]) -> tuple[Any, str]:
    """The records that the policy permits to train on, and the name of the data."""
    from smalti import api
    from smalti.cli.trying import document_of

    template, registry = options.pop("bound"), options.pop("registry")
    bound = bound_options(options)
    if registry is not None:
        bound["registry"] = registry
    permitted = api.permitted_records(document_of(policy, template, bound), **bound)
    return permitted, ", ".join(bound["data"])


@contextmanager
def _showing(trainings: int) -> Iterator[Callable[[int], None]]:
    """How many trainings ended, where standard error is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    out = Console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("train models", total=trainings)
        yield lambda count: bar.advance(task, count)
