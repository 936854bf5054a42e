"""What a policy says, as frozen values.

A `Policy` exists only when its document had no error (see `smalti.policy.parse`): nothing in here is
unchecked text, and what this version does not implement never reaches these types.
"""

from dataclasses import dataclass
from enum import StrEnum

from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a document."""

    document: str
    """Name of the document, as the user gave it."""
    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    pointer: str = ""
    """JSON pointer (RFC 6901) into the document."""

    def __str__(self) -> str:
        return f"{self.document}:{self.line}:{self.column}"


class Operator(StrEnum):
    """The operators that a bound may use."""

    EQ = "eq"
    GTEQ = "gteq"
    LTEQ = "lteq"


class ConflictStrategy(StrEnum):
    """What a permission and a prohibition of one policy about the same request amount to (ODRL IM 2.9)."""

    PERMIT = "perm"
    PROHIBIT = "prohibit"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Bound:
    """A whole number that a guarantee must have (`eq`), or must reach (`gteq`)."""

    operator: Operator
    value: int
    where: Where


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A column, by its IRI; a bare name in the document is resolved under the rule's target."""

    iri: IRI
    where: Where


@dataclass(frozen=True, slots=True)
class Anonymization:
    """The refinements of an `odrl:anonymize` action.

    Column lists are sets in ODRL: they are sorted by IRI here, and no column is in two of them.
    """

    method: str
    """`k-anonymity` or `l-diversity` (vocab.terms)."""
    algorithm: str
    """`mondrian`."""
    k: Bound
    l: Bound | None  # noqa: E741 (the literature's name)
    """Present exactly when the method is l-diversity."""
    identifiers: tuple[ColumnReference, ...]
    quasi_identifiers: tuple[ColumnReference, ...]
    sensitive: tuple[ColumnReference, ...]
    released: tuple[ColumnReference, ...]
    respondent: ColumnReference | None
    """The column that names the person a row is about, when the policy declares one."""
    one_row_each: bool
    """True when the policy declares that each row is about another person."""
    where: Where


@dataclass(frozen=True, slots=True)
class Rule:
    """A permission or a prohibition, atomic: one action, one target."""

    uid: IRI
    """The document's, or one made from the document's digest and the rule's place."""
    action: IRI
    target: IRI
    assignee: IRI | None
    """None: anybody."""
    assigner: IRI | None
    purposes: frozenset[IRI] | None
    """The request's purpose must be one of these; None: no limit."""
    where: Where


@dataclass(frozen=True, slots=True)
class Permission(Rule):
    output: IRI | None
    """The asset that the action makes (`odrl:output`); present exactly for `anonymize`."""
    anonymization: Anonymization | None
    """Present exactly for `anonymize`."""


@dataclass(frozen=True, slots=True)
class Prohibition(Rule):
    """Forbids the action, and every action included in it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy of a document."""

    uid: IRI
    """The document's, or `urn:smalti:policy:sha256:...` made from its bytes."""
    document_digest: str
    """`sha256:` and hexadecimal digits, of the document's bytes."""
    conflict: ConflictStrategy
    permissions: tuple[Permission, ...]
    prohibitions: tuple[Prohibition, ...]
    where: Where

    @property
    def targets(self) -> frozenset[IRI]:
        """The assets that the policy's rules are about."""
        return frozenset(rule.target for rule in (*self.permissions, *self.prohibitions))
