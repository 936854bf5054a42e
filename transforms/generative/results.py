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
class RiskFigures:
    """One of the risks of a table (Giomi et al. 2023). Private: its figures are about people."""

    attack: str
    about: str
    """The secret column, the columns of either side, or the kind of guesses."""
    attempts: int
    """On members."""
    control_attempts: int
    success: Figure
    """The share of attacks on members that succeed."""
    control: Figure
    """The same about others."""
    naive: Figure
    """Of a naive attack on members."""
    risk: Figure
    """What the attack adds to its success on others, as a share of what it could add."""
    is_better: bool
    """Whether the attack succeeds more often than the naive one; otherwise a low risk says nothing."""


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
    """Of those that say who a member is."""
    risks: tuple[RiskFigures, ...] = ()
    """Of those on tables that succeed or fail."""
    has_no_guess: bool = False
    """Whether singling out was tried, and nothing singled a sample out: then it shows nothing."""
    is_test_only: bool = False
    """Whether the model's file states that its randomness came from a seed."""

    @property
    def best(self) -> AttackFigures | None:
        """The one with the greatest accuracy of single membership; None where none says who a member is."""
        return max(self.attacks, key=lambda each: each.single.value or 0.0, default=None)

    @property
    def greatest(self) -> RiskFigures | None:
        """The greatest risk, by its lower limit; None where none was measured."""
        return max(self.risks, key=lambda each: (each.risk.lower, each.risk.value or 0.0), default=None)
