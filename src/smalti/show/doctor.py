"""The components of this machine, in a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from smalti.doctor import Check


def show_doctor(out: Console, checks: "Iterable[Check]") -> None:
    """Show each component, and how to install what is missing."""
    for check in checks:
        mark, style = ("ok", "green") if check.is_there else ("--", "yellow")
        line = Text.assemble((f"{mark}  ", style), f"{check.name:14}", f" {check.found}")
        if not check.is_there:
            line.append(f"   for {check.needed_for}: {check.mend}")
        out.print(line, soft_wrap=True)  # a command that is broken over lines is none
