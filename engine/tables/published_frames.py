"""Arrow tables as data frames of other libraries, which are imported only when somebody asks for one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from smalti.errors import UsageError, not_installed

if TYPE_CHECKING:
    import pandas as pd


def as_frame(library: str, read: Callable[[], pa.Table]) -> Any:
    """A table as the data frame of a library; nothing is read where that is not installed.

    Args:
        library: `arrow`, `pandas` or `polars`.
        read: gives the table.

    Raises:
        UsageError: no other library is known.
        BackendError: it is not installed.
    """
    if library not in _FRAMES:
        raise UsageError("as_", f"`{library}` is not known", "arrow, pandas or polars")
    return _FRAMES[library](read)


def to_pandas(read: Callable[[], pa.Table]) -> "pd.DataFrame":
    """A data frame of pandas; whole numbers are `Int64`, days and times `datetime64`."""
    try:
        import pandas as pd  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("a data frame", "pandas", "pandas", "frames") from None
    # A column of whole numbers with a missing one would become doubles, which do not hold all of them.
    whole = {pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = read().to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame


def _to_polars(read: Callable[[], pa.Table]) -> Any:
    try:
        import polars  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("a data frame", "Polars", "polars", "frames") from None
    return polars.from_arrow(read())


_FRAMES: Final[Mapping[str, Callable[[Callable[[], pa.Table]], Any]]] = {
    "arrow": lambda read: read(),
    "pandas": to_pandas,
    "polars": _to_polars,
}
