"""What a command of a fresh process need not do."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

_LEFT_OUT = "pandas"
_NEW_OBJECTS = 250_000
"""How many more objects there are, by default 700, before Python looks for cycles among them."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Let Python look for garbage in cycles seldom.

    Imports make a hundred thousand objects that stay, and each look at the oldest passes over all of
    them: a tenth of a short run. Arrays and tables are in no cycle and are freed at once, as ever.
    """
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def without_pandas(arguments: Sequence[str]) -> Iterator[None]:
    """Keep pandas from being imported, unless Spark is spoken of, which needs it.

    Arrow imports pandas, where it is installed, as soon as it is given anything to convert. That takes
    longer than any other import of a run, and only Spark's part does anything with it. Where Arrow or
    pandas was imported already, this process is not the command's own, and nothing is kept out.

    Args:
        arguments: the command's; any that holds the word `spark` counts.
    """
    if {"pyarrow", _LEFT_OUT} & sys.modules.keys() or any("spark" in argument for argument in arguments):
        yield
        return
    sys.meta_path.insert(0, _Absent())
    try:
        yield
    finally:
        let_pandas_in()


def let_pandas_in() -> None:
    """End what `without_pandas` began: Spark is spoken of in the settings file."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Absent)]


class _Absent:
    """A finder of modules; its base class takes 5 ms to import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        del path, target
        if fullname == _LEFT_OUT:
            raise ModuleNotFoundError(f"no module named {fullname}", name=fullname)
        return None
