"""What generalised rows promise, in words and numbers, and what they do not protect against."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final

from smalti.engine.anonymization.stated_requirements import (
    requirement_from_object,
    requirement_to_object,
)
from smalti.engine.plan.guarantees import DATASET, Json
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.masks import Coded, MaskedColumn, Noisy
from smalti.engine.plan.plan import Column, OutputForm, Plan, Role
from smalti.engine.plan.published_columns import DeclaredType, LabelForm, PublishedColumn
from smalti.engine.techniques.statements import (
    TERMS,
    from_object,
    label_form,
    techniques_of,
    to_object,
    what,
)
from smalti.transforms.base import Datatype, Guarantee
from smalti.transforms.requirements.distribution_judge import shown
from smalti.transforms.requirements.registry import judges_of
from smalti.vocab import terms
from smalti.vocab.techniques import NOT_COVERED
from smalti.vocab.terms import IRI

_REQUIREMENT_TERMS: Final[Mapping[str, Json]] = {
    "requirements": {"@id": "s:promisedRequirement", "@container": "@set"},
    "parameters": {"@id": "s:requirementParameter", "@container": "@list"},
}
"""Only certificates with such requirements have these, so that all others keep their bytes."""
_DATATYPE_TERMS: Final[Mapping[str, Json]] = {
    "datatypes": {"@id": "s:declaredColumn", "@container": "@set"},
    "datatype": "s:declaredDatatype",
    "timeZone": "s:declaredTimeZone",
}
"""Likewise of declared datatypes."""
_STATED_FORMS: Final[Mapping[OutputForm, LabelForm]] = {
    OutputForm.PREFIX: LabelForm.PREFIXES,
    OutputForm.MEAN: LabelForm.MEANS,
    OutputForm.MEDIAN: LabelForm.MEDIANS,
    OutputForm.MODE: LabelForm.MODES,
    OutputForm.MEDOID: LabelForm.MEDOIDS,
}
_SUPPRESSION_TERMS: Final[Mapping[str, Json]] = {"suppressionLimit": "s:allowedSuppression"}
_KEPT_TERMS: Final[Mapping[str, Json]] = {"suppressedRecords": "s:suppressedRecordsAre"}
_PSEUDONYM_TERMS: Final[Mapping[str, Json]] = {
    "pseudonyms": {"@id": "s:pseudonymName", "@container": "@set"},
    "key": "s:usedKey",
}
_OF_A_SAMPLE: Final = (
    "and the number of published rows, divided by the rate, tells about how many there are in all"
)
_POPULATION_TERMS: Final[Mapping[str, Json]] = {"population": {"@id": "s:populationTable", "@type": "@id"}}


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How a generalised column is published; whoever sees the output sees it."""

    column: str
    form: LabelForm


