"""Targets, versions of outputs, their certificates, and their files, each of which is decided anew."""

from typing import Annotated, Final

from pydantic import Field

from smalti.engine.registry.data_flows import FlowState
from smalti.engine.registry.entries import TargetVersion
from smalti.errors import UsageError
from smalti.json.runs import report_json
from smalti.json.text import Json
from smalti.listing import public_version_json, review_reasons
from smalti.policy.decide.names import iri
from smalti.service.disclosure import may_have, sees_figures, sees_version, shown_decision
from smalti.service.operations import (
    JSON_LD,
    OCTETS,
    Answer,
    AnyOperation,
    Call,
    Described,
    Operation,
    answered,
    having,
    listing,
)
from smalti.service.pages import Paged, page
from smalti.service.parties import DOWNLOADERS, READERS
from smalti.service.problems import RefusedError, not_found

_TARGET: Final = having("iri", "kind", "registered", "versions")
_VERSION: Final = having(
    "target", "version", "versionIri", "files", "policy", "rule", "created", "forReview"
)
_Iri = Annotated[str, Field(max_length=4096)]


class VersionList(Paged):
    """Which versions."""

    target: Annotated[_Iri | None, Field(description="of this output, or the version itself")] = None
    purpose: Annotated[
        _Iri | None, Field(description="with a target: also what may be read for this purpose")
    ] = None


class Purpose(Described):
    """What something is wanted for."""

    purpose: Annotated[_Iri | None, Field(description="a name such as `marketing`, or an IRI")] = None


def list_targets(call: Call[Paged, None]) -> Answer:
    """What the asker owns, and what was made for it."""
    registry, asker = call.service.registry, call.asker
    versions: dict[str, int] = {}
    for version in registry.all_versions():
        if sees_version(registry, asker, version):
            versions[version.target] = versions.get(version.target, 0) + 1
    seen = [
        asset
        for asset in registry.assets()
        if asset.iri in versions or asker.audits or asker.party in registry.ownership.on_record(asset.iri)
    ]
    return answered(
        page(
            seen, call.query, lambda asset: asset.iri,
            lambda asset: {
                "iri": asset.iri, "kind": str(asset.kind),
                "registered": asset.registered_at.isoformat(), "versions": versions.get(asset.iri, 0),
            },
        )
    )  # fmt: skip


def list_versions(call: Call[VersionList, None]) -> Answer:
    """The versions that the asker may see."""
    registry, query = call.service.registry, call.query
    reasons = review_reasons(registry)
    versions = (
        registry.all_versions() if query.target is None else registry.versions(iri(query.target, "target"))
    )
    seen = [
        version
        for version in versions
        if sees_version(registry, call.asker, version)
        or (query.target is not None and _may_have(call, version, query.purpose))
    ]
    return answered(
        page(
            seen, query, lambda version: f"{version.target} {version.number:012d}",
            lambda version: _shown(call, version, reasons.get(version.run)),
        )
    )  # fmt: skip


def read_version(call: Call[Purpose, None]) -> Answer:
    """One version."""
    version = _seen(call)
    return answered(_shown(call, version, review_reasons(call.service.registry).get(version.run)))


def read_certificate(call: Call[Purpose, None]) -> Answer:
    """The public certificate of a version."""
    return Answer(_seen(call).certificate.encode(), JSON_LD)


def download(call: Call[Purpose, None]) -> Answer:
    """A file of a version, if that is permitted now."""
    registry, version = call.service.registry, _version(call)
    decision = may_have(registry, call.asker, version, call.query.purpose)
    owns = sees_figures(registry, call.asker, version) and call.asker.is_party and not call.asker.audits
    if not owns:
        _check_flow(call, version)
    if not decision.is_permitted and not owns:
        if not sees_version(registry, call.asker, version):
            raise not_found()
        shown = shown_decision(registry, call.asker, decision)
        raise RefusedError(403, "not-permitted", "see the reasons of the decision", {"decision": shown})
    if version.discarded_at is not None:
        raise RefusedError(410, "conflict", "its owner discarded this version")
    for file in version.files:
        place = version.path / file.name
        if file.name == call.path["name"]:
            if not place.is_file() or place.stat().st_size != file.size:
                raise UsageError(
                    version.iri, "its file is no longer as it was recorded", "the recorded file"
                )
            name = file.name.replace("/", "-").replace('"', "")
            return Answer(
                place, file.media_type,
                headers={"Content-Disposition": f'attachment; filename="{name}"'},
            )  # fmt: skip
    raise not_found()


def _check_flow(call: Call[Purpose, None], version: TargetVersion) -> None:
    """Refuse to hand over what a data flow made, while that is suspended and once it is over.

    Raises:
        RefusedError: likewise; or the key is that of another data flow.
    """
    asker, flow = call.asker, call.service.registry.flows.of_output(version.path)
    if asker.flow is not None and (flow is None or flow.key != asker.flow):
        raise not_found()
    if flow is not None and asker.party == version.party and flow.state is not FlowState.STARTED:
        raise RefusedError(403, "not-permitted", f"its data flow is {flow.state.lower()}")


def _version(call: Call[Purpose, None]) -> TargetVersion:
    """The version of a run, whoever may see it."""
    run = call.path["run"]
    for version in call.service.registry.all_versions():
        if version.run == run:
            return version
    raise not_found()


def _seen(call: Call[Purpose, None]) -> TargetVersion:
    version = _version(call)
    if sees_version(call.service.registry, call.asker, version):
        return version
    if call.asker.is_party and _may_have(call, version, call.query.purpose):
        return version
    raise not_found()


def _may_have(
    call: Call[Purpose, None] | Call[VersionList, None], version: TargetVersion, purpose: str | None
) -> bool:
    registry = call.service.registry
    return call.asker.is_party and may_have(registry, call.asker, version, purpose).is_permitted


def _shown(
    call: Call[Purpose, None] | Call[VersionList, None],
    version: TargetVersion,
    reasons: tuple[str, ...] | None,
) -> Json:
    """A version; its recipient and figures for its owners and auditors; its folder for nobody."""
    shown = public_version_json(version, reasons) | {"run": version.run}
    if sees_figures(call.service.registry, call.asker, version):
        shown |= {"party": version.party, "ownerReport": report_json(version.report)}
    return shown


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/v1/targets", name="listTargets", tag="targets",
        summary="List what the asker owns, and the outputs that were made for it.",
        roles=READERS, handler=list_targets, query=Paged, body=type(None), gives=listing(_TARGET),
    ),
    Operation(
        method="GET", path="/v1/versions", name="listVersions", tag="targets",
        summary="List versions of outputs: the asker's own, those made for it, and those it may read.",
        roles=READERS, handler=list_versions, query=VersionList, body=type(None), gives=listing(_VERSION),
    ),
    Operation(
        method="GET", path="/v1/versions/{run}", name="readVersion", tag="targets",
        summary="Read a version; the owner's figures are for its owners and for auditors.",
        roles=READERS, handler=read_version, query=Purpose, body=type(None), gives=_VERSION, refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/versions/{run}/certificate", name="readCertificate", tag="targets",
        summary="Read the public certificate of a version.",
        roles=READERS, handler=read_certificate, query=Purpose, body=type(None), media_types=(JSON_LD,),
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/versions/{run}/files/{name:path}", name="download", tag="targets",
        summary="Download a file of a version; each time it is decided anew whether the asker may.",
        roles=DOWNLOADERS, handler=download, query=Purpose, body=type(None),
        media_types=("text/csv", OCTETS), refuses=(404, 410),
    ),
)  # fmt: skip
