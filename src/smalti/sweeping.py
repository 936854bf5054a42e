"""The points of a sweep, as a command line and the API state them."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from smalti.engine.run.sweep import MOST_POINTS, Numbers
from smalti.engine.run.trial import VARIABLE, Varied
from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.policy.model.suggest import did_you_mean

_LEAST: Final = {"k": 2, "l": 1}
_MOST: Final = 999_999_999
_NUMBER: Final = re.compile("[0-9]{1,9}")
_WHERE: Final = "vary (--vary)"


def read_points(texts: Sequence[str]) -> tuple[Numbers, ...]:
    """All combinations of `k=2,5,10` and `l=1,2`, the numbers of the last text changing fastest.

    Raises:
        UsageError, ProblemsError: what is written is no list of numbers of words that can be varied, or
            there are none, or too many; all problems at once.
    """
    problems: list[SmaltiError] = []
    words = [text.partition("=")[0] for text in texts]
    if not texts:
        problems.append(UsageError(_WHERE, "no word is varied", "such as --vary k=2,5,10", "name one"))
    problems += [
        UsageError(_WHERE, f"`{word}` is varied in several lists", "one list for each word", "join them")
        for word in sorted({word for word in words if words.count(word) > 1})
    ]
    lists = [_numbers(text, problems) for text in texts]
    count = 1
    for numbers in lists:
        count *= len(numbers)
    if count > MOST_POINTS:
        problems.append(
            UsageError(
                _WHERE, f"there are {count:,} points", f"at most {MOST_POINTS}", "vary fewer numbers"
            )
        )
    raise_all(problems)
    return tuple(product(*lists))


def _numbers(text: str, problems: list[SmaltiError]) -> tuple[Varied, ...]:
    word, _, listed = text.partition("=")
    wrong = list(_problems(word, listed))
    problems += wrong
    if wrong:
        return ()
    return tuple(dict.fromkeys(Varied(word, int(number)) for number in listed.split(",")))


def _problems(word: str, listed: str) -> Iterator[SmaltiError]:
    if word not in VARIABLE:
        hint = did_you_mean(word, VARIABLE) or f"vary {' or '.join(VARIABLE)}"
        yield UsageError(_WHERE, f"`{word}` cannot be varied", " or ".join(VARIABLE), hint)
        return
    if not listed.strip(","):
        yield UsageError(_WHERE, f"`{word}` has no numbers", f"such as {word}=2,5,10", "list some")
        return
    least = _LEAST[word]
    for number in listed.split(","):
        if not _NUMBER.fullmatch(number) or not least <= int(number) <= _MOST:
            expected = f"whole numbers from {least}, with commas between them"
            yield UsageError(_WHERE, f"`{number}` is no {word}", expected, f"such as {word}=2,5,10")
