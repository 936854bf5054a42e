"""Studies that are ordered over HTTP: a row for each kind, which its order, its form and its job come from.

Who may order one is what the command of the kind says: whoever has the data. A party has what it fully
owns; an auditor may have attacked what belongs to one owner, and sees figures alone.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, get_args

from pydantic import Discriminator, Field, RootModel, Tag

from smalti.auditing_releases import attackable_data
from smalti.engine.jobs.requests import (
    Compare,
    GenerativeAudit,
    Identifiability,
    IdentifiabilitySample,
    JobKind,
    ReleaseAudit,
    Study,
    StudyLike,
)
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.json.text import Json
from smalti.listing import owns_inputs
from smalti.policy.decide.names import iri
from smalti.service.operations import Described
from smalti.service.ordering import PolicyJob, bound_data, owned_data, tried_by_owner
from smalti.service.parties import Asker
from smalti.service.problems import not_found
from smalti.study_choices import check_named, check_study, names_of

_Iri = Annotated[str, Field(max_length=4096)]
_Text = Annotated[str, Field(max_length=4096)]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=100)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Shares = Annotated[tuple[_Share, ...], Field(max_length=20)]
_Confidence = Annotated[float, Field(gt=0, le=0.999999, description="of each limit by itself")]
_Seed = Annotated[int, Field(ge=0, le=2**63 - 1, description="of all that is drawn")]
PAGE: Final = "study.html"
"""The report of a study, in the folder of its job; of a comparison, in a folder there."""
_FOLDER: Final = "study"
_TAKES: Final = "x-takes"
"""In a field's schema: what it names (`names_of`, or a thing of the registry)."""


def _taking(thing: str, description: str) -> Any:
    """A field that names a thing: a `table`, `model`, `version`, `policy` or `target`, or one of a list."""
    return Field(description=description, json_schema_extra={_TAKES: thing})


class StudyOrder(Described):
    """Attacks on a model file, with records that it was trained on, and others."""

    kind: Literal["study"] = "study"
    model: Annotated[_Iri, _taking("model", "a target that a model file is bound to")]
    members: Annotated[_Iri, _taking("table", "a target bound to the records that it was trained on")]
    others: Annotated[_Iri, _taking("table", "a target bound to records that it was not trained on")]
    label: Annotated[_Text, Field(min_length=1, description="the column of the classes")]
    attacks: Annotated[_Texts, Field(min_length=1, description="names that `/v1/audit-choices` lists")]
    recipe: Annotated[
        _Text | None, Field(description="for attacks with shadow models; a network file states it")
    ] = None
    shadow_models: Annotated[int, Field(ge=2, le=1000)] = 16
    confidence: Annotated[float, Field(gt=0, le=0.999999)] = 0.95
    gives_logits: bool = False


class CompareOrder(Described):
    """Central against local differential privacy by membership inference, on generated data."""

    kind: Literal["compare"]
    classes: Annotated[
        tuple[Annotated[int, Field(ge=2, le=600)], ...],
        Field(max_length=10, description="numbers of classes, each a divisor of 600"),
    ] = ()
    records: Annotated[int | None, Field(ge=1, le=20_000, description="of each training set")] = None
    epochs: Annotated[int | None, Field(ge=1, le=500)] = None
    shadow_models: Annotated[int | None, Field(ge=1, le=20)] = None
    repetitions: Annotated[int | None, Field(ge=1, le=20)] = None
    noise_multipliers: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1000)], ...],
        Field(max_length=10, description="of central differential privacy"),
    ] = ()
    local_epsilons: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1000)], ...],
        Field(max_length=10, description="of each bit, for local differential privacy"),
    ] = ()
    noises: Annotated[
        tuple[Annotated[float, Field(ge=0, le=0.5)], ...],
        Field(max_length=10, description="noise in the training data, which skews it"),
    ] = ()
    seed: _Seed = 0


