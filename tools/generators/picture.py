"""The picture of README: ten invented rows before and after a run, drawn as SVG."""

import csv
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.terminal_theme import TerminalTheme

import smalti

_ROOT: Final = Path(__file__).parents[2]
_EXAMPLES: Final = _ROOT / "examples"
_TARGET: Final = "http://example.com/visits"
_THEME: Final = TerminalTheme((255, 255, 255), (31, 35, 40), [(31, 35, 40)] * 8, [(9, 105, 218)] * 8)
_FORMAT: Final = """\
<svg viewBox="0 0 {terminal_width} {terminal_height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>Ten rows before and after</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
line-height: {line_height}px; }}
{styles}
</style>
<rect fill="#ffffff" width="100%" height="100%"/>
<defs>{lines}</defs>
<g class="{unique_id}-matrix">{backgrounds}{matrix}</g>
</svg>
"""
"""Without the fonts that Rich would fetch from another server."""


def picture() -> str:
    """An SVG with the rows of `examples/data/visits.csv`, and those that a run publishes of them."""
    before = _rows(_EXAMPLES / "data" / "visits.csv")
    console = Console(record=True, width=118, force_terminal=True, file=StringIO())
    with TemporaryDirectory() as folder:
        after = _rows(_published(Path(folder) / "out"))
    console.print(Columns([_table("before", before), _table("published, k = 3", after)], padding=(0, 3)))
    return console.export_svg(theme=_THEME, code_format=_FORMAT, unique_id="visits", font_aspect_ratio=0.61)


def _published(out: Path) -> Path:
    outcome = smalti.run(
        _EXAMPLES / "policies" / "visits.yaml",
        data={_TARGET: _EXAMPLES / "data" / "visits.csv"},
        party="http://example.com/party/researcher",
        owner="http://example.com/party/hospital",
        purpose="statistical",
        out=out,
        registry=smalti.Registry.memory(),
    )
    if outcome.version is None:
        raise RuntimeError(f"the run was decided {outcome.decision.effect}")
    return out / outcome.version.files[0].name


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _table(title: str, rows: list[list[str]]) -> Table:
    table = Table(*rows[0], title=title, title_style="bold", header_style="bold")
    for row in rows[1:]:
        table.add_row(*row)
    return table
