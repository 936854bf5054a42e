"""Laws about IRIs in several spellings: one is refused where it is read, or changes nothing."""

from collections.abc import Callable
from functools import wraps

from smalti.errors import SmaltiError

REFUSED = "has another spelling than smalti accepts: write `"


def refused_or_held(law: Callable[..., None]) -> Callable[..., None]:
    """A law that holds, too, where a document or an argument of it is refused for its spelling alone."""

    @wraps(law)
    def test(**arguments: object) -> None:
        try:
            law(**arguments)
        except SmaltiError as error:
            if REFUSED not in str(error):
                raise

    return test
