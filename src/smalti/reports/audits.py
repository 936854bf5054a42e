"""The report of an audit: the attacks, their results, and what follows from them."""

from typing import Final

from smalti.engine.registry.attempts import Attempt, AttemptState
from smalti.engine.training.attacks import FAMILIES, of_family
from smalti.engine.training.figures import AttackResult, AuditFigures, Detail, Figure
from smalti.engine.training.guarantee import limits_of
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.reports.plots import Line, rates
from smalti.vocab.attacks import Family

_LEADS: Final = {
    AttemptState.BEGUN: "The audit is under way, or its process died.",
    AttemptState.MET: (
        "Every figure stays within its bound, and every attack found the leak that was planted."
    ),
    AttemptState.NOT_MET: "A figure may exceed its bound: nothing was released.",
    AttemptState.INCONCLUSIVE: "Nothing can be concluded: nothing was released.",
    AttemptState.FAILED: "The audit ended with an error: nothing was released.",
    AttemptState.STOPPED: "The audit was stopped: nothing was released.",
}
_LIMITS: Final = (
    "These attacks were tried, and no others: a stronger one may achieve more, and one that fails shows"
    " only its own failure. Figures are averages over records; single records may be found more easily than"
    " most. Each limit holds with the stated probability over the draw of the training records, and"
    " all attempts at models of this data share one probability of error. The figures are about people:"
    " they are for the owners of the data, and are covered by no epsilon."
)
_STUDY: Final = (
    "A study: nothing was registered, no attempt was counted, and it fulfils no duty of a policy."
)
_TEST_ONLY: Final = (
    "Test only: the model was trained with a seed, as its file states. Whoever knows the seed can remove"
    " the noise, so no privacy is promised for it."
)
_STUDY_LIMITS: Final = (
    "The training records and the recipe are taken as stated by the caller. These attacks were tried, and"
    " no others: a stronger one may achieve more, and one that fails shows only its own failure. Figures"
    " are averages over records; single records may be found more easily than most. Each limit holds alone"
    " with the stated probability over the draw of the training records, for one study: it does not hold"
    " for the best of several studies. The figures are about people, and are covered by no epsilon."
)
_NAMES: Final = {
    "attackPrecision": "precision of its best decision",
    "epsilonLowerBound": "epsilon is at least",
}
_ADVANTAGES: Final = {
    Family.RECORDS: "advantage (greatest true minus false positive rate)",
    Family.SAMPLES: "advantage (greatest true minus false positive rate)",
    Family.REPEATED: "advantage (twice the accuracy, minus one)",
    Family.IDENTIFIABILITY: "advantage (twice the share of right guesses, minus one)",
    Family.INVERSION: "advantage (right about members minus about others), at the greatest",
    Family.RISKS: "advantage (success about members minus about others), at the greatest",
}


def page(attempt: Attempt, figures: AuditFigures | None, *, with_drawings: bool) -> Page:
    """The report of one attempt.

    Args:
        attempt: as it was recorded.
        figures: of it; None where nothing was measured.
        with_drawings: whether curves are drawn; they need the extra `audit`.
    """
    facts = Table(
        "What was audited",
        ("what", "which"),
        (
            ("output", str(attempt.output)),
            ("trained on", str(attempt.target)),
            ("policy", str(attempt.policy_uid)),
            ("rule", str(attempt.rule_uid)),
            ("on behalf of", str(attempt.party)),
            ("attempt", str(attempt.number)),
            ("begun", f"{attempt.begun_at:%Y-%m-%d %H:%M} UTC"),
            ("state", str(attempt.state)),
        ),
    )
    sections = _sections(facts, figures, _LIMITS, with_drawings)
    return Page(f"Audit of {attempt.output}", _LEADS[attempt.state], sections)


def study_page(
    model: str, digest: str, figures: AuditFigures, *, with_drawings: bool, is_test_only: bool = False
) -> Page:
    """The report of a study of a model file.

    Args:
        model: the name of the file.
        digest: of the file, hexadecimal digits of SHA-256.
        figures: of it.
        with_drawings: whether curves are drawn; they need the extra `audit`.
        is_test_only: whether the file says that the model's randomness came from a seed.
    """
    facts = Table("What was audited", ("what", "which"), (("model", model), ("SHA-256", digest)))
    lead = f"{_TEST_ONLY} {_STUDY}" if is_test_only else _STUDY
    return Page(f"Study of {model}", lead, _sections(facts, figures, _STUDY_LIMITS, with_drawings))


