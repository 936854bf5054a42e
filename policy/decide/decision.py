"""Requests and decisions as frozen values; `authorize` decides."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from smalti.errors import UsageError
from smalti.policy.findings.html import table
from smalti.policy.model.iris import is_plain, misspelt_iri, normalised_iri
from smalti.policy.model.model import (
    NOWHERE,
    Comparison,
    Condition,
    Duty,
    Named,
    Permission,
    Policy,
    Value,
    Where,
)
from smalti.vocab.terms import IRI, PLANNED_DUTIES

_HALF: Final = re.compile(r"[\ud800-\udfff]")


def _at(time: datetime) -> datetime:
    """A time to compare; one without a zone is taken as in UTC."""
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fact:
    """The values of one left operand, about the world, the party or the requested action."""

    operand: IRI
    values: tuple[Value, ...]
    """At least one; several mean that each of them is true."""
    same: "tuple[Fact, ...]" = ()
    """The same requirement under other operands, for permissions that name one of these and not `operand`.
    Prohibitions ignore them."""
    by: IRI | None = None
    """On whose word a fact about the world counts; None: the requester's own."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A clause that the request accepts: an obligation between people, which no machine decides."""

    clause: IRI
    """The left operand of its constraints."""
    values: tuple[Value, ...] = ()
    """Only with one of these values; empty: as the rule states it."""


