"""A plan in a notebook: its explanation, which holds no data value."""

from typing import ClassVar

from smalti.engine.plan.kinds import Kind, capability_module
from smalti.engine.plan.lines import labelled
from smalti.policy.findings.html import preformatted


class ShownInNotebooks:
    """A plan whose explanation notebooks show."""

    __slots__ = ()
    kind: ClassVar[Kind]

    def _repr_html_(self) -> str:
        """The text of `smalti.explain`."""
        capability = capability_module(self.kind).CAPABILITY
        lines = capability.lines(self, capability.plan_notices(self), in_full=False)
        return preformatted("\n".join(line if isinstance(line, str) else labelled(*line) for line in lines))
