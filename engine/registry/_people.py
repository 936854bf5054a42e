"""Which assets are about the same respondents, inside a transaction."""

from collections.abc import Iterable

from sqlalchemy import Connection

from smalti.engine.registry import _budgets, _hierarchies
from smalti.engine.registry._assets import Facts
from smalti.vocab.terms import IRI


def same_respondents(
    connection: Connection,
    vocabularies: _hierarchies.Vocabularies,
    targets: Iterable[IRI],
    memberships: Iterable[tuple[IRI, IRI]] = (),
    by: IRI | None = None,
    said_by: IRI | None = None,
) -> frozenset[IRI]:
    """The assets that share the ledgers of some targets.

    Only the owners of assets may declare that they belong together; nobody else joins ledgers. A policy
    declares it in its issuer's name, not for the other owners of its target.

    Args:
        connection: of the transaction.
        vocabularies: what hierarchies say.
        targets: sources, outputs or versions.
        memberships: what a policy says of assets and the collections that they belong to.
        by: who is about to bind what nobody owns; None: nobody is.
        said_by: the owner whose word the policy is; None: any who may speak for the targets.
    """
    plain, targets = Facts(connection), tuple(targets)
    speakers = _speakers(plain, targets, by)
    if speakers is not None and said_by is not None:
        speakers &= {said_by}
    stated = (pair for pair in memberships if speakers is None or _may_say(plain, pair, speakers))
    # Also by memberships that have ended: what is one ledger stays one.
    pairs = (*_hierarchies.ever_said(plain, vocabularies, by), *stated)
    facts = Facts(connection, pairs)
    return frozenset[IRI]().union(*(_budgets.assets_of(facts, target) for target in targets))


def _speakers(facts: Facts, targets: Iterable[IRI], by: IRI | None) -> frozenset[IRI] | None:
    """Who may declare memberships of some targets: their owners; None where a target has no known owner."""
    speakers: set[IRI] = set()
    for target in targets:
        if facts.is_known(target):
            speakers |= facts.full_owners(target)
        elif by is None:
            return None
        else:
            speakers.add(by)
    return frozenset(speakers)


def _may_say(facts: Facts, pair: tuple[IRI, IRI], speakers: frozenset[IRI]) -> bool:
    """Whether one speaker owns both assets, as far as they are owned."""
    return any(all(party in facts.full_owners_or(asset, party) for asset in pair) for party in speakers)
