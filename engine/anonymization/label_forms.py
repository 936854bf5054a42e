"""How the labels of generalised columns look, which whoever sees the output sees."""

from dataclasses import dataclass

from smalti.engine.plan.plan import Plan, Role


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How a generalised column is published; whoever sees the output sees it."""

    column: str
    form: str
    """`ranges`, or `sets of exact values`."""


def text_columns(plan: Plan) -> tuple[str, ...]:
    """The generalised columns whose labels are sets of exact values."""
    return tuple(
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and not column.datatype.is_ordered
    )


def forms(plan: Plan) -> tuple[ColumnForm, ...]:
    """How each generalised column is published; nothing but what its labels show."""
    texts = text_columns(plan)
    return tuple(
        ColumnForm(name, "sets of exact values" if name in texts else "ranges")
        for name in plan.apply.transform.quasi_identifiers
    )
