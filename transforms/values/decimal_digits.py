"""Exact numbers as people write them; plans and promises say them without an engine."""

from fractions import Fraction


def with_places(scaled: int, places: int) -> str:
    """A number with a fixed number of decimal places.

    >>> with_places(-5, 2), with_places(12, 0)
    ('-0.05', '12')

    Args:
        scaled: the number, times 10 for each place.
        places: at least 0.
    """
    if not places:
        return str(scaled)
    digits = str(abs(scaled)).rjust(places + 1, "0")
    return f"{'-' if scaled < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def plain(number: Fraction) -> str:
    """The decimal digits of a number that has finitely many."""
    places = 0
    while number.denominator != 1 and (number * 10**places).denominator != 1:
        places += 1
    return with_places(int(number * 10**places), places)
