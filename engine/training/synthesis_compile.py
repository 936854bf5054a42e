"""Compile a permission to publish synthetic records to a plan: columns, model, noise and audit."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.asked_bounds import AskedBounds
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OutputFormat, RespondentColumn, Select
from smalti.engine.plan.reads import ReadRows
from smalti.engine.tables.description import Source
from smalti.engine.training.attacks import SINGLING_OUT, has_figure
from smalti.engine.training.attainable import delta_of
from smalti.engine.training.compile import TrainingColumns, refuse_output, refuse_unimplemented
from smalti.engine.training.duties import audit_of, check_decided, problems_of
from smalti.engine.training.noise import private_steps
from smalti.engine.training.plan import Audit, Feature, FigureBound, NumberFeature
from smalti.engine.training.records import grid_of
from smalti.engine.training.synthesis_plan import Autoencoder, SynthesisPlan, Synthesize, WriteRecords
from smalti.errors import InternalError, PlanError, SmaltiError, raise_all
from smalti.policy.model.model import Bound, Permission
from smalti.transforms.learning.generative_recipes import GenerativeRecipe, generative_recipe
from smalti.transforms.learning.tabular_vae import TabularArchitecture
from smalti.vocab.terms import SYNTHETIC_RECORDS

MOST_INTERVALS: Final = 64
"""Of a number: among more than so many units, the model chooses an interval."""
MOST_RECORDS: Final = 10_000_000
_TRAINED_PART: Final = Fraction(1, 2)
"""Of the respondents, where an attack must tell them from the others."""


def compile_synthesis(
    permission: Permission,
    source: Source,
    table: StagedTable,
    output_format: OutputFormat,
    circumstances: Circumstances = NO_MORE,
) -> SynthesisPlan:
    """Bind a permission to the columns of a table, and leave out the rows of people who withdrew.

    The plan depends on the policy's words, the description and the header. No value of the data is looked
    at, but to find who withdrew: so nothing here fails, or says anything, because of one.

    Args:
        permission: to train, and to publish records of the model.
        source: the target's file and description.
        table: the same, bound.
        output_format: of the records.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: no records can be published as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.training
    if wanted is None or wanted.synthetic_records is None or permission.output is None:
        raise InternalError("a permission without synthetic records reached their compiler")
    refuse_unimplemented(permission)
    refuse_output(source, circumstances)
    compiler = TrainingColumns(wanted, source, table, circumstances)
    respondent = compiler.respondents(circumstances, "a generative model learns one row of each")
    columns = compiler.features()
    named_recipe = _recipe(compiler, wanted.recipe)
    audit = audit_of(permission)
    compiler.problems += problems_of(permission, columns)
    if audit is None and not wanted.is_private:
        compiler.problem(
            str(permission.where),
            "training adds no noise, and no audit is required: nothing is promised of its records",
            "a bound on its loss, such as `smalti:posteriorBelief`, or a duty `smalti:audit`",
            "state one",
        )
    records = _records(compiler, wanted.synthetic_records, circumstances)
    if records > MOST_RECORDS:
        compiler.problem(
            str(wanted.where),
            "so many records are not published",
            f"at most {MOST_RECORDS:,}",
            "ask for fewer",
        )
    raise_all(compiler.problems)
    if named_recipe is None:
        raise InternalError("a synthesis without a recipe passed its compiler")
    network, choices = _network(named_recipe), tuple(map(_choices, columns))
    epochs = named_recipe.defaults.epochs if wanted.epochs is None else wanted.epochs.value
    private, loss = private_steps(wanted, epochs, architecture(network, choices).size)
    check_decided(str(permission.where), audit, delta_of(loss))
    if audit is not None and loss is not None:
        raise_all([_unproven(bound, str(permission.where)) for bound in unproven(audit, loss)])
    kept = {feature.column for feature in columns}
    looked_at = {*kept, *((respondent.column,) if isinstance(respondent, RespondentColumn) else ())}
    header = table.contents.header
    return SynthesisPlan(
        ReadRows(
            source.target,
            tuple(compiler.read_column(name) for name in header if name in looked_at),
            respondent,
        ),
        Select(
            tuple(name for name in header if name in kept),
            tuple(name for name in header if name not in kept),
        ),
        Synthesize(
            wanted.recipe,
            network,
            columns,
            choices,
            records,
            epochs,
            "1" if private is not None else str(_TRAINED_PART),
            private,
            loss,
        ),
        None if audit is None else replace(audit, shadows=0),
        WriteRecords(permission.output, output_format),
    )


