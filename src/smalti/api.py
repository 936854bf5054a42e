"""The public functions; the command line is written on them.

Each of them takes arguments of the annotated types only, and raises `SmaltiError` only: an argument that
is missing, unknown or of another type is a `UsageError` (and a `TypeError`). What interrupts a program,
such as `KeyboardInterrupt`, is no error and passes.
"""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from smalti.assessing import assess
from smalti.binding import binding_of
from smalti.budgeting import budget, forecast
from smalti.deciding import DEFAULT_REGISTRY, AnyPath, decide, using
from smalti.engine.arguments import public
from smalti.engine.backends.base import Backend
from smalti.engine.binding.circumstances import Options, ShowValues
from smalti.engine.binding.run_request import Outcome, Planned, PolicyDocument, RunRequest, Watch
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Respondent, RespondentColumn
from smalti.engine.registry.registry import Registry
from smalti.engine.run import explain as explanations
from smalti.engine.run import plans
from smalti.engine.run import recheck as rechecking
from smalti.engine.run import run as _engine
from smalti.engine.run.assessing import Assessment
from smalti.engine.run.engines import EngineName, make_backend
from smalti.engine.run.permitted_records import PermittedRecords
from smalti.engine.run.permitted_records import permitted_records as _permitted_records
from smalti.engine.run.recheck import Recheck
from smalti.engine.run.sweep import Sweep, swept
from smalti.engine.run.trial import ROWS_SHOWN, Trial
from smalti.engine.run.trial import try_out as _try_out
from smalti.engine.tables.addresses import ArrowStream, Frame, Location, data_at, described_by
from smalti.engine.tables.stores import on_disk
from smalti.errors import UsageError
from smalti.estimating import estimate
from smalti.fluent import PolicyInCode, new_policy
from smalti.policy.decide import authorize as authorizing
from smalti.policy.decide import fact_text
from smalti.policy.decide.decision import Decision, Effect, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.names import iri, word
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.model.binding import Binding
from smalti.policy.model.model import Policy
from smalti.policy.read import parse as parsing
from smalti.policy.read.inheritance import Stored, nothing_stored
from smalti.policy.say.bind import bound_document
from smalti.policy.short.source import IN_CODE, is_short
from smalti.published import read_published
from smalti.roles import Scaffold
from smalti.starting import init
from smalti.sweeping import read_points
from smalti.transforms.base import DEFAULT_CUT_THRESHOLD
from smalti.trying import asked_by_default, only_read, read_varied
from smalti.vocab.terms import IRI
from smalti.vocab.words import Kind

if TYPE_CHECKING:
    from smalti.engine.releases.query import Query

__all__ = [
    "DEFAULT_REGISTRY",
    "IRI",
    "Assessment",
    "Choices",
    "Decision",
    "Diagnostic",
    "Effect",
    "EngineChoices",
    "Fact",
    "Hierarchies",
    "Outcome",
    "Planned",
    "PolicyDocument",
    "PolicyInCode",
    "Recheck",
    "Registry",
    "Request",
    "Scaffold",
    "Sweep",
    "Trial",
    "Watch",
    "assess",
    "authorize",
    "budget",
    "check",
    "decide",
    "estimate",
    "explain",
    "forecast",
    "init",
    "load_policy",
    "new_policy",
    "offer",
    "parse",
    "plan",
    "query",
    "read_published",
    "run",
    "sweep",
    "try_out",
    "verify",
]


@public
@wraps(authorizing.authorize)
def authorize(  # noqa: D103 (its docstring is that of what it wraps)
    request: Request,
    policies: Sequence[Policy],
    hierarchies: Hierarchies = STANDARD,
    *,
    explain: bool = False,
    owners: frozenset[IRI] = frozenset(),
) -> Decision:
    request.check_spelling()
    return authorizing.authorize(request, policies, hierarchies, explain=explain, owners=owners)


parse = public(parsing.parse)

ROWS_PER_PART = 1_000_000
"""The default for outputs in parts; an engine that writes in tasks may write smaller parts."""


