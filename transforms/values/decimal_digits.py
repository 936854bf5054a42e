"""Exact numbers as people write them; plans and promises say them without an engine."""

from fractions import Fraction


def plain(number: Fraction) -> str:
    """The decimal digits of a number that has finitely many."""
    places = 0
    while number.denominator != 1 and (number * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(number * 10**places))).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
