"""One-run auditing of the one model: every respondent threw a coin of their own for being trained on.

No independence of scores is taken for granted then (`transforms.auditing.one_run`), but the model must be
asked about all respondents: choosing as many members as others would look at the coins. So it is there for
attacks that need nothing beside the model, and where the plan's part is one half. It says little where
delta is large: everything about a respondent may show with probability delta, which excuses good guesses.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from smalti.engine.training.judge import Reached
from smalti.transforms.auditing.one_run import one_run
from smalti.transforms.membership.attack import Attack, Needs
from smalti.transforms.membership.data import DataSet
from smalti.transforms.membership.models import Classifier
from smalti.transforms.membership.observation import Observation
from smalti.transforms.problem import Flags

FAIR: Final = Fraction(1, 2)
_LEAST: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """All respondents of a training, those with equal content among them, and their coins. Private."""

    records: DataSet
    """In the order of the file, which says nothing about coins."""
    included: Flags
    """bool[records]: whether the model was trained on the record; by a fair coin of its own."""

    def suit(self, attack: Attack) -> bool:
        """Whether the bound is there for an attack."""
        return attack.needs is Needs.NOTHING and len(self.records) >= _LEAST

    def bound(self, attack: Attack, target: Classifier, delta: float, confidence: float) -> Reached:
        """What an attack on the model shows of its epsilon, for one respondent more or less."""
        confidences = target.confidences(self.records.features)
        scores = attack.scores(Observation(self.records.labels, confidences))
        shown, most = (
            one_run(ranking, self.included, delta, confidence)
            for ranking in (scores, self.included.astype(float))
        )
        return Reached(shown, most.epsilon)
