"""What jobs are asked to do: a frozen request for each kind, with one JSON form.

The command line and a service make the same requests. All paths in them are absolute, because a worker has
another working folder; a store's or a server's address stays as it is. A request says nothing of the
registry: it is a job of one.
"""

import os
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from smalti.errors import ProblemsError, UsageError
from smalti.transforms.base import DEFAULT_CUT_THRESHOLD
from smalti.vocab.terms import IRI

COMPARED_PAGE: Final = "comparison.html"
COMPARED_REPORT: Final = "comparison.json"
"""Of a comparison, in its folder."""
_ADDRESS: Final = "://"


class JobKind(StrEnum):
    """What a job does."""

    RUN = "run"
    """A policy on data: rows, statistics, perturbed records or a model, as the policy says."""
    AUDIT = "audit"
    """The same, begun by `smalti audit start`: a model under an audit duty."""
    SWEEP = "sweep"
    ASSESS = "assess"
    CHECK = "check"
    STUDY = "study"
    """Attacks on a model file (`smalti audit model`)."""
    COMPARE = "compare"
    """Central against local differential privacy, on generated data (`smalti audit compare`)."""
    RELEASE_AUDIT = "release-audit"
    """Attacks on released statistics (`smalti audit release`)."""
    GENERATIVE_AUDIT = "generative-audit"
    """Attacks on a generative model (`smalti audit generative`)."""
    IDENTIFIABILITY = "identifiability"
    """Neighbouring data sets told apart under noise (`smalti audit identifiability`)."""
    IDENTIFIABILITY_SAMPLE = "identifiability-sample"
    """The same on public data (`--sample`)."""


def absolute(place: str) -> str:
    """A path as a request has it; an address stays as it is."""
    return place if _ADDRESS in place else os.path.abspath(place)


def _is_absolute(place: str) -> str:
    if _ADDRESS not in place and not os.path.isabs(place):
        raise ValueError("it is no absolute path")
    return place


Place = Annotated[str, AfterValidator(_is_absolute)]
"""An absolute path; of data also the address of a store or a server, and a sheet's or a table's name after
`#`."""


def _is_place_or_iri(name: str) -> str:
    if ":" not in name and not os.path.isabs(name):
        raise ValueError("it is no absolute path, and no IRI")
    return name