def _sections(
    facts: Table, figures: AuditFigures | None, limits: str, with_drawings: bool
) -> tuple[Section, ...]:
    measured = (
        ()
        if figures is None
        else (
            *([Section("Why it was not met", (_reasons(figures),))] if figures.reasons else []),
            Section("What attacks achieved", _achieved(figures, with_drawings)),
            Section("Whether the attacks can find a leak", _leaks(figures)),
        )
    )
    return (
        Section("The audit", (facts,)),
        *measured,
        Section("What this does not show", (Paragraph(limits), *_left_out(figures))),
    )


def _reasons(figures: AuditFigures) -> Part:
    return Paragraph(f"{'; '.join(figures.reasons)}.")


def _left_out(figures: AuditFigures | None) -> tuple[Part, ...]:
    """What single attacks do not show."""
    left_out = limits_of(tuple(result.attack for result in figures.results)) if figures is not None else []
    return (Paragraph(f"Nor does it cover {'; nor '.join(left_out)}."),) if left_out else ()


def _achieved(figures: AuditFigures, with_drawings: bool) -> tuple[Part, ...]:
    accuracy = Paragraph(
        _predicted(figures)
        + (f"Shadow models, trained as the model was: {figures.shadows}. " if figures.shadows else "")
        + f"Each limit is wrong with a probability of at most {figures.error}."
    )
    tables = tuple(_table(result) for result in figures.results)
    return (accuracy, *tables, *([_curves(figures)] if with_drawings and _has_curves(figures) else []))


def _predicted(figures: AuditFigures) -> str:
    """How well the model predicts; of synthetic records nothing is predicted."""
    if figures.train_accuracy is None or figures.test_accuracy is None:
        return "The attack saw the synthetic records, and nothing of the model. "
    return (
        f"The model predicts {figures.train_accuracy:.1%} of the records that it was trained on, and"
        f" {figures.test_accuracy:.1%} of the held-out records. "
    )


def _table(result: AttackResult) -> Table:
    rows = tuple(
        (_name(result.attack, figure), _shown(figure.value), _shown(figure.limit))
        for figure in result.figures
    )
    details = tuple((detail.name, _shown(detail.value), _interval(detail)) for detail in result.details)
    trainings = of_family((result.attack,), Family.IDENTIFIABILITY)
    counts = "{} trainings with the record and {} without it" if trainings else "{} members and {} others"
    caption = f"{result.attack}: {counts.format(result.members, result.non_members)}"
    if result.area is not None:
        caption += f"; area under the curve {result.area:.3f} (a guess: 0.5)"
    return Table(caption, ("figure", "measured", "limit"), rows + details)


def _interval(detail: Detail) -> str:
    """Both limits; empty where there is none."""
    if detail.lower is None and detail.upper is None:
        return ""
    return f"{_end(detail.lower)} to {_end(detail.upper)}"


def _end(limit: float | None) -> str:
    return "any" if limit is None else f"{limit:.4g}"


def _name(attack: str, figure: Figure) -> str:
    if figure.figure == "attackAdvantage":
        return _ADVANTAGES[FAMILIES.get(attack, Family.RECORDS)]
    if figure.false_positive_rate is not None:
        return f"true positive rate at a false positive rate of {figure.false_positive_rate}"
    method = "" if figure.method is None else f" ({figure.method})"
    return f"{_NAMES[figure.figure]}{method}"


def _shown(number: float | None) -> str:
    return "too little data" if number is None else f"{number:.4g}"


def _has_curves(figures: AuditFigures) -> bool:
    return any(result.area is not None for result in figures.results)


def _curves(figures: AuditFigures) -> Part:
    drawn = [result for result in figures.results if result.area is not None]
    areas = "; ".join(f"{result.attack}: area {result.area:.3f}" for result in drawn)
    return rates(
        "True over false positive rates of each attack, on logarithmic axes",
        f"Curves of true over false positive rates. {areas}. A guess would have 0.5.",
        [Line(result.attack, result.curve) for result in drawn],
    )


def _leaks(figures: AuditFigures) -> tuple[Part, ...]:
    rows = tuple(
        (result.attack, f"{result.leak_advantage:.3f}", "found" if result.finds_leak else "not found")
        for result in figures.results
    )
    trainings = of_family(tuple(result.attack for result in figures.results), Family.IDENTIFIABILITY)
    text = (
        (
            "The same attacks were run on a table with records of those who were learned from"
            if figures.test_accuracy is None
            else "The same attacks were run on a model that is known to memorise, with the same records"
        )
        + ("; repeated trainings had hardly any noise" if trainings else "")
        + ". An attack that does not find this leak shows nothing by finding none elsewhere."
    )
    return Paragraph(text), Table("The planted leak", ("attack", "advantage is at least", "leak"), rows)
