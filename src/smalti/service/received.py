"""Bodies that were received."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RawBody:
    """A document as it was sent."""

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A stream that was received completely, in a private folder of its own."""

    folder: Path
    """To be taken over, or removed."""
    digest: str
    """Hexadecimal SHA-256."""
    size: int
