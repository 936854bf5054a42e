"""Data of owners: uploads and files below a root, bound to targets, with their descriptions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from smalti.describing import describe_as, describe_file, described_text
from smalti.engine.registry.bound_data import BoundData
from smalti.errors import SmaltiError, UsageError
from smalti.json.text import Json
from smalti.policy.decide.names import iri
from smalti.previewing import LOOKED_THROUGH, SCRATCH, is_looked_through, proposed_description
from smalti.service.operations import (
    JSON,
    NOTHING,
    OCTETS,
    Answer,
    AnyOperation,
    Call,
    Described,
    NoQuery,
    Operation,
    answered,
    having,
    listing,
)
from smalti.service.pages import Paged, page
from smalti.service.parties import PARTIES
from smalti.service.problems import RefusedError, not_found, refusal_of
from smalti.service.received import RawBody, Upload
from smalti.service.state import Service
from smalti.service.uploads import file_below, file_name, files_below
from smalti.study_choices import is_model
from smalti.vocab.terms import IRI

_DATA: Final = having("id", "target", "name", "uploaded", "bound", "sha256", "size", "described", "isModel")
_FILES: Final = (
    OCTETS, "text/csv", "application/vnd.apache.parquet", "application/gzip",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)  # fmt: skip
_Iri = Annotated[str, Field(max_length=4096)]
_IN_SCRATCH: Final = re.compile(rf"/\S*/{re.escape(SCRATCH)}[^/\s]*/")


class Uploaded(Described):
    """What is uploaded."""

    target: Annotated[_Iri, Field(description="the IRI that the data is bound to")]
    name: Annotated[str, Field(max_length=200, description="the file's name, and no path")]


class FileBelowRoot(Described):
    """A file that lies with the service already."""

    target: Annotated[_Iri, Field(description="the IRI that the data is bound to")]
    file: Annotated[
        str, Field(min_length=1, max_length=1024, description="its name below the root of the party")
    ]


def admit_upload(call: Call[Uploaded, None]) -> None:
    """Refuse an upload before its first byte is read."""
    file_name(call.query.name)
    _check_binds(call.service, iri(call.query.target, "target"), call.asker.party)


def upload(call: Call[Uploaded, Upload]) -> Answer:
    """Bind a target to what was uploaded."""
    service, target = call.service, iri(call.query.target, "target")
    place = service.uploads.keep(call.body, file_name(call.query.name))
    try:
        earlier = _earlier_description(call, target, place)
        bound, before = service.registry.bindings.bind(
            target, call.asker.party, place, place.name,
            is_uploaded=True, digest=call.body.digest, size=call.body.size,
        )  # fmt: skip
    except BaseException:
        service.uploads.remove(place)
        raise
    _remove(service, before)
    service.measurements.received(call.body.size)
    done = _shown(bound) | {"replaces": before is not None, "earlierDescription": earlier}
    return answered(done, 201, {"Location": f"/v1/data/{bound.id}"})


def bind_file(call: Call[NoQuery, FileBelowRoot]) -> Answer:
    """Bind a target to a file below the asker's root."""
    service, target = call.service, iri(call.body.target, "target")
    _check_binds(service, target, call.asker.party)
    root = dict(service.configuration.roots).get(call.asker.party)
    if root is None:
        raise RefusedError(404, "not-found", "there is no such file below the root of this party")
    place = file_below(root, call.body.file)
    bound, before = service.registry.bindings.bind(
        target, call.asker.party, place, call.body.file, is_uploaded=False
    )
    _remove(service, before)
    return answered(_shown(bound), 201, {"Location": f"/v1/data/{bound.id}"})


def list_files(call: Call[Paged, None]) -> Answer:
    """The files below the asker's root."""
    root = dict(call.service.configuration.roots).get(call.asker.party)
    names = [] if root is None else files_below(root)
    return answered(page(names, call.query, str, lambda name: {"file": name}))


def list_all(call: Call[Paged, None]) -> Answer:
    """The data of the asker."""
    owned = [bound for bound in call.service.registry.bindings.in_force() if _owns(call, bound)]
    return answered(page(owned, call.query, lambda bound: f"{bound.target} {bound.id}", _shown))


def read(call: Call[NoQuery, None]) -> Answer:
    """One of them."""
    return answered(_shown(_own(call)))


def unbind(call: Call[NoQuery, None]) -> Answer:
    """Bind the target to nothing, and remove what was uploaded."""
    bound = _own(call)
    _remove(call.service, call.service.registry.bindings.end(bound.id, call.asker.party))
    return NOTHING


def read_description(call: Call[NoQuery, None]) -> Answer:
    """The CSVW description of data."""
    text = described_text(_own(call).place)
    if text is None:
        raise not_found()
    return Answer(text, "application/csvm+json")


def describe(call: Call[NoQuery, RawBody]) -> Answer:
    """Describe uploaded data."""
    bound = _own(call)
    if not bound.is_uploaded:
        raise UsageError(
            str(bound.target), "it is bound to a file below a root, whose description stands beside it",
            "data that was uploaded", "describe it there",
        )  # fmt: skip
    looks = is_looked_through(bound.place)
    with call.service.looks.of(call.asker.party) if looks else nullcontext(), without_places(bound):
        columns = describe_file(bound.place, call.body.content, looks=looks)
    return answered({"columns": list(columns)})


def propose_description(call: Call[NoQuery, None]) -> Answer:
    """The description that the values of data suggest."""
    bound = _own(call)
    with read_through(call, bound):
        return answered(proposed_description(bound.place))


