"""The text of a settings file: whose it is, where a key stands, and what must not be in it."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from smalti.errors import UsageError

_MOST_BYTES: Final = 1 << 16
_ADDRESS_WITH_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^:/@]*:[^@]*@")
"""As SQLAlchemy divides an address: a password may hold slashes."""
_SECRET_NAME: Final = re.compile(
    r"secret|passw|passphrase|\bpwd\b|token|credential|access[._-]?key|signature|\bsig\b", re.IGNORECASE
)
"""Names whose values Spark hides in its own logs (`spark.redaction.regex`), and what stores call theirs."""
_PARAMETER: Final = re.compile(r"[?&;]([^=&;]*)=")


def own_text(path: Path) -> bytes | None:
    """The text of a file that nobody named: it lies in the working folder, which may be a shared one.

    Whoever can write such a file chooses registry, party and data of every command that is run beside it.
    So it counts only if it is a file, belongs to the user (or to root), and nobody else can write it.

    Returns:
        None where there is none.

    Raises:
        UsageError: there is one that may be somebody else's; it is not passed over, for commands would
            then do something else than the folder says.
    """
    try:
        # A link would lead to another file of the user's, a pipe would wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        raise _not_own(path.name, "it is a link, or cannot be read") from None
    try:
        _check_own(os.fstat(descriptor), path.name)
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _check_own(state: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise _not_own(name, "it is not a file")
    if state.st_uid not in {os.geteuid(), 0}:
        raise _not_own(name, "it belongs to somebody else")
    if state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _is_private(state.st_gid)):
        raise _not_own(name, "others can write it", f"run `chmod go-w {name}`, or ")
    if state.st_size > _MOST_BYTES:
        raise _not_own(name, f"it has more than {_MOST_BYTES} bytes")


def _not_own(name: str, problem: str, way_out: str = "") -> UsageError:
    return UsageError(
        name,
        problem,
        "a file of your own that nobody else can write",
        f"{way_out}name it with --settings {name} if you trust it, or use --no-settings",
    )


def _is_private(group: int) -> bool:
    """Whether a group is the one that many systems make for each user alone."""
    import grp  # noqa: PLC0415 (seldom asked for, and not on every system)
    import pwd  # noqa: PLC0415

    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and entry.gr_name == user.pw_name and {*entry.gr_mem} <= {user.pw_name}


def line_of(text: str, key: str) -> int | None:
    """The line of a key or a table's name, counted from 1; None where it is not the only one."""
    name = re.escape(key)
    pattern = re.compile(rf"""^\s*(?:\[\s*)?(?:[\w-]+\s*\.\s*)*["']?{name}["']?\s*[\]=.]""")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)]
    return lines[0] if len(lines) == 1 else None


def secrets_in(document: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys of values that hold a secret: an address with a password, or a setting called so."""
    for key, value in document.items():
        place = (*above, key)
        if isinstance(value, Mapping):
            yield from secrets_in(value, place)
        elif isinstance(value, str) and (
            _ADDRESS_WITH_PASSWORD.match(value)
            or ("://" in value and any(map(_SECRET_NAME.search, _PARAMETER.findall(value))))
            or (above[-1:] == ("conf",) and _SECRET_NAME.search(key))
        ):
            yield place
