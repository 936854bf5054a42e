"""Where the rules of a decision come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from smalti.policy.decide.matching import Situation, touches
from smalti.policy.decide.prepared import PreparedPolicy, PreparedRule
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI


def distinct(policies: Iterable[Policy]) -> list[Policy]:
    """The policies in order, each once."""
    by_name: dict[tuple[IRI, str], list[Policy]] = {}
    kept = []
    for policy in policies:
        same = by_name.setdefault((policy.uid, policy.document_digest), [])
        if policy not in same:
            same.append(policy)
            kept.append(policy)
    return kept


class Rules(ABC):
    """The rules that a decision is made by, in their policies' order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rules."""

    @abstractmethod
    def candidates(self, situation: Situation) -> Iterable[PreparedRule]:
        """In order, every rule that may apply, and perhaps others."""

    @abstractmethod
    def touching(self, situation: Situation, most: int | None = None) -> Sequence[PreparedRule]:
        """In order, exactly the rules about a requested target, a part of it, or a whole that contains it.

        Args:
            situation: the request.
            most: at most so many, the first ones; None: all.
        """

    @abstractmethod
    def number_touching(self, situation: Situation) -> int:
        """The number of rules that `touching` returns."""

    @abstractmethod
    def is_about(self, situation: Situation) -> bool:
        """Whether such a rule is about the requested action, or about one that overlaps it."""

    def may_prohibit_only(self, policy: PreparedPolicy) -> bool:
        """Whether the permissions and obligations of a policy do not count for the request."""
        return False


class ListedRules(Rules):
    """All rules of some policies."""

    def __init__(self, policies: Sequence[PreparedPolicy]) -> None:
        self._rules = [rule for policy in policies for rule in policy.rules]
        for order, rule in enumerate(self._rules):
            rule.order = order
        self._touching: list[PreparedRule] | None = None

    @property
    def size(self) -> int:
        return len(self._rules)

    def candidates(self, situation: Situation) -> Iterable[PreparedRule]:
        return self._rules

    def touching(self, situation: Situation, most: int | None = None) -> Sequence[PreparedRule]:
        if self._touching is None:
            self._touching = [rule for rule in self._rules if touches(rule, situation)]
        return self._touching[:most]

    def number_touching(self, situation: Situation) -> int:
        return len(self.touching(situation))

    def is_about(self, situation: Situation) -> bool:
        return any(rule.is_about(situation.request.action) for rule in self.touching(situation))
