"""Reads a document in the short form into its typed content. Every problem becomes a fault."""

from dataclasses import dataclass, replace
from typing import Final, TypedDict

from smalti.policy.model.iris import SCHEMES
from smalti.policy.short.form import (
    ColumnSettings,
    Condition,
    Joined,
    Names,
    RowLimit,
    Setting,
    SharedParts,
    ShortPolicy,
    ShortRule,
    Typed,
    Validity,
)
from smalti.policy.short.values import (
    Faults,
    comparisons_of,
    conditions_of,
    kind,
    members_of,
    objects_of,
    setting,
    shown,
    text_of,
    texts_of,
)
from smalti.policy.short.words import (
    ONE_ROW_EACH_WORD,
    PARTS,
    RULE_WORDS,
    TOP_WORDS,
    TYPES,
    WORDS,
)
from smalti.policy.text.json_text import (
    JsonFault,
    JsonNamed,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)
from smalti.vocab.words import Range, Scope

_ONE_ROW_EACH_IRI: Final = frozenset({"oneRowEach", "smalti:oneRowEach"})
_RULES: Final = ("permit", "prohibit", "oblige")
_NESTED: Final = ("duty", "remedy", "consequence")
_SHARED: Final = frozenset({*PARTS, "action"})
_VALIDITY: Final = frozenset({"from", "until"})
_ONE_WORD: Final = frozenset({"policy", "type", "conflict"})


