"""Compile a permission to train to a plan: features, classes, noise and the audit."""

from fractions import Fraction
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.binding.one_row_columns import OneRowColumns
from smalti.engine.losses.units import default_unit
from smalti.engine.plan.plan import RespondentColumn, Select
from smalti.engine.plan.reads import ReadRows
from smalti.engine.tables.description import ColumnDescription, Source
from smalti.engine.training.attainable import delta_of
from smalti.engine.training.duties import (
    audit_of,
    check_decided,
    check_trainings,
    check_work,
    needs_pool,
    problems_of,
)
from smalti.engine.training.noise import private_steps
from smalti.engine.training.plan import (
    CategoryFeature,
    Feature,
    NumberFeature,
    Train,
    TrainingPlan,
    WriteModel,
)
from smalti.engine.training.recipes import network_of
from smalti.engine.training.records import grid_of
from smalti.errors import InternalError, PlanError, raise_all
from smalti.policy.model.model import Permission, Training
from smalti.policy.read.anonymization import unimplemented_limits
from smalti.policy.read.unimplemented import unimplemented_refinements
from smalti.transforms.base import Datatype
from smalti.transforms.learning.recipes import Recipe, recipe

_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_TRAINED_PART: Final = Fraction(1, 2)
"""Of the respondents; the others are who was not trained on, for an attack to tell apart."""
_TRAINED_PART_BESIDE_POOL: Final = Fraction(1, 5)
"""Where shadow models need a pool of their own: each has a set of the target's size there, and as many
records again that it was not trained on (D5.1, section 3.2), with room for chance."""
_LARGEST_WIDTH: Final = 1 << 16


