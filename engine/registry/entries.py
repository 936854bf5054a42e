"""The entries of a registry as frozen values: assets, policies, versions of outputs, pending runs."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.known_columns import DescribedColumns
from smalti.engine.plan.plan import ModelFormat, OutputFormat, Respondent
from smalti.engine.plan.reports import Report, ReportBesidePlan
from smalti.errors import UsageError
from smalti.policy.decide.decision import Request
from smalti.policy.model.model import Policy
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

VERSION_PREFIX: Final = "urn:uuid:"
"""What the IRI of a version begins with."""


class AssetKind(StrEnum):
    SOURCE = "source"
    """Known through its owner: a policy about it was added, or it was bound to data."""
    OUTPUT = "output"
    """Made by runs; owned by those who own what it was made from."""


@dataclass(frozen=True, slots=True)
class Asset:
    """An asset that policies can be about."""

    iri: IRI
    kind: AssetKind
    registered_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy that somebody put in force."""

    uid: IRI
    digest: str
    """Of its document."""
    document: bytes
    name: str
    """Of its document, as the issuer gave it."""
    issuer: IRI
    targets: frozenset[IRI]
    policy: Policy | None
    """None: this version of smalti does not understand the document, which denies what it is about."""
    added_at: datetime
    revoked_at: datetime | None = None
    signed_by: str | None = None
    """The thumbprint of the key whose signature of the document came with it."""

    @property
    def is_in_force(self) -> bool:
        return self.revoked_at is None


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A public key that signs for an owner."""

    owner: IRI
    thumbprint: str
    trusted_at: datetime
    revoked_at: datetime | None = None

    @property
    def is_trusted(self) -> bool:
        return self.revoked_at is None


@dataclass(frozen=True, slots=True)
class StoredHierarchy:
    """One version of a data market's own hierarchy of parties, assets, actions or purposes."""

    name: str
    number: int
    """From 1 under each name."""
    digest: str
    """Of its document."""
    document: bytes
    party: IRI
    """Who added it; only memberships of assets that this party owns are in it."""
    added_at: datetime
    removed_at: datetime | None = None

    @property
    def is_in_force(self) -> bool:
        return self.removed_at is None


@dataclass(frozen=True, slots=True)
class Input:
    """What a version was made from."""

    iri: IRI
    version: int | None = None
    """Where the input is itself an output, which version of it."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A published column, as a later description of the output needs it."""

    name: str
    iri: IRI
    datatype: Datatype


@dataclass(frozen=True, slots=True)
class OutputTable:
    """One of several tables of an output: a target of its own, published and recorded with the others."""

    iri: IRI
    files: tuple[str, ...]
    """The names of its files, among those of the output."""
    columns: tuple[OutputColumn, ...]
    digest: str
    """Of its content, whatever its format."""
    holds_records: bool = True
    """Whether each row is a record of a respondent; False: rows are counts or synthetic, of which nothing
    can be made under a promise about people."""


@dataclass(frozen=True, slots=True)
class RecordedPlan:
    """What a version was made by, and of what."""

    text: str
    """As `VersionFacts.plan`."""
    input_table: DescribedColumns | None
    """As `VersionFacts.input_table`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionFacts:
    """What is recorded about one version of an output."""

    target: IRI
    """The output."""
    format: OutputFormat | ModelFormat
    output_digest: str
    """Of the published content, the same whatever its format and parts."""
    files: tuple[PublishedFile, ...]
    """As they were checked; the certificate's file is not among them."""
    plan: str
    """Canonical JSON, as `serialize.plan_to_json` writes it: what to run to get the output again."""
    plan_digest: str
    policy_digest: str
    policy_uid: IRI
    rule_uid: IRI
    rule_purposes: frozenset[IRI] | None
    """The purposes of the rule that permitted the run; None: no limit."""
    party: IRI
    """On whose behalf the run was made, as the caller asserted."""
    purpose: IRI | None
    inputs: tuple[Input, ...]
    columns: tuple[OutputColumn, ...]
    respondent: Respondent
    """How respondents were counted; what is made from this output inherits it."""
    created_at: datetime
    certificate: str
    """Public, JSON-LD, as `Certificate.to_json` writes it."""
    report: Annotated[Report, ReportBesidePlan()]
    """For the owners of the inputs only."""
    policy_meaning: str | None = None
    """The digest of what the policy meant as its issuer resolved it, with what it inherits
    (`policy.model.meaning`); None: it was recorded by an earlier smalti."""
    input_table: DescribedColumns | None = None
    """All columns that the input had, also those that the plan does not read; None: it was recorded by an
    earlier smalti."""
    population_table: DescribedColumns | None = None
    """The same of the population table; None: there was none, or it was recorded by an earlier smalti."""
    input_description: str | None = None
    """The keyed digest of what described the input, where one who owns it bound it (`described_input`);
    None: somebody else bound it, or it was recorded by an earlier smalti."""
    tables: tuple[OutputTable, ...] = ()
    """Where the output has several; each has a version of its own, which is recorded with this one."""
    whole: IRI | None = None
    """The output that this is one of several tables of; None: it is an output by itself."""
    holds_records: bool = True
    """As `OutputTable.holds_records`."""

    @property
    def recorded_plan(self) -> RecordedPlan:
        return RecordedPlan(self.plan, self.input_table)


