"""What a party may see: what it owns, what was made for it, what names it; auditors see reports."""

from dataclasses import replace
from typing import TypeAlias

from smalti.deciding import decide
from smalti.engine.plan.plan import ModelFormat
from smalti.engine.registry.entries import StoredPolicy, TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.json.decisions import decision_json
from smalti.json.text import Json
from smalti.listing import owns_inputs
from smalti.policy.decide.decision import Decision
from smalti.service.parties import Asker
from smalti.vocab.terms import IRI

_Rule: TypeAlias = tuple[IRI | None, IRI | None]
_DENIED = "nothing permits this to this party"


def governs(registry: Registry, asker: Asker, stored: StoredPolicy) -> bool:
    """Whether somebody may read the document of a policy: its issuer, owners of its targets, auditors."""
    if asker.audits:
        return True
    if not asker.is_party:
        return False
    owned = (asker.party in registry.ownership.on_record(target) for target in sorted(stored.targets))
    return stored.issuer == asker.party or any(owned)


def is_for(asker: Asker, stored: StoredPolicy) -> bool:
    """Whether a policy in force has a rule that names somebody as its party."""
    if stored.policy is None or not stored.is_in_force or not asker.is_party:
        return False
    return any(party.iri == asker.party for rule in stored.policy.rules for party in rule.assignees)


def _rules_about(asker: Asker, stored: StoredPolicy) -> dict[IRI, frozenset[IRI]]:
    """The rules that are about somebody, by name or as everybody, and the targets of each."""
    if stored.policy is None:
        return {}
    return {
        rule.uid: frozenset(target.iri for target in rule.targets)
        for rule in stored.policy.rules
        if not rule.assignees or any(party.iri == asker.party for party in rule.assignees)
    }


def shown_targets(registry: Registry, asker: Asker, stored: StoredPolicy) -> list[IRI]:
    """The targets of a policy that somebody may see: all, where it governs it; or those of rules for it."""
    if stored.policy is None or governs(registry, asker, stored):
        return sorted(stored.targets)
    named = frozenset[IRI]().union(*_rules_about(asker, stored).values())
    return sorted(named.intersection(stored.targets))


def sees_version(registry: Registry, asker: Asker, version: TargetVersion) -> bool:
    """Whether somebody may see that a version exists: its recipient, owners of its inputs, auditors."""
    if asker.audits:
        return True
    if not asker.is_party:
        return False
    owns_a_part = (asker.party in registry.ownership.on_record(source.iri) for source in version.inputs)
    return version.party == asker.party or any(owns_a_part)


def sees_figures(registry: Registry, asker: Asker, version: TargetVersion) -> bool:
    """Whether somebody may see the owner's figures of a version."""
    return asker.audits or (asker.is_party and owns_inputs(registry, asker.party, version))


def may_have(registry: Registry, asker: Asker, version: TargetVersion, purpose: str | None) -> Decision:
    """Decide whether a party may have the files of a version; asked for each download.

    It may if it may read the version for that purpose; or if the version was made for it, and the rule that
    permitted that still does.

    Returns:
        The decision that counts.
    """
    reading = decide(
        party=asker.party, action="read", target=version.iri, purpose=purpose, registry=registry
    )
    if reading.is_permitted or version.party != asker.party:
        return reading
    producing = decide(
        party=asker.party, action="train" if version.format in set(ModelFormat) else "anonymize",
        target=[source.iri for source in version.inputs], purpose=version.purpose, rule=version.rule_uid,
        understands_limits=True, registry=registry,
    )  # fmt: skip
    return producing if producing.is_permitted else reading


def shown_decision(registry: Registry, asker: Asker, decision: Decision) -> Json:
    """A decision as the asker may see it.

    Whoever owns a part of each target sees all of it. Others see what permits them. Of what does not, they
    see the rules for them in policies that name them; whether a target exists, they do not learn.
    """
    request = decision.request
    granted: set[_Rule] = {(grant.policy.uid, grant.permission.uid) for grant in decision.grants}
    named = {(reason.policy, reason.rule) for reason in decision.reasons}
    # The usual answer shows nothing that needs a further look into the registry.
    if granted and named <= granted and not decision.considered:
        return decision_json(decision)
    if all(asker.party in registry.ownership.on_record(target) for target in request.targets):
        return decision_json(decision)
    visible = granted | _rules_for(registry, asker, request.targets)
    shown = replace(
        decision,
        reasons=tuple(each for each in decision.reasons if (each.policy, each.rule) in visible),
        considered=tuple(each for each in decision.considered if (each.policy, each.rule) in visible),
    )
    document = decision_json(shown)
    if not decision.grants:
        document |= {"effect": "deny", "remedies": []}
    if not document["reasons"] and not decision.grants:
        document["reasons"] = [{"text": _DENIED, "policy": None, "rule": None}]
    return document


def _rules_for(registry: Registry, asker: Asker, targets: tuple[IRI, ...]) -> set["_Rule"]:
    """The names of rules for somebody, in policies that name it; none that also names a rule for others.

    A uid is anybody's to write: what two issuers call so is shown to none but its governors.
    """
    visible: set[_Rule] = set()
    others: set[_Rule] = set()
    for stored in {stored for target in targets for stored in registry.policies_about(target)}:
        all_rules = () if stored.policy is None else stored.policy.rules
        shown = _rules_about(asker, stored) if is_for(asker, stored) else {}
        visible.update((stored.uid, uid) for uid in shown)
        others.update((stored.uid, rule.uid) for rule in all_rules if rule.uid not in shown)
        (visible if shown else others).add((stored.uid, None))
    return visible - others
