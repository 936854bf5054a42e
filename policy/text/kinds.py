"""Whether a text is known to be a policy: only then may messages quote it, for any other may be data."""

import re
from string import punctuation
from typing import Final

_JSON_LD: Final = '"@context"'
_ODRL: Final = re.compile(r"\bodrl:|/ns/odrl/2/")
_SHORT: Final = re.compile(
    r"^(?:target|permit|prohibit|policy|party|owner|method|action):(?:\s|\Z)", re.MULTILINE
)


def is_policy_text(text: str) -> bool:
    """Whether a text has what policies have, and data has not, in one of their serializations.

    It is the one rule by which messages quote words and show lines of a file; they always name the place.

    >>> is_policy_text('{"@context": "x"}'), is_policy_text("target: x"), is_policy_text("target,age")
    (True, True, False)
    """
    return _JSON_LD in text or _ODRL.search(text) is not None or looks_short(text)


def looks_short(text: str) -> bool:
    """Whether a text has a line as short forms have, and data has not."""
    return _SHORT.search(text) is not None


def in_words(character: str) -> str:
    """A character as messages name it: marks are quoted, letters and digits may be of data and are not."""
    if character.isascii() and character in punctuation:
        return f"`{character}`"
    return (
        "a letter" if character.isalpha() else "a digit" if character.isdecimal() else "another character"
    )