@dataclass(frozen=True, slots=True)
class ClassGuarantee:
    """What each class of rows promises, and of which columns."""

    promised: Guarantee
    quasi_identifiers: tuple[str, ...] = ()
    """The generalised columns, by name."""
    label_forms: tuple[ColumnForm, ...] = ()
    """How their labels look; none in certificates of earlier versions."""
    sensitive: tuple[str, ...] = ()
    """The columns kept under the guarantee, by name."""
    released: tuple[str, ...] = ()
    """The columns published outside of the guarantee, on the policy author's responsibility, by name."""
    declared: tuple[DeclaredType, ...] = ()
    """What the description declares of published numbers and times. Inferred datatypes are computed
    from the data, and stay out."""
    suppression_limit: Fraction = Fraction(0)
    """The share of respondents of whom records may have been left out."""
    keeps_suppressed: bool = False
    """Whether such records are published at the roots of all columns; otherwise they are left out."""
    population: IRI | None = None
    """The table of all persons against which classes were held, where they were."""
    pseudonyms: tuple[str, ...] = ()
    """The columns published as pseudonyms, outside of the guarantee, by name."""
    key: str | None = None
    """The name of the key of pseudonyms."""
    masked: tuple[MaskedColumn, ...] = ()
    """What single techniques changed before classes were made, in the order of the file."""
    sampling_rate: Decimal | None = None
    """The probability with which each respondent took part; None: all did."""
    suppresses_columns: bool = False
    """Whether attribute suppression left out columns; their names are not published."""

    kind: ClassVar[Kind] = Kind.ANONYMIZATION
    types: ClassVar[tuple[str, ...]] = DATASET
    activity: ClassVar[str] = "dpv:Anonymise"

    @property
    def terms(self) -> Mapping[str, Json]:
        requirements = _REQUIREMENT_TERMS if self.promised.more else {}
        datatypes = _DATATYPE_TERMS if self.declared else {}
        suppression = _SUPPRESSION_TERMS if self.suppression_limit else {}
        population = {} if self.population is None else _POPULATION_TERMS
        kept = _KEPT_TERMS if self.keeps_suppressed else {}
        pseudonyms = _PSEUDONYM_TERMS if self.pseudonyms else {}
        of_techniques = self.masked or self.sampling_rate is not None or self.suppresses_columns
        techniques = {name: TERMS[name] for name in self._techniques_to_object()} if of_techniques else {}
        inside = {name: TERMS[name] for each in self.masked for name in to_object(each) if name != "name"}
        stated = {**requirements, **datatypes, **suppression, **kept, **population, **pseudonyms}
        return {**stated, **techniques, **inside}

    @property
    def model(self) -> str:
        return self.promised.model

    def _techniques_to_object(self) -> dict[str, Json]:
        rate = {} if self.sampling_rate is None else {"samplingRate": format(self.sampling_rate, "f")}
        return {
            **({"masked": [to_object(each) for each in self.masked]} if self.masked else {}),
            **rate,
            **({"suppressesColumns": True} if self.suppresses_columns else {}),
        }

    @property
    def statement(self) -> str:
        promised = describe_guarantee(
            self.promised,
            self.sensitive,
            limit=self.suppression_limit,
            keeps_suppressed=self.keeps_suppressed,
        )
        return "; ".join([promised, *self.masking()])

    def masking(self) -> Iterator[str]:
        """What was done before classes were made."""
        if self.sampling_rate is not None:
            yield (
                "all of this holds in a sample and counts those in it: each respondent takes part with"
                f" probability {self.sampling_rate:f}"
            )
        if self.masked:
            listed = ", ".join(f"{each.column} {what(each)}" for each in self.masked)
            yield f"before classes are made, and counted on what is published, {listed}"
        if self.suppresses_columns:
            yield "whole columns are suppressed"

    @property
    def limits(self) -> tuple[str, ...]:
        sentences = limits(
            self.promised,
            self.sensitive,
            self.released,
            self._in(LabelForm.MEANS, LabelForm.MEDIANS),
            self._in(LabelForm.REGIONS),
            self._in(LabelForm.MODES, LabelForm.MEDOIDS),
            shows_extremes=not self.label_forms or bool(self._in(LabelForm.RANGES, LabelForm.SETS)),
        )
        return *sentences, *self._limits_of_techniques()

    def _limits_of_techniques(self) -> Iterator[str]:
        """What each technique beside the model does not protect from."""
        if self.pseudonyms:
            listed = ", ".join(self.pseudonyms)
            yield f"{terms.PSEUDONYMIZATION} ({listed}): {NOT_COVERED[terms.PSEUDONYMIZATION]}"
        for name, said in NOT_COVERED.items():
            columns = [each.column for each in self.masked if name in techniques_of([each])]
            if columns:
                yield f"{name} ({', '.join(columns)}), which is no privacy model: {said}"
        if self.sampling_rate is not None:
            said = f"{NOT_COVERED[terms.SAMPLING]}; {_OF_A_SAMPLE}"
            yield f"{terms.SAMPLING}, which is no privacy model: {said}"
        if self.suppresses_columns:
            said = NOT_COVERED[terms.ATTRIBUTE_SUPPRESSION]
            yield f"{terms.ATTRIBUTE_SUPPRESSION}, which is no privacy model: {said}"

    def _in(self, *label_forms: LabelForm) -> tuple[str, ...]:
        """The columns that are published so."""
        return tuple(each.column for each in self.label_forms if each.form in label_forms)

    @property
    def published(self) -> tuple[PublishedColumn, ...]:
        of_techniques = {each.column: label_form(each) for each in self.masked}
        coded = {each.column for each in self.masked if isinstance(each, Coded)}
        labelled = {name: form for name, form in of_techniques.items() if form is not None}
        form_of = {form.column: form.form for form in self.label_forms} | labelled
        declared = {each.column: each for each in self.declared}
        kept = [name for name in declared if name not in self.quasi_identifiers]
        return tuple(
            PublishedColumn(
                name,
                name in self.quasi_identifiers or name in labelled,
                form_of.get(name),
                declared[name].datatype if name in declared else None,
                declared[name].time_zone if name in declared else None,
                name in coded,
            )
            for name in (*self.quasi_identifiers, *labelled, *kept)
        )

    def to_object(self) -> dict[str, Json]:
        more = [requirement_to_object(requirement) for requirement in self.promised.more]
        generalised = [{"name": form.column, "form": form.form} for form in self.label_forms]
        return {
            **({"k": self.promised.k} if self.promised.k > 1 else {}),
            **({} if self.promised.l is None else {"l": self.promised.l}),
            **({"requirements": more} if more else {}),
            "quasiIdentifiers": self.quasi_identifiers,
            **({"generalised": generalised} if self.label_forms else {}),
            "sensitive": self.sensitive,
            "released": self.released,
            **({"datatypes": [each.to_object() for each in self.declared]} if self.declared else {}),
            **({"suppressionLimit": str(self.suppression_limit)} if self.suppression_limit else {}),
            **({"suppressedRecords": "kept"} if self.keeps_suppressed else {}),
            **({} if self.population is None else {"population": self.population}),
            **({"pseudonyms": self.pseudonyms, "key": self.key} if self.pseudonyms else {}),
            **self._techniques_to_object(),
        }


