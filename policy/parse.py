"""From a policy document to policies and findings: the one way in (see the steps of `parse`)."""

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from smalti.errors import PolicyError
from smalti.policy.diagnostics import Diagnostic, Severity
from smalti.policy.documents import check_described_once, read_policy
from smalti.policy.findings import Findings
from smalti.policy.forms import read_nodes
from smalti.policy.json_text import Place
from smalti.policy.model import Policy
from smalti.policy.render import render_human
from smalti.policy.values import Scope

MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What was read from one document."""

    name: str
    """As the user gave it."""
    policies: tuple[Policy, ...]
    """Empty when any finding is an error: a document counts as a whole or not at all."""
    diagnostics: tuple[Diagnostic, ...]
    """All findings, by place."""
    digest: str
    """`sha256:` and hexadecimal digits, of the document's bytes."""
    text: str
    """The document's characters, for rendering; empty when they could not be read."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self.diagnostics if found.severity is Severity.ERROR)

    @property
    def is_valid(self) -> bool:
        return not self.errors


def parse(document: bytes, name: str) -> ParsedDocument:
    """Read one policy document, without data and without network.

    Every problem becomes a diagnostic; nothing in a document can raise an exception. The steps: size,
    UTF-8, JSON, `@context`, keys, JSON-LD expansion, ODRL's information model, the profile.

    Args:
        document: the bytes of the document, at most 1 MiB.
        name: what diagnostics call it, mostly its path.
    """
    digest = hashlib.sha256(document).hexdigest()
    text, problem = _decode(document)
    findings = Findings(name, text)
    if problem is not None:
        findings.error(*problem)
        return ParsedDocument(name, (), findings.sorted(), f"sha256:{digest}", text)
    policies = _read_all(text, digest, findings)
    kept = () if findings.has_errors else policies
    return ParsedDocument(name, kept, findings.sorted(), f"sha256:{digest}", text)


def load(path: str | PathLike[str]) -> ParsedDocument:
    """Read the policy document at a path; a file that cannot be read is a diagnostic, too."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            document = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        findings = Findings(name, "")
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "unusable path"
        findings.error("P109", Place(0, 0, ""), f"the document cannot be read: {reason.lower()}")
        return ParsedDocument(name, (), findings.sorted(), "", "")
    return parse(document, name)


def require(parsed: ParsedDocument) -> Policy:
    """The one policy of a document.

    Raises:
        PolicyError: the document has errors, all of which the message shows, or several policies.
    """
    errors = parsed.errors
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise PolicyError(parsed.name, f"{count}\n{render_human(errors, parsed.text)}")
    if len(parsed.policies) != 1:
        problem = f"the document holds {len(parsed.policies)} policies"
        raise PolicyError(
            parsed.name, problem, "exactly one policy", "put each policy into a file of its own"
        )
    return parsed.policies[0]


def _decode(document: bytes) -> tuple[str, tuple[str, Place, str, str] | None]:
    start = Place(0, 0, "")
    if len(document) > MAX_BYTES:
        help_ = "split the document: each policy may have a file of its own"
        return "", ("P101", start, f"the document has more than {MAX_BYTES} bytes", help_)
    try:
        return document.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        text = document.decode("utf-8", errors="replace")
        at = len(document[: error.start].decode("utf-8"))
        return text, ("P102", Place(at, at + 1, ""), "the document is not UTF-8 text", "save it as UTF-8")


def _read_all(text: str, digest: str, findings: Findings) -> tuple[Policy, ...]:
    pairs = [(node, Scope(terms, findings, digest)) for node, terms in read_nodes(text, findings)]
    if pairs:
        check_described_once([node for node, _ in pairs], pairs[0][1])
    policies = [read_policy(node, scope) for node, scope in pairs]
    return tuple(policy for policy in policies if policy is not None)
