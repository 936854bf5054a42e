"""The meaning of a policy as canonical text and digest, whatever the form of its document."""

import hashlib
import json
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from smalti.policy.model import model
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Condition,
    Logical,
    LogicalOperator,
    Party,
    Permission,
    Policy,
    Rule,
    Training,
)
from smalti.vocab.terms import IRI

GENERATED: Final = ("urn:smalti:policy:sha256:", "urn:smalti:rule:sha256:")
"""The prefixes of uids that are made from a document's digest, where it states none."""

# The words of the canonical text. Stored digests depend on them: renaming a class must not change one.
_KINDS: Final[dict[type, str]] = {
    model.Policy: "policy",
    model.Permission: "permission",
    model.Prohibition: "prohibition",
    model.Duty: "duty",
    model.Asset: "asset",
    model.Party: "party",
    model.Function: "function",
    model.Membership: "membership",
    model.Inclusion: "inclusion",
    model.Shared: "shared",
    model.Interval: "interval",
    model.Anonymization: "anonymization",
    model.Training: "training",
    model.Audit: "audit",
    model.Bound: "bound",
    model.DecimalBound: "decimal-bound",
    model.ColumnReference: "column",
    model.Comparison: "comparison",
    model.ColumnComparison: "column-comparison",
    model.Logical: "logical",
    model.Named: "named",
    model.Number: "number",
    model.Text: "text",
    model.Truth: "truth",
    model.Instant: "instant",
    model.Day: "day",
}
_LEFT_OUT: Final = frozenset({"document_digest", "inherits", "inherited_digests"})

_PARTS: Final = {
    kind: tuple(sorted(part.name for part in fields(kind) if part.compare and part.name not in _LEFT_OUT))
    for kind in _KINDS
}
"""The fields of each class that count."""


def is_generated(uid: IRI) -> bool:
    """Whether a uid was made from a document's digest, since the document states none."""
    return uid.startswith(GENERATED)


def left_out(uid: IRI) -> IRI:
    """A uid in place of one that shall not be written; different uids stay different."""
    return uid if is_generated(uid) else IRI(GENERATED[1] + uid)


def meaning_digest(policy: Policy) -> str:
    """The digest of a policy's meaning: `sha256:` and hexadecimal digits.

    Two policies have one digest exactly when `canonical_meaning` is one text for both. So it survives
    another order, layout, spelling or form of the document, and changes with every change that some
    decision or plan could depend on. Policies that come to the same only by reasoning, such as
    `count lt 10` beside `count lteq 9`, have two.

    In it: the uid, type, profiles, conflict strategy, validity, memberships and own actions of the policy;
    of each rule (inherited ones included) its uid, action, targets together, parties, constraints,
    refinements, output, duties, remedies and consequences; every operand, operator, value and unit.

    Not in it: places, remarks and the document's digest; uids that the document does not give; the order
    and repetition of anything but the operands of `andSequence` (of `xone` and of rules only the order);
    how a number is written (10 is 10.0) and in which time zone an instant is; which parents the rules were
    inherited from. An absent conflict strategy is `invalid`, an absent type Set.
    """
    return "sha256:" + hashlib.sha256(canonical_meaning(policy).encode()).hexdigest()


def grant_digest(permission: Permission, rows: tuple[Condition, ...]) -> str:
    """The digest of a permission that grants a request, with the rows that it is limited to."""
    return "sha256:" + hashlib.sha256(f"{_text(permission)}{_text(rows)}".encode()).hexdigest()


def meaning_of(part: Rule | Condition | Asset | Party | Anonymization | Training | None) -> str:
    """The meaning of a part of a policy, as in `canonical_meaning`; of nothing, the empty text."""
    return "" if part is None else _text(part)


def canonical_meaning(policy: Policy) -> str:
    """The meaning of a policy as canonical JSON (RFC 8785); `meaning_digest` lists its contents.

    Linear in the policy's size, but for sorting: no blank nodes are matched.
    """
    return _text(policy)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return _set(value)
    if isinstance(value, Logical):
        return _logical(value)
    return _object(value) if type(value) in _KINDS else _scalar(value)


def _scalar(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            value = canonical_number(value)
        case datetime():
            value = canonical_time(value)
        case date():
            value = value.isoformat()
        case str() | int():
            pass
        case _:
            raise TypeError(type(value))  # a type of the language without a word in `_KINDS`
    return json.dumps(str(value), ensure_ascii=False)


def _set(items: tuple[object, ...]) -> str:
    texts = [_text(item) for item in items]
    # Two equal rules are two grants, of which a run must name one; all else is a set.
    kept = texts if items and isinstance(items[0], model.Rule) else set(texts)
    return f"[{','.join(sorted(kept))}]"


def _logical(value: Logical) -> str:
    operands = [_text(operand) for operand in value.operands]
    match value.operator:
        case LogicalOperator.AND_SEQUENCE:
            pass
        case LogicalOperator.XONE:  # one that is listed twice can never be the only one that holds
            operands.sort()
        case _:
            operands = sorted(set(operands))
    return f'{{"is":"logical","operands":[{",".join(operands)}],"operator":"{value.operator}"}}'


def _object(value: object) -> str:
    members = [f'"is":"{_KINDS[type(value)]}"']
    for name in _PARTS[type(value)]:
        part = getattr(value, name)
        # What is empty is left out: a field that is added later changes no digest that is stored.
        if part is None or part == () or part is False or (name == "uid" and is_generated(IRI(str(part)))):
            continue
        members.append(f'"{name}":{_text(part)}')
    return "{" + ",".join(sorted(members)) + "}"


def canonical_number(value: Decimal) -> str:
    """One text for each number, however it is written.

    >>> canonical_number(Decimal("10.0")), canonical_number(Decimal("1e1"))
    ('1e1', '1e1')
    """
    sign, digits, exponent = value.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    kept = written.rstrip("0")
    if not kept or not isinstance(exponent, int):
        return "0"
    return f"{'-' * sign}{kept}e{exponent + len(written) - len(kept)}"


def canonical_time(value: datetime) -> str:
    """One text for each instant, in UTC; a time without zone stays without."""
    if value.tzinfo is None:
        return value.isoformat()
    try:
        return value.astimezone(UTC).isoformat()
    except OverflowError:  # within a day of year 1 or year 9999
        offset = value.utcoffset() or timedelta()
        return str((value.replace(tzinfo=None) - datetime.min - offset) // timedelta(microseconds=1))