class ReleaseAuditOrder(Described):
    """Attacks on the statistics of a release; for the owner of its data."""

    kind: Literal["release-audit"]
    version: Annotated[_Iri, _taking("version", "a version of released statistics, by its IRI")]
    population: Annotated[
        _Iri, _taking("table", "a target bound to people like those of the data, who are not in it")
    ]
    secret: Annotated[
        _Text | None,
        Field(description="the column to reconstruct; each that counts are by if absent"),
    ] = None
    false_positive_rate: Annotated[
        _Share, Field(description="at which true positive rates are measured")
    ] = 0.05
    confidence: _Confidence = 0.95
    seed: _Seed = 0


class GenerativeAuditOrder(Described):
    """Attacks on a generative model, by samples of it or by a model file of smalti."""

    kind: Literal["generative-audit"]
    members: Annotated[_Iri, _taking("table", "a target bound to the records that it was trained on")]
    others: Annotated[_Iri, _taking("table", "a target bound to records that it was not trained on")]
    attacks: Annotated[_Texts, Field(min_length=1), _taking("generative-attack", "what is tried")]
    samples: Annotated[_Iri | None, _taking("table", "a target bound to samples of the model")] = None
    model: Annotated[_Iri | None, _taking("model", "in place of samples: a generative model of smalti")] = (
        None
    )
    label: Annotated[_Text | None, Field(description="labels, of a conditional model")] = None
    distances: Annotated[_Texts, _taking("distance", "of attacks that measure one; plain if absent")] = ()
    number: Annotated[
        int | None, Field(ge=2, le=1_000_000, description="samples to take; all of a table if absent")
    ] = None
    size: Annotated[
        int, Field(ge=1, le=100_000, description="members, and as many others, in one attack")
    ] = 100
    secrets: Annotated[
        _Texts, Field(description="columns that attribute inference guesses; each if absent")
    ] = ()
    side: Annotated[_Texts, Field(description="columns of one of two tables that linkability links")] = ()
    confidence: _Confidence = 0.95
    seed: _Seed = 0


class _IdentifiabilityChoices(Described):
    beliefs: Annotated[
        tuple[Annotated[float, Field(gt=0.5, lt=1)], ...],
        Field(max_length=20, description="bounds of the belief; 0.75, 0.9 and 0.99 if absent"),
    ] = ()
    delta: Annotated[_Share | None, Field(description="one in as many records if absent")] = None
    calibration: Annotated[
        Literal["exact", "belief", "paper"] | None, Field(description="how much noise a bound takes")
    ] = None
    records: Annotated[int | None, Field(ge=3, le=100_000, description="to train on; 100 if absent")] = None
    repetitions: Annotated[
        int | None, Field(ge=20, le=10_000, description="trainings by experiment; 100 if absent")
    ] = None
    steps: Annotated[int | None, Field(ge=1, le=10_000, description="over all records; 30 if absent")] = (
        None
    )
    clipping_norm: Annotated[float | None, Field(gt=0, le=1e6, description="1 if absent")] = None
    learning_rate: Annotated[
        float | None, Field(gt=0, le=1e6, description="of the mean gradient; 5 if absent")
    ] = None
    neighbors: Annotated[
        int | None, Field(ge=1, le=1000, description="stated for the local sensitivity; 5 if absent")
    ] = None
    dissimilarity: Annotated[_Text | None, _taking("dissimilarity", "chooses neighbours")] = None
    hidden: Annotated[
        tuple[Annotated[int, Field(ge=1, le=4096)], ...],
        Field(max_length=10, description="units of hidden layers with ReLU, instead of the usual network"),
    ] = ()
    convolutional: Annotated[bool, Field(description="the paper's network for square images")] = False
    seed: _Seed = 0


class IdentifiabilityOrder(_IdentifiabilityChoices):
    """Neighbouring data sets told apart under noise; for the owner of the data of a training."""

    kind: Literal["identifiability"]
    policy: Annotated[_Iri, _taking("policy", "the uid of a policy in force that permits a training")]
    target: Annotated[_Iri, _taking("table", "the target that the data is bound to")]
    purpose: Annotated[_Text | None, Field(description="that of the policy if absent")] = None
    rule: Annotated[_Iri | None, Field(description="where several permissions match")] = None


class IdentifiabilitySampleOrder(_IdentifiabilityChoices):
    """Neighbouring sets of public records told apart under noise; this needs nobody's permission."""

    kind: Literal["identifiability-sample"]
    sample: Annotated[_Text, _taking("sample", "the data")]


