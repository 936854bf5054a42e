"""The canonical layout of a policy document (`smalti fmt`), which keeps its contents."""

import re
from dataclasses import dataclass
from typing import Final

from smalti.policy.findings.diagnostics import Diagnostic
from smalti.policy.findings.findings import Findings
from smalti.policy.short.source import is_short, read_source
from smalti.policy.text.json_text import Place, read
from smalti.policy.text.layout import lay_out

_TURTLE: Final = re.compile(
    r"(?:\s|#[^\n]*\n)*+(?:@prefix\b|@base\b|prefix\s+\S*:|base\s+<|<)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Formatted:
    """A document in the canonical layout, or why it has none."""

    text: str | None
    """None where the document is not JSON: nothing is ever repaired."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """All errors, where there is no text."""

    @property
    def is_valid(self) -> bool:
        return self.text is not None


def format_document(text: str, name: str = "") -> Formatted:
    """Lay out a policy document in JSON-LD, in whatever form. A short form stays as people wrote it.

    The parsed policy and its meaning digest stay; laying out what was laid out changes nothing. Findings
    other than broken JSON do not matter here: a document with a mistake can be laid out, too.

    Args:
        text: the document's characters; a byte order mark is dropped.
        name: what diagnostics call the document, mostly its path.
    """
    text = text.removeprefix("\ufeff")
    findings = Findings(name, text)
    if name.endswith(".ttl") or _TURTLE.match(text):
        help_ = "`fmt` lays out JSON-LD; Turtle is checked as it is"
        findings.not_implemented(Place(0, 0, ""), "the layout of Turtle", help_)
        return Formatted(None, findings.sorted())
    if is_short(name, text):
        short = read_source(text)
        for fault in short.faults:
            findings.error(fault.code, fault.place, fault.message, fault.help)
        return Formatted(None if short.faults else text, findings.sorted())
    value, faults = read(text)
    for fault in faults:
        findings.error(fault.code, fault.place, fault.message, fault.help)
    if value is None or faults:
        return Formatted(None, findings.sorted())
    return Formatted(lay_out(value))
