"""Budgets in a terminal: charges, ceilings, and what is left."""

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from smalti.engine.registry.budget import Ceiling, ComposedLoss, EpsilonDelta
from smalti.show.terminal import LABEL, short

if TYPE_CHECKING:
    from smalti.budgeting import BudgetReport, CeilingLeft, Forecast, ShownCharge
    from smalti.engine.losses.stated_ceilings import StatedCeiling
    from smalti.transforms.sensitivity import NeighboringRelation

_CELLS = 30
"""Of a bar."""
_BOTH = (
    "releases were made under both neighbouring relations, before the registry knew that they are about"
    " the same respondents. All figures are about changing one respondent; releases about adding or"
    " removing one count with twice their epsilon. No further release fits"
)
_SCOPE = "counted: all releases that this registry recorded about the same respondents; no other registry"


def show_budget(out: Console, report: "BudgetReport") -> None:
    """Show the charges, and what is left under each ceiling."""
    number = len(report.charges)
    out.print(Text(report.target, style=LABEL))
    _line(out, "charged", f"{_amounts(report.spent)} in {_releases(number)}")
    _show_relations(out, report.relations)
    _show_account(out, report.account, report.spent)
    for ceiling in report.ceilings:
        _show_ceiling(out, ceiling, report.spent)
    if not report.ceilings:
        _line(out, "ceiling", "no rule in force permits releases of it")
    if report.charges:
        out.print(_charges(report.charges))
    out.print(Text(_SCOPE, style="dim"))


def show_forecast(out: Console, forecast: "Forecast") -> None:
    """Show how many more releases fit, and the bounds after some of them."""
    out.print(Text(forecast.target, style=LABEL))
    _line(out, "each", _amounts(forecast.each))
    for fit in forecast.fits:
        number = _releases(fit.number, "more ") if fit.number else "no more release"
        why = f": {fit.stated.problem}" if fit.stated.problem else ""
        _line(out, "fits", f"{number} under {_rule(fit.stated)}{why}")
    if not forecast.fits:
        _line(out, "fits", "no rule in force permits releases of it")
    _line(out, "then", f"after {_releases(forecast.releases, 'more ')}: {_amounts(forecast.spent)} charged")
    _show_relations(out, forecast.relations)
    _show_account(out, forecast.account, forecast.spent)
    out.print(Text(_SCOPE, style="dim"))


def _show_relations(out: Console, relations: "tuple[NeighboringRelation, ...]") -> None:
    if len(relations) > 1:
        _line(out, "neighbours", _BOTH)


def _show_account(out: Console, account: ComposedLoss, spent: EpsilonDelta) -> None:
    """Show the bounds on what all releases together reveal; rounded up."""
    is_sum = Fraction(account.epsilon) >= Fraction(spent.epsilon)
    epsilon = _small(spent.epsilon) if is_sum else _up(account.epsilon)
    but_for = ", but for a probability of delta" if account.delta else ""
    _line(out, "together", f"epsilon {epsilon} at delta {_small(account.delta)}, from the noise itself")
    _line(out, "belief", f"at most {_up(account.belief)} about one person, starting at one half{but_for}")
    _line(out, "advantage", f"at most {_up(account.advantage)} better than guessing")


def _show_ceiling(out: Console, ceiling_left: "CeilingLeft", spent: EpsilonDelta) -> None:
    stated, left = ceiling_left.stated, ceiling_left.left
    ceiling = stated.ceiling
    if ceiling is None or left is None:
        _line(out, "ceiling", f"{_rule(stated)} permits no release: {stated.problem}")
        return
    _line(out, "ceiling", f"{_amounts(ceiling)} by {_rule(stated)}")
    out.print(Text("             ").append_text(_bar(ceiling, spent)).append(f" left: {_amounts(left)}"))
    if stated.problem:
        _line(out, "", f"nothing more fits: {stated.problem}")
    elif spent.delta and not ceiling.delta:
        _line(out, "", "nothing more fits: a delta was charged, and this rule states no ceiling of delta")


def _bar(ceiling: Ceiling, spent: EpsilonDelta) -> Text:
    """The used share of a ceiling: that of epsilon or of delta, whichever is greater."""
    shares = (_share(spent.epsilon, ceiling.epsilon), _share(spent.delta, ceiling.delta))
    full = min(-(-max(shares) * _CELLS // 1), _CELLS)
    style = "red" if full == _CELLS else "yellow"
    return Text("\u2588" * int(full), style=style).append("\u2591" * int(_CELLS - full), style="green")


def _share(spent: Decimal, ceiling: Decimal) -> Fraction:
    if not ceiling:
        return Fraction(1 if spent else 0)
    return Fraction(spent) / Fraction(ceiling)


def _charges(charges: "tuple[ShownCharge, ...]") -> Table:
    table = Table(box=None, pad_edge=False, header_style=LABEL)
    for name in ("when (UTC)", "epsilon", "delta", "who", "rule"):
        table.add_column(name, overflow="fold")
    for shown in charges:
        charge = shown.charge
        elsewhere = ("", "other data of the same respondents")
        who = elsewhere if charge is None else (charge.party, charge.rule_uid)
        amounts = (format(shown.spent.epsilon, "f"), _small(shown.spent.delta))
        table.add_row(f"{shown.time:%Y-%m-%d %H:%M}", *amounts, *who)
    return table


def _line(out: Console, label: str, text: str) -> None:
    out.print(Text.assemble((f"  {label:<11}", LABEL), text))


def _amounts(spent: EpsilonDelta | Ceiling) -> str:
    return f"epsilon {_small(spent.epsilon)}, delta {_small(spent.delta)}"


def _small(value: Decimal) -> str:
    """Exact, and short where there are many zeros."""
    plain = format(value, "f")
    return plain if len(plain) <= 12 else str(value)


def _up(value: float) -> str:
    """Four digits behind the point, not below the value."""
    return format(-(Decimal(-value).quantize(Decimal("0.0001"), "ROUND_FLOOR")), "f")


def _releases(number: int, more: str = "") -> str:
    return f"1 {more}release" if number == 1 else f"{number} {more}releases"


def _rule(stated: "StatedCeiling") -> str:
    parties = ", ".join(short(party) for party in stated.parties)
    return f"{stated.rule}" + (f" (for {parties})" if parties else "")
