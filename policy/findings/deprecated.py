"""What ODRL 2.2 says of its deprecated words, for messages."""

from smalti.vocab.aliases import DEPRECATED as MATCHED
from smalti.vocab.odrl import DEPRECATED
from smalti.vocab.terms import ODRL


def deprecation(name: str) -> str:
    """What ODRL 2.2 says of one of its deprecated words; empty for any other name.

    >>> deprecation("lease")
    'deprecated in ODRL 2.2, which has no word in its place'
    """
    if match := MATCHED.get(ODRL + name):
        return f"deprecated in ODRL 2.2, which has `odrl:{match.removeprefix(ODRL)}` in its place"
    if name not in DEPRECATED:
        return ""
    if DEPRECATED[name]:
        return f"deprecated in ODRL 2.2 in favour of `{DEPRECATED[name]}`, which smalti does not know"
    return "deprecated in ODRL 2.2, which has no word in its place"
