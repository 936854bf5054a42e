"""The error tree; a leaf that every room may import.

Every error that leaves a public function is a `SmaltiError`: one that a user can cause or mend, or an
`InternalError`.

Each message is one paragraph: where, what, what was expected, and the way out. No message, argument
or attribute holds a data value: data can only be pointed at (file, record number, column name).
Every error pickles, so that it survives a worker process.
"""

import errno
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PARTS: Final = ("where", "problem", "expected", "way_out")
_NO_PATHS: Final = frozenset({errno.ENAMETOOLONG, errno.ELOOP})


class SmaltiError(Exception):
    """Base of all errors.

    Args:
        where: the document, file, column or command concerned.
        problem: what is wrong; lower case, no full stop.
        expected: what was expected there.
        way_out: what the reader can do about it.
    """

    exit_code = 1
    attainable: tuple[str, ...] = ()
    """For the data's owner alone, and no part of the message: the best that the data can meet."""

    def __init__(self, where: str, problem: str, expected: str = "", way_out: str = "") -> None:
        super().__init__(where, problem, expected, way_out)
        self.where, self.problem, self.expected, self.way_out = where, problem, expected, way_out

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}"
        if self.expected:
            text += f"; expected {self.expected}"
        if self.way_out:
            text += f". {self.way_out[0].upper()}{self.way_out[1:]}"
        return text

    def reword(self, worded: Callable[[str], str]) -> None:
        """Say all but the place in other words, for readers of another form of policies."""
        self.problem, self.expected, self.way_out = map(worded, (self.problem, self.expected, self.way_out))
        if len(self.args) == len(_PARTS):
            self.args = (self.where, self.problem, self.expected, self.way_out)


class PolicyError(SmaltiError):
    """A policy document that cannot be used; `policy.findings.diagnostics` lists every problem in it."""

    def reword(self, worded: Callable[[str], str]) -> None:
        """Say the same: its findings are in the words of their document, and show lines of it."""


class PlanError(SmaltiError):
    """A permitted request that cannot be compiled for this data."""


class GuaranteeError(SmaltiError):
    """A promise that this data cannot meet, or that an output does not meet."""


class DataError(SmaltiError):
    """Input data that cannot be read as its description states."""


class UsageError(SmaltiError):
    """A malformed or contradictory request."""

    exit_code = 2


class ArgumentTypeError(UsageError, TypeError):
    """An argument of a public function that is missing, unknown, or of another type than is documented."""


class BackendError(SmaltiError):
    """The machine: Java, Spark, memory, disk."""

    exit_code = 3


def not_installed(where: str, what: str, package: str, extra: str) -> BackendError:
    """The error for a missing library that an extra installs.

    Args:
        where: what needs it.
        what: what the library does, in words.
        package: its name in the index of packages.
        extra: of smalti.
    """
    return BackendError(
        where,
        f"{what} is not installed",
        f"the package {package}",
        install_line(extra),
    )


def install_line(extra: str | None = None, package: str | None = None) -> str:
    """How to install what smalti needs, or one of its extras; every message uses this text.

    The command is one for this very Python, and works in any folder: it names the libraries, with the
    versions that smalti needs, and not smalti, a name that no index of packages has.

    Args:
        extra: of smalti; None: what it always needs.
        package: the one package of them that is missing; None: all of them.
    """
    needed = _requirements(extra)
    names = [text for text in needed if package is None or re.split(r"[^\w.-]", text)[0] == package]
    if not names:
        return checkout_line(extra)
    command = shlex.join([sys.executable or "python3", "-m", "pip", "install", *names])
    return f"install it: {command}"


def checkout_line(extra: str | None = None) -> str:
    """How to install smalti itself, or with an extra, into an environment that lacks it.

    >>> checkout_line("privacy")
    "install it: pip install '.[privacy]', in the folder of smalti's checkout"
    """
    command = "pip install ." if extra is None else f"pip install '.[{extra}]'"
    return f"install it: {command}, in the folder of smalti's checkout"