def compile_training(
    permission: Permission,
    source: Source,
    table: StagedTable,
    circumstances: Circumstances = NO_MORE,
) -> TrainingPlan:
    """Bind a permission to the columns of a table, and leave out the rows of people who withdrew.

    The plan depends on the policy's words, the description and the header. No value of the data is looked
    at, but to find who withdrew: so nothing here fails, or says anything, because of one.

    Args:
        permission: to train.
        source: the target's file and description.
        table: the same, bound.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: no model can be trained on the data as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.training
    if wanted is None or permission.output is None:
        raise InternalError("a permission without a training reached its compiler")
    refuse_unimplemented(permission)
    refuse_output(source, circumstances)
    compiler = TrainingColumns(wanted, source, table, circumstances)
    respondent = compiler.respondents(circumstances, "a model learns one row of each")
    label = compiler.label()
    features = compiler.features()
    named_recipe = compiler.recipe()
    audit = audit_of(permission)
    compiler.problems += problems_of(permission, features)
    if audit is None and not wanted.is_private:
        compiler.problem(
            str(permission.where),
            "training adds no noise, and no audit is required: nothing is promised of the model",
            "a bound on its loss, such as `smalti:posteriorBelief`, a duty `smalti:audit`, or both",
            "state one",
        )
    raise_all(compiler.problems)
    if label is None or named_recipe is None:
        raise InternalError("a training without label or recipe passed its compiler")
    epochs = named_recipe.defaults.epochs if wanted.epochs is None else wanted.epochs.value
    coordinates = named_recipe.architecture(sum(feature.size for feature in features), label.size).size
    private, loss = private_steps(wanted, epochs, coordinates)
    check_work(str(wanted.where), audit, private, coordinates)
    check_decided(str(permission.where), audit, delta_of(loss))
    check_trainings(str(permission.where), audit, private, delta_of(loss))
    kept = {label.column, *(feature.column for feature in features)}
    looked_at = {*kept, *((respondent.column,) if isinstance(respondent, RespondentColumn) else ())}
    header = table.contents.header
    return TrainingPlan(
        ReadRows(
            source.target,
            tuple(compiler.read_column(name) for name in header if name in looked_at),
            respondent,
        ),
        Select(
            tuple(name for name in header if name in kept),
            tuple(name for name in header if name not in kept),
        ),
        Train(
            wanted.recipe,
            network_of(named_recipe),
            features,
            label,
            epochs,
            str(_TRAINED_PART_BESIDE_POOL if needs_pool(audit) else _TRAINED_PART),
            private,
            loss,
        ),
        audit,
        WriteModel(permission.output),
    )


def refuse_unimplemented(permission: Permission) -> None:
    """Refuse all words that training does not implement: no request of a policy is ignored."""
    rules = (permission, *(duty for duty in permission.duties if duty.audit is not None))
    words = [word for rule in rules for word in unimplemented_refinements(rule)]
    words += unimplemented_limits(permission.constraints)
    raise_all([
        PlanError(str(where), f"{what} is not implemented yet", "words that this version can run")
        for what, where in words
    ])  # fmt: skip


def refuse_output(source: Source, circumstances: Circumstances) -> None:
    """Refuse an output as what is learned from, whatever else is wrong.

    One respondent more can change many of its rows, and noise that covers one row covers nothing of that.
    Of an output of local-differential-privacy that does not hold; but nothing here says yet of a model that
    it follows from reports that are private already.
    """
    if circumstances.inherited is not None:
        raise PlanError(
            str(source.target),
            "it is itself an output, and this version trains on original data only, even where each row of"
            " the output is one person's noisy report",
            "the original data, in which a row is about one person",
            "ask the owner for a policy about the original data; whoever may use the published file can"
            " train on it without smalti",
        )


class TrainingColumns(OneRowColumns[Training]):
    """Binds columns to features of models that predict or give records, and collects problems."""

    def __init__(
        self, wanted: Training, source: Source, table: StagedTable, circumstances: Circumstances
    ) -> None:
        label = () if wanted.label_column is None else (wanted.label_column,)
        super().__init__(wanted, source, table, circumstances.respondents, (*label, *wanted.identifiers))
        self.check_names()
        if circumstances.rows:
            self.problem(
                str(wanted.where),
                "the permission is limited to rows, and a model reveals properties of its training rows",
                "a training on all rows",
                "remove the limit",
            )
        if wanted.rows_per_respondent is not None and wanted.rows_per_respondent.value != 1:
            self.problem(
                str(wanted.where),
                "the policy requests several rows of each respondent, but training uses one",
                "`smalti:rowsPerRespondent` of 1, or no such refinement",
                "leave it out",
            )

    def recipe(self) -> Recipe | None:
        """The recipe that the policy names; None after a problem."""
        try:
            return recipe(self.wanted.recipe)
        except PlanError as problem:
            self.problem(str(self.wanted.where), problem.problem, problem.expected, problem.way_out)
            return None

    def label(self) -> CategoryFeature | None:
        """The column that the model predicts; None after a problem."""
        column = self.wanted.label_column
        name = None if column is None else self.name(column)
        if column is None or name is None:
            return None
        described = self.source.description.column(name)
        self._check_public(described)
        if not described.values or len(described.values) < 2:
            self.problem(
                self.source.description.source or str(column.where),
                f"the column `{name}` has no public classes",
                "at least two public values (`csvw-eo:keyValues`)",
                "state them in the data's description",
            )
            return None
        return CategoryFeature(name, described.values, has_missing=False)

    def features(self) -> tuple[Feature, ...]:
        """Every column that is not dropped, not predicted and does not identify respondents."""
        named = (*self.wanted.identifiers, self.wanted.label_column)
        left_out = {self.name(column) for column in named if column is not None}
        if isinstance(self.declared, RespondentColumn):
            left_out.add(self.declared.column)
        bound = [self._feature(name) for name in self.table.contents.header if name not in left_out]
        features = tuple(feature for feature in bound if feature is not None)
        if not bound:
            self.problem(
                str(self.wanted.where),
                "no column is left to learn from",
                "a column that is not dropped",
            )
        if sum(feature.size for feature in features) > _LARGEST_WIDTH:
            self.problem(
                str(self.wanted.where),
                "the columns have too many public values together",
                f"at most {_LARGEST_WIDTH}",
                "drop columns (`mosaicrown:identifier`), or state coarser values",
            )
        return features

    def _feature(self, name: str) -> Feature | None:
        described = self.source.description.column(name)
        before = len(self.problems)
        self._check_public(described)
        feature = self._category(described) or self._number(described)
        if feature is None and len(self.problems) == before:
            self.problem(
                self.source.description.source or self.source.path.name,
                f"the column `{name}` has no public values or bounds",
                "public values (`csvw-eo:keyValues`), or public bounds of numbers (`minimum`, `maximum`)",
                "state them in the data's description, or drop the column (`mosaicrown:identifier`)",
            )
        return feature if len(self.problems) == before else None

    def _check_public(self, described: ColumnDescription) -> None:
        if described.is_derived:
            self.problem(
                self.source.description.source,
                f"what is public of the column `{described.name}` is marked as taken from the data",
                "values and bounds that are known without the data",
                "state such values, and leave out `smalti:derivedFromData`",
            )

    def _category(self, described: ColumnDescription) -> CategoryFeature | None:
        if not described.values:
            return None
        return CategoryFeature(described.name, described.values, not described.is_required)

    def _number(self, described: ColumnDescription) -> NumberFeature | None:
        datatype = self.facts_of(described.name).datatype
        if described.lower is None or described.upper is None:
            return None
        if datatype is not None and datatype not in _NUMBERS:
            return None
        unit = (
            default_unit(datatype, described.lower, described.upper)
            if described.unit is None
            else described.unit
        )
        feature = NumberFeature(described.name, described.lower, described.upper, unit)
        try:
            grid_of(feature)
        except ValueError:
            self.problem(
                self.source.description.source,
                f"the bounds of the column `{described.name}` are not a whole number of units apart, or too"
                " many",
                "a unit above 0 that divides their distance",
                "correct `smalti:unit` or the bounds",
            )
            return None
        return feature
