"""Compile a permission with local differential privacy to a plan: columns, domains, shares of epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import prod, sqrt
from typing import Final

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.bound_columns import refuse_unimplemented
from smalti.engine.binding.circumstances import NO_MORE, Circumstances
from smalti.engine.binding.one_row_columns import OneRowColumns
from smalti.engine.losses.allowed import stated
from smalti.engine.perturbation.images import LARGEST_IMAGE, LARGEST_ROW, fits, together_fit
from smalti.engine.perturbation.mechanisms import ROUNDING, loss_of, pixelation_of
from smalti.engine.perturbation.plan import (
    GAUSSIAN,
    LAPLACE,
    PIXELATION,
    RANDOMIZED_RESPONSE,
    PerturbationPlan,
    PerturbedCategory,
    PerturbedColumn,
    PerturbedImage,
    PerturbedNumber,
    WriteReports,
)
from smalti.engine.perturbation.shares import (
    LEAST_STATED,
    PLACES,
    GaussianShare,
    GaussianShares,
    decimal_above,
    float_below,
    gaussian_shares,
    shares_of,
)
from smalti.engine.perturbation.terms import PerturbationTerms, read_terms
from smalti.engine.plan.losses import PlannedLoss
from smalti.engine.plan.plan import OutputFormat, RespondentColumn, Select
from smalti.engine.plan.reads import ReadRows
from smalti.engine.tables.description import ColumnDescription, Source
from smalti.errors import InternalError, raise_all
from smalti.policy.model.model import Anonymization, Permission
from smalti.transforms.base import Datatype
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.noise.numeric_perturbation import Grid
from smalti.transforms.noise.pixelation import LARGEST_SIDE, Pixelation
from smalti.transforms.noise.randomized_response import LARGEST_EPSILON, LEAST_EPSILON, RandomizedResponse
from smalti.transforms.noise.samplers import GaussianNoise, LaplaceNoise
from smalti.transforms.sensitivity import Bounds

_NOISE: Final = frozenset({LAPLACE, GAUSSIAN})
"""The mechanisms of numbers."""
_NUMBERS: Final = (Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE)
_PUBLIC: Final = (
    "its public values (`csvw-eo:keyValues`), or public bounds (`minimum`, `maximum`) and `smalti:unit`, or"
    " the size of its images (`smalti:imageWidth`, `smalti:imageHeight`)"
)


def compile_perturbation(
    permission: Permission,
    source: Source,
    table: StagedTable,
    output_format: OutputFormat,
    circumstances: Circumstances = NO_MORE,
) -> PerturbationPlan:
    """Bind a permission to the columns of a table, and leave out the rows of people who withdrew.

    The plan depends on the policy's words, the description and the header. No value of the data is looked
    at, but to find who withdrew: so nothing here fails, or says anything, because of one.

    Args:
        permission: to anonymize with local-differential-privacy.
        source: the target's file and description.
        table: the same, bound.
        output_format: of the output.
        circumstances: what else the run must keep to.

    Raises:
        PlanError: the data cannot be perturbed as asked; all problems at once (`ProblemsError`).
    """
    wanted = permission.anonymization
    if wanted is None or permission.output is None:
        raise InternalError("a permission without refinements reached the compiler")
    refuse_unimplemented(wanted, permission)
    allowed = read_terms(wanted, circumstances.asks)
    compiler = _Compiler(wanted, allowed, source, table, circumstances)
    respondent = compiler.respondents(circumstances, "each respondent reports once")
    perturbed, shares = compiler.perturbed()
    raise_all(compiler.problems)
    kept = tuple(column.column for column in perturbed)
    looked_at = {*kept, *((respondent.column,) if isinstance(respondent, RespondentColumn) else ())}
    return PerturbationPlan(
        ReadRows(
            source.target,
            tuple(compiler.read_column(name) for name in _in_order(table, looked_at)),
            respondent,
        ),
        Select(kept, tuple(name for name in table.contents.header if name not in kept)),
        perturbed,
        _stated(allowed, perturbed, shares),
        WriteReports(permission.output, output_format),
    )


def _in_order(table: StagedTable, names: set[str]) -> list[str]:
    return [name for name in table.contents.header if name in names]


def _stated(
    allowed: PerturbationTerms, perturbed: tuple[PerturbedColumn, ...], shares: GaussianShares | None
) -> PlannedLoss:
    """What is charged and told; belief and advantage come from the noise that is used.

    It is the epsilon that was divided. In the place of an image's share, which is about few pixels, stands
    what any other image would take: the budget is about respondents, of whom all pixels may change. With
    Gaussian noise the epsilon of a belief or an advantage is that of the noise.
    """
    loss = sum(map(loss_of, perturbed), PrivacyLoss())
    epsilon = allowed.epsilon
    images = [image for image in perturbed if isinstance(image, PerturbedImage)]
    if images:
        more = sum(Fraction(image.whole_epsilon) - Fraction(image.epsilon) for image in images)
        epsilon = decimal_above(Fraction(epsilon) + more, 2 * PLACES)
    if shares is not None:
        return _stated_of_gaussian(replace(allowed, epsilon=epsilon), loss, shares)
    if loss.pure > Fraction(epsilon) or loss.mu_squared:
        raise InternalError("the noise of a perturbation loses more than is allowed")
    return PlannedLoss(epsilon, Decimal(0), loss.belief(0.0), loss.advantage, str(loss.pure), "0")


def _stated_of_gaussian(
    allowed: PerturbationTerms, loss: PrivacyLoss, shares: GaussianShares
) -> PlannedLoss:
    planned = stated(allowed.with_gaussian, shares.within, loss)
    bounds = ((planned.belief, allowed.belief), (planned.advantage, allowed.advantage))
    if any(bound is not None and figure > float(bound) + ROUNDING for figure, bound in bounds):
        raise InternalError("the noise of a perturbation allows more than the policy does")
    return replace(planned, epsilon=max(planned.epsilon, LEAST_STATED))


@dataclass(frozen=True, slots=True)
class _Share:
    """A column that is to be perturbed, and what it may lose."""

    described: ColumnDescription
    datatype: Datatype | None
    where: str
    epsilon: Decimal
    """Where its noise never loses more."""
    gaussian: GaussianShare | None = None
    """Of a number with Gaussian noise."""


class _Compiler(OneRowColumns[Anonymization]):
    """Binds columns to mechanisms, and collects problems."""

    def __init__(
        self,
        wanted: Anonymization,
        allowed: PerturbationTerms,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> None:
        super().__init__(wanted, source, table, circumstances.respondents, allowed.columns)
        self._allowed, self._circumstances = allowed, circumstances
        self.check_names()
        if circumstances.rows:
            self.problem(
                str(wanted.where),
                "the permission is limited to rows, and a row in the output would reveal its values",
                "a local perturbation of all rows",
                "remove the limit: statistics of a part can be estimated from the noisy rows",
            )

    # --- Columns

    def perturbed(self) -> tuple[tuple[PerturbedColumn, ...], GaussianShares | None]:
        """The columns in the order of the file; those with problems are left out.

        And what they may lose where some have Gaussian noise; None where none has.
        """
        places = {
            name: str(column.where) for column in self._allowed.columns if (name := self.name(column))
        }
        names = [name for name in self.table.contents.header if name in places]
        if not names:
            return (), None
        numbers = {name for name in names if self._is_number(name)}
        shares = self._gaussian(len(names), len(numbers))
        others = shares_of(self._allowed.epsilon, len(names))[0] if shares is None else shares.pure
        columns = [
            self._perturbed(
                _Share(
                    self.source.description.column(name),
                    self.facts_of(name).datatype,
                    places[name],
                    others,
                    shares.gaussian if shares is not None and name in numbers else None,
                )
            )
            for name in names
        ]
        self._check_row(columns)
        return tuple(column for column in columns if column is not None), shares

    def _is_number(self, name: str) -> bool:
        """Whether a column gets noise as a number: it has public bounds, and is no category."""
        described, datatype = self.source.description.column(name), self.facts_of(name).datatype
        if described.values and RANDOMIZED_RESPONSE in self._allowed.mechanisms:
            return False
        has_bounds = described.lower is not None and described.upper is not None
        return has_bounds and _unit(described, datatype) is not None and _may_be_number(datatype)

    def _gaussian(self, columns: int, numbers: int) -> GaussianShares | None:
        """What columns may lose if numbers get Gaussian noise; None where they get Laplace noise, or none.

        Where both may be used, the one of the smaller standard deviation is taken: root of two over epsilon
        and one over mu, for bounds that are 1 apart.
        """
        allowed = self._allowed
        if not numbers or GAUSSIAN not in allowed.mechanisms:
            return None
        if problems := allowed.with_gaussian.problems(str(self.wanted.where)):
            self.problems += problems
            return None
        shares = gaussian_shares(allowed.with_gaussian, columns, numbers)
        if LAPLACE not in allowed.mechanisms:
            return shares
        epsilon = shares_of(allowed.epsilon, columns)[0]
        return shares if shares.gaussian.mu * sqrt(2) > float(epsilon) else None

    def _check_row(self, columns: Sequence[PerturbedColumn | None]) -> None:
        cells = [
            prod(pixelation_of(column).shape) for column in columns if isinstance(column, PerturbedImage)
        ]
        if not together_fit(cells):
            self.problem(
                str(self.wanted.where),
                "the noisy images of one row would be too large together",
                f"at most {LARGEST_ROW} cells in all image columns",
                "larger cells (`smalti:pixelSize`), or fewer columns",
            )

    def _perturbed(self, share: _Share) -> PerturbedColumn | None:
        before, name = len(self.problems), share.described.name
        if self.declared == RespondentColumn(name):
            self.problem(
                share.where,
                f"the column `{name}` identifies respondents, and cannot be perturbed",
                "a column that describes respondents",
                "leave it out",
            )
        if share.described.is_derived:
            self.problem(
                self.source.description.source,
                f"what is public of the column `{name}` is marked as taken from the data",
                "values and bounds that are known without the data",
                "state such values, and leave out `smalti:derivedFromData`",
            )
        if share.gaussian is None and not LEAST_EPSILON <= share.epsilon <= LARGEST_EPSILON:
            self.problem(
                share.where,
                f"the share of epsilon of the column `{name}` is out of range",
                f"from {LEAST_EPSILON:g} to {LARGEST_EPSILON:g} for each column",
                "change epsilon, or the number of columns",
            )
        column = self._category(share) or self._number(share) or self._image(share)
        if column is None and len(self.problems) == before:
            self._unfit(share)
        return column if len(self.problems) == before else None

    def _category(self, share: _Share) -> PerturbedCategory | None:
        values = share.described.values
        if not values or RANDOMIZED_RESPONSE not in self._allowed.mechanisms:
            return None
        has_missing = not share.described.is_required
        size = len(values) + has_missing
        if size < 2:
            self.problem(
                self.source.description.source,
                f"the column `{share.described.name}` has one public value, and is required",
                "at least two values",
                "state all public values",
            )
            return None
        epsilon = float_below(share.epsilon)
        if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
            return None  # it was told
        response = RandomizedResponse.calibrated(size, epsilon)
        return PerturbedCategory(
            share.described.name, share.epsilon, values, has_missing, str(response.changed)
        )

    def _number(self, share: _Share) -> PerturbedNumber | None:
        described = share.described
        lower, upper, unit = described.lower, described.upper, _unit(described, share.datatype)
        if lower is None or upper is None or unit is None or not _NOISE & self._allowed.mechanisms:
            return None
        if not _may_be_number(share.datatype):
            return None
        try:
            grid = Grid(Bounds(Fraction(lower), Fraction(upper)), Fraction(unit))
        except ValueError:
            self.problem(
                self.source.description.source,
                f"the bounds of the column `{described.name}` are not a whole number of units apart, or too"
                " many",
                "a unit above 0 that divides their distance, for noise of at most 2^50 units",
                "correct `smalti:unit` or the bounds",
            )
            return None
        try:
            if share.gaussian is None:
                noise = LaplaceNoise.calibrated(grid.sensitivity.l1, Fraction(share.epsilon))
                return PerturbedNumber(
                    described.name, share.epsilon, lower, upper, unit, float(noise.scale)
                )
            normal = GaussianNoise.calibrated(grid.sensitivity.l2_squared, share.gaussian.mu)
        except ValueError:
            self.problem(
                share.where,
                f"the noise of the column `{described.name}` would be out of range",
                "noise of at most 2^50 units",
                "take a larger `smalti:unit` or fewer columns, or allow a larger loss",
            )
            return None
        epsilon = share.gaussian.stated(normal.mu(grid.sensitivity.l2_squared))
        return PerturbedNumber(
            described.name, epsilon, lower, upper, unit, float(normal.scale), GAUSSIAN, share.gaussian.delta
        )

    def _image(self, share: _Share) -> PerturbedImage | None:
        allowed, described = self._allowed, share.described
        if described.image_size is None or PIXELATION not in allowed.mechanisms:
            return None
        if share.datatype is not None and share.datatype is not Datatype.STRING:
            return None
        if allowed.is_of_person:
            self.problem(
                share.where,
                "the policy bounds belief or advantage of a person, but the noise of images in"
                f" `{described.name}` protects few pixels",
                "`smalti:epsilon`, the loss of images that differ in `smalti:pixelNeighborhood` pixels",
                "state it; a plan shows the belief that follows for whole images",
            )
            return None
        if allowed.cell is None or allowed.neighborhood is None:
            raise InternalError("pixelation without the words that it needs reached the compiler")
        width, height = described.image_size
        if not fits(height, width):
            self.problem(
                self.source.description.source,
                f"the images of the column `{described.name}` are too large",
                f"sides of at most {LARGEST_SIDE} pixels, and {LARGEST_IMAGE} pixels in all",
                "scale them down first",
            )
            return None
        try:
            how = Pixelation.calibrated(
                height, width, allowed.cell, allowed.neighborhood, Fraction(share.epsilon)
            )
        except ValueError:
            self.problem(
                share.where,
                f"the noise of the column `{described.name}` would be out of range",
                "cells of at most 2^16 pixels a side, neighbourhoods of at most 2^32, noise of up to 2^50",
                "change `smalti:pixelSize`, `smalti:pixelNeighborhood` or epsilon",
            )
            return None
        whole = decimal_above(how.whole_epsilon)
        return PerturbedImage(
            described.name, share.epsilon, whole, height, width, how.cell, how.neighborhood,
            float(how.noise.scale),
        )  # fmt: skip

    def _unfit(self, share: _Share) -> None:
        described = share.described
        fitting = _fitting(described)
        if fitting and not fitting & self._allowed.mechanisms:
            self.problem(
                share.where,
                f"the public description of the column `{described.name}` suits {_listed(fitting)}, which"
                " the policy does not allow",
                f"{_listed(fitting)} in `smalti:mechanism`"
                + (
                    ", with `smalti:pixelSize` and `smalti:pixelNeighborhood`"
                    if PIXELATION in fitting
                    else ""
                ),
                "allow it, or leave the column out",
            )
            return
        if (
            described.lower is not None
            and described.upper is not None
            and described.unit is None
            and not described.values
        ):
            problem = f"the unit of the column `{described.name}` is not stated"
        else:
            listed = _listed(self._allowed.mechanisms)
            problem = f"the column `{described.name}` has no public description that {listed} can use"
        self.problem(
            self.source.description.source or self.source.path.name,
            problem,
            _PUBLIC,
            "state them in the data's description, from what is known without the data",
        )


def _unit(described: ColumnDescription, datatype: Datatype | None) -> Decimal | None:
    """In what a column's numbers are counted; whole ones in ones, where nothing else is said."""
    return described.unit or (Decimal(1) if datatype is Datatype.INTEGER else None)


def _may_be_number(datatype: Datatype | None) -> bool:
    return datatype is None or datatype in _NUMBERS


def _fitting(described: ColumnDescription) -> frozenset[str]:
    """The mechanisms that could use what is public of a column."""
    usable = {
        RANDOMIZED_RESPONSE: bool(described.values),
        LAPLACE: described.lower is not None and described.upper is not None,
        GAUSSIAN: described.lower is not None and described.upper is not None,
        PIXELATION: described.image_size is not None,
    }
    return frozenset(name for name, is_fitting in usable.items() if is_fitting)


def _listed(names: frozenset[str]) -> str:
    return " or ".join(f"`{name}`" for name in sorted(names))
