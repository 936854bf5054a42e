"""Singling out, linkability and attribute inference as parts of an audit of synthetic records.

An advantage is the greatest of those of all secret columns, of all ways to divide the columns, or of both
kinds of guesses: a bound is met only where each keeps to it, so each limit needs no more than its own
confidence (an intersection-union test, `attempts`). A kind of which there are a few guesses, as of extreme
values, is shown, and decides only where the other one has no more.

The leak counts as found where it is for one of them: a column that follows from the others, or has one
value for nearly everybody, tells little even where records are copied.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from smalti.engine.training.attacks import SINGLING_OUT
from smalti.engine.training.figures import AttackResult, Detail, Figure
from smalti.transforms.auditing.limits import Figure as Limits
from smalti.transforms.generative.linking import Inference, Linkability, Targets
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.generative.singling_out import SinglingOut
from smalti.transforms.membership.confidences import Doubles

_FEWEST: Final = 100
"""Attacks of one kind that decide; whom they are about is the same number for all attacks but guesses."""
_Tried = Callable[[Targets, Doubles, np.random.Generator], tuple[Attempts, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class RiskAttack:
    """One of the attacks, and those who are attacked. Private."""

    name: str
    targets: Targets
    seed: tuple[int, ...]
    """Draws guesses, naive guesses and the order of equally near records."""

    def leak(self, table: Doubles, confidence: float) -> float:
        """The lower limit of its advantage on a table that leaks: above 0 where it finds the leak.

        Args:
            table: the records, in any order.
            confidence: of the limit.
        """
        attempts = _deciding(self._tried(table, 1))
        return max((each.outcomes.advantage(confidence).lower for each in attempts), default=0.0)

    def result(self, published: Doubles, leaked: Doubles, confidence: float) -> AttackResult:
        """What it achieved on synthetic records, and on a leak.

        Args:
            published: the records that would be, in any order.
            leaked: those of a table that leaks.
            confidence: of each limit alone.
        """
        attempts, leak = self._tried(published, 0), self.leak(leaked, confidence)
        limits = [each.outcomes.advantage(confidence) for each in _deciding(attempts)]
        advantage = Figure(
            figure="attackAdvantage",
            value=max((limit.value or 0.0 for limit in limits), default=None),
            limit=max((limit.upper for limit in limits), default=None),
        )
        return AttackResult(
            attack=self.name,
            members=self.targets.members,
            non_members=len(self.targets.records) - self.targets.members,
            area=None,
            curve=(),
            figures=(advantage,),
            finds_leak=leak > 0,
            leak_advantage=leak,
            details=tuple(detail for each in attempts for detail in _details(each, confidence)),
        )

    def _tried(self, table: Doubles, number: int) -> tuple[Attempts, ...]:
        draw = np.random.default_rng((*self.seed, number))
        return _ATTACKS[self.name](self.targets, _shuffled(table, draw), draw)


def _shuffled(table: Doubles, draw: np.random.Generator) -> Doubles:
    """Its records, each once, in an order that says nothing of their values."""
    distinct = np.unique(table, axis=0)
    return distinct[draw.permutation(len(distinct))]


def _deciding(attempts: tuple[Attempts, ...]) -> tuple[Attempts, ...]:
    """Those that decide: all of many attacks, or of the most where none is of many."""
    most = max((each.outcomes.members for each in attempts), default=0)
    return tuple(each for each in attempts if each.outcomes.members >= min(_FEWEST, most))


def _singled_out(targets: Targets, table: Doubles, draw: np.random.Generator) -> tuple[Attempts, ...]:
    search = SinglingOut(targets, draw)
    search.add(table)
    return search.attempts()


def _linked(targets: Targets, table: Doubles, draw: np.random.Generator) -> tuple[Attempts, ...]:
    search = Linkability(targets)
    search.add(table)
    return search.attempts(draw)


def _inferred(targets: Targets, table: Doubles, draw: np.random.Generator) -> tuple[Attempts, ...]:
    search = Inference(targets)
    search.add(table)
    return search.attempts(draw)


_ATTACKS: Final[Mapping[str, _Tried]] = {
    SINGLING_OUT: _singled_out,
    "linkability": _linked,
    "attribute-inference": _inferred,
}


def _details(attempts: Attempts, confidence: float) -> Sequence[Detail]:
    about, outcomes = attempts.about, attempts.outcomes
    return (
        _detail(f"{about}: success about members, of {outcomes.members}", outcomes.recall(confidence)),
        _detail(f"{about}: about others", outcomes.false_positive_rate(confidence)),
        _detail(f"{about}: of a naive attack about members", attempts.naive_rate(confidence)),
        _detail(f"{about}: advantage", outcomes.advantage(confidence)),
        _detail(f"{about}: risk (Giomi et al. 2023)", attempts.risk(confidence)),
    )


def _detail(name: str, limits: Limits) -> Detail:
    return Detail(name=name, value=limits.value, lower=limits.lower, upper=limits.upper)
