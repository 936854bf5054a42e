"""Points in time that are counted from the date of an agreement: `contractAgreement+30d`."""

import re
from datetime import datetime, timedelta
from typing import Final

_FORM: Final = re.compile(r"contract[Aa]greement(\+-?|-)([0-9]{1,9})([smhd])", re.ASCII)
"""A connector's own form has a sign of the number after the plus: `contractAgreement+-5m`."""
_UNITS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}


def is_anchored(text: str) -> bool:
    """Whether a text is a duration from the date of an agreement, before it or after it.

    >>> is_anchored("contractAgreement+30d"), is_anchored("contractAgreement + 1 month")
    (True, False)
    >>> is_anchored("contractAgreement+-5m"), is_anchored("contractAgreement-5m")
    (True, True)
    """
    return _FORM.fullmatch(text) is not None


def anchored_time(text: str, agreed: datetime) -> datetime | None:
    """The point in time that such a text means; None: it is none, or beyond the calendar."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    length = int(match[2]) if match[1] == "+" else -int(match[2])
    try:
        return agreed + length * _UNITS[match[3]]
    except OverflowError:
        return None
