"""The columns of its input that a recorded plan used."""

from collections.abc import Collection, Iterable
from urllib.parse import unquote

from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.known_columns import DescribedColumns, known_spelling
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import RecordedPlan
from smalti.errors import PlanError
from smalti.policy.model.column_iris import column_iri as default_column_iri
from smalti.policy.model.column_iris import normalised_column
from smalti.vocab.terms import IRI


def used_iris(plan: AnyPlan) -> frozenset[IRI]:
    """The IRIs of the columns of its input that a plan uses, as `normalised_column` spells them.

    A column that is declared with an IRI of its own has its default one, too.
    """
    return _iris(plan, plan.used_columns)


def _iris(plan: AnyPlan, names: Collection[str]) -> frozenset[IRI]:
    declared = [column.iri for column in plan.read.columns if column.name in names]
    default = [default_column_iri(plan.read.target, name) for name in names]
    return frozenset(map(normalised_column, declared + default))


def uses_any(
    recorded: RecordedPlan,
    columns: Iterable[IRI],
    named: Iterable[IRI],
    owners: frozenset[IRI],
    believed: frozenset[tuple[IRI, IRI]],
) -> bool:
    """Whether a recorded plan uses some columns of its input, or that cannot be told.

    It cannot be told of a plan that is not understood; nor where a prohibition names a column that the
    input did not have, or is not known to have had: any of its columns may be meant.

    Args:
        recorded: the plan, and what columns its input had.
        columns: as `policy.model.column_iris.normalised_column` spells them.
        named: those of them that prohibitions name. What other runs recorded does not tell which column one
            was in this run: they may have been made by anybody, and from other data.
        owners: who owns the input or a part of it; what IRI a column had is the word of its one owner.
        believed: what that one said of it in any run (`KnownColumns.believed`).
    """
    try:
        understood = plan_from_json(recorded.text)
    except PlanError:
        return True
    used = {unquote(iri) for iri in used_iris(understood)}
    if not used.isdisjoint(map(unquote, columns)):
        return True
    read = understood.read
    described = recorded.input_table or DescribedColumns(
        tuple((column.name, column.iri) for column in read.columns), None
    )
    return not described.certain(read.target, owners, believed).issuperset(map(known_spelling, named))
