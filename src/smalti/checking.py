"""Checks policy documents offline: parses them together, lints them, and describes them in words."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from smalti.errors import UsageError
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies, Vocabulary
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import quoted
from smalti.policy.findings.short_words import in_short_words, summary_in_short_words
from smalti.policy.lint.foreign_columns import named_operands, possible_columns
from smalti.policy.lint.lint import lint
from smalti.policy.lint.needs import needed_statements, unknown_profiles
from smalti.policy.lint.shutting_out import charged_rules, shut_outs
from smalti.policy.model.binding import NOTHING_BOUND, UNBOUND, Binding, unbound
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.dataset import DatasetFacts
from smalti.policy.model.model import Policy, PolicyType, Where
from smalti.policy.read.parse import MAX_BYTES, ParsedDocument, load_all, parse_all
from smalti.policy.say.describe import summary
from smalti.policy.short.source import is_short
from smalti.vocab.terms import IRI

STANDARD_INPUT = "-"
_WITHOUT_EFFECT = frozenset({"P601", "P603", "P604", "P615"})
"""Lints by which a rule, or the whole policy, does less than it says; so does an Offer."""

_DATA: Final = frozenset({".csv", ".tsv", ".parquet"})
"""The endings of files that are data, and never a description."""


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """The findings and the description of one document, without data and without network."""

    name: str
    """As the user gave it."""
    text: str
    """Its characters, for rendering; empty when they could not be read."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, by place: of the document, and of each policy in it that has no error itself."""
    policies: tuple[Policy, ...]
    """Empty when any finding of the document is an error, or a policy a template."""
    descriptions: tuple[str, ...]
    """Each policy in plain words, with what was not checked; empty likewise."""

    @property
    def is_valid(self) -> bool:
        """False exactly when a finding is an error."""
        return all(finding.severity is not Severity.ERROR for finding in self.diagnostics)

    @property
    def has_warnings(self) -> bool:
        return any(finding.severity is Severity.WARNING for finding in self.diagnostics)


def check_documents(
    names: Sequence[str],
    dataset: Path | None = None,
    vocabularies: Sequence[Path] = (),
    now: datetime | None = None,
    binding: Binding = NOTHING_BOUND,
    *,
    together: bool = False,
) -> tuple[CheckedDocument, ...]:
    """Check documents together, so that one may inherit from another.

    Args:
        names: paths; `-` is standard input.
        dataset: a CSVW description, or the file that it describes, to check columns against.
        vocabularies: groups, purposes, assets and left operands that count beside the standard ones.
        now: the time of the check, with a time zone; the present when not given.
        binding: what is bound in templates.
        together: whether one owner puts all of them in force: then rules that prohibitions of others
            contradict are found, too.

    Raises:
        UsageError: the description or a vocabulary cannot be read.
        PolicyError: a vocabulary has errors.
    """
    facts = None
    if dataset is not None:
        from smalti.engine.run.dataset_facts import read_dataset_facts  # noqa: PLC0415 (only then)

        facts = read_dataset_facts(_description(dataset))
    hierarchies = hierarchies_with(vocabularies)
    documents = _parsed(names, hierarchies, binding)
    return _all_checked(documents, facts, now or datetime.now(UTC), hierarchies, together)


def check_text(document: bytes, name: str, hierarchies: Hierarchies = STANDARD) -> CheckedDocument:
    """Check one document that is at hand.

    Args:
        document: its bytes.
        name: of the document, for messages; its ending says how it is written, as of a file.
        hierarchies: the words that count.
    """
    parsed = parse_all([(document, name)], hierarchies=hierarchies, stops_at_profiles=False)
    (checked,) = _all_checked(parsed, None, datetime.now(UTC), hierarchies, together=False)
    return checked


def _all_checked(
    documents: tuple[ParsedDocument, ...],
    facts: DatasetFacts | None,
    now: datetime,
    hierarchies: Hierarchies,
    together: bool,
) -> tuple[CheckedDocument, ...]:
    between = [*_shut_out(documents), *_columns_between(documents, facts, hierarchies)]
    if together:
        between += _conflicts(documents, facts, hierarchies)
    return tuple(_checked(parsed, facts, now, hierarchies, between) for parsed in documents)


