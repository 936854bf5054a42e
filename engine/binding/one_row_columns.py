"""The columns of a table of which one row of each respondent counts."""

from typing import TypeVar

from smalti.engine.binding.bound_columns import BoundColumns, Declares, column_iri
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.plan.plan import OneRowEach, Respondent
from smalti.engine.plan.reads import ReadColumn
from smalti.engine.plan.respondents import WAYS_TO_DECLARE
from smalti.transforms.base import Datatype

W = TypeVar("W", bound=Declares)


class OneRowColumns(BoundColumns[W]):
    """As `BoundColumns`, where nothing is assumed about respondents."""

    def read_column(self, name: str) -> ReadColumn:
        """A column that the plan reads; its datatype is declared, or text."""
        datatype = self.facts_of(name).datatype or Datatype.STRING
        return ReadColumn(name, column_iri(self.source, name), datatype, self.time_zone(name))

    def respondents(self, circumstances: Circumstances, why: str) -> Respondent:
        """Who the respondents are; those who withdrew are left out from here on.

        Args:
            circumstances: say who withdrew.
            why: what one row of each is for, as the end of a sentence.
        """
        if circumstances.withdrawn:
            self.leave_out_withdrawn(circumstances.withdrawn)
        declared = self.declared or OneRowEach(is_declared=False)
        if self.inherited is not None:
            declared = self.inherit(self.inherited, declared)
        if declared == OneRowEach(is_declared=False):
            self.problem(
                str(self.wanted.where),
                f"no respondent is declared, and {why}",
                "a respondent column, or `smalti:oneRowEach`",
                WAYS_TO_DECLARE,
            )
        return declared
