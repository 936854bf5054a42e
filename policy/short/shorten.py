"""The short form of a canonical JSON-LD document. What has no word is reported, and never left out."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import unquote

from smalti.policy.model.column_iris import column_iri, is_column_of, normalised_column
from smalti.policy.short.conditions import Conditions
from smalti.policy.short.plain import array, items_of, one_or_list, plain_object, text, text_value
from smalti.policy.short.reading import is_iri
from smalti.policy.short.words import OWN_ACTIONS
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonString, JsonValue, Member
from smalti.vocab.purposes import PURPOSES
from smalti.vocab.terms import IRI, MOSAICROWN

_PARTS: Final = {"assigner": "owner", "assignee": "party", "target": "target"}
_LISTS: Final = {"permission": "permit", "prohibition": "prohibit", "obligation": "oblige"}
_DUTIES: Final = ("duty", "remedy", "consequence")
_TOP: Final = frozenset({
    "@context", "@type", "uid", "profile", "conflict", "dct:valid", "action", *_PARTS, *_LISTS,
})  # fmt: skip
_OF_RULES: Final = frozenset({"uid", "action", "output", "purpose", "constraint", *_PARTS, *_DUTIES})
_ALL: Final = ("use", "transfer")
_ORDER: Final = (
    "policy", "type", "profile", "conflict", "valid", "shared", "owner", "party", "target", "rule",
    "columns", "action", "purpose", "method", "algorithm", "k", "l", "epsilon", "respondent",
    "one-row-each", "identifiers", "quasi-identifiers", "sensitive", "released",
)  # fmt: skip
_LAST: Final = (
    "per-column", "rows", "constraints", "refinements", "output", "duty", "remedy", "consequence",
    "permit", "prohibit", "oblige",
)  # fmt: skip
_RANK: Final = {
    **{word: rank for rank, word in enumerate(_ORDER)},
    **{word: 1000 + rank for rank, word in enumerate(_LAST)},
}  # fmt: skip

Words = dict[str, JsonValue]
"""The words of a rule or a policy, with their values."""


def shorten(document: JsonObject) -> tuple[JsonObject | None, tuple[str, ...]]:
    """The short form of a canonical document (`policy.say.serialize`), or what it has no word for."""
    writer = _Writer([])
    words = writer.policy(document)
    return (None if writer.problems else plain_object(_sorted(words))), tuple(
        dict.fromkeys(writer.problems)
    )


def _sorted(words: Words) -> Words:
    return dict(sorted(words.items(), key=lambda item: _RANK.get(item[0], 500)))


class _Writer:
    def __init__(self, problems: list[str]) -> None:
        self.problems = problems

    def policy(self, document: JsonObject) -> Words:
        if document.find("@graph") is not None:
            self.problems.append("beside its rules, what belongs to what (memberships, actions of its own)")
            return {}
        self.unknown(document.members, _TOP, "the policy")
        members = {member.key.text: member.value for member in document.members}
        words: Words = {}
        if text(members["@type"]) != "Set":
            words["type"] = members["@type"]
        if "uid" in members:
            words["policy"] = members["uid"]
        if text(members["conflict"]) != "prohibit":
            words["conflict"] = members["conflict"]
        if "dct:valid" in members:
            words["valid"] = _validity(text(members["dct:valid"]))
        words["profile"] = members.get("profile", array(()))
        shared = self.parts(members) | self.actions_of(members.get("action"))
        if shared:
            words["shared"] = plain_object(shared)
        return words | self.all_rules(members)

    def unknown(self, members: Iterable[Member], words: frozenset[str], where: str) -> None:
        self.problems += [
            f"`{member.key.text}` of {where}" for member in members if member.key.text not in words
        ]

    def parts(self, members: dict[str, JsonValue]) -> Words:
        return {
            word: self.names(members[part], part) for part, word in _PARTS.items() if part in members
        }  # fmt: skip

    def names(self, value: JsonValue, part: str) -> JsonValue:
        items = value.items if isinstance(value, JsonArray) else (value,)
        for item in items:
            if isinstance(item, JsonObject):
                what = "a refined collection" if item.find("refinement") else "a member of a collection"
                self.problems.append(f"{what} as its `{part}`")
        return value

    def actions_of(self, value: JsonValue | None) -> Words:
        return {} if value is None else {"action": one_or_list(map(_action, items_of(value)))}

    # --- Rules

    def all_rules(self, members: dict[str, JsonValue]) -> Words:
        sources = {
            word: [item for item in items_of(members[part]) if isinstance(item, JsonObject)]
            for part, word in _LISTS.items()
            if part in members
        }
        every = [rule for rules in sources.values() for rule in rules]
        defaults = _defaults(every)
        rules = {
            word: [self.rule(rule, defaults, word, defaults.get("target")) for rule in listed]
            for word, listed in sources.items()
        }
        top: Words = {_PARTS[part]: value for part, value in defaults.items()}
        permitted = rules.get("permit", [])
        if len(permitted) == 1 and (len(every) == 1 or not set(permitted[0]) & set(_PARTS.values())):
            top |= permitted[0]
            del rules["permit"]
        return top | {word: one_or_list(list(map(_object, listed))) for word, listed in rules.items()}

    def rule(
        self, source: JsonObject, defaults: dict[str, JsonValue], word: str, table: JsonValue | None
    ) -> Words:
        self.unknown(source.members, _OF_RULES, f"a rule under `{word}`")
        members = {member.key.text: member.value for member in source.members}
        words = self.parts({part: value for part, value in members.items() if value != defaults.get(part)})
        base = _base(members.get("target"), table)
        columns = _columns(members.get("target"), table, base)
        if columns is not None and "target" in words:
            words["columns"] = columns
            del words["target"]
        elif base != text(members.get("target", table)):
            base = text(members["target"]) if isinstance(members.get("target"), JsonString) else None
        if "uid" in members:
            words["rule"] = members["uid"]
        if "output" in members:
            words["output"] = self.names(members["output"], "output")
        if "purpose" in members:
            words["purpose"] = one_or_list(map(_purpose, items_of(members["purpose"])))
        words |= self.action(members, base, word)
        conditions = Conditions(lambda iri: _bare(iri, base), base, self.problems)
        words |= conditions.constraints(items_of(members.get("constraint")), has_purpose="purpose" in words)
        inner = None if base is None else JsonString(base, source.place)
        for part in _DUTIES:
            if part in members:
                duties = [item for item in items_of(members[part]) if isinstance(item, JsonObject)]
                words[part] = one_or_list(
                    [_object(self.rule(duty, {}, part, inner)) for duty in duties]
                )  # fmt: skip
        return words

    def action(self, members: dict[str, JsonValue], base: str | None, word: str) -> Words:
        actions = items_of(members.get("action"))
        refined = [action for action in actions if isinstance(action, JsonObject)]
        refinements = [items_of(_value(action, "refinement")) for action in refined]
        if refined and (len(refined) < len(actions) or any(r != refinements[0] for r in refinements)):
            self.problems.append(f"several actions with different refinements in a rule under `{word}`")
            return {}
        names = [
            _action(_value(_as_object(_value(action, "rdf:value")), "@id"))
            if isinstance(action, JsonObject)
            else _action(action)
            for action in actions
        ]
        conditions = Conditions(lambda iri: _bare(iri, base), base, self.problems)
        words = conditions.refinements(refinements[0] if refinements else ())
        if [text(name) for name in names] != _implied(words, word):
            words["action"] = one_or_list(names)
        return words if actions else {}


def _implied(words: Words, word: str) -> list[str]:
    """The actions of a rule that names none."""
    for key, action in (("method", "anonymize"), ("recipe", "train"), ("attacks", "audit")):
        if key in words:
            return [action]
    return list(_ALL) if word == "prohibit" else []


def _defaults(rules: Sequence[JsonObject]) -> dict[str, JsonValue]:
    """What the top says of each rule: what all have, and the table whose columns others are about."""
    defaults = {}
    for part in _PARTS:
        values = [member.value for rule in rules if (member := rule.find(part)) is not None]
        if len(values) < len(rules) or not values:
            continue
        first = next((value for value in values if isinstance(value, JsonString)), values[0])
        are_names = all(isinstance(item, JsonString) for item in items_of(first))
        if are_names and all(
            value == first or (part == "target" and _are_columns(value, first)) for value in values
        ):
            defaults[part] = first
    return defaults


def _are_columns(value: JsonValue, table: JsonValue) -> bool:
    return isinstance(table, JsonString) and all(
        isinstance(item, JsonString) and _bare(item.text, table.text) != item.text
        for item in items_of(value)
    )


def _base(target: JsonValue | None, table: JsonValue | None) -> str | None:
    """The table of a rule: its one target, or that of which its targets are columns."""
    own = target if target is not None else table
    if isinstance(table, JsonString) and target is not None and _are_columns(target, table):
        return table.text
    return own.text if isinstance(own, JsonString) else None


def _columns(target: JsonValue | None, table: JsonValue | None, base: str | None) -> JsonValue | None:
    if target is None or base is None or table is None or not _are_columns(target, table):
        return None
    return array(text_value(_bare(text(item), base)) for item in items_of(target))


def _bare(iri: str, base: str | None) -> str:
    """The bare name of a column of the table, where there is one; else its IRI."""
    if base is None or not is_column_of(base, iri):
        return iri
    name = unquote(normalised_column(iri).removeprefix(normalised_column(base) + "/"))
    same = normalised_column(column_iri(IRI(base), name)) == normalised_column(iri)
    return name if same and name and name.isprintable() and not is_iri(name) else iri


def _validity(interval: str) -> JsonObject:
    start, end = interval.split("/")
    days = {"from": _first_day(start), "until": _last_day(end)}
    return plain_object({word: text_value(day) for word, day in days.items() if day != ".."})


def _first_day(moment: str) -> str:
    return moment.removesuffix("T00:00:00Z")


def _last_day(moment: str) -> str:
    from datetime import date, timedelta  # noqa: PLC0415 (only here)

    if not moment.endswith("T00:00:00Z"):
        return moment
    day = date.fromisoformat(moment.removesuffix("T00:00:00Z"))
    return moment if day == date.min else (day - timedelta(days=1)).isoformat()


def _action(value: JsonValue | None) -> JsonString:
    name = text(value)
    prefix, _, local = name.partition(":")
    if (prefix == "odrl" and local not in OWN_ACTIONS) or (prefix == "smalti" and local in OWN_ACTIONS):
        return text_value(local)
    return text_value(name)


def _purpose(value: JsonValue) -> JsonString:
    name = text(value).removeprefix("mosaicrown:")
    return text_value(name if MOSAICROWN + name in PURPOSES else text(value))


# --- JSON


def _value(source: JsonObject, key: str) -> JsonValue:
    member = source.find(key)
    if member is None:
        raise TypeError(key)  # canonical documents have it
    return member.value


def _as_object(value: JsonValue) -> JsonObject:
    if not isinstance(value, JsonObject):
        raise TypeError(type(value))  # likewise
    return value


def _object(words: Words) -> JsonObject:
    return plain_object(_sorted(words))
