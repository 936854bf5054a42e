"""The command `audit identifiability`: the experiments of arXiv 2103.02913 on one data set."""

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from smalti.cli.layout import TunedCommand
from smalti.cli.options import FINDINGS, PARTIES, PLACE, asker_options, bind_option, format_option
from smalti.cli.runs import bound_options, run_options, workspace_option
from smalti.cli.trying import document_of

if TYPE_CHECKING:
    from smalti.cli.reporting import Reported
    from smalti.identifying import NetworkChoice, Study
    from smalti.studies.identifiability.settings import Settings

_OF_SETTINGS = (
    "beliefs", "delta", "calibration", "records", "repetitions", "steps", "clipping_norm", "learning_rate",
    "neighbors", "dissimilarity", "seed",
)  # fmt: skip
_OF_NETWORK = ("hidden", "convolutional")


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
@partial(run_options, needs_data=False)
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
    from smalti.cli.reporting import check_pages, deliver
    from smalti.errors import UsageError

    shown_as, page = options.pop("shown_as"), options.pop("page")
    choices = {name: options.pop(name) for name in (*_OF_SETTINGS, *_OF_NETWORK)}
    checked(sample, choices)
    has_policy = policy is not None and bool(options["bindings"])
    if has_policy == (sample is not None) or (sample is not None and _binds_data()):
        raise UsageError(
            "what is studied",
            "it is not one thing",
            "a policy with --data, or --sample",
            "state one of both",
        )
    check_pages(page)
    if sample is not None:
        reported: Reported | None = reported_of_sample(sample, choices)
    else:
        template, registry = options.pop("bound"), options.pop("registry")
        bound = bound_options(options)
        if registry is not None:
            bound["registry"] = registry
        reported = reported_of_records(document_of(str(policy), template, bound), bound, choices)
    if reported is None:
        return FINDINGS
    deliver(reported, page=page, report=None, shown_as=shown_as)
    return 0


def _binds_data() -> bool:
    """Whether the command line itself binds data; a settings file does for all commands."""
    return click.get_current_context().get_parameter_source("bindings") is ParameterSource.COMMANDLINE


def checked(sample: str | None, choices: dict[str, Any]) -> "tuple[Settings, NetworkChoice]":
    """What is chosen, or all that is wrong with it.

    Args:
        sample: the public data; None: a policy's.
        choices: by their names as parameters of the command.
    """
    from smalti.transforms.learning.installed import check_installed

    check_installed()
    from smalti import identifying

    settings = identifying.checked(sample, **{name: choices[name] for name in _OF_SETTINGS})
    return settings, identifying.NetworkChoice(*(choices[name] for name in _OF_NETWORK))


def reported_of_sample(sample: str, choices: dict[str, Any]) -> "Reported":
    """Study public data; `choices` as of `checked`."""
    settings, network = checked(sample, choices)
    from smalti import identifying
    from smalti.cli.progress import counting

    with counting("train models", settings.trainings) as trained:
        return _reported(identifying.study_of_sample(sample, settings, network, trained))


def reported_of_records(document: Any, bound: dict[str, Any], choices: dict[str, Any]) -> "Reported | None":
    """Study what a policy permits to train on.

    Args:
        document: the policy, or its path.
        bound: the request, as arguments of the API.
        choices: as of `checked`.

    Returns:
        What was found; None: the policy denies it, which is shown.
    """
    settings, network = checked(None, choices)
    from smalti import api, identifying
    from smalti.cli.progress import counting
    from smalti.show.decisions import show_decision
    from smalti.show.terminal import console

    permitted = api.permitted_records(document, **bound)
    if not permitted.decision.is_permitted:
        show_decision(console(), permitted.decision)
        return None
    name = ", ".join(bound["data"])
    with counting("train models", settings.trainings) as trained:
        return _reported(identifying.study_of_records(permitted, name, settings, network, trained))


def _reported(study: "Study") -> "Reported":
    from smalti.cli.reporting import Reported

    return Reported(study.to_json(), lambda drawn: study.page(with_drawings=drawn))
