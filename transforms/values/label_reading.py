r"""Published labels read again: the ends of ranges and the texts of sets, by the grammar of `labels`.

The verifier has a reader of its own, which shares nothing with this one. Whatever is not of the grammar is
refused, and no message holds a label.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError, all_match, keys

TEXT_LIST: Final = pa.large_list(pa.large_string())
_RANGE: Final = r"(?s)^\[(?P<low>[^\[\]|]*?)\.\.(?P<high>[^\[\]|]*)(?P<end>\|?)\]$"
_ITEM: Final = r"(?:[^\\|{}]|\\[\\|{}])+"
_FIGURE: Final = r"(?s)^\[~(?P<figure>[^\[\]|]+)(?P<end>\|?)\]$"
_CATEGORY: Final = re.compile(r"\[~((?:[^\\|\[\]]|\\[\\|\[\]])*)(\|?)\]", re.DOTALL)
_SET: Final = re.compile(rf"\{{({_ITEM}(?:\|{_ITEM})*)(\|?)\}}", re.DOTALL)
_PREFIX: Final = re.compile(r"\[(.*)\*(\|?)\]", re.DOTALL)
_PIECE: Final = re.compile(r"\\(.)|(\|)|([^\\|]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RangeTexts:
    """The texts of ranges; a single value is a range from itself to itself."""

    low: pa.Array
    high: pa.Array
    """Large strings, both; each has the lexical form of one datatype where `check_ranges` says so; null
    where the range has no such end."""
    or_missing: pa.Array
    """Whether the value may also be missing."""


@dataclass(frozen=True, slots=True)
class TextSets:
    """The texts that each label lists."""

    texts: pa.Array
    """Of the type `TEXT_LIST`; bytewise ascending, at least one in each."""
    or_missing: pa.Array
    """Whether the value may also be missing."""


@dataclass(frozen=True, slots=True)
class TextPrefixes:
    """What the texts of each label begin with."""

    texts: pa.Array
    """Large strings."""
    is_whole: pa.Array
    """Whether the value is this text, and no longer one."""
    or_missing: pa.Array
    """Whether the value may also be missing."""


@dataclass(frozen=True, slots=True)
class FigureTexts:
    """The figures of classes, or the values that stand for them."""

    texts: pa.Array
    """Large strings; each has the lexical form of one datatype where `check_values` says so."""
    or_missing: pa.Array
    """Whether values of the class are missing."""


def read_figures(labels: pa.Array) -> FigureTexts:
    """The figures of the labels of an ordered column that is published so, as they are written.

    Args:
        labels: large strings, none of them missing or empty.

    Raises:
        ValueFormError: some label is not of the grammar.

    >>> found = read_figures(pa.array(["[~17.5|]", "[~-2.0]"], pa.large_string()))
    >>> found.texts.to_pylist(), found.or_missing.to_pylist()
    (['17.5', '-2.0'], [True, False])
    """
    parts = pc.extract_regex(labels, _FIGURE)
    if parts.null_count:
        raise ValueFormError
    figure, end = (pc.struct_field(parts, name) for name in ("figure", "end"))
    return FigureTexts(figure.cast(pa.large_string()), pc.equal(end, "|"))


def read_categories(labels: pa.Array) -> FigureTexts:
    r"""The values of the labels of a column that is published as modes or medoids.

    Args:
        labels: large strings, none of them missing or empty.

    Raises:
        ValueFormError: some label is not of the grammar.

    >>> found = read_categories(pa.array(["[~a|]", r"[~b\|\]c]"], pa.large_string()))
    >>> found.texts.to_pylist(), found.or_missing.to_pylist()
    (['a', 'b|]c'], [True, False])
    """
    read = [_CATEGORY.fullmatch(label) for label in labels.to_pylist()]
    held = [match for match in read if match is not None]
    if len(held) < len(read):
        raise ValueFormError
    return FigureTexts(
        pa.array([_PIECE.sub(_unescaped, match[1]) for match in held], pa.large_string()),
        pa.array([match[2] == "|" for match in held], pa.bool_()),
    )


def _unescaped(piece: re.Match[str]) -> str:
    return piece[1] or piece[0]


def read_ranges(labels: pa.Array) -> RangeTexts:
    """The ends of the labels of an ordered column, as they are written.

    Args:
        labels: large strings, none of them missing or empty.

    Raises:
        ValueFormError: some label begins like a range and is none.

    >>> found = read_ranges(pa.array(["[17..34|]", "42", "[90..]"], pa.large_string()))
    >>> found.low.to_pylist(), found.high.to_pylist(), found.or_missing.to_pylist()
    (['17', '42', '90'], ['34', '42', None], [True, False, False])
    """
    is_range = pc.starts_with(labels, "[")
    parts = pc.extract_regex(labels, _RANGE)
    if pc.any(pc.and_(is_range, pc.is_null(parts)), min_count=0).as_py():
        raise ValueFormError
    low, high = (
        pc.if_else(is_range, pc.struct_field(parts, end), labels).cast(pa.large_string())
        for end in ("low", "high")
    )
    low, high = (pc.if_else(pc.equal(end, ""), pa.scalar(None, end.type), end) for end in (low, high))
    or_missing = pc.fill_null(pc.and_(is_range, pc.equal(pc.struct_field(parts, "end"), "|")), False)
    return RangeTexts(low, high, or_missing)


def check_ranges(ranges: RangeTexts, datatype: Datatype, time_zone: str | None) -> None:
    """Check that both ends are values of a datatype, the lower one first.

    Raises:
        ValueFormError: some are not.
    """
    low, high = (pc.coalesce(*ends) for ends in ((ranges.low, ranges.high), (ranges.high, ranges.low)))
    ends = pa.concat_arrays([pc.drop_null(low), pc.drop_null(high)])
    if not all_match(ends, datatype):
        raise ValueFormError
    places = keys(ends, datatype, time_zone)
    count = len(ends) // 2
    if (places[:count] > places[count:]).any():
        raise ValueFormError


def read_sets(labels: pa.Array) -> TextSets:
    r"""The texts of the labels of a text column.

    Args:
        labels: large strings, none of them missing or empty.

    Raises:
        ValueFormError: some label is not of the grammar.

    >>> found = read_sets(pa.array(["{a\\|b|c|}", "\\[x]", "d"], pa.large_string()))
    >>> found.texts.to_pylist(), found.or_missing.to_pylist()
    ([['a|b', 'c'], ['[x]'], ['d']], [True, False, False])
    """
    read = [_read_text(label) for label in labels.to_pylist()]
    return TextSets(
        pa.array([texts for texts, _ in read], TEXT_LIST),
        pa.array([missing for _, missing in read], pa.bool_()),
    )


def read_prefixes(labels: pa.Array) -> TextPrefixes:
    r"""The prefixes of the labels of a text column that is published so.

    Args:
        labels: large strings, none of them missing or empty.

    Raises:
        ValueFormError: some label is not of the grammar.

    >>> found = read_prefixes(pa.array(["[10*|]", "\\[x]", "d"], pa.large_string()))
    >>> found.texts.to_pylist(), found.is_whole.to_pylist(), found.or_missing.to_pylist()
    (['10', '[x]', 'd'], [False, True, True], [True, False, False])
    """
    read = [_read_prefix(label) for label in labels.to_pylist()]
    return TextPrefixes(
        pa.array([text for text, _, _ in read], pa.large_string()),
        pa.array([is_whole for _, is_whole, _ in read], pa.bool_()),
        pa.array([missing for _, _, missing in read], pa.bool_()),
    )


def _read_prefix(label: str) -> tuple[str, bool, bool]:
    match = _PREFIX.fullmatch(label)
    if match is not None:
        return match[1], False, match[2] == "|"
    if label[:1] == "{":
        raise ValueFormError
    (text,), _ = _read_text(label)
    return text, True, False


def _read_text(label: str) -> tuple[list[str], bool]:
    match label[:1]:
        case "{":
            return _read_set(label)
        case "\\" if label[1:2] in ("[", "{", "\\") and len(label) > 1:
            return [label[1:]], False
        case "[" | "\\" | "":
            raise ValueFormError
        case _:
            return [label], False


def _read_set(label: str) -> tuple[list[str], bool]:
    match = _SET.fullmatch(label)
    if match is None:
        raise ValueFormError
    texts = _items(match[1])
    encoded = [text.encode() for text in texts]
    if any(before >= after for before, after in pairwise(encoded)):
        raise ValueFormError
    return texts, match[2] == "|"


def _items(body: str) -> list[str]:
    pieces: list[list[str]] = [[]]
    for piece in _PIECE.finditer(body):
        escaped, bar, plain = piece.groups()
        if bar:
            pieces.append([])
        else:
            pieces[-1].append(escaped or plain)
    return ["".join(parts) for parts in pieces]
