"""Policies as frozen values.

A `Policy` exists only when its document had no error (see `smalti.policy.read.parse`): nothing in here is
unchecked text. Two values are equal when they have the same meaning; their place (`where`) does not count.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from smalti.vocab.terms import ANATOMY, ANONYMIZE, IRI, ODRL_PURPOSE, SYNTHESIS, TRAIN


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a document."""

    document: str
    """Name of the document, as the user gave it."""
    line: int
    """From 1; 0 where the document is no JSON text, and `node` names the place."""
    column: int
    """From 1, in characters; 0 likewise."""
    pointer: str = ""
    """JSON pointer (RFC 6901) into the document."""
    node: str = ""
    """The node that is meant, in a document that is read as RDF (Turtle)."""

    def __str__(self) -> str:
        return (
            f"{self.document}: {self.node}" if self.node else f"{self.document}:{self.line}:{self.column}"
        )


NOWHERE = Where("", 0, 0)
"""The place of values that are in no document."""


class Operator(StrEnum):
    """The operators of constraints and refinements (ODRL IM 2.5); what each means: `decide.conditions`."""

    EQ = "eq"
    NEQ = "neq"
    GT = "gt"
    GTEQ = "gteq"
    LT = "lt"
    LTEQ = "lteq"
    IS_A = "isA"
    HAS_PART = "hasPart"
    IS_PART_OF = "isPartOf"
    IS_ALL_OF = "isAllOf"
    IS_ANY_OF = "isAnyOf"
    IS_NONE_OF = "isNoneOf"


class LogicalOperator(StrEnum):
    """How the operands of a logical constraint are taken together (ODRL IM 2.5.2)."""

    AND = "and"
    OR = "or"
    XONE = "xone"
    AND_SEQUENCE = "andSequence"


class ConflictStrategy(StrEnum):
    """Which rule wins if a permission and a prohibition of one policy apply to a request (ODRL IM 2.9)."""

    PERMIT = "perm"
    PROHIBIT = "prohibit"
    INVALID = "invalid"


class PolicyType(StrEnum):
    """The normative types of policies (ODRL IM 2.1); `odrl:Policy` and no type at all are a Set."""

    SET = "Set"
    OFFER = "Offer"
    """Grants nothing: it proposes the rules of a later Agreement."""
    AGREEMENT = "Agreement"


# --- Values on the right of an operator


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """An IRI as a value: a concept, a party, an asset, a column."""

    iri: IRI
    where: Where = field(default=NOWHERE, compare=False, repr=False)
    """Of a column; elsewhere the comparison's place says it."""


@dataclass(frozen=True, slots=True, order=True)
class Number:
    """Exact, from the document's text."""

    value: Decimal


@dataclass(frozen=True, slots=True, order=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True, order=True)
class Truth:
    value: bool


@dataclass(frozen=True, slots=True)
class Instant:
    """A date with a time of day; without a time zone it may be any (see `policy.decide.conditions`)."""

    time: datetime


@dataclass(frozen=True, slots=True, order=True)
class Day:
    """A calendar day, in whatever time zone."""

    day: date


Value = Named | Number | Text | Truth | Instant | Day


# --- Conditions


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A column, by its IRI; a bare name in the document is resolved under the rule's target."""

    iri: IRI
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A constraint or refinement on a fact about the world, the request or the requested action."""

    operand: IRI
    """Canonical: MOSAICrOWN's and DPV's purpose are `odrl:purpose` here."""
    operator: Operator
    values: tuple[Value, ...]
    """At least one. A set: sorted, without repetitions."""
    unit: IRI | None = None
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A limit to those rows of the target whose value in a column compares so.

    A row without a value in the column satisfies nothing.
    """

    column: ColumnReference
    operator: Operator
    values: tuple[Value, ...]
    """At least one. A set: sorted, without repetitions."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical constraint; its operands are at least one, in the document's order for `andSequence`."""

    operator: LogicalOperator
    operands: "tuple[Condition, ...]"
    where: Where = field(default=NOWHERE, compare=False, repr=False)


Condition = Comparison | ColumnComparison | Logical


