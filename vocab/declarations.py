"""What a vocabulary declares of a left operand: who knows its value, and what it is compared with."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from smalti.vocab.odrl import OPERATORS_OF, Measured
from smalti.vocab.terms import IRI, SMALTI


class OperandKind(StrEnum):
    """Who knows the value of a left operand."""

    FACT = "fact"
    """Stated with the request."""
    CLOCK = "clock"
    """The time of the request; what a request states under the operand does not count."""
    COUNT = "count"
    """How many outputs the registry has recorded that were made for the requester from a requested target;
    what a request states does not count."""
    CLAUSE = "clause"
    """An obligation between people, which no machine decides: a request accepts it, or does not."""


KIND: Final = IRI(SMALTI + "operandKind")
OPERATOR_ALLOWED: Final = IRI(SMALTI + "operator")
STATED_BY: Final = IRI(SMALTI + "statedBy")
KINDS: Final = {IRI(SMALTI + kind.name.capitalize()): kind for kind in OperandKind}
"""The IRIs that vocabularies write: `smalti:Fact`, `smalti:Clock`, `smalti:Count`, `smalti:Clause`."""


@dataclass(frozen=True, slots=True)
class OperandDeclaration:
    """One left operand of a vocabulary."""

    iri: IRI
    kind: OperandKind = OperandKind.FACT
    range: Measured = Measured.ANY
    """What it is compared with."""
    only_operators: frozenset[str] = frozenset()
    """Local names of the ODRL operators that are allowed; empty: all that the range supports."""
    scheme: IRI | None = None
    """The concept scheme of its values; present exactly where the range is `CONCEPT`."""
    stated_by: frozenset[IRI] = frozenset()
    """A fact counts only on the word of one of these parties, or of a member of one; empty: of anybody."""
    definition: str = field(default="", compare=False)
    """One sentence."""

    @property
    def operators(self) -> frozenset[str]:
        """Local names of the ODRL operators that are allowed."""
        supported = OPERATORS_OF[self.range]
        return self.only_operators & supported if self.only_operators else supported