def hierarchies_with(vocabularies: Sequence[Path]) -> Hierarchies:
    """The standard words and those of vocabularies in files.

    Raises:
        UsageError: a vocabulary cannot be read.
        PolicyError: a vocabulary has errors.
    """
    return STANDARD.with_(*map(_vocabulary, vocabularies))


def _vocabulary(path: Path) -> Vocabulary:
    from smalti.policy.read.vocabularies import read_vocabulary  # noqa: PLC0415 (it needs rdflib)

    try:
        return read_vocabulary(path.read_bytes(), str(path))
    except OSError:
        raise UsageError(str(path), "it cannot be read", "the path of a vocabulary") from None


def _columns_between(
    documents: Sequence[ParsedDocument], facts: DatasetFacts | None, hierarchies: Hierarchies
) -> Iterator[tuple[Policy, Diagnostic]]:
    """Rules that need columns which other policies forbid, each with its policy."""
    policies = list(dict.fromkeys(policy for parsed in documents for policy in parsed.sound))
    if len(policies) > 1 and any(policy.prohibitions for policy in policies):
        from smalti.policy.lint.overlaps import columns_between  # noqa: PLC0415 (it loads decisions)

        for rule, _, finding in columns_between(policies, _renamed(policies, facts), hierarchies):
            yield from ((policy, finding) for policy in policies if rule in policy.rules)


def _conflicts(
    documents: Sequence[ParsedDocument], facts: DatasetFacts | None, hierarchies: Hierarchies
) -> Iterator[tuple[Policy, Diagnostic]]:
    """Rules that prohibitions of other policies contradict, each once, with the policy that states it."""
    from smalti.policy.lint.across import conflicts_across  # noqa: PLC0415 (it loads decisions)

    policies = list(dict.fromkeys(policy for parsed in documents for policy in parsed.sound))
    policy_of: dict[Diagnostic, Policy] = {}
    for conflict in conflicts_across(policies, hierarchies, _renamed(policies, facts)):
        states_it = conflict.policy.where.document == conflict.rule.where.document
        if states_it or conflict.finding not in policy_of:
            policy_of[conflict.finding] = conflict.policy
    yield from ((policy, finding) for finding, policy in policy_of.items())


def _renamed(policies: Sequence[Policy], facts: DatasetFacts | None) -> frozenset[tuple[IRI, IRI]]:
    if facts is None:
        return frozenset()
    described = {facts.describes(policy) for policy in policies} - {None}
    return frozenset[tuple[IRI, IRI]]().union(
        *(facts.renamed_of(dataset) for dataset in described if dataset is not None)
    )


def _shut_out(documents: Sequence[ParsedDocument]) -> Sequence[tuple[Policy, Diagnostic]]:
    """Rules of all documents that shut each other out, each with its policy; once for each of them."""
    policies = list(dict.fromkeys(policy for parsed in documents for policy in parsed.sound))
    rules = [rule for policy in policies for rule in charged_rules(policy)]
    memberships = [
        (membership.member, membership.collection)
        for policy in policies
        for membership in policy.memberships
    ]
    findings: dict[tuple[IRI, IRI], tuple[Policy, Diagnostic]] = {}
    for shut_out in shut_outs(rules, memberships):
        place = shut_out.by.rule.where
        where = f" ({place})" if place.document else ""
        message = (
            f"this rule is denied once {quoted(shut_out.by.rule.uid)}{where} was used about the same"
            f" people: {shut_out.why}"
        )
        help_ = "give both rules ceilings that leave room for each other, and one neighbouring relation"
        finding = Diagnostic("P623", Severity.WARNING, message, shut_out.rule.rule.where, help=help_)
        findings.setdefault(
            (shut_out.rule.policy.uid, shut_out.rule.rule.uid), (shut_out.rule.policy, finding)
        )
    return tuple(findings.values())


def _description(dataset: Path) -> Path:
    """The CSVW description itself, or the one beside a file of data."""
    beside = dataset.with_name(f"{dataset.name}-metadata.json")
    if dataset.suffix.lower() in _DATA and not beside.exists():
        raise UsageError(
            str(dataset),
            "it is a file of data, and no description stands beside it",
            f"`{beside.name}` in the same folder, or a CSVW description",
            "`smalti init` writes one, or leave out --dataset",
        )
    return beside if dataset.suffix.lower() != ".json" and beside.exists() else dataset


