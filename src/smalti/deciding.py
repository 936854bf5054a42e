"""Decisions by a registry: the part of `smalti.api` that needs no engine, and none of its libraries."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from os import PathLike
from pathlib import Path

from smalti.engine.arguments import public
from smalti.engine.registry.authority import decide as decide_request
from smalti.engine.registry.registry import Registry
from smalti.policy.decide import fact_text
from smalti.policy.decide.decision import Decision, DutyReading, Request
from smalti.policy.decide.names import iri, word
from smalti.vocab.words import Kind

DEFAULT_REGISTRY = "smalti.sqlite"
"""In the working folder."""

AnyPath = str | PathLike[str]


@public
def decide(  # noqa: PLR0913 (each a part of the request)
    *,
    party: str,
    action: str,
    target: str | Sequence[str],
    purpose: str | None = None,
    rule: str | None = None,
    time: str | datetime | None = None,
    facts: Sequence[str] = (),
    stated_by: Sequence[str] = (),
    accepted: Sequence[str] = (),
    on_behalf_of: str | None = None,
    agreed: str | datetime | None = None,
    parameters: Sequence[str] = (),
    fulfilled: Sequence[str] = (),
    duties: str = DutyReading.FULFILLED,
    understands_limits: bool = False,
    explain: bool = False,
    asked_by: str | None = None,
    registry: Registry | AnyPath = DEFAULT_REGISTRY,
) -> Decision:
    """Decide by the policies in the registry whether a party may perform an action, and why.

    Args:
        party: the requesting party, an IRI that is trusted.
        action: a name such as `read`, or an IRI.
        target: the IRI of a source, of an output, or of one of its versions; several are requested
            jointly: one rule must cover them all.
        purpose: a name such as `marketing`, or an IRI.
        rule: the uid of the permission to rely on, where several match.
        time: when, with its time zone; now when not given.
        facts: what is true of the world or the party, each `OPERAND=VALUE`.
        stated_by: on whose word facts are stated, each `OPERAND=PARTY`; the requesting party's otherwise.
        accepted: the clauses (obligations between people, which no machine decides) that are accepted,
            each `CLAUSE`, or `CLAUSE=VALUE` for one value alone.
        on_behalf_of: whom they bind: the requesting party, and nobody else.
        agreed: when the agreement was made, with its time zone, not after `time`; unknown when not given.
        parameters: of the requested action, each `WORD=VALUE`, for example `k=20`.
        fulfilled: the uids of duties that have been fulfilled.
        duties: `fulfilled`, or `not-violated`: a permission applies, too, whose duties are not fulfilled
            yet and can still be. They are owed (`Grant.obligations`), as limits of the decision. Duties to
            anonymize or to audit are owed under either reading.
        understands_limits: the caller applies the limits of each grant (`Grant.rows`, `Grant.withheld`,
            `Grant.spared`, `Grant.obligations`). Otherwise a limited decision is not
            permitted (`Decision.is_permitted`).
        explain: report each part of each rule about the targets (`Decision.considered`).
        asked_by: who asks, where it is another party than `party`, such as a gateway; it is logged, and
            changes nothing else.
        registry: holds the policies, owners and outputs.

    Raises:
        UsageError: an argument is neither a known name nor an IRI, or is malformed; clauses are accepted on
            behalf of nobody, or of another party than the requesting one; or the agreement was made later.
        RegistryError: the registry cannot be read, or the decision cannot be logged.
    """
    targets = (target,) if isinstance(target, str) else tuple(target)
    world = fact_text.stated(facts, stated_by, accepted, on_behalf_of, agreed)
    request = Request(
        party=iri(party, "party (--as)"),
        action=word(Kind.ACTION, action, "action (--action)"),
        targets=tuple(iri(asset, "target (--target)") for asset in targets),
        purpose=None if purpose is None else word(Kind.PURPOSE, purpose, "purpose (--purpose)"),
        rule=None if rule is None else iri(rule, "rule (--rule)"),
        parameters=tuple(fact_text.parameter(written, "parameters (--with)") for written in parameters),
        time=fact_text.time(time, "time (--time)") if isinstance(time, str) else time,
        facts=world.facts,
        accepted=world.accepted,
        on_behalf_of=world.on_behalf_of,
        agreed=world.agreed,
        fulfilled=frozenset(iri(duty, "fulfilled (--fulfilled)") for duty in fulfilled),
        duties=DutyReading.of(duties, "duties (--duties)"),
        understands_limits=understands_limits,
    )
    with using(registry) as opened:
        asking = None if asked_by is None else iri(asked_by, "asked_by")
        return decide_request(opened, request, explain=explain, asked_by=asking)


@contextmanager
def logged_together(registry: Registry) -> Iterator[None]:
    """Log the decisions of the block at its end, all of them; where it raises, none.

    Raises:
        RegistryError: they cannot be logged; the caller must not return any of them.
    """
    if registry.decision_log is None:
        yield
        return
    with registry.decision_log.together():
        yield


@contextmanager
def using(registry: Registry | AnyPath) -> Iterator[Registry]:
    """The registry; one that is opened here is closed again."""
    if isinstance(registry, Registry):
        yield registry
        return
    opened = Registry.open(registry if isinstance(registry, str) else Path(registry))
    try:
        yield opened
    finally:
        opened.close()
