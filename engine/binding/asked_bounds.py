"""Whole numbers that a run asks for, beside the bounds of its policy."""

from smalti.errors import PlanError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.decide.transformations import whole
from smalti.policy.model.model import Anonymization, Bound, Operator, Training


class AskedBounds:
    """Holds what a run asks for against the bounds of its policy; collects problems."""

    def __init__(self, wanted: Anonymization | Training, problems: list[SmaltiError]) -> None:
        self._where, self._problems = str(wanted.where), problems

    def asked(self, name: str, bound: Bound, asked: Fact | None) -> int | None:
        """The whole number that is asked for; None: nothing is, or it is a problem."""
        if asked is None:
            return None
        number = whole(asked.values)
        if number is None:
            self.problem(f"the requested {name} is not a valid bound", "one whole number above 0")
        elif bound.operator is Operator.EQ and number != bound.value:
            self.problem(
                f"requested {name} = {number}, but the policy requires exactly {bound.value}",
                f"{name} = {bound.value}",
            )
        return number

    def problem(
        self, problem: str, expected: str, way_out: str = "change the request", where: str | None = None
    ) -> None:
        """Record a problem as a `PlanError`."""
        self._problems.append(PlanError(where or self._where, problem, expected, way_out))
