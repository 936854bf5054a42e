"""What an output was made from, and how, in the words of OpenLineage; public facts alone.

Nothing from an owner's report is in it, nor parties, nor paths, nor a value of the data. A version is one
run event of a job, which is the rule of a policy that permitted it; where columns come from, its plan says.

Names (OpenLineage, "Naming conventions"): a data set is named by its IRI, whose scheme and authority are
the namespace. Transformations: "Column Level Lineage Dataset Facet", 1-2-0; `masking` is true wherever a
value is not published as it is.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.run_request import BegunRun
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.origins import Change, ColumnOrigin, Origins
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import Input, OutputColumn, TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab import terms
from smalti.vocab.terms import IRI

PRODUCER: Final = terms.SMALTI + "lineage"
_SPEC: Final = "https://openlineage.io/spec/"
_EVENT: Final = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = {
    "schema": "1-2-0/SchemaDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "documentation": "1-1-0/DocumentationJobFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
}
_SUBTYPES: Final = {
    Change.NONE: ("IDENTITY", False),
    Change.MASKED: ("TRANSFORMATION", True),
    Change.AGGREGATED: ("AGGREGATION", True),
}

_Object = Mapping[str, Any]


def versions_behind(registry: Registry, target: IRI) -> tuple[TargetVersion, ...]:
    """The versions of an output, and all that they were made from, in the order in which they were made.

    Raises:
        UsageError: the registry records no such output.
    """
    versions = registry.outputs.all()
    wanted = [version for version in versions if version.target == target]
    if not wanted:
        raise UsageError(
            target, "the registry records no such output", "a recorded target", "check its IRI"
        )
    by_name = {(version.target, version.number): version for version in versions}
    reached: dict[str, TargetVersion] = {}
    while wanted:
        version = wanted.pop()
        if version.run in reached:
            continue
        reached[version.run] = version
        for source in version.inputs:
            behind = by_name.get((source.iri, source.version or 0))
            wanted.extend([] if behind is None else [behind])
    return tuple(sorted(reached.values(), key=lambda version: (version.created_at, version.run)))


def openlineage(registry: Registry, target: IRI) -> str:
    """The run events of an output and of what it was made from: a line of JSON for each, oldest first.

    Raises:
        UsageError: the registry records no such output.
    """
    return "".join(
        json.dumps(run_event(version), ensure_ascii=False, sort_keys=True) + "\n"
        for version in versions_behind(registry, target)
    )


def promise_of(version: TargetVersion) -> str:
    """What a version promises, as one text for people; says nothing that its certificate does not."""
    plan = plan_from_json(version.plan)
    return capability_of(plan.kind).promise(plan)


def run_event(version: TargetVersion) -> _Object:
    """The event of a run that ended well (OpenLineage 2-0-2, `RunEvent`)."""
    plan = plan_from_json(version.plan)
    capability = capability_of(plan.kind)
    tables = [(table.iri, table.columns) for table in version.tables] or [(version.target, version.columns)]
    return _event(
        "COMPLETE",
        version.created_at,
        version.run,
        _job(version.policy_uid, version.rule_uid, plan.kind, capability.promise(plan)),
        [_input(source) for source in version.inputs],
        [_output(iri, version, columns, capability.origins(plan, iri)) for iri, columns in tables],
    )


def begun_event(run: BegunRun, kind: str) -> _Object:
    """The event of a run that begins, or that ended without an output; what is not planned is not in it.

    Args:
        run: what is known as it begins.
        kind: `START`, `FAIL` or `ABORT`.
    """
    job = _job(run.policy, run.rule, run.kind, None)
    inputs, outputs = [_dataset(run.input)], [_dataset(run.output)]
    return _event(kind, datetime.now(UTC), run.run, job, inputs, outputs)


def _event(
    kind: str, time: datetime, run: str, job: _Object, inputs: list[_Object], outputs: list[_Object]
) -> _Object:
    return {
        "eventType": kind,
        "eventTime": time.isoformat(),
        "run": {"runId": str(uuid.UUID(run)), "facets": {}},
        "job": job,
        "inputs": inputs,
        "outputs": outputs,
        "producer": PRODUCER,
        "schemaURL": _EVENT,
    }


def _job(policy: IRI, rule: IRI, kind: Kind, promise: str | None) -> _Object:
    namespace, name = _name(policy)
    facets = {
        "jobType": _facet(
            "jobType", processingType="BATCH", integration="SMALTI", jobType=kind.value.upper()
        )
    }
    if promise is not None:
        facets["documentation"] = _facet("documentation", description=promise)
    return {"namespace": namespace, "name": f"{name} {rule}", "facets": facets}


def _input(source: Input) -> _Object:
    facets = (
        {} if source.version is None else {"version": _facet("version", datasetVersion=str(source.version))}
    )
    return {**_dataset(source.iri), "facets": facets}


def _output(iri: IRI, version: TargetVersion, columns: Iterable[OutputColumn], origins: Origins) -> _Object:
    fields = [{"name": column.name, "type": str(column.datatype)} for column in columns]
    facets = {
        "schema": _facet("schema", fields=fields),
        "version": _facet("version", datasetVersion=str(version.number)),
    }
    # A population table decides which classes there are; its columns are in no output.
    source = version.inputs[0]
    lineage = _facet(
        "columnLineage",
        fields={
            column.column: {"inputFields": list(_direct(source, column))} for column in origins.columns
        },
        dataset=list(_indirect(source, origins)),
    )
    has_lineage = bool(origins.columns or origins.grouped_by or origins.filtered_by)
    return {**_dataset(iri), "facets": {**facets, **({"columnLineage": lineage} if has_lineage else {})}}


def _direct(source: Input, column: ColumnOrigin) -> Iterator[_Object]:
    subtype, is_masked = _SUBTYPES[column.change]
    for name in column.inputs:
        yield _field(source, name, "DIRECT", subtype, is_masked=is_masked)


def _indirect(source: Input, origins: Origins) -> Iterator[_Object]:
    for name in origins.grouped_by:
        yield _field(source, name, "INDIRECT", "GROUP_BY", is_masked=True)
    for name in origins.filtered_by:
        yield _field(source, name, "INDIRECT", "FILTER", is_masked=True)


def _field(source: Input, column: str, kind: str, subtype: str, *, is_masked: bool) -> _Object:
    transformation = {"type": kind, "subtype": subtype, "masking": is_masked}
    return {**_dataset(source.iri), "field": column, "transformations": [transformation]}


def _facet(name: str, **content: object) -> _Object:
    place = _FACETS[name]
    return {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}facets/{place}.json#/$defs/{place.partition('/')[2]}",
        **content,
    }


def _dataset(iri: IRI) -> _Object:
    namespace, name = _name(iri)
    return {"namespace": namespace, "name": name}


def _name(iri: IRI) -> tuple[str, str]:
    """A namespace, and the rest of an IRI: what stands behind its authority or, without one, its scheme."""
    parts = urlsplit(iri)
    namespace = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme
    return namespace, iri.removeprefix(namespace).lstrip(":/") or iri