class _Parts(TypedDict, total=False):
    """The parts of a rule apart from its settings, by field."""

    uid: JsonString | None
    output: JsonString | None
    owner: Names
    party: Names
    target: Names
    columns: Names
    action: Names
    purpose: Names


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What the top of a document says of each rule that does not say it itself."""

    owner: Names = None
    party: Names = None
    target: Names = None


def read_short(value: JsonValue | None) -> tuple[ShortPolicy | None, tuple[JsonFault, ...]]:
    """Read a document.

    Args:
        value: of the document; None where it is empty.

    Returns:
        The policy, as far as it could be read, and every fault.
    """
    faults = Faults()
    if not isinstance(value, JsonObject):
        place = Place(0, 0, "") if value is None else value.place
        what = "empty" if value is None else kind(value)
        message = f"the document is {what}, where a policy is expected"
        faults.wrong(place, message, "write words with their values, as in `target: http://...`")
        return None, tuple(faults.all)
    return _Reader(faults).policy(value), tuple(faults.all)


class _Reader:
    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def policy(self, document: JsonObject) -> ShortPolicy:
        for member in document.members:
            if member.key.text not in TOP_WORDS:
                self.faults.unknown(member.key, "the short form", TOP_WORDS)
        defaults = _Defaults(**{part: self.names(document, part) for part in PARTS})
        texts = {word: self.one_text(document, word) for word in _ONE_WORD}
        lists = {word: self.rules(document, word, defaults) for word in _RULES}
        return ShortPolicy(
            place=document.place,
            uid=texts["policy"],
            type=texts["type"],
            conflict=texts["conflict"],
            profile=self.names(document, "profile"),
            valid=self.validity(document),
            shared=self.shared(document),
            permissions=self.permissions(document, lists["permit"], defaults),
            prohibitions=lists["prohibit"],
            obligations=lists["oblige"],
        )

    def permissions(
        self, document: JsonObject, listed: tuple[ShortRule, ...] | None, defaults: _Defaults
    ) -> tuple[ShortRule, ...] | None:
        """Those that are listed, or the one whose words stand at the top."""
        own = tuple(m for m in document.members if m.key.text in RULE_WORDS and m.key.text not in PARTS)
        if not own:
            return listed
        if listed is not None:
            for member in own:
                message = f"{shown(member.key.text)} belongs to one permission, but `permit` lists them"
                self.faults.misplaced(member.key.place, message, "write it in each rule that it concerns")
            return listed
        start = own[0].key.place
        return (self.rule(JsonObject(own, start), defaults, "duty"),)

    def rules(self, document: JsonObject, word: str, defaults: _Defaults) -> tuple[ShortRule, ...] | None:
        member = document.find(word)
        if member is None:
            return None
        nested = {"permit": "duty", "prohibit": "remedy", "oblige": "consequence"}[word]
        rules = objects_of(member.key, member.value, self.faults)
        return tuple(self.rule(self.checked(rule, word), defaults, nested) for rule in rules)

    def checked(self, rule: JsonObject, word: str) -> JsonObject:
        """A rule, with a fault for each key that is no word of rules."""
        for member in rule.members:
            if member.key.text in RULE_WORDS:
                continue
            if member.key.text in TOP_WORDS:
                message = f"{shown(member.key.text)} concerns the whole policy"
                self.faults.misplaced(member.key.place, message, "write it at the top, without indent")
            else:
                self.faults.unknown(member.key, f"a rule under `{word}`", RULE_WORDS)
        return rule

    def rule(
        self, source: JsonObject, defaults: _Defaults, nested: str, base: str | None = None
    ) -> ShortRule:
        """A rule.

        Args:
            source: the object that says it.
            defaults: of its document.
            nested: which kind of duty it may have; empty: none.
            base: the table of the rule that it is a duty of.
        """
        target = self.names(source, "target")
        base = _table(target if target is not None else defaults.target) or base
        if target is not None and len(target) > 1:
            base = None
        words = tuple(m for m in source.members if m.key.text in WORDS)
        rule = ShortRule(
            place=source.place,
            base=base,
            settings=tuple(self.setting(member) for member in words),
            one_row_each=self.one_row_each(source),
            per_column=self.per_column(source),
            rows=self.rows(source),
            constraints=self.conditions(source, "constraints"),
            refinements=self.conditions(source, "refinements"),
            **self.parts(source, target),
        )
        self.check_base(source, base)
        return self.with_duties(self.with_defaults(rule, defaults), source, nested, base)

    def parts(self, source: JsonObject, target: Names) -> _Parts:
        return {
            "uid": self.one_text(source, "rule"),
            "output": self.one_text(source, "output"),
            "owner": self.names(source, "owner"),
            "party": self.names(source, "party"),
            "target": target,
            "columns": self.names(source, "columns"),
            "action": self.names(source, "action"),
            "purpose": self.names(source, "purpose"),
        }

    def with_defaults(self, rule: ShortRule, defaults: _Defaults) -> ShortRule:
        return replace(
            rule,
            owner=defaults.owner if rule.owner is None else rule.owner,
            party=defaults.party if rule.party is None else rule.party,
            target=defaults.target if rule.target is None else rule.target,
        )

    def with_duties(self, rule: ShortRule, source: JsonObject, nested: str, base: str | None) -> ShortRule:
        for word in _NESTED:
            member = source.find(word)
            if member is not None and word != nested:
                help_ = "a permission has a `duty`, a prohibition a `remedy`, a duty a `consequence`"
                self.faults.misplaced(member.key.place, f"`{word}` has no meaning in this rule", help_)
        member = source.find(nested)
        if member is None:
            return rule
        below = "consequence" if nested == "duty" else ""
        sources = objects_of(member.key, member.value, self.faults)
        duties = tuple(
            self.rule(self.checked(duty, nested), _Defaults(), below, base) for duty in sources
        )  # fmt: skip
        match nested:
            case "duty":
                return replace(rule, duties=duties)
            case "remedy":
                return replace(rule, remedies=duties)
        return replace(rule, consequences=duties)

    def check_base(self, source: JsonObject, base: str | None) -> None:
        """Report names of columns that belong to no one table."""
        for word in ("columns", "rows"):
            member = source.find(word)
            if member is not None and base is None:
                message = f"`{word}` names columns of one table, but the rule has not exactly one target"
                self.faults.wrong(member.key.place, message, "write `target` with one IRI")

    # --- Parts of a rule

    def setting(self, member: Member) -> Setting:
        word = WORDS[member.key.text]
        if word.word.scope is Scope.COLUMN:
            message = f"{shown(member.key.text)} is a parameter of one column"
            help_ = f"write `per-column: {{COLUMN: {{{word.name}: ...}}}}`"
            self.faults.misplaced(member.key.place, message, help_)
        written = member.value
        name = written.text if isinstance(written, JsonString) and word.name == "respondent" else ""
        if name in _ONE_ROW_EACH_IRI:
            message = "each row is about another person: that is no column"
            self.faults.wrong(written.place, message, f"write `{ONE_ROW_EACH_WORD}: true`")
        read = setting(member, word, self.faults)
        if word.word.range in {Range.COLUMN, Range.COLUMNS, Range.DATASET}:
            self.check_texts(read)
        return read

    def check_texts(self, read: Setting) -> None:
        for comparison in read.comparisons:
            for value in comparison.values:
                if isinstance(value, Typed):
                    message = f"{shown(read.key.text)} takes a text, not `{value.kind}`"
                    self.faults.wrong(value.text.place, message, "write the name or the IRI alone")
                else:
                    text_of(read.key, value, self.faults)

    def one_row_each(self, source: JsonObject) -> JsonNamed | None:
        member = source.find(ONE_ROW_EACH_WORD)
        if member is None:
            return None
        if isinstance(member.value, JsonNamed) and member.value.value is True:
            if source.find("respondent") is not None:
                message = f"`{ONE_ROW_EACH_WORD}` contradicts `respondent`"
                self.faults.wrong(member.key.place, message, "keep one of them")
            return member.value
        message = f"`{ONE_ROW_EACH_WORD}` takes `true`, not {kind(member.value)}"
        self.faults.wrong(member.value.place, message, "or leave it out")
        return None

    def per_column(self, source: JsonObject) -> tuple[ColumnSettings, ...]:
        member = source.find("per-column")
        members = () if member is None else members_of(member.key, member.value, self.faults)
        return tuple(self.column_settings(each) for each in members)

    def column_settings(self, member: Member) -> ColumnSettings:
        settings = []
        for each in members_of(member.key, member.value, self.faults):
            word = WORDS.get(each.key.text)
            if word is None:
                self.faults.unknown(each.key, "the parameters of a column", WORDS)
            else:
                settings.append(setting(each, word, self.faults))
        if not settings and not self.faults.all:
            self.faults.wrong(member.value.place, "a column is named without a parameter")
        return ColumnSettings(member.key, tuple(settings))

    def rows(self, source: JsonObject) -> tuple[RowLimit, ...]:
        member = source.find("rows")
        members = () if member is None else members_of(member.key, member.value, self.faults)
        return tuple(RowLimit(each.key, comparisons_of(each, self.faults)) for each in members)

    def conditions(self, source: JsonObject, word: str) -> tuple[Condition | Joined, ...]:
        member = source.find(word)
        return () if member is None else conditions_of(member.key, member.value, self.faults)

    def names(self, source: JsonObject, word: str) -> Names:
        member = source.find(word)
        return None if member is None else texts_of(member.key, member.value, self.faults)

    def one_text(self, source: JsonObject, word: str) -> JsonString | None:
        member = source.find(word)
        return None if member is None else text_of(member.key, member.value, self.faults)

    # --- Parts of the policy

    def validity(self, document: JsonObject) -> Validity | None:
        member = document.find("valid")
        if member is None:
            return None
        for each in members_of(member.key, member.value, self.faults):
            if each.key.text not in _VALIDITY:
                self.faults.unknown(each.key, "`valid`", _VALIDITY)
        source = (
            member.value if isinstance(member.value, JsonObject) else JsonObject((), member.value.place)
        )
        if isinstance(member.value, JsonObject) and not source.members:
            self.faults.wrong(source.place, "`valid` has `from`, `until` or both")
        return Validity(
            place=member.value.place, start=self.day(source, "from"), end=self.day(source, "until")
        )

    def day(self, source: JsonObject, word: str) -> JsonString | None:
        member = source.find(word)
        if member is None:
            return None
        if isinstance(member.value, JsonObject) and len(member.value.members) == 1:
            (typed,) = member.value.members
            if typed.key.text in TYPES and typed.key.text != "iri":
                member = typed
        day = text_of(member.key, member.value, self.faults)
        if day is not None and ("/" in day.text or "=" in day.text):
            self.faults.wrong(day.place, f"{shown(day.text)} is no day and no time", "as in 2026-12-31")
        return day

    def shared(self, document: JsonObject) -> SharedParts:
        member = document.find("shared")
        if member is None:
            return SharedParts()
        for each in members_of(member.key, member.value, self.faults):
            if each.key.text not in _SHARED:
                self.faults.unknown(each.key, "`shared`", _SHARED)
        source = (
            member.value if isinstance(member.value, JsonObject) else JsonObject((), member.value.place)
        )
        return SharedParts(**{part: self.names(source, part) for part in _SHARED})


def _table(target: Names) -> str | None:
    return target[0].text if target is not None and len(target) == 1 else None


def is_iri(name: str) -> bool:
    """Whether the name of a column is its IRI; every other name is bare."""
    scheme, colon, _ = name.partition(":")
    return bool(colon) and scheme in SCHEMES
