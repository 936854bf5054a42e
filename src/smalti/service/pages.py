"""Pages of lists: a cursor says after which item the next page begins."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from smalti.json.text import Json
from smalti.service.operations import Described
from smalti.service.problems import RefusedError

T = TypeVar("T")


class Paged(Described):
    """The query of a list."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Annotated[str, Field(max_length=8192)] | None = None


def page(items: Sequence[T], query: Paged, key: Callable[[T], str], shown: Callable[[T], Json]) -> Json:
    """One page, and where the next one begins.

    Items that were added or removed meanwhile neither repeat nor hide others.

    Args:
        items: all that the asker may see.
        query: which page.
        key: a text that no two items share; pages are in its order.
        shown: an item in JSON; called for those of the page alone.

    Raises:
        RefusedError: the cursor is none of ours.
    """
    ordered = sorted(items, key=key)
    if query.cursor is not None:
        last = opened_cursor(query.cursor)
        ordered = [item for item in ordered if key(item) > last]
    these, more = ordered[: query.limit], ordered[query.limit :]
    return {
        "items": [shown(item) for item in these],
        "next": closed_cursor(key(these[-1])) if more else None,
    }


def closed_cursor(key: str) -> str:
    """The cursor behind the item of a key."""
    return base64.urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode()


def opened_cursor(cursor: str) -> str:
    """The key in a cursor.

    Raises:
        RefusedError: it is none of ours.
    """
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        raise RefusedError(422, "invalid", "the cursor is none that a page of this list gave") from None
