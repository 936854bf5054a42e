"""What generalised rows promise, in words and numbers, and what they do not protect against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from smalti.engine.anonymization.label_forms import ColumnForm, forms
from smalti.engine.plan.guarantees import DATASET, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.plan import Plan
from smalti.errors import InternalError
from smalti.transforms.base import Guarantee
from smalti.transforms.requirements.registry import judges_of


@dataclass(frozen=True, slots=True)
class ClassGuarantee:
    """What each class of rows promises, and of which columns."""

    promised: Guarantee
    quasi_identifiers: tuple[str, ...] = ()
    """The generalised columns, by name."""
    forms: tuple[ColumnForm, ...] = ()
    """How their labels look; none in certificates of earlier versions."""
    sensitive: tuple[str, ...] = ()
    """The columns kept under the guarantee, by name."""
    released: tuple[str, ...] = ()
    """The columns kept outside of it, on the word of the policy's author, by name."""

    kind: ClassVar[Kind] = Kind.ANONYMIZATION
    terms: ClassVar[Mapping[str, Json]] = {}
    types: ClassVar[tuple[str, ...]] = DATASET
    activity: ClassVar[str] = "dpv:Anonymise"

    @property
    def model(self) -> str:
        return self.promised.model

    @property
    def statement(self) -> str:
        return describe_guarantee(self.promised, self.sensitive)

    @property
    def limits(self) -> tuple[str, ...]:
        return limits(self.promised, self.sensitive, self.released)

    def to_object(self) -> dict[str, Json]:
        if self.promised.more:
            raise InternalError("a certificate has no member for a requirement that was promised")
        generalised = [{"name": one.column, "form": one.form} for one in self.forms]
        return {
            "k": self.promised.k,
            **({} if self.promised.l is None else {"l": self.promised.l}),
            "quasiIdentifiers": self.quasi_identifiers,
            **({"generalised": generalised} if self.forms else {}),
            "sensitive": self.sensitive,
            "released": self.released,
        }


def guarantee_of(plan: Plan) -> ClassGuarantee:
    """What a plan promises."""
    transform = plan.apply.transform
    return ClassGuarantee(
        transform.guarantee,
        transform.quasi_identifiers,
        forms(plan),
        transform.sensitive,
        plan.released,
    )


def stated_guarantee(promised: Mapping[str, Any]) -> ClassGuarantee:
    """The guarantee in a certificate of generalised rows that its schema has accepted."""
    return ClassGuarantee(
        Guarantee(promised["model"], promised["k"], promised.get("l")),
        tuple(promised.get("quasiIdentifiers", ())),
        tuple(ColumnForm(one["name"], one["form"]) for one in promised.get("generalised", ())),
        tuple(promised.get("sensitive", ())),
        tuple(promised.get("released", ())),
    )


def describe_guarantee(
    guarantee: Guarantee, sensitive: tuple[str, ...], counted: str = "respondents"
) -> str:
    """What is promised, as one sentence for people.

    Args:
        guarantee: of an output.
        sensitive: the columns that are kept under it, by name.
        counted: "respondents", or "rows" where nothing tells people apart.
    """
    promise, *others = judges_of(guarantee.requirements)
    said = promise.statement(counted)
    if sensitive or len(others) > 1:
        last, *before = reversed(others)
        said += f"; within it, {last.statement(counted)}"
        said += "".join(judge.addition(counted) for judge in before)
    return said


def limits(guarantee: Guarantee, sensitive: tuple[str, ...], released: tuple[str, ...]) -> tuple[str, ...]:
    """What a guarantee does not protect against, as sentences for people."""
    found = [
        "somebody who knows more about a person than the quasi-identifiers",
        "several releases about the same people put together",
        "learning that a person belongs to a group, and what holds for the whole group",
        "learning the smallest and largest value of a class, which belong to real people",
    ]
    judges = judges_of(guarantee.requirements)
    found += next((judge.limits for judge in reversed(judges) if judge.limits), ())
    if released:
        listed = ", ".join(released)
        found.append(f"whatever the released columns tell or help to find out, by themselves: {listed}")
    if len(sensitive) > 1:
        found.append("somebody who knows one sensitive column, which weakens the promise for the others")
    return tuple(found)
