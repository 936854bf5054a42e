"""The privacy risk of a release by an attack on its records: what it tells about them alone.

Giomi, Boenisch, Wehmeyer, Tasnádi, "A Unified Framework for Quantifying Privacy Risk in Synthetic Data",
PoPETs 2023(2), arXiv 2211.10459: the three risks of the Article 29 Working Party (Opinion 05/2014, WP 216)
by attacks that succeed or fail. The same attack on records that were not trained on, the control, shows
what follows from the population alone; a naive attack that looks at nothing shows what a guess achieves.
The risk is R = (r - c) / (1 - c), by the success rates r of the attack and c of the control: what the
attack adds, as a share of what it could add.

Limits are those of Clopper and Pearson, and not Wilson's with errors that are propagated, as in the paper:
they hold for any number of attacks, as all limits that a duty is judged by here. They take the attacks on
one table for independent, as the paper does.
"""

from dataclasses import dataclass

from smalti.transforms.auditing.limits import Figure, Outcomes, of_two, share


@dataclass(frozen=True, slots=True)
class Attempts:
    """What one attack achieved. Private: it is about people."""

    about: str
    """The secret column, the columns of either side, or the kind of guesses; nothing of the data."""
    outcomes: Outcomes
    """True positives: attacks on records that were trained on, and succeeded; false positives: the same of
    the control."""
    naive: tuple[int, int]
    """How often a naive attack on records that were trained on succeeded, and of how many."""

    @property
    def succeeds(self) -> bool:
        """Whether it is right more often than a naive attack; where it is not, low risks say nothing."""
        hits, trials = self.naive
        return self.outcomes.true_positives * trials > hits * self.outcomes.members

    def naive_rate(self, confidence: float) -> Figure:
        """The success rate of the naive attack."""
        return share(*self.naive, confidence)

    def risk(self, confidence: float) -> Figure:
        """The privacy risk, from 0 to 1; its value is None where the control always succeeds.

        Proof:
            R rises with r and falls with c, as r is at most 1. Limits of both at half of the error hold
            together, so R of those ends that are worst is a limit.

        Args:
            confidence: in (0, 1), of each limit.
        """
        of_each = of_two(confidence)
        attack, control = self.outcomes.recall(of_each), self.outcomes.false_positive_rate(of_each)
        rates = attack.value or 0.0, control.value or 0.0
        return Figure(
            None if rates[1] == 1 else _risk(*rates),
            _risk(attack.lower, control.upper),
            _risk(attack.upper, control.lower),
            confidence,
        )


def _risk(attack: float, control: float) -> float:
    """From 0 to 1; 0 for two equal rates of 1, which is the least of what they may hide."""
    return max(0.0, (attack - control) / (1 - control)) if control < 1 else 0.0