def _requirements(extra: str | None) -> list[str]:
    """What the installed smalti declares; nothing where it is not installed."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 (seldom, and slow to load)

    try:
        declared = requires("smalti") or []
    except PackageNotFoundError:
        return []
    if extra is None:
        return [text for text in declared if ";" not in text]
    marked = re.compile(rf"""([^;]+); (?:(.*) and )?extra == "{re.escape(extra)}\"""")
    matches = [match for text in declared if (match := marked.fullmatch(text))]
    return [match[1] if match[2] is None else f"{match[1]}; {match[2]}" for match in matches]


class RegistryError(SmaltiError):
    """The registry cannot be read or written."""

    exit_code = 3


class InternalError(SmaltiError):
    """A fault of smalti itself; please report it."""

    exit_code = 3

    def __init__(self, what: str) -> None:
        super().__init__("internal error", what, "", "this is a fault of smalti: please report it")

    def __reduce__(self) -> tuple[type["InternalError"], tuple[str]]:
        return InternalError, (self.problem,)


def unforeseen(error: BaseException) -> InternalError:
    """An unexpected exception, by its class and place: its message may hold a data value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
    return InternalError(f"{type(error).__name__} at {where}")


@contextmanager
def only_ours() -> Iterator[None]:
    """Turn every other exception into one of this module; also a decorator."""
    try:
        yield
    except SmaltiError:
        raise
    except Exception as error:
        raise ours(error) from None


def ours(error: Exception) -> "SmaltiError":
    """The error of this module for an exception that is none."""
    if isinstance(error, MemoryError):
        return BackendError(
            "this machine",
            "there is not enough memory",
            "more memory, or less data",
            "close other programs",
        )
    if isinstance(error, OSError):
        return _refused_by_system(error)
    return unforeseen(error)


def _refused_by_system(error: OSError) -> SmaltiError:
    """The error for what the system refused. Libraries raise the same class without a number."""
    if error.errno is None:
        return unforeseen(error)
    reason = os.strerror(error.errno)
    if error.errno in _NO_PATHS:
        return UsageError(
            "a path", f"the system rejects this path ({reason})", "the path of a file or folder"
        )
    return BackendError(
        "this machine",
        f"the system refused to work on a file or folder ({reason})",
        way_out="check the permissions of the named files, and the free space on the disk",
    )


class ProblemsError(SmaltiError):
    """Several problems at once, each with its own place and way out."""

    def __init__(self, problems: tuple[SmaltiError, ...]) -> None:
        Exception.__init__(self, problems)
        self.problems = problems
        first = problems[0]
        self.where, self.problem = first.where, first.problem
        self.expected, self.way_out = first.expected, first.way_out
        self.exit_code = max(problem.exit_code for problem in problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def reword(self, worded: Callable[[str], str]) -> None:
        """Say each problem in other words."""
        for problem in self.problems:
            problem.reword(worded)
        super().reword(worded)


OWNER_CAN: Final = "ask the data's owner, who can"
"""How a way out begins that is the owner's; for the owner it is said without these words."""


def for_owner(refused: SmaltiError, *, with_figures: bool) -> SmaltiError:
    """A refusal in words for the data's owner.

    Args:
        refused: is returned as it is, where there is nothing else to say to the owner.
        with_figures: whether the best that the data can meet is in it, where that is known. Who carries a
            run out for somebody else passes its refusals on, so figures are for trials alone.
    """
    if isinstance(refused, ProblemsError):
        errors = tuple(for_owner(problem, with_figures=with_figures) for problem in refused.problems)
        return refused if errors == refused.problems else ProblemsError(errors)
    attainable = refused.attainable if with_figures else ()
    if not attainable and OWNER_CAN not in refused.way_out:
        return refused
    best = f": that has {'; '.join(attainable)}" if attainable else ""
    way_out = refused.way_out.replace(f"{OWNER_CAN} ", "")
    return type(refused)(refused.where, f"{refused.problem}{best}", refused.expected, way_out)


def raise_all(problems: list[SmaltiError]) -> None:
    """Raise what there is: nothing, the one problem, or all of them as `ProblemsError`."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ProblemsError(tuple(problems))
