"""What is said about an output: a certificate for everybody, a report for its owners.

INVARIANT: the certificate holds nothing that was computed from the data beyond what the output itself
shows. Whatever else was measured (numbers of respondents, achieved k and l, loss, digests of inputs)
goes into the `OwnerReport`, and nowhere else.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from typing import Final, TypeAlias, assert_never

from smalti.engine.perturbation import guarantee as perturbation
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.losses import LOCAL_NEIGHBORS, Loss
from smalti.engine.plan.plan import OneRowEach, Respondent, RespondentColumn
from smalti.engine.releases import guarantee as releases
from smalti.engine.releases.guarantee import LossGuarantee
from smalti.engine.training import guarantee as audits
from smalti.engine.training.guarantee import ModelGuarantee
from smalti.engine.training.plan import Audit, PrivateSteps
from smalti.transforms.base import Guarantee
from smalti.vocab import terms
from smalti.vocab.terms import IRI

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

UNSIGNED: Final = "none - this certificate is unsigned"
SPDX: Final = "http://spdx.org/rdf/terms#"

_CONTEXT: Final[Mapping[str, Json]] = {
    "dcat": terms.DCAT,
    "dct": terms.DCT,
    "dpv": terms.DPV,
    "odrl": terms.ODRL,
    "prov": terms.PROV,
    "s": terms.SMALTI,
    "spdx": SPDX,
    "xsd": terms.XSD,
    "isVersionOf": {"@id": "dcat:isVersionOf", "@type": "@id"},
    "issued": {"@id": "dct:issued", "@type": "xsd:dateTime"},
    "guarantee": "s:guarantee",
    "model": "s:model",
    "k": "s:promisedK",
    "l": "s:promisedL",
    "quasiIdentifiers": {"@id": "s:quasiIdentifierName", "@container": "@set"},
    "generalised": {"@id": "s:generalisedColumn", "@container": "@set"},
    "form": "s:labelForm",
    "sensitive": {"@id": "s:sensitiveName", "@container": "@set"},
    "released": {"@id": "s:releasedName", "@container": "@set"},
    "statement": "dct:description",
    "respondents": "s:respondents",
    "doesNotProtectAgainst": {"@id": "s:doesNotProtectAgainst", "@container": "@set"},
    "wasDerivedFrom": {"@id": "prov:wasDerivedFrom", "@type": "@id", "@container": "@set"},
    "wasGeneratedBy": "prov:wasGeneratedBy",
    "policy": "prov:used",
    "rule": {"@id": "s:rule", "@type": "@id"},
    "plan": "prov:hadPlan",
    "qualifiedAssociation": "prov:qualifiedAssociation",
    "agent": "prov:agent",
    "softwareVersion": "s:softwareVersion",
    "name": "dct:title",
    "distribution": {"@id": "dcat:distribution", "@container": "@set"},
    "mediaType": "dcat:mediaType",
    "byteSize": {"@id": "dcat:byteSize", "@type": "xsd:nonNegativeInteger"},
    "checksum": "spdx:checksum",
    "algorithm": {"@id": "spdx:algorithm", "@type": "@id"},
    "checksumValue": {"@id": "spdx:checksumValue", "@type": "xsd:hexBinary"},
    "signature": "s:signature",
}
_RELEASE_CONTEXT: Final[Mapping[str, Json]] = {
    "epsilon": {"@id": "s:promisedEpsilon", "@type": "xsd:decimal"},
    "delta": {"@id": "s:promisedDelta", "@type": "xsd:decimal"},
    "posteriorBelief": "s:promisedPosteriorBelief",
    "membershipAdvantage": "s:promisedMembershipAdvantage",
    "neighbors": "s:promisedNeighbors",
    "rowsPerRespondent": "s:promisedRowsPerRespondent",
    "groupsPerRespondent": "s:promisedGroupsPerRespondent",
    "measurement": {"@id": "s:measurement", "@container": "@set"},
    "quantity": "s:quantity",
    "mechanism": "s:usedMechanism",
    "scale": "s:noiseScaleUsed",
    "composition": "s:composition",
    "releases": "s:numberOfReleases",
}
_LOCAL_CONTEXT: Final[Mapping[str, Json]] = {
    **_RELEASE_CONTEXT,
    "perturbed": {"@id": "s:perturbedColumn", "@container": "@list"},
    "values": {"@id": "s:publicValue", "@container": "@list"},
    "hasMissing": "s:hasMissingCategory",
    "changed": "s:changeProbability",
    "lower": {"@id": "s:lowerBound", "@type": "xsd:decimal"},
    "upper": {"@id": "s:upperBound", "@type": "xsd:decimal"},
    "unit": {"@id": "s:unit", "@type": "xsd:decimal"},
    "wholeEpsilon": "s:promisedEpsilonOfWholeImages",
    "height": "s:imageHeight",
    "width": "s:imageWidth",
    "pixelSize": "s:usedPixelSize",
    "pixelNeighborhood": "s:promisedPixelNeighborhood",
}

_MODEL_CONTEXT: Final[Mapping[str, Json]] = {
    **_RELEASE_CONTEXT,
    "recipe": "s:usedRecipe",
    "training": "s:privateTraining",
    "noiseMultiplier": {"@id": "s:usedNoiseMultiplier", "@type": "xsd:decimal"},
    "clippingNorm": {"@id": "s:usedClippingNorm", "@type": "xsd:decimal"},
    "samplingRate": {"@id": "s:usedSamplingRate", "@type": "xsd:decimal"},
    "steps": "s:numberOfSteps",
    "audit": "s:passedAudit",
    "attacks": {"@id": "s:triedAttack", "@container": "@set"},
    "bounds": {"@id": "s:figureBound", "@container": "@set"},
    "figure": "s:figure",
    "most": {"@id": "s:figureAtMost", "@type": "xsd:decimal"},
    "falsePositiveRate": {"@id": "s:atFalsePositiveRate", "@type": "xsd:decimal"},
    "confidence": {"@id": "s:auditConfidence", "@type": "xsd:decimal"},
    "shadowModels": "s:shadowModels",
}

AnyGuarantee: TypeAlias = Guarantee | LossGuarantee | LocalGuarantee | ModelGuarantee
"""What an output may promise."""


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How a generalised column is published; whoever sees the output sees it."""

    column: str
    form: str
    """`ranges`, or `sets of exact values`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The public record of one version of an output.

    It states what was promised and by which policy and plan; it attests no measurement, and it is not
    signed. Its claims hold within the registry that recorded it. Of a release it attests the mechanisms,
    their parameters and what the accountant made of them.
    """

    version: IRI
    """Of this version; see `entries.version_iri`."""
    output: IRI
    issued: datetime
    """With a time zone."""
    guarantee: AnyGuarantee
    quasi_identifiers: tuple[str, ...] = ()
    """The generalised columns, by name."""
    forms: tuple[ColumnForm, ...] = ()
    """How their labels look; none in certificates of earlier versions."""
    sensitive: tuple[str, ...] = ()
    """The columns kept under the guarantee, by name."""
    released: tuple[str, ...] = ()
    """The columns kept outside of it, on the word of the policy's author, by name."""
    composition: Composition | None = None
    """Of a release: what it and all earlier ones about the same respondents lose together."""
    respondent: Respondent
    inputs: tuple[IRI, ...]
    policy_uid: IRI
    policy_digest: str
    rule_uid: IRI
    plan_digest: str
    files: tuple[PublishedFile, ...]

    def to_json(self) -> str:
        """The certificate as JSON-LD with its context inside; valid under `certificate.schema.json`."""
        return json.dumps(self._document(), indent=2, ensure_ascii=False) + "\n"

    def _document(self) -> Json:
        return {
            "@context": self._context(),
            "@id": self.version,
            "@type": self._types(),
            "isVersionOf": self.output,
            "issued": self.issued.astimezone(UTC).isoformat(timespec="seconds"),
            "guarantee": self._guarantee(),
            "respondents": describe_respondents(self.respondent),
            "doesNotProtectAgainst": self._limits(),
            "wasDerivedFrom": self.inputs,
            "wasGeneratedBy": self._activity(),
            "distribution": [_distribution(file) for file in self.files],
            "signature": UNSIGNED,
        }

    def _types(self) -> Json:
        if isinstance(self.guarantee, ModelGuarantee):
            return ["prov:Entity", "dcat:Resource", "odrl:Asset", "s:Model"]
        return ["prov:Entity", "dcat:Dataset", "odrl:Asset", "dpv:ContextuallyAnonymisedData"]

    def _context(self) -> Json:
        if isinstance(self.guarantee, ModelGuarantee):
            return {**_CONTEXT, **_MODEL_CONTEXT}
        if isinstance(self.guarantee, LocalGuarantee):
            return {**_CONTEXT, **_LOCAL_CONTEXT}
        return _CONTEXT if isinstance(self.guarantee, Guarantee) else {**_CONTEXT, **_RELEASE_CONTEXT}

    def _limits(self) -> Json:
        if isinstance(self.guarantee, ModelGuarantee):
            return audits.limits(self.guarantee)
        if isinstance(self.guarantee, LossGuarantee):
            return releases.limits(self.guarantee)
        if isinstance(self.guarantee, LocalGuarantee):
            return perturbation.limits(self.guarantee)
        return limits(self.guarantee, self.sensitive, self.released)

    def _guarantee(self) -> Json:
        if isinstance(self.guarantee, ModelGuarantee):
            return _model(self.guarantee, self.composition)
        if isinstance(self.guarantee, LossGuarantee):
            return _release(self.guarantee, self.composition)
        if isinstance(self.guarantee, LocalGuarantee):
            return _perturbation(self.guarantee, self.composition)
        promised: dict[str, Json] = {"model": self.guarantee.model, "k": self.guarantee.k}
        if self.guarantee.l is not None:
            promised["l"] = self.guarantee.l
        return promised | {
            "quasiIdentifiers": self.quasi_identifiers,
            **({"generalised": self._generalised()} if self.forms else {}),
            "sensitive": self.sensitive,
            "released": self.released,
            "statement": describe_guarantee(self.guarantee, self.sensitive),
        }

    def _generalised(self) -> Json:
        return [{"name": one.column, "form": one.form} for one in self.forms]

    def _activity(self) -> Json:
        return {
            "@type": [
                "prov:Activity",
                "s:train" if isinstance(self.guarantee, ModelGuarantee) else "dpv:Anonymise",
            ],
            "policy": {
                "@id": self.policy_uid,
                "rule": self.rule_uid,
                "checksum": _checksum(self.policy_digest),
            },
            "qualifiedAssociation": {
                "@type": "prov:Association",
                "agent": {
                    "@type": "prov:SoftwareAgent",
                    "name": "smalti",
                    "softwareVersion": installed_version("smalti"),
                },
                "plan": {"@type": "prov:Plan", "checksum": _checksum(self.plan_digest)},
            },
        }


