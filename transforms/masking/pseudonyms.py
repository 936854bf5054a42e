"""Keyed pseudonyms: HMAC-SHA-256 (RFC 2104, FIPS 198-1) of a value, in hexadecimal digits.

One value has one pseudonym under one key, in all columns and runs: whoever sees two outputs under one key
can link them, and whoever has the key can test guesses. The result is pseudonymised, not anonymised (GDPR,
Article 4(5)).
"""

import hmac
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Final

import pyarrow as pa

from smalti.transforms.base import Datatype

_EXACT: Final = Context(prec=1000, Emin=MIN_EMIN, Emax=MAX_EMAX)
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)


def pseudonyms(texts: pa.Array, datatype: Datatype, key: bytes) -> pa.Array:
    """The pseudonym of each text; one for all spellings of a number.

    Args:
        texts: distinct present texts of the datatype.
        datatype: of numbers, dates or texts. Date-times have too many spellings to have one pseudonym each.
        key: secret.
    """
    return pa.array(
        [hmac.digest(key, _canonical(text, datatype), "sha256").hex() for text in texts.to_pylist()],
        pa.large_string(),
    )


def _canonical(text: str, datatype: Datatype) -> bytes:
    """What is signed of a value: a text as it is, a number without needless digits."""
    if datatype not in _NUMBERS:
        return text.encode()
    number = Decimal(repr(float(text)) if datatype is Datatype.DOUBLE else text)
    plain = format(number.normalize(_EXACT), "f")
    return ("0" if number == 0 else plain).encode()
