"""What an owner chooses as a policy begins, and what `init` says it wrote."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from smalti.engine.tables.formats import Format

DEFAULT_K: Final = 5


@dataclass(frozen=True, slots=True)
class Roles:
    """What the data's owner chose; empty where it stays to be chosen."""

    respondent: str | None = None
    """The column that tells people apart."""
    one_row_each: bool = False
    """True: each row is about another person."""
    identifiers: tuple[str, ...] = ()
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    k: int = DEFAULT_K
    l: int | None = None  # noqa: E741 (its name everywhere)
    formats: Mapping[str, "Format"] = field(default_factory=dict)
    """By column, which of two formats its values have."""

    def named(self) -> Iterator[tuple[str, str]]:
        """Each column that is named, with the option that names it."""
        if self.respondent is not None:
            yield "--respondent", self.respondent
        for option, names in (
            ("--identifier", self.identifiers),
            ("--quasi-identifier", self.quasi_identifiers),
            ("--sensitive", self.sensitive),
            ("--release", self.released),
        ):
            yield from ((option, name) for name in names)


@dataclass(frozen=True, slots=True)
class Parties:
    """Who and what the policy is about; None where an example stands in its place."""

    target: str | None = None
    owner: str | None = None
    party: str | None = None
    purpose: str | None = None


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was written, and what is left to do."""

    policy: Path
    """The short policy."""
    description: Path | None
    """The description beside the data; None: none was needed, or it was there, or nothing is on disk."""
    dropped: tuple[str, ...]
    """The columns that the policy does not name."""
    to_do: tuple[str, ...]
    """What stays to be filled in, in words; empty: it can be tried at once."""
    target: str
    owner: str
    party: str
    has_examples: bool
    """Whether some of these IRIs are examples."""
    names_description: bool = False
    """Whether commands have to name the description, which does not stand beside the data."""
