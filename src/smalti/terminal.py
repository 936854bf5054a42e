"""What all that is shown in a terminal shares: labels, widths, short names."""

from typing import Any

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.lines import labelled

Json = dict[str, Any]

LABEL = "bold"


WIDTH = 110


def short(iri: str | None) -> str:
    """The last part of an IRI, for a sentence; the whole where there is none."""
    if iri is None:
        return "no purpose"
    return iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]


def fields(out: Console, *told: tuple[str, str]) -> None:
    """Labels with texts beside them, wrapped between words."""
    for label, text in told:
        lines = labelled(label, text, min(out.width, WIDTH))
        out.print(Text.assemble((lines[:13], LABEL), lines[13:]))
