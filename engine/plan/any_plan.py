"""The interface of plans of all kinds."""

from collections.abc import Sequence
from typing import ClassVar, Protocol, Self, TypeAlias, runtime_checkable

from smalti.engine.plan.input_facts import InputFacts
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.nodes import Steps
from smalti.engine.plan.plan import Column, Filter, ModelFormat, OutputFormat, Read, Respondent
from smalti.policy.model.model import Permission
from smalti.transforms.base import Datatype
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI


class AnyColumn(Protocol):
    """A column of the input."""

    @property
    def name(self) -> str: ...
    @property
    def iri(self) -> IRI: ...
    @property
    def datatype(self) -> Datatype: ...
    @property
    def time_zone(self) -> str | None: ...


class AnyRead(Protocol):
    """What a plan reads."""

    @property
    def target(self) -> IRI: ...
    @property
    def columns(self) -> Sequence[AnyColumn]: ...
    @property
    def respondent(self) -> Respondent: ...


class AnyWrite(Protocol):
    """What a plan writes."""

    @property
    def output(self) -> IRI: ...
    @property
    def format(self) -> OutputFormat | ModelFormat: ...


class PlanOfColumns(Protocol):
    """A plan that gives each column of its input a role."""

    @property
    def read(self) -> Read: ...
    @property
    def filter(self) -> Filter | None: ...

    def column(self, name: str) -> Column:
        """The input column of that name; KeyError if there is none."""
        ...


Step: TypeAlias = tuple[str, object]
"""A step's name and its node: a dataclass, or a mapping from names to dataclasses or tuples of them."""


@runtime_checkable
class AnyPlan(Protocol):
    """A plan of any kind: it reads, performs its steps, and writes."""

    kind: ClassVar[Kind]

    @classmethod
    def from_steps(cls, steps: Steps) -> Self:
        """The plan of recorded steps; ValueError, KeyError or TypeError where they are none."""
        ...

    @staticmethod
    def neighbors_charged(permission: Permission) -> NeighboringRelation | None:
        """What the charges of plans under a permission are about; None: they are charged nothing.

        Args:
            permission: one that lets such plans be carried out.
        """
        ...

    @property
    def read(self) -> AnyRead: ...
    @property
    def filter(self) -> Filter | None: ...
    @property
    def write(self) -> AnyWrite: ...

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps between filtering and writing; the JSON form, and so the digest, come from them."""
        ...

    @property
    def used_columns(self) -> frozenset[str]:
        """The columns that are published, and those that this rests on; not what is read to be dropped.

        The respondent's and those of a filter are among them.
        """
        ...

    @property
    def input_facts(self) -> InputFacts:
        """What the plan takes its input for, the policy's roles apart.

        `input_facts.takes_alike` compares those of plans on the same files.
        """
        ...