def describe_guarantee(
    guarantee: Guarantee, sensitive: tuple[str, ...], counted: str = "respondents"
) -> str:
    """What is promised, as one sentence for people.

    Args:
        guarantee: of an output.
        sensitive: the columns that are kept under it, by name.
        counted: "respondents", or "rows" where nothing tells people apart.
    """
    promise = f"each combination of published quasi-identifiers belongs to at least {guarantee.k} {counted}"
    if guarantee.l is not None:
        promise += (
            f"; within it, each sensitive column by itself has at least {guarantee.l} different values"
            f" that can be matched to {guarantee.l} different {counted}, and none that all of them hold"
        )
    elif sensitive:
        promise += "; within it, no sensitive value is held by all of them"
    return promise


def limits(guarantee: Guarantee, sensitive: tuple[str, ...], released: tuple[str, ...]) -> tuple[str, ...]:
    """What a guarantee does not protect against, as sentences for people."""
    found = [
        "somebody who knows more about a person than the quasi-identifiers",
        "several releases about the same people put together",
        "learning that a person belongs to a group, and what holds for the whole group",
        "learning the smallest and largest value of a class, which belong to real people",
    ]
    if guarantee.l is None:
        found.append("inferring a sensitive value that most, but not all, of a class share")
    else:
        found.append("sensitive values that differ but mean nearly the same, or are very unevenly frequent")
        found.append("somebody who can rule out some of a person's sensitive values")
    if released:
        listed = ", ".join(released)
        found.append(f"whatever the released columns tell or help to find out, by themselves: {listed}")
    if len(sensitive) > 1:
        found.append("somebody who knows one sensitive column, which weakens the promise for the others")
    return tuple(found)