_PlaceOrIri = Annotated[str, AfterValidator(_is_place_or_iri)]
_CONFIG: Final = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOnData:
    """A policy, the data of its target, and who asks; named as the arguments of `smalti.api`."""

    __pydantic_config__ = _CONFIG

    policy: _PlaceOrIri
    """The policy document; of a run with an agreement also the uid of a policy in force."""
    target: str
    """The IRI that the data is bound to."""
    data: Place
    party: str | None = None
    """On whose behalf, an IRI that is trusted."""
    purpose: str | None = None
    owner: str | None = None
    """Who submits the policy and binds the data; None: the party."""
    bind: tuple[tuple[str, str], ...] = ()
    """What a template leaves open: each part with its IRI."""
    signature: Place | None = None
    rule: str | None = None
    respondent: str | None = None
    one_row_each: bool = False
    description: Place | None = None
    population: Place | None = None
    earlier_data: tuple[Place, ...] = ()
    recoding_of: str | None = None
    query: Place | None = None
    parameters: tuple[str, ...] = ()
    """Each `WORD=VALUE`."""
    facts: tuple[str, ...] = ()
    """Each `OPERAND=VALUE`."""
    stated_by: tuple[str, ...] = ()
    """Each `OPERAND=PARTY`."""
    accepted: tuple[str, ...] = ()
    """Each `CLAUSE` or `CLAUSE=VALUE`."""
    on_behalf_of: str | None = None
    agreed: str | None = None
    """A time with its zone."""
    engine: Literal["local", "spark"] = "local"
    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    """Settings of Spark, each with its value; they can hold a secret."""
    fragments: Annotated[int, Field(ge=1)] | None = None
    output_format: Literal["csv", "parquet"] = "csv"
    parts: bool = False
    rows_per_part: Annotated[int, Field(ge=1)] | None = None
    first_cuts: Literal["exact", "sampled"] = "exact"
    cut_threshold: Annotated[int, Field(ge=0)] = DEFAULT_CUT_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing(PolicyOnData):
    """What publishes: a folder, and a version in the registry."""

    out: Place
    """The folder to make."""
    agreement: Place | None = None
    """A message of the Dataspace Protocol, which counts in place of the policy that was offered."""
    replace: bool = False
    page: Place | None = None
    """Where the owner's report is written, as HTML: a file that does not exist."""
    report: Place | None = None
    """The same as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Publishing):
    """A run."""

    kind: Literal[JobKind.RUN] = JobKind.RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Publishing):
    """A training under an audit duty."""

    kind: Literal[JobKind.AUDIT] = JobKind.AUDIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep(PolicyOnData):
    """Risk against loss with other numbers, for the owner of the data; the registry is only read."""

    kind: Literal[JobKind.SWEEP] = JobKind.SWEEP
    vary: tuple[str, ...]
    """Each such as `k=2,5,10`."""
    page: Place | None = None
    report: Place | None = None
    """A file that does not exist; None: in the job's private folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assess:
    """What tells people of a table apart, for its owner."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.ASSESS] = JobKind.ASSESS
    data: Place
    respondent: str | None = None
    one_row_each: bool = False
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    size: Annotated[int, Field(ge=1)] = 3
    threshold: str = "0.2"
    population: Place | None = None
    sample_of: Annotated[int, Field(ge=1)] | None = None
    null: tuple[str, ...] = ()
    header: bool = False
    page: Place | None = None
    report: Place | None = None
    """As of `Sweep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPolicies:
    """Policy documents, and all that is wrong with them."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.CHECK] = JobKind.CHECK
    files: Annotated[tuple[Place, ...], Field(min_length=1)]
    dataset: Place | None = None
    vocabularies: tuple[Place, ...] = ()
    bind: tuple[tuple[str, str], ...] = ()
    together: bool = False
    strict: bool = False
    """Whether warnings are findings, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Attacks on a model file, with records that it was trained on and others; nothing is registered."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.STUDY] = JobKind.STUDY
    model: Place
    members: Place
    others: Place
    label: str
    attacks: Annotated[tuple[str, ...], Field(min_length=1)]
    recipe: str | None = None
    shadow_models: Annotated[int, Field(ge=2)] = 16
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.95
    gives_logits: bool = False
    html: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Central against local differential privacy by membership inference; None, and nothing: by default."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.COMPARE] = JobKind.COMPARE
    out: Place
    """The folder of its page and its figures; it must not hold them yet."""
    paper_size: bool = False
    seed: int | None = None
    repetitions: int | None = None
    classes: tuple[int, ...] = ()
    records: int | None = None
    epochs: int | None = None
    shadow_models: int | None = None
    noise_multipliers: tuple[float, ...] = ()
    local_epsilons: tuple[float, ...] = ()
    noises: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAudit:
    """Attacks on the statistics of a release, for the owner of its data; nothing is registered."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.RELEASE_AUDIT] = JobKind.RELEASE_AUDIT
    output: _PlaceOrIri
    """The published folder, or the IRI of a target or of a version."""
    data: Place
    party: str
    """An owner of the data, an IRI that is trusted."""
    population: Place | None = None
    secret: str | None = None
    false_positive_rate: float = 0.05
    confidence: float = 0.95
    seed: int = 0
    page: Place | None = None
    report: Place | None = None
    """As of `Sweep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerativeAudit:
    """Attacks on a generative model by samples, or by a model file of ours; nothing is registered.

    A command that writes samples is no part of it: whoever may write to a registry would run programs as
    its workers.
    """

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.GENERATIVE_AUDIT] = JobKind.GENERATIVE_AUDIT
    members: Place
    others: Place
    attacks: Annotated[tuple[str, ...], Field(min_length=1)]
    samples: Place | None = None
    """This or a model."""
    model: Place | None = None
    label: str | None = None
    distances: tuple[str, ...] = ()
    number: int | None = None
    size: int = 100
    secrets: tuple[str, ...] = ()
    """Columns that attribute inference guesses."""
    side: tuple[str, ...] = ()
    """Columns of one of two tables to link."""
    confidence: float = 0.95
    seed: int = 0
    page: Place | None = None
    report: Place | None = None
    """As of `Sweep`."""


