"""Hierarchies of columns of the small random tables, and the nodes of some values by hand."""

from decimal import Decimal

from smalti.engine.plan.hierarchies import Calendar, DeclaredHierarchy, FileForm, HierarchyFile, Intervals

CITIES = HierarchyFile(
    FileForm.CSV,
    "cities.csv",
    tuple(
        sorted(
            (city, "no letters" if city == '"' else "odd" if city[0] in "{[a" else "real", "anywhere")
            for city in ("Rome", "{Rome|Oslo}", "[1..2]", "a\\b", "Ålesund", "Oslo\nNord", '"')
        )
    ),
)
ALONG = {
    "age": DeclaredHierarchy(Intervals(Decimal(10), "0", (5, 4))),
    "born": DeclaredHierarchy(Calendar(("month", "year", "decade"))),
    "city": DeclaredHierarchy(CITIES),
}
NODES = {
    "7": {"7", "0..9", "0..49", "0..199", "*"},
    "41": {"41", "40..49", "0..49", "0..199", "*"},
    "-3": {"-3", "-10..-1", "-50..-1", "-200..-1", "*"},
    "1000": {"1000", "1000..1009", "1000..1049", "1000..1199", "*"},
    "1990-01-31": {"1990-01-31", "1990-01", "1990", "1990s", "*"},
    "2001-12-01": {"2001-12-01", "2001-12", "2001", "2000s", "*"},
    "1975-06-15": {"1975-06-15", "1975-06", "1975", "1970s", "*"},
}
