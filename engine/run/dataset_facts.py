"""A data description as the policy room needs it: to check and lint policies without the data."""

from pathlib import Path

from smalti.engine.tables.description import ColumnDescription, Description
from smalti.engine.tables.sources import read_description
from smalti.policy.model.dataset import ColumnFacts, DatasetFacts
from smalti.vocab.terms import IRI


def read_dataset_facts(path: Path, target: IRI | None = None) -> DatasetFacts:
    """What a CSVW description file says of its table; the data itself is not looked for.

    Args:
        path: of the description.
        target: the asset that it describes; None: not said.

    Raises:
        UsageError: the file cannot be read.
        DataError: the description is not understood.
    """
    description, _ = read_description(path)
    return dataset_facts(description, target)


def dataset_facts(description: Description, target: IRI | None = None) -> DatasetFacts:
    """A description's words about columns, keys, respondents and public bounds."""
    return DatasetFacts(
        columns=tuple(_column(column, description) for column in description.columns),
        source=description.source,
        target=target,
        respondent=description.respondent,
        one_row_each=description.one_row_each,
        most_rows=description.most_rows,
    )


def _column(column: ColumnDescription, description: Description) -> ColumnFacts:
    return ColumnFacts(
        name=column.name,
        iri=column.iri,
        datatype=None if column.datatype is None else str(column.datatype),
        is_key=description.key == (column.name,),
        most_values=column.most_values,
        hierarchy=None if column.hierarchy is None else column.hierarchy.stated.kind,
    )
