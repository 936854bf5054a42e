"""The tables of a registry, as this version has them."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

meta = Table(
    "smalti_meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", String(255), nullable=False),
)
assets = Table(
    "assets",
    metadata,
    Column("iri", Text, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("registered_at", String(40), nullable=False),
)
owners = Table(
    "owners",
    metadata,
    Column("iri", Text, ForeignKey("assets.iri"), primary_key=True),
    Column("party", Text, primary_key=True),
)
documents = Table(
    "documents",
    metadata,
    Column("digest", String(80), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)
policies = Table(
    "policies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", Text, nullable=False, index=True),
    Column("digest", String(80), ForeignKey("documents.digest"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("issuer", Text, nullable=False),
    Column("added_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)
policy_targets = Table(
    "policy_targets",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("target", Text, primary_key=True, index=True),
)
policy_iris = Table(
    "policy_iris",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("iri", Text, primary_key=True, index=True),
)
"""Every asset that a policy speaks of: its targets, and the members and collections that it names."""
policy_parents = Table(
    "policy_parents",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("uid", Text, primary_key=True),
    Column("parent", Integer, ForeignKey("policies.id"), nullable=False, index=True),
)
policy_signatures = Table(
    "policy_signatures",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("key", String(80), nullable=False, index=True),
    Column("signature", Text, nullable=False),
)
policy_uids = Table(
    "policy_uids",
    metadata,
    Column("policy", Integer, ForeignKey("policies.id"), primary_key=True),
    Column("uid", Text, primary_key=True, index=True),
)
versions = Table(
    "versions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("target", Text, ForeignKey("assets.iri"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("run", String(36), nullable=False, unique=True),
    Column("path", Text, nullable=False),
    Column("format", String(16), nullable=False),
    Column("output_digest", String(80), nullable=False),
    Column("plan", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("policy_digest", String(80), ForeignKey("documents.digest"), nullable=False),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("party", Text, nullable=False),
    Column("purpose", Text),
    Column("created_at", String(40), nullable=False),
    Column("certificate", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("details", Text, nullable=False),
    Column("policy_meaning", String(80)),
    Column("recorded_at", String(40)),
    UniqueConstraint("target", "number"),
)
lineage = Table(
    "lineage",
    metadata,
    Column("version", Integer, ForeignKey("versions.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("input", Text, ForeignKey("assets.iri"), nullable=False, index=True),
    Column("input_version", Integer),
)
hierarchies = Table(
    "hierarchies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("digest", String(80), ForeignKey("documents.digest"), nullable=False),
    Column("party", Text, nullable=False),
    Column("added_at", String(40), nullable=False),
    Column("removed_at", String(40)),
    UniqueConstraint("name", "number"),
)
keys = Table(
    "keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("thumbprint", String(80), nullable=False, index=True),
    Column("owner", Text, nullable=False, index=True),
    Column("pem", Text, nullable=False),
    Column("trusted_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)
authorities = Table(
    "authorities",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    Column("authority", Text, nullable=False),
    Column("trusted_at", String(40), nullable=False),
    Column("ended_at", String(40)),
)
"""Whose hierarchies an owner lets count for what they own."""
withdrawals = Table(
    "withdrawals",
    metadata,
    Column("target", Text, ForeignKey("assets.iri"), primary_key=True),
    Column("hmac", String(80), primary_key=True),
    Column("respondent", Text, nullable=False),
    Column("is_first", Integer, nullable=False),
    Column("withdrawn_at", String(40), nullable=False, index=True),
)
ledgers = Table(
    "ledgers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("neighbors", Text, nullable=False),
)
"""One for each set of respondents: the exact sums of what has been charged about them."""
ledger_members = Table(
    "ledger_members",
    metadata,
    Column("member", Text, primary_key=True),
    Column("ledger", Integer, ForeignKey("ledgers.id"), nullable=False, index=True),
)
charges = Table(
    "charges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", String(36), nullable=False, unique=True),
    Column("target", Text, nullable=False, index=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("selection_delta", Text),
    Column("pure", Text, nullable=False),
    Column("mu_squared", Text, nullable=False),
    Column("neighbors", String(32), nullable=False),
    Column("party", Text, nullable=False),
    Column("purpose", Text),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("charged_at", String(40), nullable=False),
)
"""Only ever added to; the target is that of a version where one was named."""
charge_members = Table(
    "charge_members",
    metadata,
    Column("charge", Integer, ForeignKey("charges.id"), primary_key=True),
    Column("member", Text, ForeignKey("ledger_members.member"), primary_key=True, index=True),
)
audits = Table(
    "audits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", String(36), nullable=False, unique=True),
    Column("target", Text, nullable=False, index=True),
    Column("output", Text, nullable=False, index=True),
    Column("policy_uid", Text, nullable=False),
    Column("rule_uid", Text, nullable=False),
    Column("party", Text, nullable=False),
    Column("bound_by", Text, nullable=False),
    Column("plan_digest", String(80), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("begun_at", String(40), nullable=False),
    Column("ended_at", String(40)),
    Column("figures", Text, nullable=False),
    UniqueConstraint("target", "output", "number"),
)
"""Attempts at models; none is ever removed, and each ends once."""
changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("token", String(32), nullable=False),
    sqlite_autoincrement=True,
)
"""What was changed, in order; the last row is the registry's revision, which indexes in memory follow.

