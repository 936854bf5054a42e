"""What a plan has to keep to beside the permission."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from smalti.engine.binding.bound_columns import SaidOfRespondents
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.plan.plan import OutputFormat, Respondent
from smalti.engine.tables.withdrawn import NOBODY, Withdrawn
from smalti.policy.decide.decision import Fact
from smalti.policy.model.model import Condition
from smalti.transforms.base import DEFAULT_CUT_THRESHOLD

ShowValues: TypeAlias = Callable[[str, Sequence[str]], None]
"""Takes the name of a column, and some of its values."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a run may choose for itself; recorded in the plan."""

    cut_threshold: int = DEFAULT_CUT_THRESHOLD
    output_format: OutputFormat = OutputFormat.CSV
    rows_per_part: int | None = None
    """At most so many rows in each file of the output; None: one file."""
    sampled_fragments: int | None = None
    """Into how many fragments a table is divided by medians of a sample; None: first cuts are exact."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What one run must keep to, beside the words of its permission."""

    rows: tuple[Condition, ...] = ()
    """The rows that are granted (`Grant.rows`)."""
    asks: tuple[Fact, ...] = ()
    """A stronger guarantee than the policy's, by its words."""
    inherited: Respondent | None = None
    """Where the target is itself an output, how respondents were counted for it."""
    withdrawn: Withdrawn = NOBODY
    requested: Respondent | None = None
    """Who respondents are, by the request (`SaidOfRespondents`)."""
    recorded: Respondent | None = None
    """Who respondents are, by an owner's earlier run on the same data."""

    @property
    def respondents(self) -> SaidOfRespondents:
        """What is said of respondents beside the policy and the description."""
        return SaidOfRespondents(self.requested, self.recorded, self.inherited)

    withheld: frozenset[str] = frozenset()
    """The columns whose use is prohibited, by name; what only drops them says so."""
    population: BoundPopulation | None = None
    """The population table that the permission names."""
    recoding: KeptRecoding | None = None
    """The earlier release at whose levels the data is published."""
    show_values: ShowValues | None = None
    """Shows the owner, on a terminal, values that have no place in their hierarchy."""


NO_MORE: Final = Circumstances()
"""The permission's words, and nothing beside."""