@dataclass(frozen=True, kw_only=True)
class IdentifiabilityChoices:
    """What a study of identifiability is asked to do; None, and nothing: by default.

    It has no slots, because a class can have those of one base alone.
    """

    beliefs: tuple[float, ...] = ()
    delta: float | None = None
    calibration: Literal["exact", "belief", "paper"] | None = None
    records: int | None = None
    repetitions: int | None = None
    steps: int | None = None
    clipping_norm: float | None = None
    learning_rate: float | None = None
    neighbors: int | None = None
    dissimilarity: str | None = None
    hidden: tuple[int, ...] = ()
    convolutional: bool = False
    seed: int | None = None
    page: Place | None = None


@dataclass(frozen=True, kw_only=True)
class Identifiability(PolicyOnData, IdentifiabilityChoices):
    """Neighbouring data sets told apart, for the owner of the data; the registry is only read."""

    kind: Literal[JobKind.IDENTIFIABILITY] = JobKind.IDENTIFIABILITY


@dataclass(frozen=True, kw_only=True)
class IdentifiabilitySample(IdentifiabilityChoices):
    """The same on public data, which needs nobody's permission."""

    __pydantic_config__ = _CONFIG

    kind: Literal[JobKind.IDENTIFIABILITY_SAMPLE] = JobKind.IDENTIFIABILITY_SAMPLE
    sample: str


StudyLike = Study | Compare | ReleaseAudit | GenerativeAudit | Identifiability | IdentifiabilitySample
"""What registers nothing, and ends with a report for people and one for programs."""
JobRequest = Run | Audit | Sweep | Assess | CheckPolicies | StudyLike
RunLike = Run | Audit
"""What publishes and registers."""


@cache
def _requests() -> TypeAdapter[JobRequest]:
    return TypeAdapter(Annotated[JobRequest, Field(discriminator="kind")])


def to_json(request: JobRequest) -> str:
    """The request as JSON; equal requests give equal texts."""
    return _requests().dump_json(request, warnings=False).decode()


def from_json(text: str | bytes, name: str = "request") -> JobRequest:
    """Read a request.

    Args:
        text: JSON.
        name: of the request, for messages.

    Raises:
        UsageError: an unknown kind, or something in it is missing, unknown or of another type.
        ProblemsError: the same, several times.
    """
    try:
        return _requests().validate_json(text)
    except ValidationError as error:
        parts = error.errors(include_input=False, include_url=False)
        problems = tuple(_problem(name, part["type"], part["loc"], part["msg"]) for part in parts)
        if len(problems) == 1:
            raise problems[0] from None
        raise ProblemsError(problems) from None


def party_of(request: JobRequest) -> IRI | None:
    """Who asks, by the request's own word."""
    if isinstance(request, ReleaseAudit):
        return IRI(request.party)
    if not isinstance(request, PolicyOnData) or (name := request.party or request.owner) is None:
        return None
    return IRI(name)


def page_of(request: JobRequest) -> str | None:
    """Where a study writes its report for people; None: it writes none, or it is none."""
    match request:
        case Compare():
            return os.path.join(request.out, COMPARED_PAGE)
        case Study():
            return request.html
        case ReleaseAudit() | GenerativeAudit() | Identifiability() | IdentifiabilitySample():
            return request.page
        case _:
            return None


def report_of(request: StudyLike) -> str | None:
    """Where a study writes its report for programs; None: in the job's private folder."""
    match request:
        case Compare():
            return os.path.join(request.out, COMPARED_REPORT)
        case ReleaseAudit() | GenerativeAudit():
            return request.report
        case _:
            return None


def request_type(kind: JobKind) -> type[JobRequest]:
    """The class of the requests of a kind."""
    types: tuple[type[JobRequest], ...] = get_args(JobRequest)
    by_kind = {field.default: each for each in types for field in fields(each) if field.name == "kind"}
    return by_kind[kind]


def _problem(name: str, mistake: str, place: tuple[int | str, ...], message: str) -> UsageError:
    if mistake.startswith("union_tag"):
        return UsageError(f"{name}: kind", "it is no kind of job", f"one of {', '.join(JobKind)}")
    # The first part of a place is the kind.
    where = ".".join(map(str, place[1:]))
    problem = message.removeprefix("Value error, ")
    problem = problem[:1].lower() + problem[1:]
    expected = "a request as `smalti jobs submit` writes it"
    return UsageError(f"{name}: {where}" if where else name, problem, expected)
