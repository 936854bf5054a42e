"""The content of a policy in the short form, as frozen values that know their place."""

from dataclasses import dataclass
from typing import TypeAlias

from smalti.policy.short.words import ShortWord
from smalti.policy.text.json_text import JsonNamed, JsonNumber, JsonString, Place


@dataclass(frozen=True, slots=True)
class Typed:
    """A value that is an IRI, a date or a date with time."""

    kind: str
    """A key of `words.TYPES`."""
    text: JsonString


Value: TypeAlias = JsonString | JsonNumber | JsonNamed | Typed
Names: TypeAlias = tuple[JsonString, ...] | None
"""One or several names; empty: the document has an empty list. None: it does not have the part."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator with its values."""

    operator: str
    """A local name of ODRL's vocabulary."""
    values: tuple[Value, ...]
    is_list: bool
    """Whether the values are written as a list; else there is exactly one."""
    place: Place


@dataclass(frozen=True, slots=True)
class Setting:
    """A word of the profile with what it is compared with."""

    word: ShortWord
    key: JsonString
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of an operand that is no key of the short form."""

    operand: JsonString
    comparisons: tuple[Comparison, ...]
    unit: JsonString | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions that are taken together."""

    operator: str
    """`and`, `or`, `xone` or `andSequence`."""
    key: JsonString
    operands: "tuple[Condition | Joined, ...]"


@dataclass(frozen=True, slots=True)
class RowLimit:
    """A limit to the rows whose value in a column satisfies all comparisons."""

    column: JsonString
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """The parameters of one column."""

    column: JsonString
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortRule:
    """A permission, prohibition, obligation or duty."""

    place: Place
    uid: JsonString | None = None
    owner: Names = None
    party: Names = None
    target: Names = None
    columns: Names = None
    base: str | None = None
    """The one table that bare names of columns belong to; None where there is not exactly one."""
    action: Names = None
    one_row_each: JsonNamed | None = None
    settings: tuple[Setting, ...] = ()
    per_column: tuple[ColumnSettings, ...] = ()
    output: JsonString | None = None
    purpose: Names = None
    rows: tuple[RowLimit, ...] = ()
    constraints: tuple[Condition | Joined, ...] = ()
    refinements: tuple[Condition | Joined, ...] = ()
    duties: "tuple[ShortRule, ...] | None" = None
    remedies: "tuple[ShortRule, ...] | None" = None
    consequences: "tuple[ShortRule, ...] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """From when until when; None: open."""

    place: Place
    start: JsonString | None = None
    end: JsonString | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParts:
    """What ODRL's compact form states once for all rules."""

    owner: Names = None
    party: Names = None
    target: Names = None
    action: Names = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortPolicy:
    """One policy. What the top of its document says of each rule stands in the rules already."""

    place: Place
    uid: JsonString | None = None
    type: JsonString | None = None
    profile: Names = None
    conflict: JsonString | None = None
    valid: Validity | None = None
    shared: SharedParts = SharedParts()
    permissions: tuple[ShortRule, ...] | None = None
    prohibitions: tuple[ShortRule, ...] | None = None
    obligations: tuple[ShortRule, ...] | None = None