class FirstCuts(StrEnum):
    """Where the cuts that divide a large table into fragments come from."""

    EXACT = "exact"
    SAMPLED = "sampled"


@public
def check(
    document: AnyPath, *, dataset: AnyPath | None = None, vocabularies: Sequence[AnyPath] = ()
) -> tuple[Diagnostic, ...]:
    """Every finding about a policy document: errors, warnings and notes, in the order of the file.

    A document can be used exactly when none of them is an error. Nothing is fetched.

    Args:
        document: its path; JSON-LD, Turtle when the name ends in `.ttl`, or the short form when it ends in
            `.yaml` or `.yml`.
        dataset: a CSVW description to check columns against.
        vocabularies: groups, purposes, assets, profiles and left operands of your own, as `smalti
            vocabulary add` takes them, in Turtle or JSON-LD.

    Raises:
        UsageError: the description or a vocabulary cannot be read; problems of the document are findings.
        PolicyError: a vocabulary has errors.
    """
    from smalti.checking import check_documents  # noqa: PLC0415 (lints, which a run does not need)

    described = None if dataset is None else Path(dataset)
    (checked,) = check_documents([os.fspath(document)], described, list(map(Path, vocabularies)))
    return checked.diagnostics


@public
def load_policy(
    path: AnyPath | PolicyInCode,
    *,
    registry: Registry | AnyPath | None = None,
    issuer: str | None = None,
    target: str | None = None,
    bind: Mapping[str, str] | None = None,
    as_agreement: AnyPath | None = None,
) -> PolicyDocument:
    """Load the one policy of a file, or the agreement that two connectors made of it.

    A run resolves inheritance again, on behalf of an owner of the target.

    Args:
        path: of the document, or a policy that is written in code (`new_policy`). With an agreement and an
            issuer, it may also be the uid of a policy that the issuer has in force.
        registry: holds the policies in force that it may inherit from, and the vocabularies whose words it
            may use; None: it inherits from none, and uses shipped ones.
        issuer: who submits it, an IRI: it inherits from policies that this party has put in force, and uses
            words of vocabularies that this party added, or trusts.
        target: the IRI that it will run on: what the target's owners have in force comes before what the
            issuer has.
        bind: IRIs for what a template leaves open: `target`, `assigner`, `assignee`, and `base`, which
            stands before names without a scheme. The result is a document of its own, with its own digest.
        as_agreement: the path of a ContractAgreementMessage of the Dataspace Protocol, or of EDC's
            ContractAgreement: the result is the agreement, which may say no more than the policy. It
            names the target and the parties, and must name those that `bind` does.

    Raises:
        PolicyError: the document has errors, all of which the message shows, holds several policies, or is
            a template of which something is not bound; or the agreement says more.
        UsageError: a part cannot be bound, or an IRI is not one.
        RegistryError: the registry cannot be read.
    """
    document, name = _document(path)
    binding, hierarchies = binding_of(bind or {}), STANDARD
    if not document and (as_agreement is None or registry is None or issuer is None):
        parsed = parsing.load(name)
    elif registry is None:
        document = _bound(document, name, binding, as_agreement)
        name = os.fspath(as_agreement or name)
        parsed = parse(document, name)
    else:
        by = None if issuer is None else iri(issuer, "issuer")
        about = None if target is None else iri(target, "target")
        with using(registry) as opened:

            def stored(uid: IRI) -> Policy | None:
                return opened.policies.in_force(uid, by, about)

            hierarchies = opened.hierarchies.counting_for(by, about)
            document = _bound(document, name, binding, as_agreement, stored, hierarchies)
            name = os.fspath(as_agreement or name)
            parsed = parse(document, name, stored, hierarchies)
    policy = parsing.require(parsed)
    warnings = [note for note in parsed.diagnostics if note.severity is Severity.WARNING]
    if policy.permissions and policy.prohibitions:
        from smalti.policy.lint.overlaps import contradictions  # noqa: PLC0415 (only then)

        warnings += contradictions(policy, hierarchies)
    document = parsing.json_ld_document(document, name)
    short = is_short(name, parsed.text)
    return PolicyDocument(policy, document, name, warnings=tuple(warnings), is_short=short)


