"""From a request and policies to a decision; what is not understood denies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from smalti.policy.decision import Decision, Effect, Grant, Reason, Request
from smalti.policy.model import ConflictStrategy, Permission, Policy, Prohibition, Rule
from smalti.vocab.terms import ANONYMIZE, IRI, READ, USE
from smalti.vocab.words import Kind, words

_GRANTABLE: Final = frozenset({ANONYMIZE, READ})
_KNOWN_PURPOSES: Final = frozenset(word.iri for word in words(Kind.PURPOSE) if word.implemented)


@dataclass(slots=True)
class _Tally:
    """What the policies say about one request, while it is being counted."""

    granting: list[tuple[Policy, Permission]] = field(default_factory=list)
    denying: list[tuple[Policy, Prohibition]] = field(default_factory=list)
    is_denied: bool = False
    """A prohibition applies of a policy that is not void."""
    is_void: bool = False
    """A policy that would grant or deny is void."""
    is_about: bool = False
    """Some rule is about this target and action."""
    elsewhere: int = 0
    """Rules about other targets."""
    determining: list[Reason] = field(default_factory=list)
    others: list[Reason] = field(default_factory=list)


def authorize(request: Request, policies: Sequence[Policy]) -> Decision:
    """Decide a request by policies; pure, and denying by default.

    Contract:
        Permission   applies when target and action are the request's, its assignee is the party or
                     nobody in particular, and its purposes, if it has any, hold the request's purpose.
                     A request without purpose satisfies no limit on the purpose.
        Prohibition  applies likewise; `odrl:use` forbids every action, and one that is limited to purposes
                     applies to a request without purpose, or with one that no vocabulary
                     defines, too.
        Conflict     inside of a policy: as its strategy says. `invalid` makes the whole policy void: its
                     permissions grant nothing, and its prohibitions still deny (deliberately stricter than
                     ODRL IM 2.9). Between policies: any prohibition denies.
        Several      permissions may grant one request; `request.rule` picks one by its uid.
        Promised     adding a prohibition never permits more.

    Args:
        request: who wants to do what. The party is asserted by the caller; nothing here authenticates it.
        policies: those of the target's owners that are in force; others must not be passed.
    """
    tally = _Tally()
    for policy in dict.fromkeys(policies):
        _count(request, policy, tally)
    chosen = [pair for pair in tally.granting if request.rule in {None, pair[1].uid}]
    if request.rule is not None and not chosen:
        tally.determining.append(Reason(f"no permission with the uid `{request.rule}` grants this request"))
    permitted = bool(chosen) and not tally.denying
    effect = Effect.PERMIT if permitted else _refusal(tally)
    granted = chosen if permitted else []
    return Decision(
        request=request,
        effect=effect,
        reasons=tuple(_reasons(request, effect, tally)),
        grants=tuple(Grant(policy, permission) for policy, permission in granted),
    )


def _count(request: Request, policy: Policy, tally: _Tally) -> None:
    permissions = [rule for rule in policy.permissions if not _failures(request, rule)]
    prohibitions = [rule for rule in policy.prohibitions if not _failures(request, rule)]
    conflict = _contradiction(policy) if policy.conflict is ConflictStrategy.INVALID else None
    if conflict is not None and (permissions or prohibitions):
        tally.is_void = True
        tally.determining.append(_void(policy, conflict))
        permissions = []
    elif policy.conflict is ConflictStrategy.PERMIT and permissions:
        prohibitions = []
    tally.granting += [(policy, rule) for rule in permissions]
    tally.denying += [(policy, rule) for rule in prohibitions]
    tally.is_denied |= bool(prohibitions) and conflict is None
    _explain(request, policy, [*permissions, *prohibitions], tally)


def _refusal(tally: _Tally) -> Effect:
    if tally.is_denied:
        return Effect.DENY
    if tally.is_void:
        return Effect.VOID
    return Effect.DENY if tally.is_about or tally.granting else Effect.NOT_APPLICABLE


def _failures(request: Request, rule: Rule) -> list[str]:
    """The parts of a rule that keep it from applying, in words; empty when it applies."""
    parts = (_target(request, rule), _action(request, rule), _party(request, rule), _purpose(request, rule))
    return [text for text in parts if text]


def _target(request: Request, rule: Rule) -> str:
    if request.target in {target.iri for target in rule.targets}:
        return ""
    return f"it is about the target `{rule.targets[0].iri}`"


def _action(request: Request, rule: Rule) -> str:
    if isinstance(rule, Prohibition) and rule.action == USE:
        return ""
    if rule.action == request.action and (isinstance(rule, Prohibition) or rule.action in _GRANTABLE):
        return ""
    return (
        f"it is about the action `{_local(rule.action)}`, and the request is to `{_local(request.action)}`"
    )


def _party(request: Request, rule: Rule) -> str:
    if not rule.assignees or request.party in {party.iri for party in rule.assignees}:
        return ""
    return f"it is about the party `{rule.assignees[0].iri}`, and the request is by `{request.party}`"


def _purpose(request: Request, rule: Rule) -> str:
    if rule.purposes is None or request.purpose in rule.purposes:
        return ""
    if isinstance(rule, Prohibition) and request.purpose not in _KNOWN_PURPOSES:
        # A purpose that no vocabulary defines may be any, also the forbidden one.
        return ""
    purposes = " or ".join(f"`{_local(purpose)}`" for purpose in sorted(rule.purposes))
    if request.purpose is None:
        if isinstance(rule, Prohibition):
            return ""
        return f"it is limited to the purpose {purposes}, and the request states none"
    return f"it is limited to the purpose {purposes}, and the request is for `{_local(request.purpose)}`"


def _local(iri: IRI) -> str:
    return iri.rstrip("/#").rpartition("#")[2].rpartition("/")[2] or iri


def _contradiction(policy: Policy) -> tuple[Permission, Prohibition] | None:
    """A permission and a prohibition of one policy that some request would meet together."""
    about: dict[IRI, list[Prohibition]] = {}
    for prohibition in policy.prohibitions:
        about.setdefault(prohibition.targets[0].iri, []).append(prohibition)
    pairs = ((rule, other) for rule in policy.permissions for other in about.get(rule.targets[0].iri, ()))
    return next((pair for pair in pairs if _overlap(*pair)), None)


def _overlap(permission: Permission, prohibition: Prohibition) -> bool:
    """Whether two rules about one target share an action, a party and a purpose."""
    return (
        prohibition.action in {permission.action, USE}
        and (
            () in {permission.assignees, prohibition.assignees}
            or permission.assignees == prohibition.assignees
        )
        and (
            permission.purposes is None
            or prohibition.purposes is None
            or bool(permission.purposes & prohibition.purposes)
        )
    )


def _void(policy: Policy, conflict: tuple[Permission, Prohibition]) -> Reason:
    permission, prohibition = conflict
    text = (
        f"the policy is void: its permission `{permission.uid}` and its prohibition `{prohibition.uid}` "
        "contradict each other, and its conflict strategy is `invalid`"
    )
    return Reason(text, policy.uid, prohibition.uid)


def _explain(request: Request, policy: Policy, effective: Sequence[Rule], tally: _Tally) -> None:
    for rule in (*policy.permissions, *policy.prohibitions):
        if request.target not in {target.iri for target in rule.targets}:
            tally.elsewhere += 1
            continue
        failures = _failures(request, rule)
        tally.is_about |= not _action(request, rule)
        if not failures and rule not in effective:
            failures = ["a rule of its own policy overrides it, or the policy is void"]
        if failures:
            text = f"this {_kind(rule)} does not apply: {'; '.join(failures)}"
            tally.others.append(Reason(text, policy.uid, rule.uid))


def _kind(rule: Rule) -> str:
    return "permission" if isinstance(rule, Permission) else "prohibition"


def _reasons(request: Request, effect: Effect, tally: _Tally) -> Iterator[Reason]:
    grants = [Reason(_matched(request, rule), policy.uid, rule.uid) for policy, rule in tally.granting]
    denials = [Reason(_matched(request, rule), policy.uid, rule.uid) for policy, rule in tally.denying]
    if effect is Effect.PERMIT and request.rule is not None:
        grants.sort(key=lambda reason: reason.rule != request.rule)
    yield from (*grants, *denials) if effect is Effect.PERMIT else (*denials, *tally.determining, *grants)
    if not (grants or denials or tally.determining):
        yield Reason(_nothing(request, tally))
    yield from tally.others
    if tally.elsewhere:
        rules = "1 rule is" if tally.elsewhere == 1 else f"{tally.elsewhere} rules are"
        yield Reason(f"{rules} about other targets")


def _matched(request: Request, rule: Rule) -> str:
    party = "any party" if not rule.assignees else f"party `{request.party}`"
    purpose = "any purpose" if rule.purposes is None else "no stated purpose"
    if rule.purposes is not None and request.purpose is not None:
        purpose = f"purpose `{_local(request.purpose)}`"
    verb = "permits" if isinstance(rule, Permission) else "forbids"
    return (
        f"this {_kind(rule)} {verb} it: it matches target `{request.target}`, "
        f"action `{_local(rule.action)}`, {party} and {purpose}"
    )


def _nothing(request: Request, tally: _Tally) -> str:
    if tally.is_about:
        return "no permission applies, and what is not permitted is denied"
    return f"no rule is about the action `{_local(request.action)}` on the target `{request.target}`"
