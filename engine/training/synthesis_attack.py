"""The attack on synthetic records: who was learned from, by nothing but what is published.

Members are a random half of the respondents, on whom the model is trained; the others are held out. What
attacks and limits need is fixed before there is a model.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Self

import numpy as np

from smalti.engine.training.attacks import family_of, of_family
from smalti.engine.training.attainable import Size, check_attainable, delta_of
from smalti.engine.training.figures import AttackResult, AuditFigures
from smalti.engine.training.judge import Judge
from smalti.engine.training.plan import Audit
from smalti.engine.training.synthesis_plan import SynthesisPlan, Synthesize
from smalti.engine.training.synthesis_risks import RiskAttack
from smalti.engine.training.synthetic_table import mixed_columns, mixed_records
from smalti.errors import DataError
from smalti.transforms.generative.linking import Targets
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.nearest_record import (
    leaking_records,
    nearest_record_scores,
    share_of_leak,
)
from smalti.transforms.membership.planted_leak import least_records
from smalti.transforms.membership.scored import Scored
from smalti.transforms.problem import Flags, Integers
from smalti.vocab.attacks import Family

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
    synthesize: Synthesize
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
        return cls(audit, synthesize, synthesize.records, members, left_out[unseen], seed)

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

    def check_leak(self, error: Fraction) -> None:
        """Refuse attacks that do not find the planted leak in this data, before any training.

        Args:
            error: the probability that a limit is on the wrong side.

        Raises:
            DataError: there is one; it holds no figure.
        """
        leak = self._compared(self._leak)
        blind = [
            name
            for name in of_family(self.audit.attacks, Family.RISKS)
            if self._risk(name).leak(leak, float(1 - error)) <= 0
        ]
        if blind:
            raise DataError(
                "the audit",
                f"with so few respondents, columns or values, {' and '.join(blind)} would not find a"
                " planted leak",
                "attacks that find records which are copied",
                "leave the attack out, or add data",
            )

    def figures(self, synthetic: Integers, attempt: int, error: Fraction) -> AuditFigures:
        """Attack the synthetic records and a table that leaks.

        Args:
            synthetic: that would be published.
            attempt: its number.
            error: the probability that a limit is on the wrong side.
        """
        judge = Judge(self.audit, delta_of(None), float(1 - error), self.seed)
        leak = self._leak
        results = tuple(self._result(name, synthetic, leak, judge) for name in self.audit.attacks)
        return AuditFigures(
            attempt=attempt, error=str(error), shadows=0, test_accuracy=None, train_accuracy=None,
            results=results,
        )  # fmt: skip

    def _result(self, name: str, synthetic: Integers, leak: Integers, judge: Judge) -> AttackResult:
        if family_of(name) is Family.RISKS:
            tables = self._compared(synthetic), self._compared(leak)
            return self._risk(name).result(*tables, judge.confidence)
        return judge.by_record(name, self._scored(synthetic), self._scored(leak), None)

    def _scored(self, published: Integers) -> Scored:
        targets = self._targets
        is_member = np.arange(len(targets.records)) < targets.members
        scores = nearest_record_scores(targets.columns, targets.records, self._compared(published))
        return Scored(scores, is_member)

    @property
    def _leak(self) -> Integers:
        return leaking_records(self.members, self.number, np.random.default_rng((self.seed, 1)))

    def _risk(self, name: str) -> RiskAttack:
        return RiskAttack(name, self._targets, (self.seed, 2, self.audit.attacks.index(name)))

    @property
    def _targets(self) -> Targets:
        names = tuple(feature.column for feature in self.synthesize.columns)
        audited = self._compared(np.concatenate([self.members, self.others]))
        return Targets(names, mixed_columns(self.synthesize), audited, len(self.members))

    def _compared(self, values: Integers) -> Doubles:
        return mixed_records(self.synthesize, values)