def text_columns(plan: Plan) -> tuple[str, ...]:
    """The generalised columns whose labels are sets of exact values."""
    return tuple(
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER and column.is_published_as_sets
    )


def label_forms(plan: Plan) -> tuple[ColumnForm, ...]:
    """How each generalised column is published; nothing but what its labels show."""
    return tuple(
        ColumnForm(name, _form_of(plan.column(name))) for name in plan.apply.transform.quasi_identifiers
    )


def _form_of(column: Column) -> LabelForm:
    if column.is_published_as_nodes:
        return LabelForm.NODES
    if column.form is not None:
        return _STATED_FORMS[column.form]
    if column.region is not None:
        return LabelForm.REGIONS
    return LabelForm.RANGES if column.is_published_as_ranges else LabelForm.SETS


def regions_of(plan: Plan) -> tuple[str, ...]:
    """The generalised columns whose ranges end at public bounds and at cuts, by name."""
    names = plan.apply.transform.quasi_identifiers
    return tuple(name for name in names if plan.column(name).region is not None)


def declared_types(plan: Plan) -> tuple[DeclaredType, ...]:
    """What is declared of the columns that a plan publishes, in their order there."""
    noisy = {each.column for each in plan.masked if isinstance(each, Noisy)}
    once_masked = plan.once_masked
    declared = (
        DeclaredType(column.name, Datatype.DECIMAL)
        if column.name in noisy
        else DeclaredType(
            column.name,
            column.datatype if column.has_ordered_labels and not column.is_inferred else None,
            column.time_zone
            if column.has_ordered_labels and column.datatype is Datatype.DATETIME
            else None,
        )
        for column in map(once_masked.column, plan.write.columns)
        if column.pseudonym_key is None
    )
    return tuple(each for each in declared if each.datatype or each.time_zone)


def guarantee_of(plan: Plan) -> ClassGuarantee:
    """What a plan promises."""
    transform = plan.apply.transform
    return ClassGuarantee(
        transform.guarantee,
        transform.quasi_identifiers,
        label_forms(plan),
        transform.sensitive,
        plan.released,
        declared_types(plan),
        transform.lattice_terms.suppression_limit,
        transform.lattice_terms.keeps_suppressed,
        plan.read.population,
        plan.pseudonymized,
        plan.pseudonym_key,
        plan.masked,
        plan.sampling_rate,
        plan.mask is not None and bool(plan.mask.suppressed),
    )