def describe_respondents(respondent: Respondent) -> str:
    """How people were counted, as one sentence for people; names no column."""
    match respondent:
        case RespondentColumn():
            return "declared: a column names the person that a row is about"
        case OneRowEach(is_declared=True):
            return "declared: each row is about another person"
        case OneRowEach():
            return "assumed, because nothing was declared: each row is about another person"
        case _:
            assert_never(respondent)


def _release(promised: LossGuarantee, composition: Composition | None) -> Json:
    return {
        "model": promised.model,
        **_loss(promised.loss),
        "neighbors": str(promised.neighbors),
        "rowsPerRespondent": promised.rows,
        "groupsPerRespondent": promised.groups,
        "measurement": [
            {
                "name": one.statistic,
                "quantity": str(one.quantity),
                "mechanism": str(one.mechanism),
                "scale": one.scale,
            }
            for one in promised.noise
        ],
        **_together(composition),
        "statement": releases.describe(promised),
    }


def _perturbation(promised: LocalGuarantee, composition: Composition | None) -> Json:
    return {
        "model": promised.model,
        **_loss(promised.loss),
        "neighbors": str(LOCAL_NEIGHBORS),
        "perturbed": [perturbation.to_object(one) for one in promised.perturbed],
        **_together(composition),
        "statement": perturbation.describe(promised),
    }


