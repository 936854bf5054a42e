"""Says once what SHACL shapes say often: inner shapes that are equal get a name, and stand once."""

import hashlib
import re
from collections import Counter
from typing import Final

_LARGE: Final = 120
"""Characters from which on a shape is worth a name."""
_DIGITS: Final = 10
"""Of a name, as in `schema_sharing`."""
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|<[^>]*>|\[ | \]')
"""A text or an IRI, in which brackets mean nothing, or the bracket of an inner node."""
_IS_PATH: Final = re.compile(r"\[ sh:\w+Path ")
_EXPLANATION: Final = re.compile(r'(sh:message "P\d+):(?:\\.|[^"\\])*"')


def share(document: str) -> str:
    """An equal document in Turtle in which each large inner shape stands once."""
    counts: Counter[str] = Counter()
    _count(document, counts)
    names = {text: _name(text) for text, count in counts.items() if count > 1 and len(text) >= _LARGE}
    assert len({*names.values()}) == len(names)  # noqa: S101 (a fault of ours)
    parts = [f"{name}\n    {_shared(text[2:-2], names)} ." for text, name in names.items()]
    return "\n\n".join([_shared(document.rstrip("\n"), names), *parts]) + "\n"


def _inner_shapes(text: str) -> list[slice]:
    """The places of the outermost shapes in brackets."""
    opened: list[int] = []
    blocks: list[slice] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "[ ":
            opened.append(token.start())
        elif token[0] == " ]":
            start = opened.pop()
            if not _IS_PATH.match(text, start):
                blocks = [*(inner for inner in blocks if inner.start < start), slice(start, token.end())]
    return blocks


def _count(text: str, counts: Counter[str]) -> None:
    """Count shapes, and what stands in a shape once for all of its places."""
    for place in _inner_shapes(text):
        shape = text[place]
        counts[shape] += 1
        if counts[shape] == 1:
            _count(shape[2:-2], counts)


def _name(text: str) -> str:
    """A name that stays the same for as long as the shape means the same, however a message explains it."""
    meaning = _EXPLANATION.sub(r'\1"', text)
    return f"s:part-{hashlib.sha256(meaning.encode()).hexdigest()[:_DIGITS]}"


def _shared(text: str, names: dict[str, str]) -> str:
    """A text with names for its shapes that have one."""
    for place in reversed(_inner_shapes(text)):
        shape = text[place]
        shared = names.get(shape) or f"[ {_shared(shape[2:-2], names)} ]"
        text = text[: place.start] + shared + text[place.stop :]
    return text
