"""What a comparison says of the document's statements: as a summary, and with every interval."""

from typing import Final

from smalti.reports.comparison_drawings import intervals_of_phi, verdicts
from smalti.reports.comparison_words import between, claimed, measured, name, short
from smalti.reports.page import Paragraph, Part, Section, Table
from smalti.studies.comparison.findings import CONFIDENCE, Finding, Findings, FoundPart, FoundPhi
from smalti.studies.comparison.results import Compared
from smalti.studies.comparison.statements import SAME, SMALL
from smalti.studies.comparison.verdicts import Verdict

_HOW: Final = (
    "Each statement is a claim about differences, means or phi, with members held against test records as"
    " in the document. A quantity counts as inside or outside of where it is claimed if its whole interval"
    " is; what was measured decides nothing by itself. With confidence {confidence:g} no interval misses,"
    " of all statements together, and so no verdict is false: Student's intervals over repetitions, each"
    " with an equal part of its statement's error (Bonferroni), as far as repetitions are distributed"
    " normally. Where the document says that a figure stays or is near another, at most {same:g} is meant"
    " here, and {small:g} where it changes little; the document prints no such numbers."
)
_NOT_ENOUGH: Final = (
    " Where a quantity has no interval, there are fewer than two repetitions, or the study lacks a setting."
)


def in_short(findings: Findings) -> str:
    """The result in one sentence."""
    holds, fails, is_open = (findings.number_of(verdict) for verdict in Verdict)
    return (
        f"Of {len(findings.findings)} statements of the document, {holds} hold at this size, {fails} do"
        f" not, and of {is_open} this size cannot tell."
    )


def finding_sections(compared: Compared, *, in_full: bool) -> tuple[Section, ...]:
    """The findings.

    Args:
        compared: what was found.
        in_full: with drawings, and with every interval.
    """
    findings = compared.findings
    how = _HOW.format(confidence=CONFIDENCE, same=SAME, small=SMALL) + _NOT_ENOUGH
    drawings = (verdicts(findings),) if in_full else ()
    return (
        Section("The document's statements, at this size", (_summary(findings), *drawings, Paragraph(how))),
        Section("The mitigation efficiency phi", _phis(compared, in_full)),
        *(_in_full(finding) for finding in findings.findings if in_full),
    )


def _summary(findings: Findings) -> Table:
    rows = tuple(
        (
            f"{finding.statement.name}: {finding.statement.said}",
            _place(finding),
            str(finding.verdict),
            _counts(finding),
            _example(finding.deciding),
        )
        for finding in findings.findings
    )
    header = ("statement", "where", "verdict", "inside, outside, open", "such as")
    return Table("Which statements hold, with the intervals that decide", header, rows)


def _place(finding: Finding) -> str:
    statement = finding.statement
    return f"p. {statement.page}" + (f", figure {statement.figure}" if statement.figure else "")


def _counts(finding: Finding) -> str:
    conditions = finding.conditions
    return ", ".join(str(sum(weighed.verdict is verdict for weighed in conditions)) for verdict in Verdict)


def _example(weighed_part: FoundPart) -> str:
    """The first of the conditions that decided, with its interval."""
    weighed = next(
        (condition for condition in weighed_part.conditions if condition.verdict is weighed_part.verdict),
        weighed_part.conditions[0],
    )
    condition = weighed.condition
    return (
        f"{weighed_part.part.what}, {condition.what}: {measured(weighed.value, weighed.interval)}; claimed"
        f" {claimed(condition.region)}"
    )


def _phis(compared: Compared, in_full: bool) -> tuple[Part, ...]:
    findings = compared.findings
    largest = Paragraph(_largest(findings))
    rows = tuple(_row_of_phi(efficiency) for efficiency in findings.phis)
    header = ("classes", "setting", "of", "phi of means, with interval")
    table = Table("All intervals together with the confidence above", header, rows)
    return (largest, *intervals_of_phi(compared), table) if in_full else (largest,)


def _largest(findings: Findings) -> str:
    efficiency, interval = findings.largest_phi, findings.largest_interval
    if efficiency is None or efficiency.value is None:
        return "No phi is defined: the attack on every original is no better than a guess."
    place = efficiency.phi.place
    where = f"of the {efficiency.phi.attack} with {place.classes} classes, {name(place.setting)}"
    maximum = f"The largest phi that was measured is {short(efficiency.value)}, {where}."
    if interval is None:
        return maximum
    return (
        f"{maximum} The largest of all true ones is {between(interval)}; its limit is infinite where some"
        " attack may be a guess: then nothing is left to divide by."
    )


def _row_of_phi(efficiency: FoundPhi) -> tuple[str, ...]:
    place = efficiency.phi.place
    return (
        str(place.classes),
        name(place.setting),
        str(efficiency.phi.attack),
        measured(efficiency.value, efficiency.interval),
    )


def _in_full(finding: Finding) -> Section:
    statement = finding.statement
    said = f"{statement.said[:1].upper()}{statement.said[1:]} ({_place(finding)}): {finding.verdict}."
    return Section(
        f"Statement {statement.name}", (Paragraph(said), *(_table_of(part) for part in finding.parts))
    )


def _table_of(weighed_part: FoundPart) -> Table:
    rows = tuple(
        (
            weighed.condition.what,
            measured(weighed.value, weighed.interval),
            claimed(weighed.condition.region),
            _word(weighed.verdict),
        )
        for weighed in weighed_part.conditions
    )
    part = weighed_part.part
    number = "all" if part.needed == len(part.conditions) else f"at least {part.needed}"
    caption = f"{part.what}; {number} of {len(part.conditions)} have to be inside: {weighed_part.verdict}"
    return Table(caption, ("of", "measured, with interval", "claimed", "it is"), rows)


def _word(verdict: Verdict) -> str:
    return {Verdict.HOLDS: "inside", Verdict.FAILS: "outside", Verdict.OPEN: "open"}[verdict]
