"""Policies put in force, with what is noticed about them beside all others in force."""

from dataclasses import dataclass

from smalti.engine.binding.prohibitions_below import forbidden_below_with
from smalti.engine.losses.shut_out import shut_out_with
from smalti.engine.registry.column_conflicts import column_conflicts, rule_conflicts, void_policies
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Submitted:
    """The policies of a document that are in force now."""

    policies: tuple[StoredPolicy, ...]
    warnings: tuple[str, ...]
    """About what has no effect, or less than it says, beside the other policies in force."""


def submit_policies(  # noqa: PLR0913 (as `Registry.add_policy`)
    registry: Registry,
    document: bytes,
    name: str,
    issuer: IRI,
    *,
    signature: bytes | None = None,
    replaces: bool = False,
    instead_of: str | None = None,
) -> Submitted:
    """Put the policies of a document in force; see `Registry.add_policy` for arguments and errors."""
    added = registry.add_policy(
        document, name, issuer, signature=signature, replaces=replaces, instead_of=instead_of
    )
    warnings = (
        *shut_out_with(registry, added),
        *void_policies(registry, added),
        *column_conflicts(registry, added),
        *rule_conflicts(registry, added),
        *forbidden_below_with(registry, added),
    )
    return Submitted(added, warnings)