Its random token tells a registry from another one that has as many changes: a restored backup, for one.
"""
intents = Table(
    "intents",
    metadata,
    Column("run", String(36), primary_key=True),
    Column("stage", Text, nullable=False),
    Column("out", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("created_at", String(40), nullable=False),
)
jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("request", Text, nullable=False),
    Column("party", Text, index=True),
    Column("priority", Integer, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("attempts", Integer, nullable=False),
    Column("worker", Text, nullable=False),
    Column("folder", Text),
    Column("lease_until", String(40)),
    Column("was_lost", Integer, nullable=False),
    Column("wants_stop", Integer, nullable=False),
    Column("phase", Text, nullable=False),
    Column("phase_since", String(40)),
    Column("reason", Text, nullable=False),
    Column("result", Text),
    Column("submitted_at", String(40), nullable=False),
    Column("beat_at", String(40)),
    Column("started_at", String(40)),
    Column("ended_at", String(40)),
    sqlite_autoincrement=True,
)
"""What workers do; `attempts` fences: who holds an earlier attempt than the last one may change nothing."""
workers = Table(
    "workers",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("token", String(32), nullable=False),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
    Column("lease_until", String(40), nullable=False),
)
"""The workers of a registry, each under a name of its own."""
access = Table(
    "access",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("handle", String(32), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("digest", String(80)),
    Column("issuer", Text),
    Column("subject", Text),
    Column("party", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("added_at", String(40), nullable=False),
    Column("revoked_at", String(40)),
)
"""Who may ask the service: digests of keys, and subjects of tokens; none is ever removed."""
answers = Table(
    "answers",
    metadata,
    Column("party", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", String(80), nullable=False),
    Column("begun_at", String(40), nullable=False, index=True),
    Column("status", Integer),
    Column("headers", Text),
    Column("body", LargeBinary),
)
"""What the service answered to requests with a key of their own; removed after a day."""
sessions = Table(
    "sessions",
    metadata,
    Column("token", String(80), primary_key=True),
    Column("key", String(80), nullable=False, index=True),
    Column("begun_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False, index=True),
)
"""Who is signed in to the service's pages: digests of tokens and keys, and milliseconds since 1970."""
bindings = Table(
    "bindings",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("target", Text, ForeignKey("assets.iri"), nullable=False, index=True),
    Column("party", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("is_uploaded", Integer, nullable=False),
    Column("digest", String(80)),
    Column("size", BigInteger),
    Column("bound_at", String(40), nullable=False),
    Column("ended_at", String(40)),
)
"""Which data a target is, by its owner's word; at most one in force for each."""
data_flows = Table(
    "data_flows",
    metadata,
    Column("key", String(36), primary_key=True),
    Column("id", Text, nullable=False),
    Column("party", Text, nullable=False),
    Column("counterparty", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("rule", Text),
    Column("callback", Text, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("job", String(36)),
    Column("out", Text, index=True),
    Column("run", String(36)),
    Column("error", Text, nullable=False),
    Column("call", String(16)),
    Column("calls", Integer, nullable=False),
    Column("call_at", String(40), index=True),
    Column("changed_at", String(40), nullable=False),
    UniqueConstraint("party", "id"),
)
"""What control planes had this data plane start; none is ever removed."""