def _document(policy: AnyPath | PolicyInCode) -> tuple[bytes, str]:
    """The bytes and the name of a document; no bytes where there is no such file."""
    if isinstance(policy, PolicyInCode):
        return policy.to_short().encode(), IN_CODE
    place = Path(policy)
    return place.read_bytes() if place.is_file() else b"", os.fspath(policy)


def _bound(
    document: bytes,
    name: str,
    binding: Binding,
    agreement: AnyPath | None,
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
) -> bytes:
    if agreement is None:
        return bound_document(document, name, binding, stored, hierarchies)
    from smalti.agreeing import agreed_document  # noqa: PLC0415 (only then)

    return agreed_document(name, agreement, binding, stored, hierarchies)


@public
def offer(
    document: AnyPath, *, bind: Mapping[str, str] | None = None, vocabularies: Sequence[AnyPath] = ()
) -> str:
    """Write the public part of a policy as an offer of the Dataspace Protocol 2025-1.

    It is a dataset with its offer, or, where the rules have several targets, the message of an offer. A
    connector adds what only it knows: distributions, process ids, addresses.

    Args:
        document: the path of the owner's policy, template or Offer.
        bind: IRIs for what it leaves open; the assignee may stay open.
        vocabularies: declare words that it uses, as `smalti vocabulary add` takes them.

    Returns:
        JSON: what a requester must see, and none of the owner's internals.

    Raises:
        PolicyError: the document has errors, leaves its target or assigner open, or is an Agreement.
        UsageError: a file cannot be read, or a part cannot be bound.
    """
    from smalti.agreeing import offer_text  # noqa: PLC0415 (nothing else needs it)

    return offer_text(document, bind or {}, list(map(Path, vocabularies)))


class EngineChoices(TypedDict, total=False):
    """Where the work is done; the result is the same everywhere."""

    engine: str | Backend
    """`local` (the default) or `spark`; or a backend, for example `SparkBackend(session)`."""
    fragments: int | None
    """The most kernels among which distinct tuples are divided; the engine's own choice when not given."""
    master: str | None
    """Of Spark, such as `spark://host:7077`; this machine when not given."""
    conf: Mapping[str, str]
    """Settings of Spark, by name."""
    workspace: AnyPath | None
    """A folder in which `plan` and `verify` keep private files while they work; on a cluster one that all
    workers see. The system's folder for temporary files when not given. `run` works beside its output."""


class Choices(EngineChoices, total=False):
    """What a request may state besides policy, data and party."""

    purpose: str | None
    """A name such as `marketing`, or an IRI."""
    owner: str | None
    """Who submits the policy and binds the data, an IRI that is trusted; the party when not given."""
    rule: str | None
    """The uid of the permission to use, where several match."""
    respondent: str | None
    """The name of the column that identifies respondents: rows with the same value are about one person.
    Needed where neither policy nor description names it; it must not contradict them. The submitter
    of the policy must own all of the data, or bind data without an owner."""
    description: AnyPath | None
    """The CSVW description of a table of PostgreSQL, which its `url` names, or of a data frame. That of a
    file stands beside it."""
    one_row_each: bool
    """True: each row is about a different person; instead of `respondent`."""
    population: AnyPath | ArrowStream | None
    """The data of the population table that the policy names, in any form that `data` may have."""
    earlier_data: Sequence[AnyPath | ArrowStream]
    """The data of earlier releases about the same respondents, where these were made from other data than
    this run is: whether all of them keep their promises together is told from the data alone."""
    recoding_of: str | None
    """The IRI of an earlier release by the algorithm incognito, whose levels of hierarchies this data is
    published at: a further batch of the same shape."""
    registry: Registry | AnyPath
    """The registry; `smalti.sqlite` when not given. A path without a file is an empty registry."""
    output_format: str
    """`csv` (the default) or `parquet`."""
    parts: bool
    """True: the output is written as parts of at most `rows_per_part` rows, and not as one file."""
    rows_per_part: int | None
    """1,000,000 when not given; where it is given, the output is written as parts."""
    parameters: Sequence[str]
    """A stronger guarantee than the policy's, each `WORD=VALUE`, for example `k=20`."""
    facts: Sequence[str]
    """What is true of the world or the party, each `OPERAND=VALUE`."""
    stated_by: Sequence[str]
    """On whose word facts are stated, each `OPERAND=PARTY`; the party's own otherwise."""
    accepted: Sequence[str]
    """The clauses that the party accepts, each `CLAUSE` or `CLAUSE=VALUE`."""
    on_behalf_of: str | None
    """Whom they bind: the party, and nobody else."""
    agreed: str | datetime | None
    """When the agreement was made, with its time zone."""
    query: "Query | AnyPath | Mapping[str, object] | None"
    """The query of a release: its file, the same as an object, or what `smalti.query` returned. Not needed
    where the policy permits exactly one release."""
    checkpoint: AnyPath | None
    """A private folder in which a training keeps its progress, so that a later run with the same arguments
    resumes it; nothing is kept when not given."""
    signature: AnyPath | None
    """The file with the document's detached signature, where its owner's must be signed."""
    cut_threshold: int
    """Partitions with at most this many distinct tuples take their best cut, larger ones the median."""
    first_cuts: str
    """`exact` (the default), or `sampled`: of a large table, the cuts that divide it into `fragments` come
    from a sample. That reads the table less often, and the classes depend on the number of fragments."""


