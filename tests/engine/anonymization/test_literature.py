"""Worked examples of the literature, end to end."""

from contextlib import closing
from pathlib import Path

from tables import read_csv, write_csv

from smalti.engine.anonymization.execute import execute
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import Apply, Column, OneRowEach, OutputFormat, Plan, Read, Role, Select, Write
from smalti.engine.tables.sources import bind
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.transforms.base import Datatype
from smalti.transforms.mondrian.transform import Dimensionality, MondrianKAnonymity
from smalti.vocab.terms import IRI

HEADER = ["BirthYear", "Sex", "ZIP Code", "Disease"]
TARGET = IRI("http://example.com/patients")


def column(name: str, datatype: Datatype, role: Role) -> Column:
    return Column(name, IRI(f"{TARGET}/{name}"), datatype, False, role)


def test_figure_2_3_of_d5_1(tmp_path: Path) -> None:
    """Multi-dimensional Mondrian with k = 2, as printed."""
    printed = [
        ["[1960-1980]", "Female", "[20121-20137]", "Flu"],
        ["[1960-1980]", "Female", "[20121-20137]", "AIDS"],
        ["[1970-1990]", "Female", "20138", "Flu"],
        ["[1970-1990]", "Female", "20138", "Hepatitis"],
        ["[1971-1979]", "Male", "20137", "Flu"],
        ["[1971-1979]", "Male", "20137", "Broken rib"],
    ]
    transform = MondrianKAnonymity(2, 1, tuple(HEADER[:3]), tuple(HEADER[3:]))
    assert published_by(transform, tmp_path) == sorted(printed)


def test_figure_2_2_of_d5_1(tmp_path: Path) -> None:
    """Single-dimensional Mondrian with k = 2, as printed: 20137 shows the whole part that it is in."""
    printed = [
        ["[1960-1990]", "Female", "[20121-20137]", "Flu"],
        ["[1960-1990]", "Female", "[20121-20137]", "AIDS"],
        ["[1960-1990]", "Female", "20138", "Flu"],
        ["[1960-1990]", "Female", "20138", "Hepatitis"],
        ["[1960-1990]", "Male", "[20121-20137]", "Flu"],
        ["[1960-1990]", "Male", "[20121-20137]", "Broken rib"],
    ]
    transform = MondrianKAnonymity(
        2, 1, ("Sex", "ZIP Code", "BirthYear"), ("Disease",), dimensionality=Dimensionality.SINGLE
    )
    assert published_by(transform, tmp_path) == sorted(printed)


def published_by(transform: MondrianKAnonymity, tmp_path: Path) -> list[list[str]]:
    """The published rows, sorted; our labels `[a..b]` are written `[a-b]`, as D5.1 prints them.

    The source prints the output only. The input here has one value at each end of each printed range.
    """
    rows = [
        ["1960", "Female", "20121", "Flu"],
        ["1980", "Female", "20137", "AIDS"],
        ["1970", "Female", "20138", "Flu"],
        ["1990", "Female", "20138", "Hepatitis"],
        ["1971", "Male", "20137", "Flu"],
        ["1979", "Male", "20137", "Broken rib"],
    ]
    data, work = tmp_path / "patients.csv", tmp_path / "work"
    work.mkdir()
    write_csv(data, HEADER, rows)
    columns = (
        column("BirthYear", Datatype.INTEGER, Role.QUASI_IDENTIFIER),
        column("Sex", Datatype.STRING, Role.QUASI_IDENTIFIER),
        column("ZIP Code", Datatype.INTEGER, Role.QUASI_IDENTIFIER),
        column("Disease", Datatype.STRING, Role.SENSITIVE),
    )
    names = tuple(HEADER)
    plan = Plan(
        Read(TARGET, columns, OneRowEach(is_declared=True)),
        Select(names, ()),
        Apply(transform),
        Write(IRI("http://example.com/published"), names, OutputFormat.CSV),
    )
    output, link = tmp_path / "out.csv", tmp_path / "link.npy"
    with closing(LocalBackend().open(bind(TARGET, data), work)) as table:
        execute(plan, table, output, link, lambda _: None)
    _, published = read_csv(output)
    checked = verify_run(plan, Original(data, OutputFormat.CSV), Output(output, OutputFormat.CSV), link)
    assert (checked.k, checked.classes) == (2, 3)
    return sorted([field.replace("..", "-") for field in row] for row in published)
