"""The room of privacy budgets: what releases were charged, and what is left."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _budgets
from smalti.engine.registry._claims import check_claim
from smalti.engine.registry._people import same_respondents
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.budget import Budget, Ceiling, Charge, EpsilonDelta
from smalti.vocab.terms import IRI


class _DoesNotFitError(Exception):
    """A charge is above a ceiling; never leaves this module."""


@public_methods
@dataclass(frozen=True, slots=True)
class Ledger:
    """Charges and their exact sums, for each set of respondents."""

    _shared: Shared

    def charge(
        self,
        charge: Charge,
        ceiling: Ceiling,
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        bound_by: IRI | None = None,
        said_by: IRI | None = None,
    ) -> bool:
        """Charge a release, if it fits: before anything random is drawn for it, and once for each draw.

        All releases about the same respondents add up, whoever made them and under whatever rule: those on
        the target, on what it was made from or consists of, on what was made from that, and on the same
        bytes under other IRIs. Nothing ever takes a charge back, a crash after it neither. Of several
        processes that race for the last of a budget exactly one gets it. All of it holds within one
        registry, which its users trust.

        Args:
            charge: what the release loses.
            ceiling: of the permission that it relies on (`ceilings.declared_ceiling`); bounds the sum of
                all charges, also of those under other permissions.
            memberships: what the policy says of assets and the collections that they belong to.
            bound_by: who bound the target to data; owns it from now on where nobody did. None: nobody has.
            said_by: the owner whose word the policy is, and the memberships; None: `bound_by`.

        Returns:
            Whether it was charged; durable when this returns. False: it does not fit, and never will;
            nothing was changed.

        Raises:
            InternalError: the run was charged before.
            PlanError: earlier releases were made for another neighbouring relation; nothing was changed.
            UsageError: somebody else owns the target by now; nothing was changed.
            RegistryError: the registry cannot be written; it may have been charged, and nothing may be
                drawn.
        """
        stated = tuple(memberships)

        def check(connection: Connection) -> frozenset[IRI]:
            vocabularies, of = self._shared.vocabularies, (charge.target,)
            assets = same_respondents(connection, vocabularies, of, stated, bound_by, said_by)
            if not _budgets.fits(connection, charge, ceiling, assets):
                raise _DoesNotFitError
            if bound_by is not None:
                facts = self._shared.facts(connection)
                check_claim(connection, facts, charge.target, charge.inputs, bound_by)
            return assets

        def write(connection: Connection, assets: frozenset[IRI]) -> None:
            if bound_by is not None:
                _assets.claim_sources(connection, [charge.target], bound_by)
            _budgets.add(connection, charge, assets)

        try:
            # Sums only grow: what does not fit at first sight need not wait for the other writers.
            self._shared.database.change(check, write)
        except _DoesNotFitError:
            return False
        return True

    def spent(self, targets: Iterable[IRI]) -> EpsilonDelta:
        """What has been charged about the respondents of some targets together; the owners' figure."""
        with self._shared.database.reading() as connection:
            assets = same_respondents(connection, self._shared.vocabularies, targets)
            return _budgets.spent(connection, assets)

    def budget(self, target: IRI) -> Budget:
        """All that has been charged about a target's respondents: figures of its owners.

        For whoever releases; whoever shows it to people asks `owners_budget`.

        Args:
            target: a source, an output, or a version of one; of what nobody knows there is none.
        """
        with self._shared.database.reading() as connection:
            assets = same_respondents(connection, self._shared.vocabularies, (target,))
            return _budgets.budget(connection, assets)

    def owners_budget(self, target: IRI, by: IRI) -> Budget:
        """See `Registry.owners_budget`."""
        with self._shared.database.reading() as connection:
            _budgets.check_owner(self._shared.facts(connection), target, by)
            assets = same_respondents(connection, self._shared.vocabularies, (target,))
            return _budgets.budget(connection, assets)

    def same_respondents(
        self,
        targets: Iterable[IRI],
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        bound_by: IRI | None = None,
        said_by: IRI | None = None,
    ) -> frozenset[IRI]:
        """The assets that share a ledger with some targets, these too; also by files of the same bytes.

        Args:
            targets: sources, outputs or versions.
            memberships: as for `charge`.
            bound_by: likewise.
            said_by: likewise.
        """
        with self._shared.database.reading() as connection:
            vocabularies = self._shared.vocabularies
            assets = same_respondents(connection, vocabularies, targets, memberships, bound_by, said_by)
            return assets | _budgets.joined(connection, assets)
