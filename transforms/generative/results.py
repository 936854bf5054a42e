"""What an audit of a generative model found."""

from dataclasses import dataclass

from smalti.transforms.auditing.limits import Figure


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """One attack. Private: its figures are about people."""

    attack: str
    """With the distance, if it has one."""
    single: Figure
    """Accuracy of single membership, on disjoint records."""
    sets: Figure
    """Share of right answers about sets, on disjoint records."""
    document_single: float
    """The bare average of the document's protocol, which draws records anew for each attack."""
    document_sets: float


@dataclass(frozen=True, slots=True)
class GenerativeAudit:
    """All attacks on one generative model. Private."""

    model: str
    """The name of the file of the model or of its samples, or that it is a command."""
    members: int
    """That were audited."""
    others: int
    """That were audited."""
    reference: int
    """Others from which distances were learned; 0 where nothing is."""
    equal: int
    """Audited others that are equal to an audited member."""
    samples: int
    """That attacks by samples took; 0 where none did."""
    size: int
    """M: members, and as many others, in one attack."""
    disjoint: int
    """Attacks of which no two have a record in common."""
    repeated: int
    """Attacks of the document's protocol."""
    least: tuple[int, int]
    """Members, and as many others, that it takes to show that half of the members are memorised: by single
    membership, and by sets."""
    confidence: float
    seed: int
    attacks: tuple[AttackFigures, ...]
    is_test_only: bool = False
    """Whether the model's file states that its randomness came from a seed."""

    @property
    def best(self) -> AttackFigures:
        """The one with the greatest accuracy of single membership."""
        return max(self.attacks, key=lambda each: each.single.value or 0.0)
