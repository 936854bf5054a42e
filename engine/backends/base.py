"""The interface of an engine: a backend moves rows, and decides nothing about them."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

from smalti.engine.backends.staged import StagedTable
from smalti.engine.tables.description import Source


class Backend(ABC):
    """An engine that runs plans."""

    name: ClassVar[str]

    @abstractmethod
    def open(self, source: Source, workspace: Path, columns: Collection[str] | None = None) -> StagedTable:
        """Check a source's files and stage them.

        Args:
            source: the files and their description.
            workspace: an empty folder private to the run, for staging and spill.
            columns: the names of those to stage; others are checked, and not looked at afterwards. Names
                that the files do not have are passed over. None: all.

        Raises:
            DataError: a file cannot be read as its format says, or has other columns than the first one.
            BackendError: the machine.
        """
