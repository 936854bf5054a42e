"""The public certificate of an output.

INVARIANT: the certificate holds nothing that was computed from the data beyond what the output itself
shows. Whatever else was measured (numbers of respondents, achieved k and l, loss, digests of inputs)
goes into the `OwnerReport`, and nowhere else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from typing import Final, assert_never

from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.guarantees import AnyGuarantee, Json
from smalti.engine.plan.losses import loss_to_object
from smalti.engine.plan.plan import OneRowEach, Respondent, RespondentColumn
from smalti.engine.registry.entries import OutputTable
from smalti.vocab import terms
from smalti.vocab.terms import IRI

UNSIGNED: Final = "none - this certificate is unsigned"
SPDX: Final = "http://spdx.org/rdf/terms#"

_KIND: Final[Mapping[str, Json]] = {"kind": "s:kind"}
_TABLES: Final[Mapping[str, Json]] = {"table": {"@id": "s:publishedTable", "@type": "@id"}}
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
    composition: Composition | None = None
    """Of a release: what it and all earlier ones about the same respondents lose together."""
    respondent: Respondent
    inputs: tuple[IRI, ...]
    policy_uid: IRI
    policy_digest: str
    rule_uid: IRI
    plan_digest: str
    files: tuple[PublishedFile, ...]
    tables: tuple[OutputTable, ...] = ()
    """Of the output, where it has several: each file is one of these."""
    names_kind: bool = True
    """False for one that was written before certificates named their kind (`recorded.names_kind`)."""

    def to_json(self) -> str:
        """The certificate as JSON-LD with its context inside; valid under `certificate.schema.json`."""
        return json.dumps(self._document(), indent=2, ensure_ascii=False) + "\n"

    def _document(self) -> Json:
        return {
            "@context": {
                **(_KIND if self.names_kind else {}),
                **_CONTEXT,
                **(_TABLES if self.tables else {}),
                **self.guarantee.terms,
            },
            "@id": self.version,
            "@type": self.guarantee.types,
            "isVersionOf": self.output,
            "issued": self.issued.astimezone(UTC).isoformat(timespec="seconds"),
            "guarantee": self._guarantee(),
            "respondents": describe_respondents(self.respondent),
            "doesNotProtectAgainst": self.guarantee.limits,
            "wasDerivedFrom": self.inputs,
            "wasGeneratedBy": self._activity(),
            "distribution": [_distribution(file, self.tables) for file in self.files],
            "signature": UNSIGNED,
        }

    def _guarantee(self) -> Json:
        guarantee = self.guarantee
        return {
            **({"kind": str(guarantee.kind)} if self.names_kind else {}),
            "model": guarantee.model,
            **guarantee.to_object(),
            **_together(self.composition),
            "statement": guarantee.statement,
        }

    def _activity(self) -> Json:
        return {
            "@type": ["prov:Activity", self.guarantee.activity],
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


def _together(composition: Composition | None) -> dict[str, Json]:
    if composition is None:
        return {}
    return {"composition": {**loss_to_object(composition.loss), "releases": composition.releases}}


def _distribution(file: PublishedFile, tables: tuple[OutputTable, ...]) -> Json:
    table = next((table.iri for table in tables if file.name in table.files), None)
    return {
        "@type": "dcat:Distribution",
        **({} if table is None else {"table": table}),
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
