"""From a policy document to policies and findings; `parse` lists the steps."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Final

from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.document.context import Terms
from smalti.policy.document.nodes import Node
from smalti.policy.document.serializations import nodes_of, read_nodes
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.findings.findings import Findings
from smalti.policy.findings.render import render_human
from smalti.policy.findings.short_words import in_short_words
from smalti.policy.model.binding import NOTHING_BOUND, PARTS, Binding, bind_options, unbound
from smalti.policy.model.model import Policy
from smalti.policy.read.documents import check_described_once, names_unknown_profile, read_policy
from smalti.policy.read.functions import with_functions
from smalti.policy.read.inclusions import read_inclusions
from smalti.policy.read.inheritance import (
    Family,
    Stored,
    nothing_stored,
    read_entry,
    report_unusable_parents,
)
from smalti.policy.read.templates import bind, check_stated, report
from smalti.policy.read.values import Scope
from smalti.policy.short.source import ENDINGS, ShortSource, is_short, read_source
from smalti.policy.text.json_text import Place

MAX_BYTES: Final = 1024 * 1024
_UNREADABLE: Final = "P109"


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What was read from one document."""

    name: str
    """As the user gave it."""
    policies: tuple[Policy, ...]
    """Empty when any finding is an error, or any policy a template: a document counts as a whole."""
    templates: tuple[Policy, ...]
    """All policies of a document that has a template, with placeholders (`policy.model.binding`); they
    grant nothing. Else, and after an error, none."""
    sound: tuple[Policy, ...]
    """The policies without errors of their own: only for the search for more findings."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, by place."""
    digest: str
    """`sha256:` and hexadecimal digits, of the document's bytes; of a short form, of its JSON-LD."""
    text: str
    """The document's characters, for rendering; empty when they could not be read."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is Severity.ERROR)

    @property
    def is_valid(self) -> bool:
        return not self.errors


@dataclass(frozen=True, slots=True)
class _Draft:
    """One document while it is read."""

    name: str
    text: str
    digest: str
    """Hexadecimal."""
    short: ShortSource | None
    """The JSON-LD of a short form; None for any other document."""
    findings: Findings
    hierarchies: Hierarchies
    stops_at_profiles: bool


def parse(
    document: bytes,
    name: str,
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
    binding: Binding = NOTHING_BOUND,
) -> ParsedDocument:
    """Read one policy document, without data and without network.

    Every problem becomes a diagnostic; nothing in a document can raise an exception. The steps: size,
    UTF-8, JSON (a short form is first turned into JSON-LD), `@context`, keys, JSON-LD expansion,
    inheritance, ODRL's information model, the profile.

    Args:
        document: the bytes of the document, at most 1 MiB.
        name: its name in diagnostics, usually its path.
        stored: gives the policies in force elsewhere, from which this one may inherit.
        hierarchies: the profiles, actions and operands that it may use.
        binding: gives the rules a target and parties that the document leaves open.
    """
    return parse_all([(document, name)], stored, hierarchies, binding)[0]


def parse_all(
    documents: Sequence[tuple[bytes, str]],
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
    binding: Binding = NOTHING_BOUND,
    *,
    stops_at_profiles: bool = True,
) -> tuple[ParsedDocument, ...]:
    """Read several documents, whose policies may inherit from each other (ODRL IM 2.9).

    A parent is looked for among the documents first, in whatever order they are given, and then in
    `stored`. A document whose policy inherits from one with errors has an error itself.

    Args:
        documents: the bytes and the name of each, as for `parse`.
        stored: gives the policies in force elsewhere.
        hierarchies: the profiles, actions and operands that the policies may use.
        binding: of all documents.
        stops_at_profiles: whether an unknown profile is an error. Otherwise it is a warning, for a check
            that goes on with everything else; no decision is made by such a policy.

    Returns:
        What was read from each document, in the same order.
    """
    drafts = [_draft(document, name, hierarchies, stops_at_profiles) for document, name in documents]
    for draft in drafts:
        if draft.short is not None and draft.short.faults:
            _look_for_more(draft, binding)
    return _read(drafts, stored, binding)


def _look_for_more(draft: _Draft, binding: Binding) -> None:
    """Add to the faults of a short form what is wrong with single values that could be read."""
    trial = replace(draft, findings=Findings(draft.name, draft.text))
    (parsed,) = _read([trial], nothing_stored, binding)
    for diagnostic in parsed.errors:
        if diagnostic.code in _OF_ONE_VALUE:
            draft.findings.add(diagnostic)


_OF_ONE_VALUE: Final = frozenset({
    "P209", "P211", "P212", "P305", "P306", "P307", "P314", "P315", "P317", "P325", "P401", "P402", "P403",
    "P404", "P405", "P415", "P424", "P426", "P433",
})  # fmt: skip
"""Codes of what is wrong with a value by itself, whatever else the document says, or fails to say."""


def _read(drafts: Sequence[_Draft], stored: Stored, binding: Binding) -> tuple[ParsedDocument, ...]:
    entries = [
        read_entry(node, scope, number)
        for number, draft in enumerate(drafts)
        for node, scope in _scoped(draft, binding)
    ]  # fmt: skip
    family = Family(entries, stored)
    partial = set()
    for policy_entry in family.in_order():
        inherited = family.inherited(policy_entry)
        policy_entry.policy = read_policy(policy_entry.node, inherited, policy_entry.scope)
        if policy_entry.policy is not None:
            check_stated(policy_entry.policy, policy_entry.node, policy_entry.scope.findings)
            report(policy_entry.policy, policy_entry.node, policy_entry.scope.findings)
        if not inherited.is_whole or any(id(parent) in partial for parent in policy_entry.parents):
            partial.add(id(policy_entry))
    report_unusable_parents(entries)
    read: list[list[Policy]] = [[] for _ in drafts]
    for policy_entry in entries:
        if policy_entry.policy is not None and id(policy_entry) not in partial:
            read[policy_entry.document].append(policy_entry.policy)
    return tuple(map(_parsed, drafts, read))


def load(
    path: str | PathLike[str], stored: Stored = nothing_stored, binding: Binding = NOTHING_BOUND
) -> ParsedDocument:
    """Read the policy document at a path; a file that cannot be read is a diagnostic, too."""
    return load_all([path], stored, binding=binding)[0]


def load_all(
    paths: Sequence[str | PathLike[str]],
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
    binding: Binding = NOTHING_BOUND,
    *,
    stops_at_profiles: bool = True,
) -> tuple[ParsedDocument, ...]:
    """Read the policy documents at some paths, as `parse_all` does."""
    files = [_file(path) for path in paths]
    documents = [file for file in files if not isinstance(file, ParsedDocument)]
    read = iter(parse_all(documents, stored, hierarchies, binding, stops_at_profiles=stops_at_profiles))
    return tuple(file if isinstance(file, ParsedDocument) else next(read) for file in files)


def _file(path: str | PathLike[str]) -> tuple[bytes, str] | ParsedDocument:
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1), name
    except (OSError, ValueError) as error:
        findings = Findings(name, "")
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "unusable path"
        findings.error(_UNREADABLE, Place(0, 0, ""), f"the document cannot be read: {reason.lower()}")
        return ParsedDocument(name, (), (), (), findings.sorted(), "", "")


def require(parsed: ParsedDocument) -> Policy:
    """The one policy of a document.

    Raises:
        PolicyError: the document has errors, all of which the message shows, or several policies, or its
            policy is a template.
    """
    policies = require_bound(parsed)
    if len(policies) != 1:
        problem = f"the document contains {len(policies)} policies"
        raise PolicyError(
            parsed.name, problem, "exactly one policy", "put each policy into a file of its own"
        )
    return policies[0]


def require_bound(parsed: ParsedDocument) -> tuple[Policy, ...]:
    """The policies of a document.

    Raises:
        PolicyError: the document has errors, all of which the message shows, or a template.
    """
    errors = parsed.errors
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        refused = PolicyError(parsed.name, f"{count}\n{render_human(errors, parsed.text)}")
        refused.exit_code = exit_code(errors)
        raise refused
    open_parts = {part for policy in parsed.templates for part in unbound(policy)}
    if open_parts:
        listed = [part for part in (*PARTS, "base") if part in open_parts]
        problem = f"the policy is a template, which leaves open: {', '.join(listed)}"
        way_out = f"bind them: {bind_options(listed)}"
        raise PolicyError(parsed.name, problem, "a policy with a target and the parties it needs", way_out)
    return parsed.policies


def exit_code(findings: Iterable[Diagnostic]) -> int:
    """How a command ends after errors: as with wrong usage where a file cannot be read, else with 1."""
    return UsageError.exit_code if any(each.code == _UNREADABLE for each in findings) else 1


def _decode(document: bytes) -> tuple[str, tuple[str, Place, str, str] | None]:
    start = Place(0, 0, "")
    if len(document) > MAX_BYTES:
        help_ = "split the document: write each policy into a file of its own"
        return "", ("P101", start, f"the document has more than {MAX_BYTES} bytes", help_)
    try:
        return document.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        text = document.decode("utf-8", errors="replace")
        at = len(document[: error.start].decode("utf-8"))
        return text, ("P102", Place(at, at + 1, ""), "the document is not UTF-8 text", "save it as UTF-8")


def _draft(document: bytes, name: str, hierarchies: Hierarchies, stops_at_profiles: bool) -> _Draft:
    text, problem = _decode(document)
    findings = Findings(_shown_name(name, text), text)
    if problem is not None:
        findings.error(*problem)
    short = read_source(text) if problem is None and is_short(name, text) else None
    if short is not None:
        document = short.text.encode("utf-8", errors="replace")
        for fault in short.faults:
            findings.error(fault.code, fault.place, fault.message, fault.help)
    digest = hashlib.sha256(document).hexdigest()
    return _Draft(name, text, digest, short, findings, hierarchies, stops_at_profiles)


def _shown_name(name: str, text: str) -> str:
    """The name in places: lines are those of the JSON-LD where a short form was stored as such."""
    return f"{name} (as JSON-LD)" if name.endswith(ENDINGS) and not is_short(name, text) else name


def json_ld_document(document: bytes, name: str) -> bytes:
    """The JSON-LD of a short form; any other document, and one with errors, as it is.

    What is stored, signed and digested is JSON-LD.
    """
    text, problem = _decode(document)
    if problem is not None or not is_short(name, text):
        return document
    return read_source(text).text.encode("utf-8", errors="replace") or document


def _nodes(draft: _Draft) -> list[tuple[Node, Terms]]:
    if draft.short is None:
        return read_nodes(draft.text, draft.findings)
    return [] if draft.short.value is None else nodes_of(draft.short.value, draft.findings)


def _scoped(draft: _Draft, binding: Binding) -> list[tuple[Node, Scope]]:
    """The policies of a document, each with its scope; none where the document cannot be read."""
    if draft.findings.has_errors:
        return []
    nodes = _nodes(draft)
    if not nodes:
        return []
    declared = draft.hierarchies
    bound = []
    for node, terms in nodes:
        findings = draft.findings.of_a_policy()
        described = with_functions(node, declared.functions, findings) if declared.functions else node
        bound.append((bind(described, binding, findings), terms, findings))
    tops = [node for node, _, _ in bound]
    uids = frozenset(node.name.iri for node in tops if node.name is not None)
    scope = Scope(
        nodes[0][1],
        draft.findings,
        draft.digest,
        policies=uids,
        hierarchies=declared,
        stops_at_profiles=draft.stops_at_profiles,
    )
    check_described_once(tops, scope)
    scope = replace(scope, inclusions=read_inclusions(tops, scope))
    return [
        (
            node,
            replace(
                scope,
                terms=terms,
                findings=findings,
                has_unknown_profile=names_unknown_profile(node, declared),
            ),
        )
        for node, terms, findings in bound
    ]


def _parsed(draft: _Draft, policies: Sequence[Policy]) -> ParsedDocument:
    kept = () if draft.findings.has_errors else tuple(policies)
    digest, diagnostics = f"sha256:{draft.digest}", draft.findings.sorted()
    if draft.short is not None:
        diagnostics = tuple(map(in_short_words, diagnostics))
    templates = kept if any(map(unbound, kept)) else ()
    bound = () if templates else kept
    return ParsedDocument(draft.name, bound, templates, tuple(policies), diagnostics, digest, draft.text)
