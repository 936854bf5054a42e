"""The report of an audit of a generative model: what attacks achieve by its samples, or by itself."""

from typing import Final

from smalti.reports.page import Page, Paragraph, Part, Section, Table
from smalti.transforms.auditing.limits import Figure
from smalti.transforms.generative.results import AttackFigures, GenerativeAudit

_STUDY: Final = "A study: nothing was registered, and it fulfils no duty of a policy."
_TEST_ONLY: Final = (
    " Test only: the model was trained with a seed, as its file states, so no privacy is promised for it."
)
_LIMITS: Final = (
    "The members are taken as stated by the caller. For whoever may see the training records alone: the"
    " figures are about people, and are covered by no epsilon. These attacks were tried, and no others: one"
    " that knows more, takes more samples, or compares records better may achieve more, and one that fails"
    " shows only its own failure. If the others differ from the members, records are told apart by this"
    " difference, too, and not by the model. Figures are averages over records; single ones may be found"
    " more easily. Each limit holds alone, for records drawn as these were, and not for the best of several"
    " attacks or of several studies."
)


def lead(audit: GenerativeAudit) -> str:
    """The result in one or two sentences."""
    best, greatest, sentences = audit.best, audit.greatest, []
    if best is not None:
        sentences.append(
            f"The best attack ({best.attack}) is right about {_share(best.single)} of single records (a"
            f" guess: 50%), and about {_share(best.sets)} of sets of {audit.size:,}."
        )
    if greatest is not None:
        sentences.append(
            f"The greatest risk is {greatest.attack} ({greatest.about}): {_with_limits(greatest.risk)}."
        )
    if audit.has_no_guess:
        sentences.append("Nothing singles a sample out, so no guess of `singling-out` was tried.")
    return " ".join(sentences)


def page(audit: GenerativeAudit) -> Page:
    """The report of one model."""
    return Page(
        f"Audit of {audit.model}",
        f"{lead(audit)} {_STUDY}{_TEST_ONLY if audit.is_test_only else ''}",
        (
            Section("The audit", (_facts(audit),)),
            *([Section("What attacks achieved", _achieved(audit))] if audit.attacks else []),
            *([Section("The risks of the table", _risks(audit))] if audit.risks else []),
            Section("What this does not show", (Paragraph(_LIMITS),)),
        ),
    )


def _facts(audit: GenerativeAudit) -> Part:
    rows = [
        ("model", audit.model),
        ("audited members", f"{audit.members:,}"),
        ("audited others", f"{audit.others:,}"),
        ("seed of the attacks", str(audit.seed)),
    ]
    if audit.attacks:
        rows[3:3] = [
            ("members of one attack", f"{audit.size:,}, and as many others"),
            ("attacks on disjoint records", f"{audit.disjoint:,}"),
        ]
    if audit.samples:
        rows.append(("samples", f"{audit.samples:,}"))
    if audit.reference:
        rows.append(("reference, of further others", f"{audit.reference:,}"))
    if audit.equal:
        rows.append(("others that are equal to a member", f"{audit.equal:,}: nothing tells these apart"))
    return Table("What was audited", ("what", "which"), tuple(rows))


def _achieved(audit: GenerativeAudit) -> tuple[Part, ...]:
    text = (
        f"Single membership: which {audit.size:,} of {2 * audit.size:,} records the model was trained on."
        " Set membership: which of two sets of as many records. A guess is right in half of the cases."
        " Figures and limits are of attacks on disjoint records. The average is that of the protocol of"
        f" D5.2, 4.4, which draws records anew for each of {audit.repeated} attacks, and has no limits."
    )
    header = ("attack", "single membership", "average", "set membership", "average")
    caption = f"Share of right answers; limits at a confidence of {audit.confidence:g} each"
    return (
        Paragraph(text),
        Table(caption, header, tuple(_row(each) for each in audit.attacks)),
        *_too_few(audit),
    )


def _risks(audit: GenerativeAudit) -> tuple[Part, ...]:
    text = (
        "Success is the share of attacks on members that succeed, the control the same about others, and"
        " the naive one that of an attack that looks at nothing. The risk is what the attack adds to the"
        " control, as a share of what it could add (Giomi et al. 2023). Limits are Clopper and Pearson's;"
        " they take attacks on one table for independent."
    )
    header = ("attack", "about", "success", "control", "naive", "risk")
    caption = f"Limits at a confidence of {audit.confidence:g} each"
    rows = tuple(
        (
            each.attack,
            each.about,
            f"{_share(each.success)} of {each.attempts:,}",
            f"{_share(each.control)} of {each.control_attempts:,}",
            _share(each.naive),
            _with_limits(each.risk),
        )
        for each in audit.risks
    )
    return Paragraph(text), Table(caption, header, rows), *_weak(audit)


def _weak(audit: GenerativeAudit) -> tuple[Part, ...]:
    weak = [f"{each.attack} ({each.about})" for each in audit.risks if not each.is_better]
    if not weak:
        return ()
    text = "These were no better than the naive attack, so a low risk may come from a weak attack:"
    return (Paragraph(f"{text} {', '.join(weak)}."),)


def _too_few(audit: GenerativeAudit) -> tuple[Part, ...]:
    single, sets = audit.least
    if audit.members >= max(single, sets):
        return ()
    text = (
        "There are few records: to show that half of the members are memorised, these limits take"
        f" {single:,} members and as many others by single membership, and {sets:,} by set membership."
        " Where fewer are audited, a result near a guess is no sign of privacy."
    )
    return (Paragraph(text),)


def _row(each: AttackFigures) -> tuple[str, ...]:
    return (
        each.attack,
        _with_limits(each.single),
        f"{each.document_single:.1%}",
        _with_limits(each.sets),
        f"{each.document_sets:.1%}",
    )


def _with_limits(figure: Figure) -> str:
    return f"{_share(figure)} ({figure.lower:.1%} to {figure.upper:.1%})"


def _share(figure: Figure) -> str:
    return "too few records" if figure.value is None else f"{figure.value:.1%}"
