"""The report of an audit of a release: what attacks achieve, with noise and without."""

from typing import Final

from smalti.engine.releases.attack_results import Reconstructed, ReleaseAttacks, Thresholds, Traced
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.reports.plots import Line, rates
from smalti.transforms.auditing.limits import Figure

_LIMITS: Final = (
    "For the owner of the data alone: the figures are about people, are covered by no epsilon, and are part"
    " of no record. They fulfil no duty, and decide about no publication. These attacks were tried, and no"
    " others: somebody who knows more, as other releases about the same people, many of these people, or"
    " how the values of one person depend on each other, may achieve more. Only the promise of the release"
    " bounds everybody. The attacker is taken to know the data of the person in question, a reference of"
    " the population, and how many respondents there are. If the population differs from the data, people"
    " are told apart by this difference, too, and not by the release. Figures are averages over people;"
    " single ones may be found more easily. Each limit holds alone, for people drawn as these were."
)
_DIFFERS: Final = (
    " The population differs from the data: respondents who are not in the statistics are told apart, too,"
    " so that these figures overstate tracing. Take a population like the data."
)
_NOISE: Final = {False: "as released", True: "without noise"}


def lead(attacks: ReleaseAttacks) -> str:
    """The result in one or two sentences."""
    noisy, exact = (attacks.best(is_exact=is_exact) for is_exact in (False, True))
    return (
        f"On the statistics as released the best attack ({noisy.attack}) tells respondents from others with"
        f" an advantage of {_shown(noisy.advantage.value)} (at most {_shown(noisy.advantage.upper)}), and"
        f" without noise ({exact.attack}) with {_shown(exact.advantage.value)}. A guess has 0."
        f"{_DIFFERS if attacks.population_differs else ''}"
    )


def page(attacks: ReleaseAttacks, *, with_drawings: bool) -> Page:
    """The report of one release.

    Args:
        attacks: on it.
        with_drawings: whether curves are drawn; they need the extra `audit`.
    """
    curves = (_curves(attacks),) if with_drawings else ()
    return Page(
        f"Audit of the release {attacks.output}",
        lead(attacks),
        (
            Section("The audit", (_facts(attacks), _statistics(attacks))),
            Section("Tracing: who was among the respondents", (*_tracing(attacks), *curves)),
            Section("The error, beside known thresholds", _thresholds(attacks.thresholds)),
            Section("Reconstruction: the values of a column", _reconstruction(attacks)),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def _facts(attacks: ReleaseAttacks) -> Part:
    rows = [
        ("release", str(attacks.output)),
        ("version", str(attacks.version)),
        ("data", str(attacks.target)),
        ("promise of the release", attacks.promise),
        ("respondents", f"{attacks.people:,}"),
        ("others, of the population", f"{attacks.others:,}: a half is the attacker's reference"),
        ("seed of the attack", str(attacks.seed)),
    ]
    if attacks.left_out:
        rows.append(("left out of the population", f"{attacks.left_out:,}, who are in the data"))
    return Table("What was audited", ("what", "which"), tuple(rows))


def _statistics(attacks: ReleaseAttacks) -> Part:
    rows = tuple(
        (each.name, str(each.kind), f"{each.cells:,}" if not each.reason else f"none: {each.reason}")
        for each in attacks.statistics
    )
    return Table("Statistics", ("statistic", "kind", "figures that are attacked"), rows)


def _tracing(attacks: ReleaseAttacks) -> tuple[Part, ...]:
    rate = f"true positives at {attacks.false_positive_rate:g} false ones"
    header = ("attack", "statistics", "advantage", "by calculation", rate, "by calculation", "area")
    rows = tuple(_row(each) for each in attacks.traced)
    first = attacks.traced[0]
    caption = (
        f"{first.members:,} respondents and {first.others:,} others; limits at a confidence of"
        f" {attacks.confidence:g}"
    )
    text = (
        "The inner product measures how far the statistics lie from the population towards the person; the"
        " likelihood ratio compares how likely they are with the person and without. The calculation is for"
        " normal scores, from sizes and noise alone; for a population that is like the data."
    )
    controls = tuple((str(each.attack), _with_limits(each.advantage)) for each in attacks.controls)
    control = (
        "Control: statistics of a random half of the respondents without noise, tested on the other half."
        " What is found there comes from a population that differs from the data"
    )
    return (
        Paragraph(text),
        Table(caption, header, rows),
        Table(control, ("attack", "advantage"), controls),
    )


def _row(traced: Traced) -> tuple[str, ...]:
    return (
        str(traced.attack),
        _NOISE[traced.is_exact],
        _with_limits(traced.advantage),
        _shown(traced.expected_advantage),
        _with_limits(traced.true_positive_rate),
        _shown(traced.expected_rate),
        _shown(traced.area),
    )


def _curves(attacks: ReleaseAttacks) -> Part:
    lines = [Line(f"{each.attack}, {_NOISE[each.is_exact]}", each.curve) for each in attacks.traced]
    areas = "; ".join(
        f"{line.name}: area {each.area:.3f}" for line, each in zip(lines, attacks.traced, strict=True)
    )
    return rates(
        "True over false positive rates of each attack, on logarithmic axes",
        f"Curves of true over false positive rates. {areas}. A guess would have 0.5.",
        lines,
    )


def _thresholds(thresholds: Thresholds) -> tuple[Part, ...]:
    text = (
        "Errors are those of the statistics as means, in standard deviations of one person. Tracing works"
        " up to about sqrt(d) / n, for d independent statistics of n people (Dwork et al. 2015), if d is at"
        " least of the size of n; reconstruction up to about 1 / sqrt(n), with at least n subset sums"
        " (Dinur and Nissim 2003)."
    )
    rows = (
        ("statistics", f"{thresholds.statistics:,}"),
        ("as many independent ones", f"{thresholds.effective:,.1f}"),
        ("error by noise", _shown(thresholds.error)),
        ("threshold of tracing, sqrt(d) / n", _shown(thresholds.tracing)),
        ("threshold of reconstruction, 1 / sqrt(n)", _shown(thresholds.sampling)),
    )
    return Paragraph(text), Table("Root mean square over the statistics", ("what", "how much"), rows)


def _reconstruction(attacks: ReleaseAttacks) -> tuple[Part, ...]:
    parts: list[Part] = []
    if attacks.reconstructed:
        header = ("column", "attack", "subset sums", "right", "right without noise", "right by a guess")
        rows = tuple(_reconstructed(each) for each in attacks.reconstructed)
        text = (
            "The attacker knows the other columns by which statistics count, for every respondent. A guess"
            " is the value that most of the population have. What follows from how values depend on each"
            " other in the population is in the shares, too."
        )
        parts += [Paragraph(text), Table("Respondents whose value is right", header, rows)]
    if attacks.not_run:
        rows = tuple((each.attack, each.reason) for each in attacks.not_run)
        parts.append(Table("Not run", ("attack", "reason"), rows))
    return tuple(parts)


def _reconstructed(each: Reconstructed) -> tuple[str, ...]:
    return (
        f"{each.column} ({each.values} values)",
        str(each.attack),
        f"{each.sums:,} of each value",
        f"{each.right:.1%} of {each.people:,}",
        f"{each.right_without_noise:.1%}",
        f"{each.guessed:.1%}",
    )


def _with_limits(figure: Figure) -> str:
    return f"{_shown(figure.value)} ({_shown(figure.lower)} to {_shown(figure.upper)})"


def _shown(number: float | None) -> str:
    return "too few others" if number is None else f"{number:.3g}"
