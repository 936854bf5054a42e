"""Small tables of respondents with public domains, and plans on them; shared by tests of perturbations."""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from tables import TARGET, write_csv

from smalti.engine.backends.base import Backend
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.losses.coded_reports import ExactReports
from smalti.engine.perturbation.compile import compile_perturbation
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.perturbation.reports import exact_reports
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    ColumnReference,
    Comparison,
    Named,
    Number,
    Operator,
    Permission,
    Text,
    Where,
)
from smalti.transforms.base import Datatype
from smalti.vocab import terms
from smalti.vocab.terms import ANONYMIZE, IRI

HEADER = ("who", "sex", "city", "age", "spend", "note")
CITIES = ("Rome", "Oslo", "Bonn", "[0..20)", "Ålesund\nNord")
HERE = Where("policy.jsonld", 3, 7)
OUTPUT = IRI("http://example.com/noisy")
Row = Sequence[str]


def described(
    name: str, datatype: Datatype | None = None, values: tuple[str, ...] = (), **others: Any
) -> ColumnDescription:
    return replace(ColumnDescription(name, None, datatype, None), values=values, **others)


def number(text: str) -> Decimal:
    return Decimal(text)


DESCRIPTION = Description(
    (
        described("who", Datatype.DECIMAL),
        described("sex", None, ("f", "m"), is_required=True),
        described("city", None, CITIES),
        described("age", Datatype.INTEGER, lower=number("0"), upper=number("100")),
        described("spend", Datatype.DECIMAL, lower=number("-1"), upper=number("2.5"), unit=number("0.1")),
        described("note"),
    ),
    respondent="who",
    source="people.csv-metadata.json",
)
ONE_ROW_EACH = replace(DESCRIPTION, respondent=None, one_row_each=True)


def permission(
    *columns: str,
    epsilon: str = "1",
    mechanisms: tuple[str, ...] = (),
    more: tuple[Any, ...] = (),
    **others: Any,
) -> Permission:
    """To publish perturbed columns."""
    parameters: list[Any] = [
        Comparison(terms.EPSILON, Operator.LTEQ, (Number(Decimal(epsilon)),), where=HERE),
    ]
    if columns:
        named = tuple(Named(IRI(f"{TARGET}/{name}")) for name in columns)
        parameters.append(Comparison(terms.MEASURE, Operator.IS_ANY_OF, named, where=HERE))
    if mechanisms:
        parameters.append(
            Comparison(terms.MECHANISM, Operator.IS_ANY_OF, tuple(map(Text, mechanisms)), where=HERE)
        )
    wanted = Anonymization(
        terms.LOCAL_DIFFERENTIAL_PRIVACY, None, None, None, (), (), (), (), None, False,
        (*parameters, *more), HERE,
    )  # fmt: skip
    wanted = replace(wanted, **others)
    return Permission(
        uid=IRI("http://example.com/rule"), action=ANONYMIZE, targets=(Asset(TARGET),),
        anonymization=wanted, output=OUTPUT, where=HERE,
    )  # fmt: skip


def column(name: str) -> ColumnReference:
    return ColumnReference(IRI(f"{TARGET}/{name}"), HERE)


def reported(
    backend: Backend,
    rows: Sequence[Row],
    given: Permission,
    description: Description = DESCRIPTION,
    circumstances: Circumstances | None = None,
    output_format: OutputFormat = OutputFormat.CSV,
) -> tuple[PerturbationPlan, ExactReports]:
    """The plan on a table, and what its respondents would report without noise."""
    with tempfile.TemporaryDirectory() as folder:
        data, workspace = Path(folder) / "people.csv", Path(folder) / "work"
        workspace.mkdir()
        write_csv(data, HEADER, rows)
        source = Source(TARGET, data, OutputFormat.CSV, description)
        with closing(backend.open(source, workspace)) as table:
            plan = compile_perturbation(
                given, source, table, output_format, circumstances or Circumstances()
            )
            return plan, exact_reports(plan, table)


def row(**texts: str) -> tuple[str, ...]:
    return tuple(texts.get(name, "") for name in HEADER)


def records(exact: ExactReports) -> list[tuple[int, ...]]:
    """One tuple of codes for each respondent."""
    combined = zip(*(codes.tolist() for codes in exact.codes), strict=True)
    return [
        codes
        for codes, count in zip(combined, exact.respondents.tolist(), strict=True)
        for _ in range(count)
    ]