class DutyReading(StrEnum):
    """What a duty must be for its permission to apply; ODRL leaves open when a duty must be fulfilled.

    Duties that a plan fulfils (to anonymize, to audit) are owed under either reading.
    """

    FULFILLED = "fulfilled"
    """Fulfilled before."""
    NOT_VIOLATED = "not-violated"
    """Fulfilled, or one that can still be fulfilled: it is owed then (`Grant.obligations`)."""

    @classmethod
    def of(cls, written: str, where: str) -> "DutyReading":
        """The reading of this name.

        Raises:
            UsageError: no reading has it.
        """
        try:
            return cls(written)
        except ValueError:
            names = " or ".join(f"`{reading}`" for reading in cls)
            raise UsageError(where, f"`{written}` is no reading of duties", names) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What is stated with a request beside what it asks for."""

    facts: tuple[Fact, ...] = ()
    """As `Request.facts`."""
    accepted: tuple[Acceptance, ...] = ()
    """As `Request.accepted`."""
    on_behalf_of: IRI | None = None
    """As `Request.on_behalf_of`."""
    agreed: datetime | None = None
    """As `Request.agreed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who wants to do what, to what, for which purpose. The party is asserted by the caller."""

    party: IRI
    action: IRI
    targets: tuple[IRI, ...]
    """At least one; several are requested jointly."""
    purpose: IRI | None = None
    rule: IRI | None = None
    """The uid of the permission that the requester relies on, when several match; of its duty to anonymize;
    or of a remedy, which permits nothing unless it is named."""
    parameters: tuple[Fact, ...] = ()
    """Of the requested action, by the operands of refinements: `mosaicrown:k` is 20, for example."""
    time: datetime | None = None
    """With its time zone; None: unknown, which satisfies no limit on time."""
    facts: tuple[Fact, ...] = ()
    """About the world and the party, by the operands of constraints; anything else is unknown."""
    fulfilled: frozenset[IRI] = frozenset()
    """The uids of duties that have been fulfilled."""
    duties: DutyReading = DutyReading.FULFILLED
    """How the duties of permissions are read."""
    columns: frozenset[IRI] = frozenset()
    """Columns of the targets that are declared or were read, beside those whose IRIs say it
    (`column_iris.is_column_of`); in the spelling of `column_iris.normalised_column`. What is known of the
    data, never the requester's word."""
    renamed: frozenset[tuple[IRI, IRI]] = frozenset()
    """Columns of the targets, or of the tables that targets may be columns of, with an IRI of their own:
    the table's IRI, a slash and the name in the header, and that IRI, in the same spelling. One name may
    have had several, and one IRI may have stood for several names. Never the requester's word."""
    tables: frozenset[IRI] = frozenset()
    """Targets, and what lies below one, that are known as tables of their own, though their IRIs are such
    as columns have: a permission on the other table does not reach them, and where they are said to be
    parts of it, it is their rows that are. What is known, never the requester's word."""
    understands_limits: bool = False
    """The requester's claim to read the limits of each grant, and to respect them."""
    accepted: tuple[Acceptance, ...] = ()
    """The clauses that are accepted. A permission whose clauses are not does not apply."""
    on_behalf_of: IRI | None = None
    """Whom the accepted clauses bind: the party itself, since nobody else has the role that it asks in."""
    agreed: datetime | None = None
    """When the agreement was made that the request relies on, with its time zone, and not after `time`;
    None: unknown."""
    kept: tuple[Fact, ...] = ()
    """What the registry keeps, by the operands of counts; never the requester's word."""

    def __post_init__(self) -> None:
        """Refuse a request without targets, which any rule would permit, and clauses of somebody else.

        Raises:
            UsageError: it names no target, or one text is given for several; nobody, or somebody else than
                the requesting party accepts its clauses; its agreement was made after its time; `duties` is
                no reading; or an IRI of it is no text.
        """
        object.__setattr__(self, "duties", DutyReading.of(self.duties, "the request"))
        if isinstance(self.targets, str):
            raise UsageError("the request", "its targets are a text", "several IRIs: `targets=(IRI,)`")
        if not self.targets:
            raise UsageError("the request", "it names no target", "at least one")
        self._check_texts()
        self._check_acceptance()
        self._check_agreement()

    def check_spelling(self) -> None:
        """Refuse IRIs that no policy can name, where the request comes from outside.

        Raises:
            UsageError: an IRI of it is in another spelling than smalti accepts.
        """
        for iri in self._named():
            if isinstance(iri, str) and not is_plain(iri) and (problem := misspelt_iri(iri)):
                raise UsageError("the request", f"`{iri}` {problem}", "IRIs as policies name them")

    def _named(self) -> Iterator[IRI]:
        yield from (self.party, *self.targets)
        if self.purpose is not None:
            yield self.purpose
        for fact in self.facts:
            yield fact.operand
            yield from (value.iri for value in fact.values if isinstance(value, Named))

    def _check_texts(self) -> None:
        """Refuse halves of characters, which no IRI has, and which cannot be compared."""
        for iri in (*self._named(), *(() if self.on_behalf_of is None else (self.on_behalf_of,))):
            if isinstance(iri, str) and not iri.isascii() and _HALF.search(iri):
                written = _HALF.sub("\N{REPLACEMENT CHARACTER}", iri)
                problem = f"`{written}` has a character that an IRI cannot have"
                raise UsageError("the request", problem, "IRIs as policies name them")

    def _check_agreement(self) -> None:
        """Refuse an agreement of the future: its durations would begin when its maker likes."""
        if self.agreed is None or self.time is None or _at(self.agreed) <= _at(self.time):
            return
        raise UsageError(
            "the request",
            f"its agreement was made at {self.agreed.isoformat()}, after the request's time",
            "an agreement that was made before (--agreed)",
            "leave it out: then what depends on its date is unknown",
        )

    def _check_acceptance(self) -> None:
        if not self.accepted:
            return
        if self.on_behalf_of is None:
            problem, way_out = "nobody is named on whose behalf clauses are accepted", "name the party"
        elif normalised_iri(self.on_behalf_of) == normalised_iri(self.party):
            return
        else:
            problem = f"clauses are accepted on behalf of {self.on_behalf_of}, and {self.party} asks"
            way_out = "let the party ask that accepts them"
        raise UsageError(
            "the request",
            problem,
            "clauses that the requesting party accepts for itself (--accept with --on-behalf-of)",
            way_out,
        )

    @property
    def target(self) -> IRI:
        """The only target, or the first of several."""
        return self.targets[0]


class Effect(StrEnum):
    PERMIT = "permit"
    """Some grant has no limit (`Grant.is_unconditional`)."""
    LIMITED = "limited"
    """Some grant permits, and each grant has a limit: rows, columns or obligations."""
    DENY = "deny"
    VOID = "void"
    """A policy is void by its own conflict strategy; grants nothing."""
    NOT_APPLICABLE = "not applicable"
    """No rule is about these targets and this action; grants nothing."""


class Finding(StrEnum):
    """The truth value of a condition (Kleene's strong logic of three values)."""

    SATISFIED = "satisfied"
    UNSATISFIED = "unsatisfied"
    UNKNOWN = "unknown"
    """Satisfies no permission, and keeps no prohibition from applying."""


class Part(StrEnum):
    """The parts of a rule that are compared with a request."""

    TARGET = "target"
    ACTION = "action"
    PARTY = "party"
    CONSTRAINT = "constraint"
    REFINEMENT = "refinement"
    DUTY = "duty"
    POLICY = "policy"
    """The policy as a whole: in force now, not void, not overridden by a rule of its own."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """Whether one part of a rule matched, and why."""

    part: Part
    finding: Finding
    text: str
    """Lower case, no full stop."""
    where: Where = NOWHERE


@dataclass(frozen=True, slots=True)
class RuleReport:
    """The report of one rule that was considered."""

    policy: IRI
    rule: IRI
    kind: str
    """`permission`, `prohibition`, `obligation` or `remedy`."""
    applies: bool
    parts: tuple[PartReport, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence of explanation, with the rule that it is about."""

    text: str
    """Names the rule's part that matched or failed; lower case, no full stop."""
    policy: IRI | None = None
    rule: IRI | None = None


@dataclass(frozen=True, slots=True)
class RuleName:
    """The name of one rule among all documents."""

    policy: IRI
    digest: str
    """Of its document."""
    rule: IRI


@dataclass(frozen=True, slots=True)
class Grant:
    """A permission that grants a request, with its limits and obligations."""

    policy: Policy
    permission: Permission
    """For a run under a duty to anonymize, or a remedy: the equivalent permission."""
    rows: tuple[Condition, ...] = ()
    """Only rows that satisfy all of these are granted; made of `ColumnComparison` and `Logical` alone."""
    obligations: tuple[Duty, ...] = ()
    """The duties of anybody who uses the grant. A plan under it must contain them; those that no plan can
    contain are there only where the request reads duties as `DutyReading.NOT_VIOLATED`."""
    withheld: tuple[IRI, ...] = ()
    """Columns of the targets that may be neither published nor shown under the grant."""
    implied: tuple[IRI, ...] = ()
    """Of those, the ones that no prohibition names: other IRIs of the same columns (`Request.renamed`), and
    the columns of that name in members of a collection. The data need not have them."""

    spared: tuple[IRI, ...] = ()
    """Where the permission leaves columns as they are, or chooses rows by columns: what prohibitions name
    that are limited by refinements and do not apply to it. If the data have no such column, nothing tells
    that none of those is meant, which no transformation protects: then nothing is granted."""

    clauses: tuple[Comparison, ...] = ()
    """The clauses that it depends on, in its constraints and duties, each with values that the request
    accepts. Of alternatives those that hold; none where one holds without a clause."""

    @property
    def is_unconditional(self) -> bool:
        """Whether it has no limit: no rows, no columns withheld or spared, no obligations."""
        return not (self.rows or self.withheld or self.spared or self.obligations)

    def limits_shown(self) -> Iterator[tuple[str, str]]:
        """Its limits, each with a label, for people; rows and duties are counted."""
        if self.rows:
            yield "limit", f"only rows that satisfy {len(self.rows)} condition{'s' * (len(self.rows) > 1)}"
        if self.withheld:
            yield "limit", f"without the columns {', '.join(self.withheld)}"
        if self.spared:
            yield "limit", f"only if the data has {', '.join(self.spared)}"
        yield from (("duty", f"{duty.action} [{duty.uid}]") for duty in self.obligations)


def owed_later(grant: Grant) -> tuple[Duty, ...]:
    """The obligations of a grant that no plan can contain, and that are not fulfilled yet."""
    return tuple(duty for duty in grant.obligations if duty.action not in PLANNED_DUTIES)


def effect_of(grants: Sequence[Grant]) -> Effect:
    """The effect of what permits: `PERMIT` where a grant has no limit, else `LIMITED`.

    Args:
        grants: at least one.
    """
    return Effect.PERMIT if any(grant.is_unconditional for grant in grants) else Effect.LIMITED


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision of a request by the policies that count."""

    request: Request
    effect: Effect
    reasons: tuple[Reason, ...]
    """The determining rules first."""
    grants: tuple[Grant, ...] = ()
    """More than one only where several permissions match."""
    struck: tuple[Grant, ...] = ()
    """Grants that only prohibitions on columns deny; a request without a rule may mean one of them."""
    determining: tuple[RuleName, ...] = ()
    """The rules that determine it: those that grant; else the prohibitions that deny, and the rules that
    make a policy void. Empty where nothing permits."""
    remedies: tuple[Duty, ...] = ()
    """Of the prohibitions that deny: what must be done after a violation."""
    considered: tuple[RuleReport, ...] = ()
    """Every rule about a target of the request, where an explanation was asked for."""

    def __bool__(self) -> bool:
        """As `is_permitted`: a denial is false."""
        return self.is_permitted

    @property
    def is_permitted(self) -> bool:
        """Whether the request is permitted: without limit, or within limits that the requester understands.

        A limited decision does not permit a requester who does not claim to understand limits
        (`Request.understands_limits`).
        """
        return self.is_unconditional or (self.is_limited and self.request.understands_limits)

    @property
    def is_limited(self) -> bool:
        """Permitted within the limits of one of the grants only."""
        return self.effect is Effect.LIMITED

    @property
    def is_unconditional(self) -> bool:
        """Permitted by some grant without limit."""
        return self.effect is Effect.PERMIT

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """The permissions that grant the request."""
        return tuple(grant.permission for grant in self.grants)

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policy of each of `permissions`."""
        return tuple(grant.policy for grant in self.grants)

    def _repr_html_(self) -> str:
        """For notebooks: who asked what, the effect, its reasons and limits; no value of a fact."""
        return table(self._shown())

    def _shown(self) -> Iterator[tuple[str, str]]:
        request = self.request
        yield "decision", str(self.effect)
        yield "party", request.party
        yield "action", request.action
        yield from (("target", target) for target in request.targets)
        yield "purpose", request.purpose or "none stated"
        for reason in self.reasons:
            where = reason.rule or reason.policy
            yield "reason", reason.text + (f" [{where}]" if where else "")
        for grant in self.grants:
            yield from (("granted by", str(grant.permission.uid)), *grant.limits_shown())
        if self.is_limited and not self.is_permitted:
            yield "note", "permitted within limits only, and the caller did not state that it applies them"