@public
def plan(
    policy: PolicyDocument | PolicyInCode | AnyPath,
    *,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str | None = None,
    beside_earlier: bool = False,
    **choices: Unpack[Choices],
) -> Planned:
    """Plan what a policy would do to data; write nothing.

    Args:
        policy: the document, its path, or a policy that is written in code (`new_policy`).
        data: one target's IRI, with the path of its file (CSV, also packed, Parquet, Excel, DuckDB or
            SQLite), of a folder of CSV or Parquet files that are one table, or of its CSVW metadata; with
            `#` and the name of a sheet or table behind it; with the URI of any of these in a store, or of
            a table of PostgreSQL; or with a data frame of pandas, Polars or Arrow.
        party: who would ask, an IRI that is trusted. Without it nothing is decided.
        beside_earlier: with a party, hold the run together with earlier releases about the same people too,
            as the run does: it is carried out up to its verified output then, where there are any.
            `Planned.obstacle` says whether it would be refused.
        **choices: see `Choices`.

    Returns:
        The plan, and the decision where a party was given; no plan where it is a denial.

    Raises:
        SmaltiError: states where, what, what was expected and the way out.
    """
    wanted = _request(policy, data, party, choices)
    backend = _engine_chosen(choices)
    with using(choices.get("registry", DEFAULT_REGISTRY)) as opened:
        if party is None:
            return plans.plan_undecided(wanted, opened, backend)
        return plans.plan(wanted, opened, backend, beside_earlier=beside_earlier)


@public
def try_out(  # noqa: PLR0913 (what a caller may choose)
    policy: PolicyDocument | PolicyInCode | AnyPath,
    *,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str | None = None,
    vary: Sequence[str] = (),
    show_values: ShowValues | None = None,
    rows: int = ROWS_SHOWN,
    replace: bool = False,
    **choices: Unpack[Choices],
) -> Trial:
    """Try a policy out on data, for the data's owner: a run that stops before it records anything.

    There is no output, record, certificate or entry in a log. The request is decided as a run's is. What
    draws at random is planned only: `Trial.not_run` says why, `Trial.expected_errors` what to expect.

    Args:
        policy: the document, its path, or a policy that is written in code (`new_policy`).
        data: as of `run`.
        party: who would ask, an IRI that is trusted. When not given, whom the policy names.
        vary: numbers to take in the place of the policy's, each such as `k=2,5,10` or `l=2,3`. The policy
            itself stays as it is.
        show_values: called with a column's name and at most 20 of its values that have no place in its
            hierarchy, before that is raised as an error, which quotes none. For the owner's eyes.
        rows: how many published rows are shown, at least 1.
        replace: the policy is tried in the place of what its owner has in force under its uid.
        **choices: see `Choices`. `registry` is only read; when not given, nothing is known of the data.
            `purpose` is the policy's when not given. `owner` must own the data; where no registry knows the
            data, it is the policy's assigner when not given.

    Returns:
        The decision; where it permits, the plan, the owner's figures and a few published rows, which are
        for the owner's eyes.

    Raises:
        SmaltiError: states where, what, what was expected and the way out.
    """
    varied = read_varied(vary)
    backend = _engine_chosen(choices)
    with only_read(choices.get("registry")) as opened:
        request = _owners_request(policy, data, party, choices, opened)
        request = dataclasses.replace(request, show_values=show_values, replaces=replace)
        return _try_out(request, opened, backend, varied, max(rows, 1))


