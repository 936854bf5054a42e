"""Whether different values can be matched to different respondents, exactly."""

from smalti.transforms.problem import Integers


def can_match(values: Integers, respondents: Integers, wanted: int) -> bool:
    """Whether `wanted` different values can be matched to as many different respondents that hold them.

    By augmenting paths, breadth first (Hopcroft, Karp 1973, without phases).

    Args:
        values: of each pair.
        respondents: of each pair.
        wanted: the size of the matching, l.
    """
    holders: dict[int, list[int]] = {}
    for value, respondent in zip(values.tolist(), respondents.tolist(), strict=True):
        holders.setdefault(value, []).append(respondent)
    value_of: dict[int, int] = {}
    for value in holders:
        _augment(value, holders, value_of)
        if len(value_of) >= wanted:
            return True
    return False


def _augment(start: int, holders: dict[int, list[int]], value_of: dict[int, int]) -> None:
    """Match one more value, moving earlier ones to other respondents where that helps."""
    reached_from: dict[int, int] = {}
    queue = [start]
    for value in queue:
        for respondent in holders[value]:
            if respondent in reached_from:
                continue
            reached_from[respondent] = value
            if respondent not in value_of:
                _turn(start, respondent, reached_from, value_of)
                return
            queue.append(value_of[respondent])


def _turn(start: int, respondent: int, reached_from: dict[int, int], value_of: dict[int, int]) -> None:
    """Give each respondent on the path back to `start` the value that reached it."""
    respondent_of = {value: holder for holder, value in value_of.items()}
    while True:
        value = reached_from[respondent]
        value_of[respondent] = value
        if value == start:
            return
        respondent = respondent_of[value]
