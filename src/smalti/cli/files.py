"""Files that commands are given."""

from pathlib import Path


def content_of(file: str, expected: str) -> bytes:
    """The bytes of a file.

    Args:
        file: its path.
        expected: what it holds, in words, for the message.

    Raises:
        UsageError: it cannot be read.
    """
    from smalti.errors import UsageError

    try:
        return Path(file).read_bytes()
    except OSError:
        raise UsageError(file, "the file cannot be read", expected, "check the path") from None