def stated_guarantee(promised: Mapping[str, Any]) -> ClassGuarantee:
    """The guarantee in a certificate of generalised rows that its schema has accepted.

    Raises:
        GuaranteeError: this version cannot verify a requirement in it, or it is about no sensitive column.
    """
    sensitive = tuple(promised.get("sensitive", ()))
    requirements = (requirement_from_object(each, sensitive) for each in promised.get("requirements", ()))
    return ClassGuarantee(
        Guarantee(promised["model"], promised.get("k", 1), promised.get("l"), tuple(requirements)),
        tuple(promised.get("quasiIdentifiers", ())),
        tuple(
            ColumnForm(stated["name"], LabelForm(stated["form"]))
            for stated in promised.get("generalised", ())
        ),
        sensitive,
        tuple(promised.get("released", ())),
        tuple(map(DeclaredType.from_object, promised.get("datatypes", ()))),
        Fraction(promised.get("suppressionLimit", 0)),
        promised.get("suppressedRecords") == "kept",
        promised.get("population"),
        tuple(promised.get("pseudonyms", ())),
        promised.get("key"),
        tuple(map(from_object, promised.get("masked", ()))),
        None if "samplingRate" not in promised else Decimal(promised["samplingRate"]),
        promised.get("suppressesColumns", False),
    )


def share_in_words(share: Fraction) -> str:
    """A share in per cent, exactly."""
    return f"{shown(share * 100)} %"


def describe_guarantee(
    guarantee: Guarantee,
    sensitive: tuple[str, ...],
    counted: str = "respondents",
    limit: Fraction = Fraction(0),
    *,
    keeps_suppressed: bool = False,
) -> str:
    """What is promised, as one sentence for people.

    Args:
        guarantee: of an output.
        sensitive: the columns that are kept under it, by name.
        counted: "respondents", or "rows" where nothing tells people apart.
        limit: the share of them of whom records may be suppressed.
        keeps_suppressed: whether these are published at the roots; otherwise they are left out.
    """
    promise, *others = judges_of(guarantee.requirements)
    said = promise.statement(counted)
    if sensitive or len(others) > 1:
        last, *before = reversed(others)
        said += f"; within it, {last.statement(counted)}"
        said += "".join(judge.addition(counted) for judge in before)
    if limit:
        what = "show the root of each hierarchy, as one class" if keeps_suppressed else "are left out"
        said += f"; records of at most {share_in_words(limit)} of the {counted} {what}"
    return said


def limits(  # noqa: PLR0913 (how columns are published)
    guarantee: Guarantee,
    sensitive: tuple[str, ...],
    released: tuple[str, ...],
    figures: tuple[str, ...] = (),
    regions: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    *,
    shows_extremes: bool = True,
) -> tuple[str, ...]:
    """What a guarantee does not protect against, as sentences for people.

    Args:
        guarantee: of an output.
        sensitive: the columns that are kept under it, by name.
        released: the columns that are published unchanged.
        figures: the generalised columns that are published as means or medians of classes.
        regions: those that are published as ranges between public bounds and cuts.
        categories: those that are published as modes or medoids of classes.
        shows_extremes: whether a column is published as ranges or sets of values of its classes.
    """
    sentences = [
        "somebody who knows more about a person than the quasi-identifiers",
        "releases about the same people that this one was not held together with",
        "learning that a person belongs to a group, and what holds for the whole group",
    ]
    if shows_extremes:
        sentences.append("learning the smallest and largest value of a class, which belong to real people")
    judges = judges_of(guarantee.requirements)
    strongest = max((judge.strength for judge in judges if judge.limits), default=0)
    of_classes = (each for judge in judges if judge.strength == strongest for each in judge.limits)
    sentences += dict.fromkeys(of_classes)
    if released:
        listed = ", ".join(released)
        sentences.append(f"whatever the released columns tell or help to find out, by themselves: {listed}")
    if figures:
        sentences.append(
            "somebody who knows the values of all but one person of a class, or holds two releases whose"
            " classes differ in one person: its mean or median can give away that person's value; and where"
            " all respondents of a class have one value, the mean or median is that value"
            f" ({', '.join(figures)})"
        )
    if categories:
        sentences.append(
            "learning that somebody in a class has the value that stands for it; many of them may, or all"
            f" ({', '.join(categories)})"
        )
    if regions:
        sentences.append(
            "learning from a cut that somebody has a value a little below it, and somebody one as far above"
            f" ({', '.join(regions)}); their extremes are not shown"
        )
    if len(sensitive) > 1:
        sentences.append(
            "somebody who knows one sensitive column, which weakens the promise for the others"
        )
    return tuple(sentences)