@contextmanager
def read_through(call: Call[Any, Any], bound: BoundData) -> Iterator[None]:
    """Read data through within the block, while its owner waits; few do at once (`Looks`).

    Raises:
        RefusedError: it is too large (409), too many are being read (429), or as `without_places`.
    """
    with call.service.looks.of(call.asker.party), without_places(bound):
        if bound.place.is_file() and not is_looked_through(bound.place):
            raise RefusedError(
                409, "conflict",
                f"it holds more than {LOOKED_THROUGH >> 20} MB, which are read through while you wait;"
                " order a job instead",
            )  # fmt: skip
        yield


@contextmanager
def without_places(bound: BoundData) -> Iterator[None]:
    """Work on data; what refuses it names the file as its owner does: where it lies, nobody sees.

    Raises:
        RefusedError: what the work raises for a reason of the data or the policy.
    """

    def named(text: str) -> str:
        text = text.replace(str(bound.place), bound.name).replace(f"{bound.place.parent}/", "")
        return _IN_SCRATCH.sub("", text)

    try:
        yield
    except SmaltiError as error:
        refusal = refusal_of(error)
        problems = [
            {name: named(text) for name, text in problem.items()}
            for problem in refusal.more.get("problems", ())
        ]
        more = refusal.more | ({"problems": problems} if problems else {})
        raise replace(refusal, detail=named(refusal.detail), more=more) from None


def _earlier_description(call: Call[Uploaded, Upload], target: IRI, place: Path) -> str | None:
    """What becomes of the description that the asker gave of what a file replaces; None: there is none."""
    before = call.service.registry.bindings.of(target)
    if before is None or before.party != call.asker.party or described_text(before.place) is None:
        return None
    looks = is_looked_through(place)
    return "kept" if describe_as(place, before.place, looks=looks) else "does not fit"


def _check_binds(service: Service, target: IRI, party: IRI) -> None:
    ownership = service.registry.ownership
    try:
        service.registry.bindings.check(target, party)
    except UsageError:
        is_of_others = ownership.is_known(target) and party not in ownership.on_record(target)
        if is_of_others or ownership.has_others_below(target, party):
            raise RefusedError(
                409, "conflict", "this party cannot bind this target: choose another IRI"
            ) from None
        raise


def _own(call: Call[NoQuery, None] | Call[NoQuery, RawBody]) -> BoundData:
    for bound in call.service.registry.bindings.in_force():
        if bound.id == call.path["id"] and _owns(call, bound):
            return bound
    raise not_found()


def _owns(call: Call[NoQuery, None] | Call[NoQuery, RawBody] | Call[Paged, None], bound: BoundData) -> bool:
    return call.asker.party in call.service.registry.full_owners(bound.target)


def _remove(service: Service, ended: BoundData | None) -> None:
    if ended is not None and ended.is_uploaded:
        service.uploads.remove(ended.place)


def _shown(bound: BoundData) -> Json:
    return {
        "id": bound.id,
        "target": bound.target,
        "name": bound.name,
        "uploaded": bound.is_uploaded,
        "bound": bound.bound_at.isoformat(),
        "sha256": bound.digest,
        "size": bound.size,
        "described": described_text(bound.place) is not None,
        "isModel": is_model(bound.name),
    }


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="POST", path="/v1/uploads", name="upload", tag="data",
        summary="Upload a file in a stream, and bind it to a target, whose description is kept if it fits.",
        roles=PARTIES, handler=upload, admits=admit_upload, query=Uploaded, body=Upload, takes=_FILES,
        gives=_DATA, status=201, refuses=(409, 507),
    ),
    Operation(
        method="POST", path="/v1/data", name="bindFile", tag="data",
        summary="Bind a target to a file below the asker's root, by name.",
        roles=PARTIES, handler=bind_file, query=NoQuery, body=FileBelowRoot, gives=_DATA, status=201,
        refuses=(404, 409),
    ),
    Operation(
        method="GET", path="/v1/files", name="listFiles", tag="data",
        summary="List the files below the asker's root, which `bindFile` takes; none without a root.",
        roles=PARTIES, handler=list_files, query=Paged, body=type(None), gives=listing(having("file")),
    ),
    Operation(
        method="GET", path="/v1/data", name="listData", tag="data",
        summary="List the data that is bound to targets of the asker.",
        roles=PARTIES, handler=list_all, query=Paged, body=type(None), gives=listing(_DATA),
    ),
    Operation(
        method="GET", path="/v1/data/{id}", name="readData", tag="data",
        summary="Read what a target is bound to; never the data itself.",
        roles=PARTIES, handler=read, query=NoQuery, body=type(None), gives=_DATA, refuses=(404,),
    ),
    Operation(
        method="DELETE", path="/v1/data/{id}", name="unbindData", tag="data",
        summary="Bind the target to nothing any more; an uploaded file is removed.",
        roles=PARTIES, handler=unbind, query=NoQuery, body=type(None), status=204, refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/data/{id}/proposal", name="proposeDescription", tag="data",
        summary="Read the CSVW description that the values of data suggest; it holds none of them.",
        roles=PARTIES, handler=propose_description, query=NoQuery, body=type(None),
        gives=having("url", "tableSchema"), refuses=(404, 409),
    ),
    Operation(
        method="GET", path="/v1/data/{id}/description", name="readDescription", tag="data",
        summary="Read the CSVW description of data.",
        roles=PARTIES, handler=read_description, query=NoQuery, body=type(None),
        media_types=("application/csvm+json",), refuses=(404,),
    ),
    Operation(
        method="PUT", path="/v1/data/{id}/description", name="describeData", tag="data",
        summary="Describe uploaded data by CSVW metadata, whose `url` is the file's name.",
        roles=PARTIES, handler=describe, query=NoQuery, body=RawBody,
        takes=("application/csvm+json", JSON, "application/ld+json"), gives=having("columns"),
        refuses=(404,),
    ),
)  # fmt: skip
