"""What a registry holds, for programs."""

from collections.abc import Sequence
from dataclasses import asdict

from smalti.engine.registry.access import AccessEntry
from smalti.engine.registry.entries import (
    OutputTable,
    StoredHierarchy,
    StoredPolicy,
    TargetVersion,
    TrustedKey,
)
from smalti.json.text import Json, camel_case


def version_json(version: TargetVersion) -> Json:
    """A recorded version, without the owner's figures."""
    return listed_json(version) | {"folder": str(version.path), "party": version.party}


def listed_json(version: TargetVersion) -> Json:
    """A version as shown to everyone: without its recipient and folder."""
    return {
        "target": version.target,
        "version": version.number,
        "versionIri": version.iri,
        "files": [camel_case(asdict(file)) for file in version.files],
        "planDigest": version.plan_digest,
        "policy": version.policy_uid,
        "rule": version.rule_uid,
        "purpose": version.purpose,
        "inputs": [{"iri": source.iri, "version": source.version} for source in version.inputs],
        "created": version.created_at.isoformat(),
        "discarded": version.discarded_at.isoformat() if version.discarded_at else None,
        **({"tables": [_table_json(table) for table in version.tables]} if version.tables else {}),
        **({} if version.whole is None else {"partOf": version.whole}),
    }


def _table_json(table: OutputTable) -> Json:
    return {"target": table.iri, "files": list(table.files), "holdsRecords": table.holds_records}


def policy_json(stored: StoredPolicy, state: str) -> Json:
    """A stored policy with its state."""
    return {
        "uid": stored.uid,
        "digest": stored.digest,
        "name": stored.name,
        "issuer": stored.issuer,
        "targets": sorted(stored.targets),
        "added": stored.added_at.isoformat(),
        "state": state,
        "revoked": stored.revoked_at.isoformat() if stored.revoked_at else None,
    }


def policy_states(policies: Sequence[StoredPolicy]) -> list[str]:
    """The state of each policy: `in force`, `revoked`, or `replaced`.

    A policy is replaced when another document of its issuer, or about one of its targets, is in force under
    its uid; this includes another layout of it that a run was started with.
    """
    standing: dict[str, list[StoredPolicy]] = {}
    for policy in policies:
        if policy.is_in_force:
            standing.setdefault(policy.uid, []).append(policy)

    def state(policy: StoredPolicy) -> str:
        if policy.is_in_force:
            return "in force"
        rivals = standing.get(policy.uid, ())
        is_replaced = any(new.issuer == policy.issuer or new.targets & policy.targets for new in rivals)
        return "replaced" if is_replaced else "revoked"

    return [state(policy) for policy in policies]


def key_json(key: TrustedKey) -> Json:
    """A trusted key."""
    return asdict(key) | {"isTrusted": key.is_trusted}


def access_json(entry: AccessEntry) -> Json:
    """Who may ask the service; without the digest of a key."""
    return {
        "handle": entry.handle,
        "kind": "key" if entry.subject is None else "subject",
        "party": entry.party,
        "roles": sorted(entry.roles),
        "label": entry.label,
        "issuer": entry.issuer,
        "subject": entry.subject,
        "added": entry.added_at.isoformat(),
        "revoked": entry.revoked_at.isoformat() if entry.revoked_at else None,
    }


def vocabulary_json(vocabulary: StoredHierarchy) -> Json:
    """A stored vocabulary, with its document as text."""
    return asdict(vocabulary) | {"document": vocabulary.document.decode("utf-8", errors="replace")}