def _parsed(names: Sequence[str], hierarchies: Hierarchies, binding: Binding) -> tuple[ParsedDocument, ...]:
    """One for each name, in their order; a name that is given twice is read once."""
    once = list(dict.fromkeys(names))
    files = [name for name in once if name != STANDARD_INPUT]
    documents = load_all(files, hierarchies=hierarchies, binding=binding, stops_at_profiles=False)
    read = dict(zip(files, documents, strict=True))
    if STANDARD_INPUT not in once:
        return tuple(read[name] for name in once)
    typed = (sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>")
    (spoken,) = parse_all([typed], hierarchies=hierarchies, binding=binding, stops_at_profiles=False)
    return tuple(spoken if name == STANDARD_INPUT else read[name] for name in once)


def _checked(
    parsed: ParsedDocument,
    facts: DatasetFacts | None,
    now: datetime,
    hierarchies: Hierarchies,
    between: Sequence[tuple[Policy, Diagnostic]],
) -> CheckedDocument:
    described = frozenset(
        where for policy in parsed.sound for where in _described(policy, facts, hierarchies)
    )
    findings = [
        finding
        for finding in parsed.diagnostics
        if finding.code != "P508" or finding.where not in described
    ]
    lints = [
        (
            policy,
            (
                *lint(policy, facts, now, hierarchies),
                *needed_statements(policy, hierarchies),
                *(finding for about, finding in between if about is policy),
            ),
        )
        for policy in parsed.sound
    ]
    for policy, linted in lints:
        findings += linted
        if facts is not None:
            from smalti.policy.lint.check_dataset import check_dataset  # noqa: PLC0415 (only then)

            findings += check_dataset(policy, facts)
    if is_short(parsed.name, parsed.text):
        findings = list(map(in_short_words, findings))
    findings.sort(key=lambda finding: (finding.where.line, finding.where.column, finding.code))
    is_valid = all(finding.severity is not Severity.ERROR for finding in findings)
    summaries = tuple(
        _summary(parsed.name, policy, linted, facts, hierarchies) for policy, linted in lints if is_valid
    )
    if is_short(parsed.name, parsed.text):
        summaries = tuple(map(summary_in_short_words, summaries))
    return CheckedDocument(parsed.name, parsed.text, tuple(findings), parsed.policies, summaries)


def _described(policy: Policy, facts: DatasetFacts | None, hierarchies: Hierarchies) -> Iterator[Where]:
    """Where a policy names columns of the description, or operands of a vocabulary."""
    operands = hierarchies.operands
    yield from (where for iri, where in named_operands(policy) if normalised_column(iri) in operands)
    target = None if facts is None else facts.describes(policy)
    if facts is not None and target is not None:
        columns = facts.columns_of(target)
        yield from (column.where for column in possible_columns(policy) if column.iri in columns)


def _summary(
    name: str,
    policy: Policy,
    findings: Sequence[Diagnostic],
    facts: DatasetFacts | None,
    hierarchies: Hierarchies,
) -> str:
    """One paragraph; it does not describe as effective what the findings say has no effect."""
    codes = {finding.code for finding in findings}
    if parts := unbound(policy):
        listed = ", ".join(parts)
        says = summary(policy, False).replace(f"{UNBOUND}base:", "").replace(UNBOUND, "the ")
        return f"{name}: a valid template; bind its {listed}. It says: {says}"
    if unknown_profiles(policy, hierarchies):
        text = summary(policy, facts is not None)
        return f"{name}: unusable here, since its profile is unknown (P317 above). It says: {text}"
    if "P602" in codes:
        return (
            f"{name}: valid, and void: it permits nothing (P602 above). It says: {summary(policy, False)}"
        )
    does_less = policy.type is PolicyType.OFFER or not codes.isdisjoint(_WITHOUT_EFFECT)
    caution = ", but see the warnings above" if does_less else ""
    return f"{name}: valid{caution}: {summary(policy, facts is not None)}"