@dataclass(frozen=True, slots=True)
class Permitted:
    """What a decision permitted a run to do."""

    request: Request
    grant: str
    """The digest of the permission and the rows that it is limited to (`meaning.grant_digest`)."""
    withheld: tuple[IRI, ...]
    """The columns that were prohibited."""
    implied: tuple[IRI, ...] = ()
    """As `Grant.implied`."""
    spared: tuple[IRI, ...] = ()
    """As `Grant.spared`."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """An earlier version whose folder a run takes; the version stays, in a folder beside it."""

    run: str
    """Of that version."""
    aside: Path
    """Where its folder is moved to, absolute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion(VersionFacts):
    """A version that a run asks to record, with the policy that permitted it."""

    document: bytes
    """The policy document."""
    document_name: str
    issuer: IRI
    """The owner whose word the policy is: who has put it in force, or submits it now."""
    bound_by: IRI
    """Who bound the inputs to data: becomes the owner of those that the registry does not know."""
    signature: bytes | None = None
    """Of the policy document, where it came with one."""
    started_at: datetime | None = None
    """Before the run asked who withdrew: who withdraws from then on keeps it from being recorded."""
    permitted: Permitted | None = None
    """What was decided; the same is asked again before the run is recorded. None: only whether it is
    prohibited by now."""
    binds_as_owner: bool = True
    """Whether `bound_by` owned the inputs, or nobody did, before they were bound."""
    replaces: bool = False
    """Whether its policy takes the place of what its issuer has in force under the same uid."""
    takes_over: TakenOver | None = None
    """The version whose folder it takes, where it takes one."""
    combined_with: tuple[str, ...] | None = None
    """The runs of all earlier releases that it was held together with (`joinable`); None: with none, since
    its promise holds beside any."""
    files_with_rows: tuple[str, ...] = ()
    """The keyed digests of the files that it read and that have rows: by a bare header nothing is known."""
    same_people: tuple[IRI, ...] = ()
    """The assets that share respondents with its inputs by the word of its policy alone."""
    is_same_by_content: bool = True
    """Whether equal content from equal data tells the same (`release_of`): two samples of the same content
    can be of different people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetVersion(VersionFacts):
    """One version of an output; never changed once recorded, but that it may be discarded."""

    number: int
    """From 1 under each output."""
    run: str
    path: Path
    """The published folder, absolute."""
    recorded_at: datetime | None = None
    """By the registry's clock, as withdrawals are; None: it was recorded by an earlier smalti."""
    discarded_at: datetime | None = None
    """When its owner said that nobody has it, and that it is gone (`discarding`)."""

    @property
    def known_since(self) -> datetime:
        """From when on withdrawals came too late for it."""
        return self.recorded_at or self.created_at

    @property
    def iri(self) -> IRI:
        return version_iri(self.run)


@dataclass(frozen=True, slots=True)
class Intent:
    """A run that is about to publish, with all that is needed to end it after a crash."""

    run: str
    stage: Path
    out: Path
    record: NewVersion


def new_run() -> str:
    """A name for a run that nobody else has."""
    return str(uuid.uuid4())


def run_of_table(run: str, table: IRI) -> str:
    """The name under which the version of one of several tables is recorded; always the same."""
    return str(uuid.uuid5(uuid.UUID(run), table))


def version_iri(run: str) -> IRI:
    """The IRI of the version that a run makes; its number is known only when it is recorded."""
    return IRI(VERSION_PREFIX + run)


def discarded_input(version: TargetVersion) -> UsageError:
    """A version that nobody has is not read."""
    return UsageError(
        f"{version.target} version {version.number}",
        "its owner discarded it, and said that nobody has it",
        "another version",
        "bind that, or run its policy again",
    )