S = TypeVar("S", bound=Described)


@dataclass(frozen=True, slots=True)
class StudyKind(Generic[S]):
    """A kind of studies."""

    order: type[S]
    title: str
    """Of its form."""
    request: Callable[[Registry, Asker, S, Path], StudyLike]
    """What a worker is asked to do, with a private folder for what it writes. Raises RefusedError where
    there is no such thing for the asker, and UsageError or ProblemsError where it cannot be studied."""
    is_for_owners: bool = False
    """Whether only the owner of the data may have it done, as by the command."""

    @property
    def kind(self) -> JobKind:
        (name,) = get_args(self.order.model_fields["kind"].annotation)
        return JobKind(name)

    def to_json(self) -> Json:
        """The kind, with what it is asked for."""
        says = (self.order.__doc__ or "").splitlines()[0]
        return {
            "kind": self.kind,
            "title": self.title,
            "says": says,
            "isForOwners": self.is_for_owners,
            "fields": self.fields(),
        }

    def fields(self) -> list[Json]:
        """What it is asked for, each with what a form needs; first what it needs."""
        schema = self.order.model_json_schema()
        required = schema.get("required", ())
        members = [
            _field(name, described, is_required=name in required)
            for name, described in schema["properties"].items()
            if name != "kind"
        ]
        return sorted(members, key=lambda member: not member["isRequired"])


def _study(registry: Registry, asker: Asker, order: StudyOrder, folder: Path) -> Study:
    model, members, others = _of_one_owner(registry, asker, order.model, order.members, order.others)
    check_study(Path(model).name, order.attacks, order.recipe)
    return Study(
        model=model, members=members, others=others, label=order.label, attacks=order.attacks,
        recipe=order.recipe, shadow_models=order.shadow_models, confidence=order.confidence,
        gives_logits=order.gives_logits, html=str(folder / PAGE),
    )  # fmt: skip


def _of_one_owner(registry: Registry, asker: Asker, *named: str) -> list[str]:
    """The places of data that belongs to one owner, for that owner, and for auditors.

    An auditor's own model on the data of others could answer questions about single records.

    Raises:
        RefusedError: there is no such target for the asker, or no data is bound to it.
    """
    targets = [iri(name, "target") for name in named]
    owners = frozenset.intersection(*(frozenset(registry.full_owners(target)) for target in targets))
    if not owners or not (asker.audits or asker.party in owners):
        raise not_found()
    return [str(bound_data(registry, target).place) for target in targets]


def _owned_version(registry: Registry, asker: Asker, name: str) -> TargetVersion:
    """A version, for whoever owns all that it was made from.

    Raises:
        RefusedError: there is none for the asker.
    """
    for version in registry.versions(iri(name, "version")):
        if version.iri == name and owns_inputs(registry, asker.party, version):
            return version
    raise not_found()


def _chosen(order: Described, *others: str) -> dict[str, Any]:
    """What an order states beside its kind and these members; requests have the same names."""
    return {
        name: getattr(order, name) for name in type(order).model_fields if name not in {"kind", *others}
    }


def _field(name: str, described: Json, *, is_required: bool) -> Json:
    """A member of an order as a form needs it."""
    stated = next((part for part in described.get("anyOf", ()) if part.get("type") != "null"), described)
    value = stated.get("items", stated)
    thing = described.get(_TAKES, "")
    return {
        "name": name,
        "label": _words(name),
        "hint": described.get("description", ""),
        "type": value.get("type", "string"),
        "isMany": stated.get("type") == "array",
        "isRequired": is_required,
        "default": described.get("default"),
        "minimum": value.get("minimum", value.get("exclusiveMinimum")),
        "maximum": value.get("maximum", value.get("exclusiveMaximum")),
        "choices": value.get("enum") or list(names_of(thing)),
        "takes": thing,
    }


def _words(name: str) -> str:
    words = re.sub("([A-Z])", r" \1", name).lower()
    return words[:1].upper() + words[1:]


def _compare(registry: Registry, asker: Asker, order: CompareOrder, folder: Path) -> Compare:
    del registry, asker
    return Compare(out=str(folder / _FOLDER), **_chosen(order))


