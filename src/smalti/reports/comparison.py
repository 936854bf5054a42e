"""The report of a comparison of central and local differential privacy, after D5.2, section 4.3.3."""

from typing import Final

from smalti.reports.comparison_drawings import accuracies, attacks, skew
from smalti.reports.comparison_findings import finding_sections, in_short
from smalti.reports.comparison_words import name
from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.studies.comparison.models import Others
from smalti.studies.comparison.results import Compared, Efficiency, Spread
from smalti.studies.comparison.settings import HIDDEN, Central, Comparison, Local, Original
from smalti.studies.comparison.skewed_purchases import FEATURES

_LEAD: Final = (
    "What membership inference still achieves, and how accurate models still are, with central and with"
    " local differential privacy: the comparison of MOSAICrOWN D5.2, section 4.3, on generated data."
)
_SPREAD: Final = (
    "Figures are means over repetitions, plus or minus the standard deviation of single repetitions: it"
    " describes how results vary; it is not a confidence limit. The mitigation efficiency phi (Equation"
    " 4.2) is that of the means, with the lowest and the highest of single repetitions. It is above 1 where"
    " relatively less accuracy is lost than the attack loses. `inf`: the attack is no better than a guess,"
    " and some accuracy is left; `-`: the attack on the original is no better than a guess already."
)
_OTHERS: Final = {
    Others.TEST: (
        "The document compares members with test records, which have another distribution. So an attack"
        " that distinguishes the two distributions succeeds without knowing anything of single records;"
        " no epsilon bounds that."
    ),
    Others.UNSEEN: (
        "Here members are compared with records of the same distribution that no model was trained on:"
        " the attack can distinguish membership alone, which is what differential privacy bounds."
    ),
}
_LIMITS: Final = (
    "One kind of attack was tried: shadow models, and a logistic regression for each class. A stronger one"
    " may achieve more, and one that fails shows only its own failure. All noise came from a seed, which is"
    " for tests and studies only: the epsilons are those that the same training would have with noise from"
    " the operating system. The data is generated, so nobody's privacy is at stake, and nothing is promised"
    " for other data. Randomised response leaves labels as they are: local epsilons do not cover them."
)


def page(compared: Compared, *, in_full: bool) -> Page:
    """The report.

    Args:
        compared: what was found.
        in_full: with drawings, which need the extra `audit`, and with every interval of every statement.
    """
    comparison, with_drawings = compared.comparison, in_full
    return Page(
        "Central and local differential privacy, compared by membership inference",
        f"{_LEAD} {in_short(compared.findings)}",
        (
            Section("The study", (_facts(comparison), _epsilons(comparison))),
            *finding_sections(compared, in_full=in_full),
            Section("How to read the figures below", (Paragraph(_SPREAD),)),
            _accuracies(compared, with_drawings),
            *(_section(compared, others, with_drawings) for others in (Others.TEST, Others.UNSEEN)),
            Section("How much the skew matters, without privacy", _skews(compared, with_drawings)),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def _facts(comparison: Comparison) -> Table:
    plain = comparison.hyperparameters(Original())
    rows = (
        ("data", f"Skewed Purchases: {FEATURES} bits, {_listed(comparison.classes, ', ')} classes"),
        ("records", f"{comparison.records} to train on, and as many of each kind to compare with"),
        ("network", f"{FEATURES}-{_listed(HIDDEN, '-')}-classes"),
        ("training", f"{plain.optimizer}, {plain.epochs} epochs, batches of {plain.batch_size}"),
        ("learning rate", f"{plain.learning_rate:g}"),
        ("shadow models of each target", str(comparison.shadow_models)),
        ("repetitions", str(comparison.repetitions)),
        ("seed", f"{comparison.seed}, of the data and of all noise: test only"),
    )
    return Table("What was compared", ("what", "which"), rows)


def _listed(numbers: tuple[int, ...], by: str) -> str:
    return by.join(map(str, numbers))


def _epsilons(comparison: Comparison) -> Table:
    rows: list[tuple[str, ...]] = []
    for setting in comparison.settings:
        match setting:
            case Central():
                epsilons = f"{comparison.epsilon_by_renyi(setting):.3g}; {comparison.epsilon(setting):.3g}"
                rows.append((name(setting), f"delta {comparison.delta:.2g}", epsilons))
            case Local():
                of_record = comparison.response(setting).record_epsilon
                rows.append((name(setting), f"{FEATURES} bits", f"{of_record:.4g}"))
            case Original():
                continue
    caption = (
        "What the noise would promise for a record: central by Renyi composition, as in the document, and"
        " by loss distributions, which is tighter; local for all bits together"
    )
    return Table(caption, ("setting", "of", "epsilon of a record"), tuple(rows))


def _section(compared: Compared, others: Others, with_drawings: bool) -> Section:
    title = {
        Others.TEST: "As in the document: members against test records",
        Others.UNSEEN: "Membership alone: members against unseen training records",
    }[others]
    tables = (_table(compared, classes, others) for classes in compared.comparison.classes)
    drawings = attacks(compared, others) if with_drawings else ()
    return Section(title, (Paragraph(_OTHERS[others]), *tables, *drawings))


def _accuracies(compared: Compared, with_drawings: bool) -> Section:
    rows = tuple(
        (str(row.classes), name(row.setting), _spread(row.test_accuracy), _spread(row.train_accuracy))
        for row in compared.rows
    )
    caption = "The share of records whose class is predicted; a guess is right once in as many classes"
    table = Table(caption, ("classes", "setting", "test records", "training records"), rows)
    drawings = accuracies(compared) if with_drawings else ()
    return Section("What the models are good for", (table, *drawings))


def _table(compared: Compared, classes: int, others: Others) -> Table:
    rows = tuple(
        (
            name(row.setting),
            _spread(row.attacked(others).precision),
            _spread(row.attacked(others).recall),
            _efficiency(row.attacked(others).efficiency_of_precision),
            _efficiency(row.attacked(others).efficiency_of_recall),
        )
        for row in compared.rows
        if row.classes == classes
    )
    header = ("setting", "precision", "recall", "phi, precision", "phi, recall")
    return Table(f"{classes} classes", header, rows)


def _spread(spread: Spread) -> str:
    if spread.standard_deviation is None:
        return f"{spread.mean:.3f}"
    return f"{spread.mean:.3f} ± {spread.standard_deviation:.3f}"


def _efficiency(efficiency: Efficiency | None) -> str:
    if efficiency is None:
        return ""
    if efficiency.of_means is None or efficiency.lowest is None or efficiency.highest is None:
        return _number(efficiency.of_means)
    return f"{_number(efficiency.of_means)} ({_number(efficiency.lowest)} to {_number(efficiency.highest)})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _skews(compared: Compared, with_drawings: bool) -> tuple[Part, ...]:
    rows = tuple(
        (
            str(skewed.classes),
            f"{skewed.noise_in_training:g}",
            f"{skewed.entropy_difference:.2f}",
            _spread(skewed.precision),
            _spread(skewed.precision_of_unseen),
        )
        for skewed in compared.skews
    )
    header = ("classes", "noise in training", "entropy difference", "against test", "against unseen")
    caption = (
        "Precision of the attack without privacy; noise bits of test records are 1 with probability 0.5"
    )
    return (Table(caption, header, rows), *([skew(compared)] if with_drawings else []))
