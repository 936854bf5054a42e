"""The recoding of an earlier release, for a further batch: at which level each column was published."""

from dataclasses import dataclass

from smalti.engine.plan.hierarchies import AllOrNothing
from smalti.engine.plan.plan import Column
from smalti.errors import PlanError


@dataclass(frozen=True, slots=True)
class KeptRecoding:
    """One level of each quasi-identifier's hierarchy, as an earlier release has it in all rows."""

    name: str
    """Of that release, for messages."""
    levels: tuple[tuple[Column, int], ...]
    """The quasi-identifiers of its plan."""

    def node(self, columns: tuple[Column, ...]) -> tuple[int, ...]:
        """The levels of some quasi-identifiers, in their order.

        Raises:
            PlanError: they are others, or have other hierarchies.
        """
        by_name = {column.name: (column, level) for column, level in self.levels}
        if {column.name for column in columns} != by_name.keys():
            raise PlanError(
                self.name,
                "it generalises other columns",
                "a batch with the quasi-identifiers of that release",
                "name a release of this policy, or leave out --recoding-of",
            )
        others = [column.name for column in columns if not _is_alike(column, by_name[column.name][0])]
        if others:
            listed = ", ".join(f"`{name}`" for name in others)
            raise PlanError(
                self.name,
                f"its levels are those of other hierarchies: {listed}",
                "the same hierarchies in the description of the batch",
                "describe the batch as that data was described",
            )
        return tuple(by_name[column.name][1] for column in columns)


def _is_alike(column: Column, earlier: Column) -> bool:
    new, old = column.hierarchy, earlier.hierarchy
    if new is None or old is None or AllOrNothing.kind in {new.kind, old.kind}:
        return (new and new.kind) == (old and old.kind)
    return new.digest == old.digest