def _model(promised: ModelGuarantee, composition: Composition | None) -> Json:
    return {
        "model": promised.model,
        "recipe": promised.recipe,
        **({} if promised.loss is None else _loss(promised.loss)),
        **({} if promised.steps is None else {"training": _steps(promised.steps)}),
        **({} if promised.examined is None else {"audit": _examined(promised.examined)}),
        **_together(composition),
        "statement": audits.describe(promised),
    }


def _steps(steps: PrivateSteps) -> Json:
    return {
        "noiseMultiplier": format(steps.noise_multiplier, "f"),
        "clippingNorm": format(steps.clipping_norm, "f"),
        "samplingRate": format(steps.sampling_rate, "f"),
        "steps": steps.steps,
        "neighbors": str(steps.neighbors),
    }


def _examined(examined: Audit) -> Json:
    return {
        "attacks": examined.attacks,
        "bounds": [
            {"figure": one.figure, "most": format(one.most, "f")}
            | (
                {}
                if one.false_positive_rate is None
                else {"falsePositiveRate": format(one.false_positive_rate, "f")}
            )
            for one in examined.bounds
        ],
        "confidence": format(examined.confidence, "f"),
        "shadowModels": examined.shadows,
    }


def _together(composition: Composition | None) -> dict[str, Json]:
    if composition is None:
        return {}
    return {"composition": {**_loss(composition.loss), "releases": composition.releases}}


def _loss(loss: Loss) -> dict[str, Json]:
    return {
        "epsilon": format(loss.epsilon, "f"),
        "delta": format(loss.delta, "f"),
        "posteriorBelief": loss.belief,
        "membershipAdvantage": loss.advantage,
    }


def _distribution(file: PublishedFile) -> Json:
    return {
        "@type": "dcat:Distribution",
        "name": file.name,
        "mediaType": file.media_type,
        "byteSize": file.size,
        "checksum": _checksum(file.digest),
    }


def _checksum(digest: str) -> Json:
    return {
        "@type": "spdx:Checksum",
        "algorithm": "spdx:checksumAlgorithm_sha256",
        "checksumValue": digest.removeprefix("sha256:"),
    }