@public
def sweep(
    policy: PolicyDocument | PolicyInCode | AnyPath,
    *,
    data: Mapping[str, AnyPath | ArrowStream],
    vary: Sequence[str],
    party: str | None = None,
    replace: bool = False,
    **choices: Unpack[Choices],
) -> Sweep:
    """Measure risk and loss of a policy with other numbers, for the data's owner; the data is read once.

    Nothing is recorded, charged, published or logged, and no point is verified: figures come from the
    classes that a run with the same plan makes.

    Args:
        policy: as of `try_out`; it names k, and sensitive columns where l is varied.
        data: as of `run`.
        vary: numbers to take in the place of the policy's, each such as `k=2,5,10` or `l=1,2`; an l of 1 is
            plain k-anonymity. Points are all combinations, at most `smalti.engine.run.sweep.MOST_POINTS`.
        party: as of `try_out`.
        replace: as of `try_out`.
        **choices: as of `try_out`.

    Returns:
        The decision; where it permits, each point with its figures, or why there are none. All of it is
        about the data, and for its owner.

    Raises:
        SmaltiError: states where, what, what was expected and the way out.
    """
    points = read_points(vary)
    backend = _engine_chosen(choices)
    with only_read(choices.get("registry")) as opened:
        request = _owners_request(policy, data, party, choices, opened)
        return swept(dataclasses.replace(request, replaces=replace), opened, backend, points)


@public
def permitted_records(
    policy: PolicyDocument | PolicyInCode | AnyPath,
    *,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str | None = None,
    **choices: Unpack[Choices],
) -> PermittedRecords:
    """What a policy permits to train on, for a study by the data's owner; nothing is trained or recorded.

    Args:
        policy: as of `try_out`; it permits a training.
        data: as of `run`.
        party: as of `try_out`.
        **choices: as of `try_out`.

    Raises:
        SmaltiError: states where, what, what was expected and the way out.
    """
    backend = _engine_chosen(choices)
    with only_read(choices.get("registry")) as opened:
        request = _owners_request(policy, data, party, choices, opened)
        return _permitted_records(request, opened, backend, "a study of identifiability")


@public
def run(  # noqa: PLR0913 (each is a question)
    policy: PolicyDocument | PolicyInCode | AnyPath,
    *,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str,
    out: AnyPath,
    replace: bool = False,
    examine: bool = False,
    watch: Watch | None = None,
    **choices: Unpack[Choices],
) -> Outcome:
    """Run a policy on data, verify the output, and register it: all or nothing.

    Args:
        policy: the document, its path, or a policy that is written in code (`new_policy`).
        data: one target's IRI, with the path of its file (CSV, also packed, Parquet, Excel, DuckDB or
            SQLite), of a folder of CSV or Parquet files that are one table, or of its CSVW metadata; with
            `#` and the name of a sheet or table behind it; with the URI of any of these in a store, or of
            a table of PostgreSQL; or with a data frame of pandas, Polars or Arrow.
        party: who asks, an IRI that is trusted.
        out: the folder to make; it must not exist, or hold a version of the same output that is replaced.
        replace: only for the owner of the data: the policy takes the place of what its owner has in force
            under its uid, and the version that is in `out` moves to a folder beside, such as
            `out.version-1`. It stays on record, and what it was charged stays charged.
        examine: only for the owner of the data: attack the output, and measure it by column
            (`Outcome.examination`). It is recorded nowhere.
        watch: notified of each phase as it begins.
        **choices: see `Choices`.

    Returns:
        The decision; where it permits, the plan and the registered version with its certificate and
        the owner's report. A denial is no exception.

    Raises:
        SmaltiError: states where, what, what was expected and the way out; nothing was published or
            registered. (Where the registry itself cannot be read at the very end, as on a full disk,
            the next command that opens it ends the run: it registers the whole output, or removes it.)
    """
    if choices.get("workspace") is not None:
        raise UsageError(
            "workspace", "a run works beside its output", "no workspace", "choose the folder with `out`"
        )
    wanted = _request(policy, data, party, choices)
    backend = _engine_chosen(choices)
    with using(choices.get("registry", DEFAULT_REGISTRY)) as opened:
        wanted = dataclasses.replace(wanted, replaces=replace, examines=examine)
        return _engine.run(wanted, on_disk(os.fspath(out), "out (--out)"), opened, backend, watch)


