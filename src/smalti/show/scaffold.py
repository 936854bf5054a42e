"""A table before there is a policy, and what was written for it; in a terminal, for the data's owner."""

import shlex

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.run.profiling import ColumnProfile, Profile
from smalti.roles import Scaffold
from smalti.show.terminal import LABEL, fields

_MOST_COLUMNS = 40
_MOST_CANDIDATES = 5
_SPELLINGS = "one value, and one person, may be spelled in two ways there"


def show_profile(out: Console, profile: Profile, *, in_full: bool = False) -> None:
    """Show each column with its counts; they are figures about the data."""
    if profile.proposal is not None and (sentence := profile.proposal.sentence()):
        fields(out, ("looks like", sentence))
    if profile.description:
        fields(out, ("described", f"by {profile.description}, which stays as it is"))
    out.print(_columns(profile, in_full=in_full))
    fields(out, ("rows", f"{profile.rows:,}"))
    for mixed in profile.mixed:
        fields(out, ("warning", f"{mixed.name} has cells of several types: {mixed.counted}; {_SPELLINGS}"))
    candidates = profile.candidates[:_MOST_CANDIDATES]
    listed = "; ".join(f"{column.name}: {_people(profile, column)}" for column in candidates)
    fields(out, ("the person", listed or "no column looks as if it told people apart"))


def _columns(profile: Profile, *, in_full: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for title in ("", "column", "seems to hold", "different", "missing", "rows that repeat a value"):
        right = title in ("", "different", "missing")
        table.add_column(title, overflow="fold", justify="right" if right else "left")
    columns = profile.columns if in_full else profile.columns[:_MOST_COLUMNS]
    for place, column in enumerate(columns, 1):
        counts = (f"{count:,}" for count in (column.distinct, column.missing, column.repeated))
        table.add_row(str(place), Text(column.name), Text(_held(column)), *counts)
    if len(columns) < len(profile.columns):
        table.add_row("", f"and {len(profile.columns) - len(columns)} more: --verbose lists them")
    return table


def _held(column: ColumnProfile) -> str:
    proposed = column.proposed
    if proposed.datatype is None:
        return _mixed(column) or ("text" if column.distinct else "nothing")
    if proposed.format is None:
        return str(proposed.datatype)
    rival = "" if proposed.rival is None else f", or {proposed.rival.text}: you decide"
    return f"{proposed.datatype}: {proposed.format.text}{rival}"


def _mixed(column: ColumnProfile) -> str:
    """A column of text most of whose values look like something else."""
    likely = [
        str(kind.datatype) if kind.format is None else f"{kind.datatype}: {kind.format.text}"
        for kind in column.mostly
    ]
    return f"text: not all values are of one form (many are {'; '.join(likely)})" if likely else ""


def _people(profile: Profile, column: ColumnProfile) -> str:
    if column.distinct == profile.rows:
        return "another value in each row"
    return f"{column.distinct:,} different in {profile.rows:,} rows"


def show_scaffold(out: Console, result: Scaffold, data: str) -> None:
    """Show what was written, and which commands come next."""
    if result.description is not None:
        fields(out, ("wrote", str(result.description)))
    fields(out, ("wrote", str(result.policy)))
    if result.dropped:
        count = len(result.dropped)
        columns = "1 column that has no role; the policy lists it"
        if count > 1:
            columns = f"{count} columns that have no role; the policy lists them"
        fields(out, ("dropped", columns))
    if result.has_examples:
        fields(
            out, ("names", "http://example.com/... stands for names of your own; edit them in the policy")
        )
    for item in result.to_do:
        fields(out, ("to fill in", item))
    out.print(Text("next", style=LABEL))
    described = ["--description", str(result.description)] if result.names_description else []
    bound = shlex.join(["--data", f"{result.target}={data}", *described])
    policy = shlex.quote(str(result.policy))
    for command in (
        f"smalti check {policy}",
        f"smalti try {policy} {bound}",
        f"smalti run {policy} {bound} {shlex.join(['--as', result.party, '--owner', result.owner])}"
        " --out published",
    ):
        out.print(Text(f"  {command}"))
