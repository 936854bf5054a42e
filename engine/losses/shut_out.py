"""Warn of rules about the same people that exclude each other, once a policy is added."""

from collections.abc import Collection, Sequence

from smalti.engine.losses.stated_ceilings import policies_about
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.policy.lint.shutting_out import charged_rules, shut_outs
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


def shut_out_with(registry: Registry, added: Sequence[StoredPolicy]) -> tuple[str, ...]:
    """What an owner who put policies in force should know of rules that share a ledger with theirs.

    Args:
        registry: only read.
        added: these policies.

    Returns:
        Sentences in lower case, without full stops; each names two rules, one of them of these policies.
    """
    new = [registry.policies.in_force(IRI(stored.uid), IRI(stored.issuer)) for stored in added]
    charging = [rule for policy in new if policy is not None for rule in charged_rules(policy)]
    uids = {rule.policy.uid for rule in charging}
    warnings: list[str] = []
    for target in sorted(frozenset[IRI]().union(*(rule.targets for rule in charging))):
        people = registry.ledger.same_respondents((target,))
        rules = [
            rule
            for policy in _in_force(registry, people)
            for rule in charged_rules(policy)
            if rule.targets & people
        ]
        one_ledger = [(iri, target) for iri in people]
        warnings += [
            conflict.sentence()
            for conflict in shut_outs(rules, one_ledger)
            if conflict.rule.policy.uid in uids or conflict.by.policy.uid in uids
        ]
    return tuple(dict.fromkeys(warnings))


def _in_force(registry: Registry, people: Collection[IRI]) -> list[Policy]:
    with registry.snapshot() as snapshot:
        policies = [policy for iri in sorted(people) for policy in policies_about(registry, snapshot, iri)]
    return list({(policy.uid, policy.document_digest): policy for policy in policies}.values())
