"""What a registry holds, for programs."""

from dataclasses import asdict

from smalti.engine.registry.entries import StoredHierarchy, StoredPolicy, TargetVersion, TrustedKey
from smalti.json.text import Json, camel_case


def version_json(version: TargetVersion) -> Json:
    """A version as it is recorded, without the owner's figures."""
    return listed_json(version) | {"folder": str(version.path), "party": version.party}


def listed_json(version: TargetVersion) -> Json:
    """The same for whoever reads a list: neither for whom it was made, nor where it is."""
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
    }


def policy_json(stored: StoredPolicy, state: str) -> Json:
    """The same for programs."""
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


def key_json(key: TrustedKey) -> Json:
    """The same for programs."""
    return asdict(key) | {"isTrusted": key.is_trusted}


def vocabulary_json(vocabulary: StoredHierarchy) -> Json:
    """The same for programs; the document as text."""
    return asdict(vocabulary) | {"document": vocabulary.document.decode("utf-8", errors="replace")}
