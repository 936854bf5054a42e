"""The state of reading one policy, and the kinds of rules in it."""

from dataclasses import dataclass, field
from enum import Enum

from smalti.policy.model.model import Membership, PolicyType, Shared
from smalti.policy.read.properties import Place
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place as TextPlace
from smalti.vocab.terms import IRI


class Kind(Enum):
    """A kind of rule: its word, the type of its nodes (a local name of ODRL), and what it may have."""

    PERMISSION = ("permission", "Permission", Place.PERMISSION)
    PROHIBITION = ("prohibition", "Prohibition", Place.PROHIBITION)
    OBLIGATION = ("obligation", "Duty", Place.DUTY)
    DUTY = ("duty", "Duty", Place.DUTY)
    REMEDY = ("remedy", "Duty", Place.REMEDY)
    CONSEQUENCE = ("consequence", "Duty", Place.CONSEQUENCE)

    def __init__(self, word: str, type_: str, place: Place) -> None:
        self.word = word
        self.type = type_
        self.place = place

    @property
    def may_lack_target(self) -> bool:
        """Duties that concern no asset have no target (ODRL IM 2.6.3)."""
        return self.place in {Place.DUTY, Place.REMEDY, Place.CONSEQUENCE}


@dataclass(frozen=True, slots=True)
class Claim:
    """A document's claim that an asset or a party belongs to every rule of its policy."""

    part: str
    """`target`, `assigner` or `assignee`."""
    iri: IRI
    word: str
    place: TextPlace


@dataclass(slots=True)
class Reading:
    """One policy while it is read."""

    scope: Scope
    uid: IRI
    type: PolicyType
    shared: Shared
    """What its parents state for all rules: a rule takes the parts that it lacks."""
    is_whole: bool
    """False when a parent is unavailable: what seems to be missing may come from there."""
    memberships: dict[Membership, None] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
