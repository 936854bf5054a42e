"""Single techniques beside classes: what they change before classes are made, and what is refused.

Masking comes first, in one run: classes are made of what is left, and their promise is counted on the
values that are published. So a sensitive column that is coded is as diverse as its coded values are, and a
sample is all there is for a model. What a technique does not protect from is said beside the promise; none
of them is a model of privacy.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from smalti.engine.anonymization.pseudonyms import key_of, pseudonymize
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.masks import AtLevel, Coded, Mask, Recoded
from smalti.engine.plan.plan import Column, Plan, Respondent, RespondentColumn, Role
from smalti.engine.tables.description import Source
from smalti.engine.techniques.applying import apply_mask
from smalti.engine.techniques.binder import TechniqueBinder, normal
from smalti.engine.techniques.mechanisms import Secrets
from smalti.engine.techniques.terms import Said, stated_terms
from smalti.errors import PlanError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Anonymization, ColumnReference, Where
from smalti.transforms.base import Transform
from smalti.transforms.class_models import ClassModels, Distance
from smalti.transforms.noise.samplers import SAMPLER, Sampler
from smalti.vocab import terms
from smalti.vocab.techniques import BESIDE, TECHNIQUE_OF
from smalti.vocab.terms import IRI


class TechniquesBeside:
    """Binds the techniques of a permission of classes to columns, and collects problems."""

    def __init__(self, wanted: Anonymization, asks: Iterable[Fact]) -> None:
        """Read what a permission states.

        Args:
            wanted: of any method that makes classes; only beside some of these are there techniques.
            asks: by the run.
        """
        self.problems: list[SmaltiError] = []
        """Takes a `PlanError` for each thing that cannot be."""
        self._wanted = wanted
        self._techniques = BESIDE.keys() & frozenset(wanted.algorithms)
        asks = tuple(asks)
        has_sample = terms.SAMPLING in self._techniques
        own = [fact for fact in asks if has_sample and fact.operand == terms.SAMPLING_RATE]
        self.other_asks = tuple(fact for fact in asks if fact not in own)
        """What is asked for of classes."""
        self._terms = stated_terms(wanted, own, self.problems)

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        """The columns that have a technique, pseudonyms apart."""
        return tuple(column for column in self._terms.of_columns if self._said(column))

    def _said(self, column: ColumnReference) -> Mapping[IRI, Said]:
        return {
            operand: said
            for operand, said in self._terms.of_columns[column].items()
            if operand in TECHNIQUE_OF and TECHNIQUE_OF[operand] in BESIDE
        }

    def bound(
        self, columns: tuple[Column, ...], source: Source, table: StagedTable
    ) -> tuple[tuple[Column, ...], Mask | None]:
        """The same columns as techniques read them, and what is done; None: nothing.

        Args:
            columns: of the plan, in the order of the file.
            source: the target's file and description.
            table: the same, bound.
        """
        if not self._techniques:
            return columns, None
        said = {normalised_column(each.iri): self._said(each) for each in self.columns}
        binder = TechniqueBinder(source, table, self._terms, self.problems)
        read, masked = [], []
        for column in columns:
            parameters = said.get(normalised_column(column.iri), {})
            if parameters and column.role is not Role.IDENTIFIER:
                technique = TECHNIQUE_OF[next(iter(parameters))]
                bound = binder.bound(technique, column, parameters)
                column = bound.column  # noqa: PLW2901 (as it is read from here on)
                masked += [bound.node] if bound.node is not None else []
            read.append(column)
        rate = self._terms.sampling_rate if terms.SAMPLING in self._techniques else None
        mask = Mask(tuple(masked), None if rate is None else normal(rate), (), self._suppressed(columns))
        return tuple(read), None if mask == Mask(()) else mask

    def _suppressed(self, columns: tuple[Column, ...]) -> tuple[str, ...]:
        if terms.ATTRIBUTE_SUPPRESSION not in self._techniques:
            return ()
        suppressed = tuple(column.name for column in columns if column.role is Role.IDENTIFIER)
        if not suppressed:
            self._problem(
                self._wanted.where,
                f"the algorithm `{terms.ATTRIBUTE_SUPPRESSION}` names no column",
                "the columns to leave out, under `mosaicrown:identifier`",
                "name them, or leave out the algorithm",
            )
        return suppressed

    # --- What does not go together

    def check_columns(self, mask: Mask | None, columns: Iterable[Column], respondent: Respondent) -> None:
        """Refuse techniques of columns that the rest of the plan reads otherwise.

        Args:
            mask: of the plan.
            columns: of the plan, with their forms and regions.
            respondent: of the plan.
        """
        nodes = {} if mask is None else {each.column: each for each in mask.columns}
        for column in columns:
            node = nodes.get(column.name)
            if node is None:
                continue
            if respondent == RespondentColumn(column.name):
                self._problem(
                    self._where_of(column),
                    f"the respondent `{column.name}` would be masked, by which people are counted",
                    "a technique of another column",
                    "leave it out, or declare another respondent",
                )
            if column.role is Role.QUASI_IDENTIFIER and not _has_open_ranges(column):
                self._problem(
                    self._where_of(column),
                    f"the column `{column.name}` is coded, and is not published as ranges of its values",
                    "numbers or times without a hierarchy, in the form `range` with `observed` bounds:"
                    " their labels can be open",
                    "leave out the code, the hierarchy, `smalti:outputForm` or `smalti:labelBounds` of this"
                    f" column, or state the algorithm `{terms.MONDRIAN}`",
                )

    def check_distances(self, mask: Mask | None, sensitive: Iterable[Column], models: ClassModels) -> None:
        """Refuse distances that published values do not have.

        Args:
            mask: of the plan.
            sensitive: the columns that are kept under the guarantee.
            models: of them.
        """
        nodes = {} if mask is None else {each.column: each for each in mask.columns}
        for column in sensitive:
            node, distance = nodes.get(column.name), models.of_column(column.name).distance
            is_ordered = isinstance(node, Coded) and distance is Distance.ORDERED
            if distance in (None, Distance.EQUAL) or is_ordered:
                continue
            if isinstance(node, Coded | AtLevel | Recoded):
                self._problem(
                    self._where_of(column),
                    f"the distance of the sensitive column `{column.name}` is `{distance}`, which values"
                    f" that {node.technique} has changed do not have",
                    "the distance `equal`; of coded values also `ordered`",
                    "state another distance for this column, or leave out the technique",
                )

    def check_transform(self, mask: Mask | None, transform: Transform, sensitive: Iterable[str]) -> None:
        """Refuse what cannot be verified where records are left out since their classes are too small.

        Args:
            mask: of the plan.
            transform: of the plan.
            sensitive: the columns that are kept under the guarantee, by name.
        """
        if mask is None or not transform.lattice_terms.leaves_out:
            return
        masked = {each.column for each in mask.columns} & set(sensitive)
        if mask.sampling_rate is not None or masked:
            what = "a sample is drawn" if mask.sampling_rate is not None else "a sensitive column is masked"
            self._problem(
                self._wanted.where,
                f"records may be left out by `smalti:suppressionLimit`, and {what}: why a record lacks, or"
                " what it held, could not be told apart",
                "one of them, or `smalti:suppressedRecords` `kept`",
                "state `kept`, or leave out one of them",
            )

    def _where_of(self, column: Column) -> Where:
        own = normalised_column(column.iri)
        stated = (each.where for each in self.columns if normalised_column(each.iri) == own)
        return next(stated, self._wanted.where)

    def _problem(self, where: Where, problem: str, expected: str, way_out: str) -> None:
        self.problems.append(PlanError(str(where), problem, expected, way_out))


def _has_open_ranges(column: Column) -> bool:
    return column.is_published_as_ranges and column.region is None


# --- Carrying it out


def mask_rows(
    plan: Plan,
    table: StagedTable,
    hierarchies: Hierarchies,
    registry: Path | None,
    sampler: Sampler = SAMPLER,
) -> None:
    """Do what a plan does to rows before it makes classes: sample, mask columns, put in pseudonyms.

    Args:
        plan: from here on, `plan.once_masked` is the one for the table.
        table: the rows that take part.
        hierarchies: those that the plan has the digests of.
        registry: beside which keys of pseudonyms are.
        sampler: where what is random comes from.

    Raises:
        DataError: a value is none of its column's datatype.
        RegistryError: as `secret.pseudonym_key`.
        BackendError: the machine.
    """
    if plan.mask is not None:
        apply_mask(plan, plan.mask, table, Secrets(hierarchies=hierarchies), sampler)
    pseudonymize(plan, table, key_of(plan, registry))
