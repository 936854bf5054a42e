"""The words of the short form: one table, which the reader, the writer and the JSON Schema use."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from smalti.vocab.terms import COLUMN, ODRL, SMALTI
from smalti.vocab.words import Kind, Range, Word, words

OPERATORS: Final[Mapping[str, str]] = MappingProxyType({
    "exactly": "eq", "not": "neq", "above": "gt", "at-least": "gteq", "below": "lt", "at-most": "lteq",
    "is-a": "isA", "has-part": "hasPart", "part-of": "isPartOf",
    "all-of": "isAllOf", "any-of": "isAnyOf", "none-of": "isNoneOf",
})  # fmt: skip
"""ODRL's operators, by their words."""
WORD_OF: Final[Mapping[str, str]] = MappingProxyType({odrl: word for word, odrl in OPERATORS.items()})
SETS: Final = frozenset({"isAllOf", "isAnyOf", "isNoneOf"})
JOINED: Final[Mapping[str, str]] = MappingProxyType({
    "and": "and", "or": "or", "xone": "xone", "and-sequence": "andSequence",
})  # fmt: skip
"""Logical constraints, by their words."""
TYPES: Final[Mapping[str, str]] = MappingProxyType({
    "iri": "@id", "date": "xsd:date", "date-time": "xsd:dateTime",
})  # fmt: skip
"""Values that are no numbers and no texts, by their words."""
OWN_ACTIONS: Final = frozenset({"train", "audit"})
"""The actions of smalti's profile, which need no prefix; all other names without one are ODRL's."""

OF_POLICIES: Final[Mapping[str, str]] = MappingProxyType({
    "policy": "the IRI that names the policy",
    "type": "Set when absent, or Offer, or Agreement",
    "profile": "the vocabularies whose words it uses; filled in when absent",
    "conflict": "which rule wins where a permission and a prohibition apply: prohibit when absent",
    "valid": "when it is in force: `from` and `until`, the last day included",
    "permit": "permissions: one, or a list",
    "prohibit": "prohibitions: one, or a list",
    "oblige": "obligations: one, or a list",
    "shared": "what ODRL's compact form states for all rules, and policies that inherit take over",
})  # fmt: skip
"""Words that stand only at the top, each with its meaning."""
PARTS: Final[Mapping[str, str]] = MappingProxyType({
    "owner": "who issues it (ODRL's assigner): an IRI, or a list",
    "party": "who may, must or must not do it (ODRL's assignee): an IRI, or a list; anybody when absent",
    "target": "the asset that it is about: an IRI, or a list of joint ones",
})  # fmt: skip
"""Words that at the top are said of each rule that does not have them."""
OF_RULES: Final[Mapping[str, str]] = MappingProxyType({
    "rule": "the IRI that names the rule",
    "columns": "columns of the target, in place of the target itself",
    "action": "what is done; anonymize with a `method`, train with a `recipe`; in a prohibition everything",
    "output": "the IRI of what is made",
    "purpose": "the purpose that the rule is limited to, or a list",
    "rows": "limits to rows, by column",
    "per-column": "parameters of single columns, by column",
    "constraints": "further conditions of the rule, a list",
    "refinements": "further conditions of the action, a list",
    "duty": "what must be done for the permission to apply: one, or a list",
    "remedy": "what must be done after the prohibition was violated: one, or a list",
    "consequence": "what must be done when the duty was not fulfilled: one, or a list",
})  # fmt: skip
"""Words of a rule, apart from those of the action."""
ONE_ROW_EACH_WORD: Final = "one-row-each"

ODRL_WORDS: Final[Mapping[str, str]] = MappingProxyType({
    "uid": "policy", "assigner": "owner", "assignee": "party", "permission": "permit",
    "prohibition": "prohibit", "obligation": "oblige", "constraint": "constraints",
    "refinement": "refinements", "duties": "duty", "remedies": "remedy", "release": "released",
})  # fmt: skip
"""What people write who know ODRL, with the word of the short form."""

_PLURALS: Final = {
    "identifier": "identifiers", "quasi-identifier": "quasi-identifiers", "pseudonym": "pseudonyms",
    "measure": "measures", "statistic": "statistics", "attack": "attacks",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShortWord:
    """A left operand of the profile that the short form writes as a key."""

    name: str
    word: Word

    @property
    def operand(self) -> str:
        """As JSON-LD writes it, with its prefix."""
        local = self.word.name
        return f"smalti:{local}" if self.word.iri.startswith(SMALTI) else f"mosaicrown:{local}"

    @property
    def limits_rules(self) -> bool:
        """Whether it is a constraint of the rule; otherwise it refines the action."""
        return self.word.kind is Kind.CONSTRAINT

    def default(self, *, is_list: bool) -> str | None:
        """The operator of a value that stands alone: the bound, where the word is one; None: none is."""
        allowed = self.word.operators
        lists = allowed & SETS
        if lists and (is_list or not allowed - lists):
            return next(iter(lists))
        single = allowed - lists - {"eq"} or allowed - lists
        return next(iter(single)) if len(single) == 1 and not is_list else None


def _name(local: str) -> str:
    kebab = re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", local)
    return _PLURALS.get(kebab, kebab)


def _words() -> Mapping[str, ShortWord]:
    operands = [
        word
        for kind in (Kind.REFINEMENT, Kind.CONSTRAINT)
        for word in words(kind)
        if word.range is not Range.PURPOSES and word.iri != COLUMN
    ]
    return MappingProxyType({(name := _name(word.name)): ShortWord(name, word) for word in operands})


WORDS: Final = _words()
"""By their names."""
BY_OPERAND: Final[Mapping[str, ShortWord]] = MappingProxyType(
    {word.operand: word for word in WORDS.values()}
)
RULE_WORDS: Final = frozenset({*PARTS, *OF_RULES, *WORDS, ONE_ROW_EACH_WORD})
TOP_WORDS: Final = frozenset({*OF_POLICIES, *RULE_WORDS})
ACTION_OF_ALL: Final = (f"{ODRL}use", f"{ODRL}transfer")