@public
def verify(
    output: AnyPath,
    *,
    registry: Registry | AnyPath = DEFAULT_REGISTRY,
    data: AnyPath | ArrowStream | None = None,
    description: AnyPath | None = None,
    population: AnyPath | ArrowStream | None = None,
    **choices: Unpack[EngineChoices],
) -> Recheck:
    """Verify a published output: its bytes, its promises and its record.

    Args:
        output: the published folder, or the IRI of a target or of a version.
        registry: the one that recorded it. For any other `Recheck.version` is None: then only the output's
            own, unsigned certificate supports it, and whoever made the folder can have written both.
        data: the owner's data: runs the recorded plan on it again, with all checks of a run.
        description: as for `run`.
        population: with `data`, the population table, where the plan names one.
        **choices: the engine; see `EngineChoices`.

    Raises:
        GuaranteeError: the output is not what was recorded, or breaks a promise.
        UsageError: there is no such output, or no record to repeat.
    """
    workspace = _workspace(choices)
    with using(registry) as opened:
        folder = rechecking.find_output(opened, os.fspath(output))
        if data is None and description is not None:
            raise UsageError(
                "description (--description)", "no data is bound that it describes", "--data with it"
            )
        if data is None and population is not None:
            raise UsageError(
                "population (--population)", "no data is bound whose population it is", "--data with it"
            )
        if data is None:
            return rechecking.recheck(opened, folder, workspace)
        place = _place(data, description)
        everybody = None if population is None else _place(population, None, "population (--population)")
        return rechecking.repeat(opened, folder, place, _engine_chosen(choices), workspace, everybody)


@public
def query(asked: AnyPath | Mapping[str, object]) -> "Query":
    """Read a query for a release.

    Args:
        asked: the path of a query file, or the same as an object: what `json.loads` makes of one.

    Raises:
        UsageError: it cannot be read, or is not a query; reports all problems at once.
    """
    from smalti.engine.releases.query_form import read_query  # noqa: PLC0415 (only for releases)

    if isinstance(asked, Mapping):
        return read_query(_as_json(asked), "query")
    try:
        text = Path(asked).read_bytes()
    except OSError:
        raise UsageError("query (--query)", f"`{asked}` cannot be read", "a query file") from None
    return read_query(text, os.fspath(asked))