def architecture(network: Autoencoder, choices: tuple[int, ...]) -> TabularArchitecture:
    """The network of a plan."""
    return TabularArchitecture(choices, network.hidden, network.latent, float(network.divergence_weight))


def unproven(audit: Audit, loss: PlannedLoss) -> tuple[FigureBound, ...]:
    """The bounds of an audit that do not follow from the noise of a training, whatever the attack.

    No attack has an advantage above the stated one. At a rate a of false positives, none has more true ones
    than a plus that, nor than e^epsilon a + delta (Kairouz, Oh, Viswanath, "The Composition Theorem for
    Differential Privacy", ICML 2015, Theorem 2.1). No lower bound on epsilon at this delta is above it, but
    for the error of the bound. Of a precision nothing follows where delta is above 0: an attack that speaks
    up with this probability only may always be right.
    An attack on a record that succeeds or fails, by linking or inferring, is such a test of its membership:
    members' share of successes exceeds that of others by no more than the advantage. A guess that singles
    out is about a whole table, and nothing follows from the loss of one record.
    """
    is_about_tables = SINGLING_OUT in audit.attacks
    return tuple(
        bound
        for bound in audit.bounds
        if not _is_proven(bound, loss) or (is_about_tables and has_figure(SINGLING_OUT, bound.figure))
    )


def _is_proven(bound: FigureBound, loss: PlannedLoss) -> bool:
    match bound.figure, bound.false_positive_rate:
        case "attackAdvantage", _:
            return Decimal(repr(loss.advantage)) <= bound.most
        case "epsilonLowerBound", _:
            return loss.epsilon <= bound.most
        case "truePositiveRate", Decimal() as rate:
            by_advantage = rate + Decimal(repr(loss.advantage))
            by_epsilon = loss.epsilon.exp() * rate + loss.delta
            return min(by_advantage, by_epsilon) <= bound.most
    return False


def _unproven(bound: FigureBound, where: str) -> SmaltiError:
    return PlanError(
        where,
        f"the noise does not prove `smalti:{bound.figure}` at most {bound.most}, and no attack on the data"
        " may decide whether records with noise are published",
        "a bound that follows from the noise: an advantage, a true positive rate or an epsilon",
        "allow less loss (`smalti:membershipAdvantage` bounds the advantage of every attack), raise the"
        " bound, or leave the duty out",
    )


def _records(compiler: TrainingColumns, bound: Bound, circumstances: Circumstances) -> int:
    """As many as the policy allows, or fewer where the request asks for fewer: that was decided on."""
    fact = next((fact for fact in circumstances.asks if fact.operand == SYNTHETIC_RECORDS), None)
    asked = AskedBounds(compiler.wanted, compiler.problems).asked("syntheticRecords", bound, fact)
    return bound.value if asked is None else min(asked, bound.value)


def _recipe(compiler: TrainingColumns, name: str) -> GenerativeRecipe | None:
    """The recipe that the policy names; None after a problem."""
    try:
        return generative_recipe(name)
    except PlanError as problem:
        compiler.problem(str(compiler.wanted.where), problem.problem, problem.expected, problem.way_out)
        return None


def _network(recipe: GenerativeRecipe) -> Autoencoder:
    defaults = recipe.defaults
    return Autoencoder(
        recipe.hidden,
        recipe.latent,
        Decimal(str(recipe.divergence_weight)),
        str(defaults.optimizer),
        Decimal(str(defaults.learning_rate)),
        defaults.batch_size,
    )


def _choices(feature: Feature) -> int:
    if isinstance(feature, NumberFeature):
        return min(grid_of(feature).width + 1, MOST_INTERVALS)
    return feature.size
