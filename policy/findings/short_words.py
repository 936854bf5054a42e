"""Findings, summaries and messages about a short form in its own words: `k` for `mosaicrown:k`."""

import re
from dataclasses import replace
from typing import Final

from smalti.policy.findings.diagnostics import Diagnostic
from smalti.policy.short.words import BY_OPERAND, WORD_OF, WORDS

_OPERAND: Final = re.compile(r"`((?:smalti|mosaicrown):[A-Za-z-]+)`")
_OPERATOR: Final = re.compile(r"`(eq|neq|gt|gteq|lt|lteq|isA|hasPart|isPartOf|isAllOf|isAnyOf|isNoneOf)`")
_MOMENT: Final = re.compile(r'\{"@value": "([^"]+)", "@type": "xsd:(date|dateTime)"\}')
_REPLACED: Final = (
    ('add "uid": "http://..."', "add `policy: http://...`"),
    ("`smalti:respondent` `eq` a column or `smalti:oneRowEach`, here,",
     "`respondent: COLUMN` or `one-row-each: true`, here,"),
    ('write {"and": [...]} with `smalti:column` and', "write it under `per-column`, by column:"),
    ("write it as a `constraint` of the rule", "write it among the `constraints`"),
    ("write it as a `refinement` of the action", "write it among the `refinements`"),
)  # fmt: skip
_SAID_OF_RUNS: Final = (
    ("(a refinement `smalti:respondent` `eq` a column or `smalti:oneRowEach`, with the context"
     " https://w3id.org/smalti/context.jsonld listed last)",
     "(`respondent: COLUMN` or `one-row-each: true`)"),
    ("together with `smalti:column`", "under `per-column`"),
    ("an action `odrl:anonymize` or `smalti:train` with refinements", "a `method`, or a `recipe` to train"),
    ("`smalti:audit`", "`audit`"), ("`smalti:train`", "`train`"), ("`smalti:oneRowEach`", "`one-row-each`"),
    ("description (`one-row-each`)", "description (`smalti:oneRowEach`)"),
)  # fmt: skip
_REFINED: Final = re.compile(
    rf"(?<!description \()(?:\ba (?:refinement|constraint) )?{_OPERAND.pattern}(?: {_OPERATOR.pattern})?"
)
"""An operand, perhaps with its operator; not the property of the same name in a description."""
_KINDS: Final = {"date": "date", "dateTime": "date-time"}
_SHORT_OF: Final = {word.word.name: word.name for word in WORDS.values() if word.name != word.word.name}
_SAID: Final = re.compile(
    rf"(?<![\w/#:`.-])({'|'.join(sorted(_SHORT_OF, key=len, reverse=True))})(?= (?:=|is|at least|at most) )"
)
"""A word of JSON-LD in a sentence about a rule, before what is said of it."""


def summary_in_short_words(text: str) -> str:
    """Sentences about rules (`say.describe`), for people who write short forms.

    >>> summary_in_short_words("outputForm = `mean` for age, pseudonym is all of http://example.com/Name")
    'output-form = `mean` for age, pseudonyms is all of http://example.com/Name'
    """
    return _OPERAND.sub(_operand, _SAID.sub(lambda match: _SHORT_OF[match[1]], text))


def message_in_short_words(text: str) -> str:
    """A message of a plan or a run about a policy and its data, for people who write short forms.

    Words of descriptions stay as they are, and so do names of columns that are like names of operators.

    >>> message_in_short_words("`smalti:noiseScale` above 0, together with `smalti:column`")
    '`noise-scale` above 0, under `per-column`'
    >>> message_in_short_words("a refinement `smalti:measure` `isAnyOf` columns, or `smalti:unit`")
    '`measures` `any-of` columns, or `smalti:unit`'
    """
    for json_ld, short in _SAID_OF_RUNS:
        text = text.replace(json_ld, short)
    return _REFINED.sub(_refined, text)


def in_short_words(diagnostic: Diagnostic) -> Diagnostic:
    """The same finding, for people who write short forms."""
    return replace(diagnostic, message=_words(diagnostic.message), help=_words(diagnostic.help))


def _words(text: str) -> str:
    for json_ld, short in _REPLACED:
        text = text.replace(json_ld, short)
    text = _OPERAND.sub(_operand, text)
    text = _MOMENT.sub(lambda match: f"{{{_KINDS[match[2]]}: {match[1]}}}", text)
    return _OPERATOR.sub(lambda match: f"`{WORD_OF[match[1]]}`", text)


def _operand(match: re.Match[str]) -> str:
    word = BY_OPERAND.get(match[1])
    return match[0] if word is None else f"`{word.name}`"


def _refined(match: re.Match[str]) -> str:
    word = BY_OPERAND.get(match[1])
    if word is None:
        return match[0]
    return f"`{word.name}`" if match[2] is None else f"`{word.name}` `{WORD_OF[match[2]]}`"