def _as_json(asked: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(dict(asked), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            "query", "it holds a value that JSON cannot represent", "texts, numbers, lists and objects"
        ) from None


@public
def explain(plan: AnyPlan, *, as_json: bool = False, verbose: bool = False) -> str:
    """Explain a plan, as text or as JSON; without what only the data shows.

    Args:
        plan: of any kind.
        as_json: for programs, always with everything.
        verbose: as text, list each of many alike columns and warnings by itself.
    """
    return explanations.to_json(plan) if as_json else explanations.to_text(plan, in_full=verbose)


def _request(
    policy: PolicyDocument | PolicyInCode | AnyPath,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str | None,
    choices: Choices,
) -> RunRequest:
    if len(data) != 1:
        raise UsageError(
            "data", f"{len(data)} targets are bound", "exactly one", "bind one IRI to one path"
        )
    named, path = next(iter(data.items()))
    target = iri(named, "data (--data)")
    asker, submitter = _parties(party, choices.get("owner"))
    if isinstance(policy, PolicyDocument):
        document = policy
    else:
        document = load_policy(
            policy,
            registry=choices.get("registry", DEFAULT_REGISTRY),
            issuer=submitter or asker,
            target=target,
        )
    purpose, rule = choices.get("purpose"), choices.get("rule")
    return RunRequest(
        document=_signed(document, choices.get("signature")),
        target=target,
        data=_place(path, choices.get("description")),
        party=asker,
        purpose=None if purpose is None else word(Kind.PURPOSE, purpose, "purpose (--purpose)"),
        owner=submitter,
        rule=None if rule is None else iri(rule, "rule (--rule)"),
        respondent=_respondent(choices.get("respondent"), choices.get("one_row_each", False)),
        asks=tuple(
            fact_text.about(fact_text.parameter(written, "parameters (--with)"), target)
            for written in choices.get("parameters", ())
        ),
        stated=fact_text.stated(
            choices.get("facts", ()),
            choices.get("stated_by", ()),
            choices.get("accepted", ()),
            choices.get("on_behalf_of"),
            choices.get("agreed"),
        ),
        query=_query(choices.get("query")),
        options=_options(
            choices.get("output_format", OutputFormat.CSV),
            choices.get("cut_threshold", DEFAULT_CUT_THRESHOLD),
            _sampled_fragments(choices),
            _rows_per_part(choices),
        ),
        population=_population(choices),
        earlier_data=tuple(
            _place(data, None, "earlier data (--earlier-data)") for data in choices.get("earlier_data", ())
        ),
        recoding_of=_recoding_of(choices),
        checkpoint=_checkpoint(choices),
        workspace=_workspace(choices),
    )


def _recoding_of(choices: Choices) -> IRI | None:
    earlier = choices.get("recoding_of")
    return None if earlier is None else iri(earlier, "recoding (--recoding-of)")


def _owners_request(
    policy: PolicyDocument | PolicyInCode | AnyPath,
    data: Mapping[str, AnyPath | ArrowStream],
    party: str | None,
    choices: Choices,
    registry: Registry,
) -> RunRequest:
    """The request of an owner who tries a policy out: what is not stated, the policy says.

    Raises:
        UsageError: the registry knows the data, and nobody says who asks.
    """
    rule = choices.get("rule")
    (target,) = (iri(named, "data (--data)") for named in data) if len(data) == 1 else (None,)
    document = policy
    if not isinstance(document, PolicyDocument):
        issuer = choices.get("owner") or party
        document = load_policy(document, registry=registry, issuer=issuer, target=target)
    named = choices.copy()
    if target is not None:
        asked = asked_by_default(document.policy, target, None if rule is None else IRI(rule))
        if not registry.ownership.is_known(target):
            named["owner"] = choices.get("owner") or asked.owner
        elif not (choices.get("owner") or party):
            raise UsageError(
                "owner (--owner)",
                f"the registry knows `{target}`, and nobody says who tries the policy out",
                "the party that owns the data",
                "say who you are with --owner or --as",
            )
        else:
            named["owner"] = choices.get("owner") or party
        named["purpose"] = choices.get("purpose") or asked.purpose
        party = party or asked.party
    return _request(document, data, party, named)


def _population(choices: Choices) -> Location | None:
    data = choices.get("population")
    return None if data is None else _place(data, None, "population (--population)")


def _parties(party: str | None, owner: str | None) -> tuple[IRI | None, IRI | None]:
    """Who asks and who submits, each blamed by its own name: one may stand for the other later on."""
    return (
        None if party is None else iri(party, "party (--as)"),
        None if owner is None else iri(owner, "owner (--owner)"),
    )


def _place(
    data: AnyPath | ArrowStream, description: AnyPath | None, role: str = "data (--data)"
) -> Location:
    """Where data is: a table that is itself at hand, or what a path or an address leads to."""
    place: Location
    place = data_at(os.fspath(data), role) if isinstance(data, str | os.PathLike) else Frame(data)
    return described_by(place, None if description is None else Path(description))


def _respondent(column: str | None, one_row_each: bool) -> Respondent | None:
    """Who respondents are, as a request states it."""
    if column is not None and one_row_each:
        raise UsageError(
            "respondent (--respondent, --one-row-each)",
            "both a respondent column and one row for each person are stated",
            "one of the two",
            "leave one out",
        )
    if column is None:
        return OneRowEach(is_declared=True) if one_row_each else None
    if not isinstance(column, str) or not column:
        raise UsageError("respondent (--respondent)", "no column is named", "the name of a column")
    return RespondentColumn(column)


def _checkpoint(choices: Choices) -> Path | None:
    place = choices.get("checkpoint")
    return None if place is None else on_disk(os.fspath(place), "checkpoint")


def _query(asked: "Query | AnyPath | Mapping[str, object] | None") -> "Query | None":
    return query(asked) if isinstance(asked, str | os.PathLike | Mapping) else asked


def _workspace(choices: EngineChoices) -> Path | None:
    workspace = choices.get("workspace")
    return None if workspace is None else on_disk(os.fspath(workspace), "workspace (--workspace)")


def _signed(document: PolicyDocument, signature: AnyPath | None) -> PolicyDocument:
    if signature is None:
        return document
    try:
        return replace(document, signature=Path(signature).read_bytes())
    except OSError:
        where = "signature (--signature)"
        raise UsageError(where, f"`{signature}` cannot be read", "a detached signature") from None


def _sampled_fragments(choices: Choices) -> int | None:
    """The number of fragments, where the result depends on it."""
    first_cuts, fragments = choices.get("first_cuts", FirstCuts.EXACT), choices.get("fragments")
    if first_cuts not in set(FirstCuts):
        raise UsageError("first cuts (--first-cuts)", f"`{first_cuts}` is not known", "exact or sampled")
    if first_cuts == FirstCuts.EXACT:
        return None
    if fragments is None or fragments < 2:
        raise UsageError(
            "first cuts (--first-cuts)",
            "sampled cuts depend on the number of fragments, and none is stated"
            if fragments is None
            else "sampled cuts need several fragments",
            "2 fragments or more",
            "set --fragments, or leave out --first-cuts",
        )
    return fragments


def _rows_per_part(choices: Choices) -> int | None:
    """The most rows of a part; None where there is one file."""
    rows = choices.get("rows_per_part")
    if rows is None:
        return ROWS_PER_PART if choices.get("parts") else None
    if rows < 1:
        raise UsageError("rows per part (--rows-per-part)", "must be at least 1")
    return rows


def _options(
    output_format: str, cut_threshold: int, sampled_fragments: int | None, rows_per_part: int | None
) -> Options:
    if output_format not in set(OutputFormat):
        raise UsageError("output format", f"`{output_format}` is not known", "csv or parquet")
    if cut_threshold < 0:
        raise UsageError("cut threshold", "it is negative", "0 or more")
    return Options(cut_threshold, OutputFormat(output_format), rows_per_part, sampled_fragments)


def _engine_chosen(choices: Choices | EngineChoices) -> Backend:
    """The requested engine; a backend is used as it is."""
    name = choices.get("engine", EngineName.LOCAL)
    fragments, master = choices.get("fragments"), choices.get("master")
    if choices.get("first_cuts", FirstCuts.EXACT) == FirstCuts.SAMPLED:
        fragments = None  # their number is the plan's
    settings = choices.get("conf", {})
    if isinstance(name, Backend):
        if fragments is not None or master is not None or settings:
            raise UsageError(
                "engine", "a backend has its own fragments, master and settings", "none of them"
            )
        return name
    if name not in set(EngineName):
        raise UsageError("engine", f"`{name}` is not known", "local or spark")
    return make_backend(EngineName(name), fragments=fragments, master=master, settings=settings)
