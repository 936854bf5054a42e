"""Checkpoints of runs, for whoever only asks whether there is one."""

from pathlib import Path
from typing import Final

STATE_NAME: Final = "state.json"
"""The file of a checkpoint's folder that is written last."""


def holds_work(folder: Path) -> bool:
    """Whether a folder holds work that was neither refused nor registered; it is not looked into."""
    return (folder / STATE_NAME).exists()