@dataclass(frozen=True, slots=True)
class Bound:
    """A whole number that a guarantee must have (`eq`), or must reach (`gteq`)."""

    operator: Operator
    value: int
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DecimalBound:
    """A number that training must have (`eq`), or must not be above (`lteq`) or below (`gteq`); exact."""

    operator: Operator
    value: Decimal
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Anonymization:
    """The refinements of an `odrl:anonymize` action.

    Column lists are sets in ODRL: they are sorted by IRI here, and no column is in two of them.
    """

    method: str
    """The privacy model (vocab.words.METHODS)."""
    algorithm: str | None
    """The technique (vocab.words.ALGORITHMS), or of several the one that makes classes; None where the
    document names none, or several of masking."""
    k: Bound | None
    """Present for every method that needs it."""
    l: Bound | None  # noqa: E741 (the literature's name)
    """Present exactly when the method is l-diversity."""
    identifiers: tuple[ColumnReference, ...]
    quasi_identifiers: tuple[ColumnReference, ...]
    sensitive: tuple[ColumnReference, ...]
    released: tuple[ColumnReference, ...]
    respondent: ColumnReference | None
    """The column that names the person a row is about, when the policy declares one."""
    one_row_each: bool
    """True when the policy declares that each row is about a different person."""
    parameters: tuple[Condition, ...] = ()
    """Every other refinement, checked against the profile; a parameter of one column is a `Logical` with
    `and` of `smalti:column` and the parameter."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)
    several_algorithms: tuple[str, ...] = ()
    """All of them where the document names several, sorted: of masking, or one that makes classes and what
    stands beside it."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """All techniques that the document names, sorted."""
        return self.several_algorithms or (() if self.algorithm is None else (self.algorithm,))

    @property
    def how(self) -> tuple[str, str | None]:
        """The method, and the technique where one is named."""
        return self.method, self.algorithm

    @property
    def unchanged(self) -> tuple[ColumnReference, ...]:
        """The columns that it publishes as they are, each beside the others of its row."""
        return (*self.quasi_identifiers, *self.released) if self.algorithm == ANATOMY else self.released


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The refinements of an `smalti:train` action: which model is trained, and how privately.

    The rule's `output` is the model, or a table of records that it gives (`synthetic_records`). Where
    nothing bounds the privacy loss, no noise is added, and what is published may hold what was learned.
    Else training is private (`is_private`), and its noise comes from `noise_multiplier`, from a bound on
    the loss, or from both: then the noise is exactly that, and must meet the bound.
    """

    recipe: str
    """The name of the model to train; whether there is such a recipe is not the policy's business."""
    label_column: ColumnReference | None
    """What the model learns to predict; None exactly where synthetic records are published."""
    identifiers: tuple[ColumnReference, ...] = ()
    """Dropped before training (`mosaicrown:identifier`), sorted by IRI; neither label nor respondent is
    needed among them. The model learns from every other column."""
    respondent: ColumnReference | None = None
    """What tells people apart (`smalti:respondent`), as for `Anonymization`; never the label."""
    one_row_each: bool = False
    """True when the policy declares that each row is about another person."""
    noise_multiplier: DecimalBound | None = None
    """Standard deviation of the noise on a batch's sum of gradients, as a multiple of the clipping norm."""
    clipping_norm: DecimalBound | None = None
    """Largest L2 norm of a record's gradient. Present exactly where training is private."""
    sampling_rate: DecimalBound | None = None
    """Share of the records in a batch: each record's chance to be in it. Present exactly where training is
    private; the batches of other training are the recipe's."""
    epochs: Bound | None = None
    """Passes over the records. Present with `noise_multiplier`; else None leaves it to the recipe."""
    epsilon: DecimalBound | None = None
    """Largest privacy loss of the whole training. At most one of this and the next two is present."""
    posterior_belief: DecimalBound | None = None
    """Largest belief in a respondent's presence among the records, one half before training."""
    membership_advantage: DecimalBound | None = None
    """Largest advantage of guessing a respondent's presence among the records."""
    delta: DecimalBound | None = None
    """Above 0. Present exactly where training is private: its loss is told, and charged, at this delta."""
    neighbors: str | None = None
    """The neighbouring relation over respondents (vocab.words); None where the document names none, or
    training is not private."""
    rows_per_respondent: Bound | None = None
    """Most records of one respondent; None where the document names none, or training is not private."""
    parameters: tuple[Condition, ...] = ()
    """Every other refinement: left operands of ODRL."""
    synthetic_records: Bound | None = None
    """How many synthetic records are published in the place of a model (`smalti:syntheticRecords`)."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    @property
    def way(self) -> str | None:
        """As the method of `Permission.how`: None of a model that predicts."""
        return None if self.synthetic_records is None else SYNTHESIS

    @property
    def is_private(self) -> bool:
        """Whether noise is added, so that the privacy loss is bounded."""
        return self.noise_multiplier is not None or self.loss_bound is not None

    @property
    def loss_bound(self) -> DecimalBound | None:
        """The bound on the privacy loss, as an epsilon, a belief or an advantage."""
        return self.epsilon or self.posterior_belief or self.membership_advantage


CONFIDENCE: Final = Decimal("0.95")
"""Of the bounds of an audit, where the document names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The refinements of an `smalti:audit` duty: which attacks a model must withstand, and how well.

    At least one bound is present. A bound is met when no attack's figure exceeds it at `confidence`.
    """

    attacks: tuple[str, ...]
    """At least one of `vocab.words.ATTACKS`; sorted, without repetitions. Each of them must be tried."""
    attack_advantage: Decimal | None = None
    """Largest true positive rate minus false positive rate."""
    attack_precision: Decimal | None = None
    """Largest share of members among the records that an attack calls members."""
    true_positive_rate: Decimal | None = None
    """Largest true positive rate where the false positive rate is `false_positive_rate`."""
    false_positive_rate: Decimal | None = None
    """Present exactly where `true_positive_rate` is."""
    epsilon_lower_bound: Decimal | None = None
    """Largest lower bound on the privacy loss that an attack may prove."""
    confidence: Decimal = CONFIDENCE
    """Of each figure's upper limit by itself. A model whose true figure exceeds a bound passes with at most
    the remaining chance, however many attacks and bounds there are: each limit must meet its bound."""
    parameters: tuple[Condition, ...] = ()
    """Every other refinement: left operands of ODRL."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)