def _release(registry: Registry, asker: Asker, order: ReleaseAuditOrder, folder: Path) -> ReleaseAudit:
    version = _owned_version(registry, asker, order.version)
    population = owned_data(registry, asker, order.population)
    data = bound_data(registry, attackable_data(version))
    return ReleaseAudit(
        output=version.iri, data=str(data.place), party=asker.party,
        population=str(population.place), page=str(folder / PAGE),
        **_chosen(order, "version", "population"),
    )  # fmt: skip


def _generative(
    registry: Registry, asker: Asker, order: GenerativeAuditOrder, folder: Path
) -> GenerativeAudit:
    attacked = order.samples or order.model
    if attacked is None or None not in (order.samples, order.model):
        raise UsageError(
            "samples", "what is attacked is not one thing", "samples of the model, or a model file",
            "name one of both",
        )  # fmt: skip
    members, others, place = _of_one_owner(registry, asker, order.members, order.others, attacked)
    check_named("attacks", "generative-attack", order.attacks)
    check_named("distances", "distance", order.distances)
    return GenerativeAudit(
        members=members, others=others, page=str(folder / PAGE),
        model=None if order.model is None else place, samples=None if order.samples is None else place,
        **_chosen(order, "members", "others", "model", "samples"),
    )  # fmt: skip


def _identifiability(
    registry: Registry, asker: Asker, order: IdentifiabilityOrder, folder: Path
) -> Identifiability:
    check_named("dissimilarity", "dissimilarity", (order.dissimilarity,))
    asked = PolicyJob.model_validate(
        {name: getattr(order, name) for name in ("policy", "target", "purpose", "rule")}
    )
    return Identifiability(
        **tried_by_owner(registry, asker, asked, folder), page=str(folder / PAGE),
        **_chosen(order, "policy", "target", "purpose", "rule"),
    )  # fmt: skip


def _sample(
    registry: Registry, asker: Asker, order: IdentifiabilitySampleOrder, folder: Path
) -> IdentifiabilitySample:
    del registry, asker
    check_named("dissimilarity", "dissimilarity", (order.dissimilarity,))
    check_named("sample", "sample", (order.sample,))
    return IdentifiabilitySample(page=str(folder / PAGE), **_chosen(order))


STUDIES: Final[tuple[StudyKind[Any], ...]] = (
    StudyKind(StudyOrder, "Attack a model", _study),
    StudyKind(ReleaseAuditOrder, "Attack released statistics", _release, is_for_owners=True),
    StudyKind(GenerativeAuditOrder, "Attack a generative model", _generative),
    StudyKind(
        IdentifiabilityOrder, "Tell a training's data sets apart", _identifiability, is_for_owners=True
    ),
    StudyKind(IdentifiabilitySampleOrder, "Tell public data sets apart", _sample),
    StudyKind(CompareOrder, "Compare central and local differential privacy", _compare),
)
"""All of them."""


def _kind_of(order: Any) -> str:
    """The kind of an order; one that states none is of the first kind, as it once was the only one."""
    stated = order.get("kind", JobKind.STUDY) if isinstance(order, dict) else getattr(order, "kind", "")
    return stated if isinstance(stated, str) else ""


class StudyOrdered(
    RootModel[
        Annotated[
            Annotated[StudyOrder, Tag(JobKind.STUDY)]
            | Annotated[CompareOrder, Tag(JobKind.COMPARE)]
            | Annotated[ReleaseAuditOrder, Tag(JobKind.RELEASE_AUDIT)]
            | Annotated[GenerativeAuditOrder, Tag(JobKind.GENERATIVE_AUDIT)]
            | Annotated[IdentifiabilityOrder, Tag(JobKind.IDENTIFIABILITY)]
            | Annotated[IdentifiabilitySampleOrder, Tag(JobKind.IDENTIFIABILITY_SAMPLE)],
            Discriminator(_kind_of),
        ]
    ]
):
    """A study, by its kind."""


def study_for(registry: Registry, asker: Asker, order: Described, folder: Path) -> StudyLike:
    """The study that a worker is asked to do; raises as `StudyKind.request`."""
    (row,) = (kind for kind in STUDIES if kind.order is type(order))
    return row.request(registry, asker, order, folder)
