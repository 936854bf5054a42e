"""The report of an audit: what was tried, what it achieved, and what follows and what does not."""

from typing import Final

from smalti.engine.audits.attempts import Attempt, AttemptState
from smalti.engine.audits.figures import AttackResult, AuditFigures, Figure
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.reports.plots import Line, rates

_LEADS: Final = {
    AttemptState.BEGUN: "The audit is under way, or its process died.",
    AttemptState.MET: (
        "Every figure stays within its bound, and every attack found the leak that was planted."
    ),
    AttemptState.NOT_MET: "A figure may exceed its bound: the model was not released.",
    AttemptState.INCONCLUSIVE: (
        "Nothing can be concluded, for an attack did not find the leak that was planted: the model was not"
        " released."
    ),
    AttemptState.FAILED: "The audit ended with an error: nothing was released.",
    AttemptState.STOPPED: "The audit was stopped: nothing was released.",
}
_LIMITS: Final = (
    "These attacks were tried, and no others: a stronger one may achieve more, and one that fails shows"
    " only its own failure. Figures are averages over records; single records may be found more easily than"
    " most. Each limit holds with the stated probability over the draw of who was trained on, and all"
    " attempts at this model share one probability of error. The figures are about people: they are for the"
    " owners of the data, and are covered by no epsilon."
)
_STUDY: Final = (
    "A study: nothing was registered, no attempt was counted, and no duty of a policy is met by it."
)
_STUDY_LIMITS: Final = (
    "Who was trained on, and by which recipe, is taken from whoever asked. These attacks were tried, and no"
    " others: a stronger one may achieve more, and one that fails shows only its own failure. Figures are"
    " averages over records; single records may be found more easily than most. Each limit holds alone with"
    " the stated probability over the draw of who was trained on, for one study: who repeats it and picks"
    " the best one has no such limit. The figures are about people, and are covered by no epsilon."
)
_NAMES: Final = {
    "attackAdvantage": "advantage (greatest true minus false positive rate)",
    "attackPrecision": "precision at its best threshold",
    "epsilonLowerBound": "epsilon is at least",
}


def page(attempt: Attempt, figures: AuditFigures | None, *, with_drawings: bool) -> Page:
    """The report of one attempt.

    Args:
        attempt: as it was recorded.
        figures: of it; None where it did not come so far.
        with_drawings: whether curves are drawn; they need the extra `audit`.
    """
    facts = Table(
        "What was audited",
        ("what", "which"),
        (
            ("model", str(attempt.output)),
            ("trained on", str(attempt.target)),
            ("policy", str(attempt.policy_uid)),
            ("rule", str(attempt.rule_uid)),
            ("on behalf of", str(attempt.party)),
            ("attempt", str(attempt.number)),
            ("begun", f"{attempt.begun_at:%Y-%m-%d %H:%M} UTC"),
            ("came to", str(attempt.state)),
        ),
    )
    sections = _sections(facts, figures, _LIMITS, with_drawings)
    return Page(f"Audit of {attempt.output}", _LEADS[attempt.state], sections)


def study_page(model: str, digest: str, figures: AuditFigures, *, with_drawings: bool) -> Page:
    """The report of a study of a model file.

    Args:
        model: the name of the file.
        digest: of the file, hexadecimal digits of SHA-256.
        figures: of it.
        with_drawings: whether curves are drawn; they need the extra `audit`.
    """
    facts = Table("What was audited", ("what", "which"), (("model", model), ("SHA-256", digest)))
    return Page(f"Study of {model}", _STUDY, _sections(facts, figures, _STUDY_LIMITS, with_drawings))


def _sections(
    facts: Table, figures: AuditFigures | None, limits: str, with_drawings: bool
) -> tuple[Section, ...]:
    measured = (
        ()
        if figures is None
        else (
            Section("What attacks achieved", _achieved(figures, with_drawings)),
            Section("Whether they could have found anything", _leaks(figures)),
        )
    )
    return (
        Section("The audit", (facts,)),
        *measured,
        Section("What this does not show", (Paragraph(limits),)),
    )


def _achieved(figures: AuditFigures, with_drawings: bool) -> tuple[Part, ...]:
    accuracy = Paragraph(
        f"The model predicts {figures.train_accuracy:.1%} of the records that it was trained on, and"
        f" {figures.test_accuracy:.1%} of those that were held out. Shadow models that were trained"
        f" as it was: {figures.shadows}. Each limit is wrong with a probability of at most {figures.error}."
    )
    tables = tuple(_table(one) for one in figures.results)
    return (accuracy, *tables, *([_curves(figures)] if with_drawings else []))


def _table(result: AttackResult) -> Table:
    rows = tuple((_name(one), _shown(one.value), _shown(one.limit)) for one in result.figures)
    caption = (
        f"{result.attack}: {result.members} members and {result.non_members} others; area under the curve"
        f" {result.area:.3f} (a guess: 0.5)"
    )
    return Table(caption, ("figure", "measured", "limit"), rows)


def _name(figure: Figure) -> str:
    if figure.false_positive_rate is not None:
        return f"true positive rate at a false positive rate of {figure.false_positive_rate}"
    return _NAMES[figure.figure]


def _shown(number: float | None) -> str:
    return "too little data" if number is None else f"{number:.4g}"


def _curves(figures: AuditFigures) -> Part:
    said = "; ".join(f"{one.attack}: area {one.area:.3f}" for one in figures.results)
    return rates(
        "True over false positive rates of each attack, on logarithmic axes",
        f"Curves of true over false positive rates. {said}. A guess would have 0.5.",
        [Line(one.attack, one.curve) for one in figures.results],
    )


def _leaks(figures: AuditFigures) -> tuple[Part, ...]:
    rows = tuple(
        (one.attack, f"{one.leak_advantage:.3f}", "found" if one.finds_leak else "not found")
        for one in figures.results
    )
    told = (
        "The same attacks were run on a model that is known to memorise, with the same records. An attack"
        " that does not find this leak says nothing by finding none elsewhere."
    )
    return Paragraph(told), Table("The planted leak", ("attack", "advantage is at least", "leak"), rows)