def operands_of(condition: Condition) -> frozenset[IRI]:
    """The operands of the comparisons in a condition; columns are left out."""
    match condition:
        case Comparison(operand=operand):
            return frozenset({operand})
        case Logical(operands=operands):
            return frozenset[IRI]().union(*map(operands_of, operands))
        case ColumnComparison():
            return frozenset()


def _listed_purposes(condition: Condition) -> frozenset[IRI]:
    if isinstance(condition, Comparison) and condition.operator in _POSITIVE:
        return frozenset(value.iri for value in condition.values if isinstance(value, Named))
    return frozenset()


_POSITIVE = frozenset({Operator.EQ, Operator.IS_A, Operator.IS_ANY_OF})


# --- Rules


@dataclass(frozen=True, slots=True)
class Asset:
    """A target of a rule: an asset, a collection with its members, or a part of one."""

    iri: IRI
    """Of the asset; of a collection that is refined, its `source`."""
    refinements: tuple[Condition, ...] = ()
    """Of an asset collection: only what satisfies them is meant; limits to rows among them."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Party:
    """A party of a rule: one, a group with its members, or those of a group whom something is true of."""

    iri: IRI
    """Of the party; of a collection that is refined, its `source`."""
    refinements: tuple[Condition, ...] = ()
    where: Where = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Function:
    """What a duty is to a further party (ODRL IM 2.3.1): whom it compensates, tracks, informs."""

    function: IRI
    party: Party


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A permission, prohibition or duty with one action.

    A rule that a document writes with several actions becomes one `Rule` for each, all with its uid.
    Several targets stay together: who may see them jointly is told by one rule (joint visibility).
    """

    uid: IRI
    """The document's, or one made from the document's digest and the rule's place."""
    action: IRI
    targets: tuple[Asset, ...]
    """At least one, except for duties that need none; sorted by IRI."""
    assignees: tuple[Party, ...] = ()
    """Empty: anybody. Otherwise any of these."""
    assigners: tuple[Party, ...] = ()
    constraints: tuple[Condition, ...] = ()
    """All must hold."""
    refinements: tuple[Condition, ...] = ()
    """Of the action; all must hold of the requested action. Empty where `anonymization`, `training` or
    `audit` is present, but in a grant that a duty to anonymize amounts to: there its permission's."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    @property
    def purposes(self) -> frozenset[IRI] | None:
        """The purposes that the rule is limited to, each with the narrower ones.

        None: no constraint is about the purpose. Empty: some are, and they are no plain list of purposes.
        """
        purposes: frozenset[IRI] | None = None
        for constraint in self.constraints:
            if ODRL_PURPOSE in operands_of(constraint):
                listed = _listed_purposes(constraint)
                purposes = listed if purposes is None else purposes & listed
        return purposes


How: TypeAlias = tuple[IRI, str | None, str | None]
"""An action that makes an asset, its method, and its technique."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty(Rule):
    """What must be done: for a permission (duty), by itself (obligation), after a violation (remedy)."""

    functions: tuple[Function, ...] = ()
    """Of further parties; none of a duty that a plan fulfils. Whoever says that a duty is fulfilled says it
    of them, too."""
    output: IRI | None = None
    anonymization: Anonymization | None = None
    """Present exactly for `anonymize`, except in a remedy that does not say how."""
    audit: Audit | None = None
    """Present exactly for `smalti:audit`."""
    consequences: "tuple[Duty, ...]" = ()
    """What must be done when the duty was not; none of them has any."""

    @property
    def how(self) -> How | None:
        """As `Permission.how`, for actions that make an asset."""
        return None if self.anonymization is None else (self.action, *self.anonymization.how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission(Rule):
    output: IRI | None = None
    """The asset that the action makes (`odrl:output`): present exactly for `anonymize`, and for
    `smalti:train`, where it is the model or the table of its records."""
    anonymization: Anonymization | None = None
    """Present exactly for `anonymize`."""
    training: Training | None = None
    """Present exactly for `smalti:train`."""
    duties: tuple[Duty, ...] = ()

    @property
    def how(self) -> How | None:
        """The action that it specifies; None: it specifies none."""
        if self.training is not None:
            return TRAIN, self.training.way, None
        return None if self.anonymization is None else (ANONYMIZE, *self.anonymization.how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prohibition(Rule):
    """Forbids the action, and every action included in it."""

    remedies: tuple[Duty, ...] = ()


# --- Policies


@dataclass(frozen=True, slots=True, order=True)
class Membership:
    """A document's statement that an asset or a party belongs to a collection; for its own policy only."""

    member: IRI
    collection: IRI
    of_parties: bool = False
    """Said of a party; False: of an asset. A party's group says nothing of assets with its IRI."""


@dataclass(frozen=True, slots=True, order=True)
class Inclusion:
    """A document's definition of an action: it is included in a broader one; for its own policies only."""

    action: IRI
    broader: IRI


@dataclass(frozen=True, slots=True)
class Interval:
    """From the first instant (included) up to the last one (not included); None: open. In UTC."""

    start: datetime | None
    end: datetime | None

    def contains(self, time: datetime) -> bool:
        """Whether an instant (with its time zone) lies inside."""
        return (self.start is None or self.start <= time) and (self.end is None or time < self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The parts that a policy states once for all its rules (compact form, ODRL IM 2.7.1).

    Its own rules have it already. The rules of policies that inherit from it take it where they lack it.
    """

    actions: tuple[IRI, ...] = ()
    """Empty also where one of them is refined: a refinement is not passed on."""
    targets: tuple[Asset, ...] = ()
    assignees: tuple[Party, ...] = ()
    assigners: tuple[Party, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy of a document, with what it inherits."""

    uid: IRI
    """The document's, or `urn:smalti:policy:sha256:...` made from its bytes."""
    document_digest: str
    """`sha256:` and hexadecimal digits, of the document's bytes."""
    type: PolicyType = PolicyType.SET
    profiles: tuple[IRI, ...] = ()
    inherits: tuple[IRI, ...] = ()
    """The uids of its parents; their rules are among its own already."""
    inherited_digests: tuple[str, ...] = ()
    """Of the parents' documents, in the order of `inherits`."""
    conflict: ConflictStrategy = ConflictStrategy.INVALID
    valid: Interval | None = None
    """When the policy is in force (`dct:valid`); None: always."""
    permissions: tuple[Permission, ...] = ()
    prohibitions: tuple[Prohibition, ...] = ()
    obligations: tuple[Duty, ...] = ()
    memberships: tuple[Membership, ...] = ()
    inclusions: tuple[Inclusion, ...] = ()
    shared: Shared | None = None
    """What its children's rules may take from it; None: nothing."""
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Permissions, prohibitions and obligations."""
        return (*self.permissions, *self.prohibitions, *self.obligations)

    @property
    def targets(self) -> frozenset[IRI]:
        """The assets that the policy's rules are about."""
        return frozenset(target.iri for rule in self.rules for target in rule.targets)
