"""The room of attempts to train models under audit duties."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _assets, _audits
from smalti.engine.registry._claims import check_claim
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._people import same_respondents
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.attempts import Attempt, AttemptState
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Jobs:
    """Attempts at models; none is ever removed, and each ends once."""

    _shared: Shared

    def begin(
        self,
        attempt: Attempt,
        memberships: Iterable[tuple[IRI, IRI]] = (),
        *,
        said_by: IRI | None = None,
    ) -> Attempt:
        """Write down that a model is about to be trained under an audit duty; nothing takes it back.

        Who bound its target to data owns that from now on, where nobody did.

        Args:
            attempt: its number is not looked at.
            memberships: what the policy says of assets and the collections that they belong to.
            said_by: the owner whose word the policy is; None: who bound the target.

        Returns:
            The attempt, with its number among all at models of the same data (see `Ledger.charge`).

        Raises:
            UsageError: somebody else owns the target by now; nothing may be trained.
            RegistryError: the registry cannot be written; nothing may be trained.
        """

        def check(connection: Connection) -> None:
            facts = self._shared.facts(connection)
            check_claim(connection, facts, attempt.target, attempt.inputs, attempt.bound_by)

        def write(connection: Connection, _: None) -> Attempt:
            _assets.claim_sources(connection, [attempt.target], attempt.bound_by)
            vocabularies, of, by = self._shared.vocabularies, (attempt.target,), attempt.bound_by
            assets = same_respondents(connection, vocabularies, of, memberships, by, said_by)
            return _audits.begin(connection, attempt, assets)

        return self._shared.database.change(check, write, looks_first=False)

    def end(self, run: str, state: AttemptState, figures: str = "") -> None:
        """Write down what became of an attempt.

        Raises:
            InternalError: it has ended, or never began.
            RegistryError: the registry cannot be written.
        """

        def write(connection: Connection, _: None) -> None:
            _audits.end(connection, run, state, figures)

        self._shared.database.change(unchecked, write)

    def about(self, target: IRI | None = None) -> tuple[Attempt, ...]:
        """Attempts to learn from a target, or to make it; oldest first. Figures for its owners alone.

        Args:
            target: None: all of the registry.
        """
        with self._shared.database.reading() as connection:
            return _audits.attempts(connection, target)
