"""The attack on synthetic records: who was learned from, by nothing but what is published.

Members are a random half of the respondents, on whom the model is trained; the others are held out. What
attacks and limits need is fixed before there is a model.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from smalti.engine.training.attainable import Size, check_attainable, delta_of
from smalti.engine.training.figures import AuditFigures
from smalti.engine.training.judge import Judge
from smalti.engine.training.plan import Audit
from smalti.engine.training.synthesis_plan import SynthesisPlan
from smalti.engine.training.synthetic_table import mixed_columns
from smalti.errors import DataError
from smalti.transforms.membership.gower import MixedColumns
from smalti.transforms.membership.nearest_record import (
    leaking_records,
    nearest_record_scores,
    share_of_leak,
)
from smalti.transforms.membership.planted_leak import least_records
from smalti.transforms.membership.scored import Scored
from smalti.transforms.problem import Flags, Integers

_NO_RECORDS: Final = DataError(
    "the audit",
    "the data is too little",
    "enough respondents for the confidence of the duty",
    "ask for a lower confidence, or add data",
)


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """Those who are attacked, and what the attack knows. Private."""

    audit: Audit
    columns: MixedColumns
    number: int
    """Of synthetic records."""
    members: Integers
    """Shape (members, columns): who is trained on."""
    others: Integers
    """Shape (others, columns): who is not, and has no record that is trained on."""
    seed: int

    @classmethod
    def prepared(cls, plan: SynthesisPlan, audit: Audit, records: Integers, seed: int) -> Self:
        """Draw who is trained on: each with the plan's probability, independently of all others.

        Args:
            plan: says with which probability.
            audit: that is due.
            records: of all respondents: values, of shape (respondents, columns).
            seed: fresh from the operating system, but for tests.
        """
        generator = np.random.default_rng((seed, 0))
        trained: Flags = generator.random(len(records)) < float(Fraction(plan.synthesize.part))
        members, left_out = records[trained], records[~trained]
        trained_on = {row.tobytes() for row in members}
        unseen = np.fromiter((row.tobytes() not in trained_on for row in left_out), np.bool_, len(left_out))
        synthesize = plan.synthesize
        return cls(audit, mixed_columns(synthesize), synthesize.records, members, left_out[unseen], seed)

    def check(self, error: Fraction) -> None:
        """Refuse an audit that could not be decided or met with so few records, before any training.

        Args:
            error: the probability that a limit is on the wrong side.

        Raises:
            DataError: so it is; it holds no number of records.
        """
        fewest = min(len(self.members), len(self.others))
        if not fewest:
            raise _NO_RECORDS
        share = share_of_leak(len(self.members), self.number)
        if fewest < least_records(share, float(1 - error)):
            raise DataError(
                "the audit",
                "with so few respondents or synthetic records, the attack could not find a planted leak",
                "enough of both for the confidence of the duty (`smalti plan` says how many)",
                "ask for a lower confidence or more synthetic records, or add data",
            )
        check_attainable(self.audit, Size(len(self.members), len(self.others), delta_of(None), None), error)

    def figures(self, synthetic: Integers, attempt: int, error: Fraction) -> AuditFigures:
        """Attack the synthetic records and a table that leaks.

        Args:
            synthetic: that would be published.
            attempt: its number.
            error: the probability that a limit is on the wrong side.
        """
        judge = Judge(self.audit, delta_of(None), float(1 - error), self.seed)
        generator = np.random.default_rng((self.seed, 1))
        leak = leaking_records(self.members, self.number, generator)
        results = tuple(
            judge.by_record(name, self._scored(synthetic), self._scored(leak), None)
            for name in self.audit.attacks
        )
        return AuditFigures(
            attempt=attempt, error=str(error), shadows=0, test_accuracy=None, train_accuracy=None,
            results=results,
        )  # fmt: skip

    def _scored(self, published: Integers) -> Scored:
        audited = np.concatenate([self.members, self.others])
        is_member = np.arange(len(audited)) < len(self.members)
        return Scored(nearest_record_scores(self.columns, audited, published), is_member)
