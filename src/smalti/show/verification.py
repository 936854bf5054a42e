"""The result of `smalti verify`, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.respondents import COUNTED_ROWS
from smalti.show.terminal import fields

if TYPE_CHECKING:
    from smalti.engine.run.recheck import Recheck


def show_recheck(out: Console, seen: "Recheck") -> None:
    """Show which promises were counted again, and which are only stated."""
    if seen.version is None:
        out.print(Text(f"not recorded: {seen.target}", style="bold yellow"))
        fields(out, ("note", _UNRECORDED))
    else:
        out.print(Text(f"verified: {seen.target}", style="bold green"))
        fields(out, ("recorded", f"version {seen.version.number} in this registry"))
    check = seen.check
    fields(out, *([("people", COUNTED_ROWS)] if seen.counts_rows else []))
    fields(out, *(("recounted", str(prop)) for prop in check.recounted))
    if (classes := check.of_classes) is not None:
        text = f"{classes.rows} in {classes.classes} classes of {classes.least_rows} or more"
        fields(out, ("rows", text))
    if seen.is_repeated:
        again = "the recorded plan gave the same content on this data, with every check of a run"
        fields(out, ("repeated", again))
    else:
        counted = "checked by the run, not again" if seen.version else "stated only by its certificate"
        fields(out, *(("attested", f"{prop} ({counted})") for prop in check.attested))


_UNRECORDED = (
    "this registry did not record it. It agrees with its own certificate, which is unsigned: whoever made"
    " the output can have written both. Name the registry that recorded it with --registry"
)
