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
    """The assets that the ledgers of some targets are found by.

    What belongs together is the word of its owners, here as everywhere: nobody else joins a ledger. A
    policy says it in its issuer's name, and not in that of other owners of its target.

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
    """Who may say what belongs to some targets: their owners; None where nobody is known to own one."""
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
    """Whether one of them owns both, as far as anybody does."""
    return any(all(party in facts.full_owners_or(asset, party) for asset in pair) for party in speakers)
