"""A report in a terminal: its texts and tables, and its drawings in words."""

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from smalti.reports.page import Drawing, Page, Paragraph, Table


def show(page: Page, console: Console) -> None:
    """Print a page, without interpreting markup in its texts."""
    console.print(Text(page.title, style="bold"))
    console.print(Text(page.lead))
    for section in page.sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        for part in section.parts:
            console.print(_shown(part))


def _shown(part: Paragraph | Table | Drawing) -> Text | RichTable:
    match part:
        case Paragraph(text=text):
            return Text(text)
        case Drawing(description=description):
            return Text(description, style="dim")
        case Table():
            table = RichTable(box=box.SIMPLE, title=Text(part.caption), title_justify="left")
            for name in part.header:
                table.add_column(Text(name))
            for row in part.rows:
                table.add_row(*map(Text, row))
            return table
