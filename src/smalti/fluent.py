"""A policy that is written in code: the short form, word by word."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from smalti.engine.arguments import public, public_methods
from smalti.errors import UsageError
from smalti.policy.read.parse import parse
from smalti.policy.say.serialize import number_text
from smalti.policy.say.short_form import to_json_ld
from smalti.policy.short.plain import NOWHERE, array, plain_object, text_value
from smalti.policy.short.source import IN_CODE
from smalti.policy.short.words import JOINED, OPERATORS, PARTS, RULE_WORDS, TYPES
from smalti.policy.text.json_text import JsonArray, JsonNamed, JsonNumber, JsonValue
from smalti.policy.text.yaml_layout import lay_out_yaml

_WORDS: Final = frozenset({*RULE_WORDS, *OPERATORS, *JOINED, *TYPES})
_BY_COLUMN: Final = frozenset({"rows", "per-column"})
_EXPECTED: Final = "texts, numbers, True, dates, and lists and mappings of them"

Rule = tuple[tuple[str, JsonValue], ...]


@public_methods
@dataclass(frozen=True, slots=True)
class PolicyInCode:
    """A policy that is written in code; immutable: each method returns another one.

    It is used where a loaded policy is, in `plan`, `run` and `load_policy`. What is wrong with it is found
    then, with line and column of its short form. The keywords of the methods are the words of the short
    form, with `_` for `-`: docs/short-form.md lists them. A value is a text, a number, True, a date, or a
    list or mapping of them; a decimal number that must be exact is a `Decimal`. None leaves a word out.
    """

    _words: Rule
    _rules: tuple[tuple[str, Rule], ...] = ()

    def anonymize(self, **words: object) -> "PolicyInCode":
        """Permit to anonymize.

        Args:
            **words: of the rule. Without `method`, `k` alone means k-anonymity, and with `l` l-diversity.

        Raises:
            UsageError: a value is of no kind that policies have.
        """
        if "method" not in words and words.get("k") is not None:
            words = {"method": "k-anonymity" if words.get("l") is None else "l-diversity", **words}
        return self._with("permit", "anonymize", words)

    def permit(self, action: str | None = None, **words: object) -> "PolicyInCode":
        """Permit an action, such as `read`.

        Raises:
            UsageError: a value is of no kind that policies have.
        """
        return self._with("permit", action, words)

    def prohibit(self, action: str | None = None, **words: object) -> "PolicyInCode":
        """Prohibit an action; without one, every action.

        Raises:
            UsageError: a value is of no kind that policies have.
        """
        return self._with("prohibit", action, words)

    def oblige(self, action: str | None = None, **words: object) -> "PolicyInCode":
        """Oblige to an action.

        Raises:
            UsageError: a value is of no kind that policies have.
        """
        return self._with("oblige", action, words)

    def to_short(self) -> str:
        """The policy in the short form (YAML), whether it is valid or not."""
        rules: dict[str, list[Rule]] = {}
        for kind, rule in self._rules:
            rules.setdefault(kind, []).append(rule)
        words = dict(self._words)
        permitted = rules.get("permit", [])
        if len(permitted) == 1 and words.keys().isdisjoint(dict(permitted[0])):
            own_parts = dict(permitted[0]).keys() & PARTS.keys()
            if not own_parts or len(self._rules) == 1:
                words |= dict(rules.pop("permit")[0])
        lists = {kind: [plain_object(dict(rule)) for rule in each] for kind, each in rules.items()}
        joined = {kind: array([*_items(words.get(kind)), *each]) for kind, each in lists.items()}
        return lay_out_yaml(plain_object(words | joined))

    def to_json_ld(self) -> str:
        """The policy in JSON-LD, which is what a registry stores.

        Raises:
            PolicyError: a word is unknown, or has another kind of value.
        """
        text = self.to_short()
        done = to_json_ld(text, IN_CODE)
        if done.text is None:
            from smalti.policy.read.parse import require_bound  # noqa: PLC0415 (only then)

            require_bound(parse(text.encode(), IN_CODE))  # raises, with every problem
        return done.text or ""

    def _with(self, kind: str, action: str | None, words: Mapping[str, object]) -> "PolicyInCode":
        own = {} if action is None or (action == "anonymize" and "method" in words) else {"action": action}
        return PolicyInCode(self._words, (*self._rules, (kind, _rule(own | dict(words)))))


@public
def new_policy(**words: object) -> PolicyInCode:
    """Begin a policy in code: what is said of the whole policy, or of each of its rules.

    Args:
        **words: `policy` (its IRI), `owner`, `party`, `target`, `conflict`, `profile`, `valid` (with
            `from` and `until`); docs/short-form.md lists them.

    Raises:
        UsageError: a value is of no kind that policies have.
    """
    return PolicyInCode(_rule(words))


def _rule(words: Mapping[str, object]) -> Rule:
    stated = {word: value for word, value in words.items() if value is not None}
    _check_distinct(map(_kebab, stated))
    return tuple((_kebab(word), _value(value, _kebab(word))) for word, value in stated.items())


def _check_distinct(words: Iterable[str]) -> None:
    twice = [word for word, count in Counter(words).items() if count > 1]
    if twice:
        raise UsageError(f"`{twice[0]}`", "the word stands twice, in two spellings", "each word once")


def _kebab(word: str) -> str:
    return word.replace("_", "-")


def _items(rules: JsonValue | None) -> tuple[JsonValue, ...]:
    """The rules that a word of the policy has already: one, several or none."""
    return () if rules is None else rules.items if isinstance(rules, JsonArray) else (rules,)


def _value(value: object, word: str, *, is_column: bool = False) -> JsonValue:
    match value:
        case bool():
            return JsonNamed(value, NOWHERE)
        case int() | float() | Decimal():
            return _number(value, word)
        case str():
            return text_value(value)
        case date():
            return _moment(value, word)
        case list() | tuple():
            return array(_value(item, word) for item in value)
        case Mapping():
            keeps_keys = word in _BY_COLUMN and not is_column
            keys = [_key(key, word, keeps_keys=keeps_keys) for key in value]
            _check_distinct(keys)
            return plain_object({
                key: _value(
                    item, word if keeps_keys or word == "valid" else str(written), is_column=keeps_keys
                )
                for key, (written, item) in zip(keys, value.items(), strict=True)
            })  # fmt: skip
    raise UsageError(f"`{word}`", f"a value is of the type {type(value).__name__}", _EXPECTED)


def _key(key: object, word: str, *, keeps_keys: bool) -> str:
    if not isinstance(key, str):
        raise UsageError(f"`{word}`", "a key is no text", "words as keys")
    return _kebab(key) if not keeps_keys and _kebab(key) in _WORDS else key


def _number(value: int | float | Decimal, word: str) -> JsonNumber:
    # Other libraries' numbers are floats, too, and write themselves otherwise.
    exact = Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        raise UsageError(f"`{word}`", "the number is not finite", "a finite number")
    return JsonNumber(number_text(exact), NOWHERE)


def _moment(moment: date, word: str) -> JsonValue:
    kind, text = "date-time" if isinstance(moment, datetime) else "date", text_value(moment.isoformat())
    return text if word == "valid" else plain_object({kind: text})
