"""When two plans on the same files take their input for the same."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from smalti.engine.plan.hierarchies import ColumnHierarchy
from smalti.engine.plan.input_facts import InputFacts, takes_alike
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.plan import Column, Role, facts_of_columns
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TABLE = "http://example.com/table"


def column(
    name: str = "age", datatype: Datatype = Datatype.STRING, *, iri: str | None = None, **said: bool
) -> Column:
    return Column(
        name,
        IRI(iri or f"{TABLE}/{name}"),
        datatype,
        said.get("inferred", False),
        Role.RELEASED,
        is_undescribed=said.get("undescribed", True),
    )


def facts(*columns: Column, kind: Kind = Kind.ANONYMIZATION) -> InputFacts:
    return facts_of_columns(kind, columns)


CITY = column("city", undescribed=False)
BY_DEFAULT = column()
INTEGERS = column(datatype=Datatype.INTEGER, inferred=True)
DATES = column(datatype=Datatype.DATE, inferred=True)
TEXTS = column(undescribed=False)
NUMBERS = column(datatype=Datatype.DECIMAL, undescribed=False)
HALF_DESCRIBED = column(datatype=Datatype.INTEGER, inferred=True, undescribed=False)
RENAMED = column(datatype=Datatype.INTEGER, inferred=True, iri=f"{TABLE}/years")


@pytest.mark.parametrize(
    ("now", "before", "is_alike"),
    [
        (INTEGERS, [BY_DEFAULT], True),
        (BY_DEFAULT, [INTEGERS], True),
        (INTEGERS, [INTEGERS], True),
        (INTEGERS, [BY_DEFAULT, INTEGERS], True),
        (BY_DEFAULT, [TEXTS], True),
        (DATES, [INTEGERS], False),
        (DATES, [BY_DEFAULT, INTEGERS], False),
        (INTEGERS, [TEXTS], False),
        (INTEGERS, [NUMBERS], False),
        (INTEGERS, [BY_DEFAULT, TEXTS], False),
        (TEXTS, [BY_DEFAULT], False),
        (NUMBERS, [BY_DEFAULT], False),
        (NUMBERS, [INTEGERS], False),
        (HALF_DESCRIBED, [BY_DEFAULT], False),
        (HALF_DESCRIBED, [INTEGERS], False),
        (RENAMED, [BY_DEFAULT], False),
    ],
)
def test_columns(now: Column, before: Iterable[Column], is_alike: bool) -> None:
    earlier = [facts(CITY, column) for column in before]
    assert takes_alike(facts(CITY, now), earlier) is is_alike


def test_a_column_that_no_earlier_plan_has_is_not_compared_away() -> None:
    assert not takes_alike(facts(BY_DEFAULT, column("more")), [facts(BY_DEFAULT)])


def test_another_kind_counts_where_nothing_is_described() -> None:
    masking = Kind.MASKING
    assert takes_alike(facts(INTEGERS, kind=masking), [facts(BY_DEFAULT)])
    assert not takes_alike(facts(INTEGERS, CITY, kind=masking), [facts(BY_DEFAULT, CITY)])
    assert takes_alike(facts(INTEGERS, CITY, kind=masking), [facts(INTEGERS, CITY, kind=masking)])


def test_a_masked_column_keeps_its_hierarchy() -> None:
    masked = replace(CITY, role=Role.MASKED, hierarchy=ColumnHierarchy("prefixes", "sha256:1", 2))
    other = replace(masked, hierarchy=ColumnHierarchy("prefixes", "sha256:2", 2))
    assert takes_alike(facts(masked), [facts(other), facts(masked)])
    assert not takes_alike(facts(masked), [facts(other)])
    assert not takes_alike(facts(masked), [facts(CITY)])
