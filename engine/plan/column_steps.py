"""What happens to each column of a table, in words, and who its respondents are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from smalti.engine.plan.notices import MOST_ALIKE, shortened
from smalti.engine.plan.plan import Column, OneRowEach, Respondent, RespondentColumn, Role

_WHY: Final = {
    Role.IDENTIFIER: "identifier",
    Role.QUASI_IDENTIFIER: "quasi-identifier",
    Role.SENSITIVE: "sensitive",
    Role.RELEASED: "released, on the policy author's word",
    Role.MASKED: "masked, outside of the promise",
    Role.UNLISTED: "not named in the policy",
    Role.WITHHELD: "withheld: the policy prohibits its use",
}


@dataclass(frozen=True, slots=True)
class ColumnStep:
    """What happens to one column."""

    name: str
    role: Role
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class AlikeSteps:
    """Columns to which the same happens for the same reason."""

    steps: tuple[ColumnStep, ...]

    @property
    def name(self) -> str:
        """The column, or how many there are."""
        return self.steps[0].name if len(self.steps) == 1 else f"{len(self.steps)} columns"

    @property
    def why(self) -> str:
        """The reason; of several columns with the names of the first ones."""
        names = [step.name for step in self.steps]
        return self.steps[0].why + (f": {shortened(names)}" if len(names) > 1 else "")

    @property
    def role(self) -> Role:
        return self.steps[0].role

    @property
    def what(self) -> str:
        return self.steps[0].what


def alike_steps(steps: Sequence[ColumnStep], *, in_full: bool) -> tuple[AlikeSteps, ...]:
    """The columns as people are shown them: many alike ones together, where the first of them stands.

    Args:
        steps: in the order of the table.
        in_full: each column by itself.
    """
    groups: dict[tuple[str, ...], list[ColumnStep]] = {}
    for step in steps:
        groups.setdefault((step.what, step.why), []).append(step)
    shown = []
    for step in steps:
        group = groups[step.what, step.why]
        if in_full or len(group) <= MOST_ALIKE:
            shown.append(AlikeSteps((step,)))
        elif step is group[0]:
            shown.append(AlikeSteps(tuple(group)))
    return tuple(shown)


def is_respondent(column: Column, respondent: Respondent) -> bool:
    """Whether a column tells people apart."""
    return respondent == RespondentColumn(column.name)


def why(column: Column, respondent: Respondent) -> str:
    """Why something happens to a column: its role."""
    # Where it has no other role, policy, description or request name it as this.
    is_named = column.role is Role.UNLISTED and is_respondent(column, respondent)
    if column.pseudonym_key is not None:
        return "pseudonym"
    return "respondent" if is_named else _WHY[column.role]


def dropped(column: Column, respondent: Respondent) -> str:
    """What happens to a column that is not published."""
    is_counted = is_respondent(column, respondent)
    return "dropped (used only to identify respondents)" if is_counted else "dropped"


def respondent_in_words(respondent: Respondent) -> str:
    """How people are told apart, as one phrase."""
    match respondent:
        case RespondentColumn(column):
            return (
                f"rows with the same {column} are about one person; rows of those who withdrew are left out"
            )
        case OneRowEach(is_declared=True):
            return "each row is about another person (declared)"
        case OneRowEach():
            return "rows are counted, not people: no respondent is declared"
