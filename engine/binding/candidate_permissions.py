"""The permissions of a policy to anonymize a target or to train on it, whoever asks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smalti.errors import PlanError
from smalti.policy.model.model import (
    Asset,
    ColumnComparison,
    Comparison,
    Condition,
    Duty,
    Logical,
    Permission,
    Policy,
    Prohibition,
    Rule,
)
from smalti.vocab.terms import IRI, MAKING


@dataclass(frozen=True, slots=True)
class CandidatePermission:
    """One way to anonymize a target, or to train a model on it, under a policy."""

    permission: Permission
    """The document's; for a duty or a remedy, the permission that it amounts to."""
    names: frozenset[IRI]
    """The uids by which it can be picked: of the rule, and of its duty; of a remedy its own alone."""
    outer: tuple[Asset, ...]
    """What the rule is about that a duty or a remedy belongs to; otherwise the permission's own targets."""

    def rows(self, target: IRI) -> tuple[Condition, ...]:
        """The rows that it is limited to, if all its other conditions hold.

        Raises:
            PlanError: which rows these are depends on who asks, when or why.
        """
        targets = (*self.permission.targets, *self.outer)
        parts = [asset.refinements for asset in targets if asset.iri == target]
        conditions = dict.fromkeys(
            (*self.permission.constraints, *(condition for part in parts for condition in part))
        )
        return tuple(condition for condition in conditions if _is_about_rows(condition))


def candidate_permissions(policy: Policy, target: IRI) -> tuple[CandidatePermission, ...]:
    """Each permission, duty, obligation and remedy to anonymize a target, and each permission to train."""
    return tuple(candidate for candidate in _all(policy) if _covers(candidate, target))


def _all(policy: Policy) -> Iterator[CandidatePermission]:
    for permission in policy.permissions:
        if permission.action in MAKING:
            yield CandidatePermission(permission, frozenset({permission.uid}), permission.targets)
        else:
            yield from _of_duties(permission, permission.duties)
    for obligation in policy.obligations:
        yield from _of_duties(obligation, (obligation,))
    for prohibition in policy.prohibitions:
        yield from _of_duties(prohibition, prohibition.remedies)


def _of_duties(rule: Rule, duties: Iterable[Duty]) -> Iterator[CandidatePermission]:
    for duty in duties:
        if duty.how is not None:
            inherited = () if rule is duty else rule.constraints
            uid = duty.uid if isinstance(rule, Prohibition) else rule.uid
            permission = Permission(
                uid=uid,
                action=duty.action,
                targets=duty.targets or rule.targets,
                assignees=duty.assignees or rule.assignees,
                assigners=duty.assigners or rule.assigners,
                constraints=(*inherited, *duty.constraints),
                output=duty.output,
                anonymization=duty.anonymization,
                where=duty.where,
            )
            yield CandidatePermission(permission, frozenset({uid, duty.uid}), rule.targets)


def _covers(candidate: CandidatePermission, target: IRI) -> bool:
    """Whether both are about it: what anonymizes, and the rule that this belongs to."""
    permission = candidate.permission
    both = (permission.targets, candidate.outer)
    return permission.how is not None and all(
        target in {asset.iri for asset in targets} for targets in both
    )


def _is_about_rows(condition: Condition) -> bool:
    match condition:
        case ColumnComparison():
            return True
        case Comparison():
            return False
        case Logical(operands=operands):
            kinds = {_is_about_rows(operand) for operand in operands}
            if len(kinds) > 1:
                raise PlanError(
                    str(condition.where),
                    "which rows are granted depends on more than the data",
                    "conditions on rows alone, or without rows, if no party is named",
                    "name the party and the purpose (--as, --purpose)",
                )
            return kinds.pop()
