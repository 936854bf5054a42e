"""Verify a published output, by its bytes alone or with the owner's data."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import OwnersData, capability_of
from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.stated import Published, Stated, kind_differs
from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.guarantees import AnyGuarantee
from smalti.engine.plan.kinds import Kind, kind_by_member
from smalti.engine.plan.losses import loss_from_object
from smalti.engine.plan.recorded import names_kind, plan_from_json, recorded_kind
from smalti.engine.plan.respondents import ASSUMED, counts_rows
from smalti.engine.registry.certificate import describe_respondents
from smalti.engine.registry.commit import scratch
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.run.output_folder import OutputFolder, opened_folder
from smalti.engine.tables.addresses import Location
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.engine.tables.secret import pseudonym_key
from smalti.engine.verify.verifier import PublishedCheck
from smalti.errors import DataError, GuaranteeError, UsageError, only_ours
from smalti.policy.decide.names import iri
from smalti.policy.model.iris import iri_problem, respelled
from smalti.vocab.terms import IRI

_MOST_BYTES: Final = 1 << 28
"""Of a certificate, which lists the parts of its output."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """The result of verifying a published output."""

    folder: Path
    target: IRI
    guarantee: AnyGuarantee
    version: TargetVersion | None
    """None: the registry does not know it, and only its own certificate speaks for it."""
    check: PublishedCheck | ReleaseCheck
    is_repeated: bool
    """True where the owner's data was at hand: the plan ran again and gave the same content."""
    counts_rows: bool = False
    """True where nothing was declared about its respondents: what was promised of people holds for rows."""


def find_output(registry: Registry, which: str) -> Path:
    """The folder of an output: `which` itself, or where the newest version of that IRI is.

    Raises:
        UsageError: there is no such folder, and the registry knows no such target.
    """
    if Path(which).is_dir():
        return Path(which)
    is_iri = not iri_problem(respelled(which))
    versions = registry.outputs.of(iri(which, "the output")) if is_iri else ()
    if not versions:
        raise UsageError(
            which,
            "not a folder, and not an output in the registry",
            "the folder of an output, or the IRI of a target or of a version",
            "`smalti targets` lists what was recorded",
        )
    standing = [version for version in versions if version.discarded_at is None]
    if not standing:
        raise UsageError(
            which,
            f"its owner discarded it, and its folder with it ({versions[-1].discarded_at:%Y-%m-%d %H:%M})",
            "a version that stands",
            "run its policy again",
        )
    return standing[-1].path


@only_ours()
def recheck(registry: Registry, folder: Path, workspace: Path | None = None) -> Recheck:
    """Recount what the published bytes can show, and compare them with what was recorded.

    Args:
        registry: that recorded it.
        folder: of the output.
        workspace: where to work, privately; None: in the system's folder for temporary files.

    Raises:
        GuaranteeError: the bytes, the certificate or a promise are not what was recorded.
        UsageError: the folder holds no certificate.
    """
    with opened_folder(folder) as output, scratch(workspace) as place:
        text, certificate = _certificate(output)
        versions = registry.outputs.of(IRI(certificate.version))
        version = versions[-1] if versions else None
        _check_place(registry, output, certificate)
        if version is not None and version.certificate != text:
            raise GuaranteeError(
                str(folder / CERTIFICATE_NAME),
                "the certificate differs from the recorded one",
                "the recorded text",
                "copy the output from its registered folder again",
            )
        files = version.files if version else certificate.files
        copy = place / "copy"
        copy.mkdir()
        for file in files:
            output.copy(file.name, copy / file.name, file.size + 1)
        with _as_told_of(folder, copy):
            if version is not None:
                _check_kind(copy / CERTIFICATE_NAME, certificate, version)
            published = Published(copy, files, copy / CERTIFICATE_NAME, text, version, registry)
            check = capability_of(certificate.kind).check_again(published, certificate.stated)
    is_of_rows = check.of_classes is not None and _is_of_rows(certificate, version)
    return Recheck(
        folder, IRI(certificate.output), certificate.stated.guarantee, version, check, False, is_of_rows
    )


def _check_kind(place: Path, certificate: "_Certificate", version: TargetVersion) -> None:
    """A certificate names the kind of its plan, and only one that is older than kinds names none."""
    if certificate.kind != recorded_kind(version.plan):
        raise kind_differs(place)
    if certificate.names_kind != names_kind(version.plan):
        raise GuaranteeError(
            str(place),
            "`guarantee/kind` does not follow from the plan of this output",
            "a kind in the certificate exactly where the plan names one",
            "ask the registry's operator to investigate",
        )


def _is_of_rows(certificate: "_Certificate", version: TargetVersion | None) -> bool:
    """Whether no respondents were declared when the output was made."""
    if version is not None:
        return counts_rows(version.respondent)
    return certificate.stated.respondents == describe_respondents(ASSUMED)


@contextmanager
def _as_told_of(folder: Path, copy: Path) -> Iterator[None]:
    """Report problems of a copy as those of its folder."""
    try:
        yield
    except (GuaranteeError, DataError) as error:
        where = error.where.replace(str(copy), str(folder))
        raise type(error)(where, error.problem, error.expected, error.way_out) from None


def _check_place(registry: Registry, output: OutputFolder, certificate: "_Certificate") -> None:
    """Check that a folder contains exactly the output that was registered there."""
    folder = output.folder
    place = folder.absolute()
    here = {version.iri for version in registry.outputs.all() if version.path == place}
    if here and certificate.version not in here:
        raise GuaranteeError(
            str(folder),
            "it contains another output than the registered one",
            "the registered output",
            "put it back, or name the folder where this one was registered",
        )
    published = {file.name for file in certificate.files}
    names = output.names() - {CERTIFICATE_NAME}
    if names - published:
        raise GuaranteeError(
            str(folder),
            f"it contains {len(names - published)} more than the published files",
            f"the files that `{CERTIFICATE_NAME}` lists, and itself",
            "remove what does not belong there",
        )
    if published - names:
        raise GuaranteeError(
            str(folder),
            f"`{min(published - names)}` is missing",
            f"the files that `{CERTIFICATE_NAME}` lists",
            "copy the output from its registered folder again",
        )


@only_ours()
def repeat(
    registry: Registry,
    folder: Path,
    data: Location,
    backend: Backend,
    workspace: Path | None = None,
    population: Location | None = None,
) -> Recheck:
    """As `recheck`, and run the recorded plan again on the owner's data: everything is repeated.

    Args:
        registry: that recorded the output.
        folder: of the output.
        data: the owner's.
        backend: where the plan runs.
        workspace: where to work, privately; all workers of a cluster must see it. None: in the system's
            folder for temporary files.
        population: the population table, where the plan names one.

    Raises:
        GuaranteeError: as `recheck`, or the plan gives other content on this data.
        UsageError: the registry does not know the output, so that there is no plan; or the key of its
            pseudonyms is not there.
        RegistryError: that key is too short, or others can read it.
        DataError: the data cannot be read as the plan says.
    """
    seen = recheck(registry, folder, workspace)
    if seen.version is None:
        raise UsageError(
            str(folder), "the registry has no such output", "the registry that recorded it",
            "name it with --registry",
        )  # fmt: skip
    plan = plan_from_json(seen.version.plan)
    capability = capability_of(plan.kind)
    if not capability.gives_content_again(plan):
        raise UsageError(
            str(folder),
            "it depends on random numbers, which are never drawn again",
            "an output that its plan reproduces",
            "leave out --data",
        )
    others = [source.iri for source in seen.version.inputs[1:]]
    if bool(others) is not (population is not None):
        raise UsageError(
            "population (--population)",
            "the plan names a population table" if others else "the plan names no population table",
            f"the data of `{others[0]}`" if others else "no population",
            "bind it with --population" if others else "leave it out",
        )
    key = capability.key_named(plan)
    if key is not None:
        pseudonym_key(registry.path, key, is_again=True)
    with scratch(workspace) as place:
        source = brought(plan.read.target, data, place / "input")
        withdrawn = registry.withdrawals.before(seen.version, plan.read.target)
        owned = OwnersData(source, withdrawn, registry=registry)
        if population is not None:
            owned = replace(
                owned,
                population=brought(others[0], population, place / "population-input"),
                withdrawn_from_population=registry.withdrawals.before(seen.version, others[0]),
            )
        content = capability.content_again(plan, owned, backend, place)
    if content != seen.version.output_digest:
        raise GuaranteeError(
            str(folder),
            "the recorded plan produces other content from this data",
            "the data that the output was made from",
            "bind that data, with its description, as it was"
            + (f", and bring back the key `{key}` that its pseudonyms were made with" if key else ""),
        )
    return replace(seen, is_repeated=True)


@dataclass(frozen=True, slots=True)
class _Certificate:
    """A certificate that was read."""

    version: str
    output: str
    kind: Kind
    names_kind: bool
    """False for one that was written before certificates named their kind."""
    files: tuple[PublishedFile, ...]
    stated: Stated[AnyGuarantee]
    tables: tuple[tuple[str, ...], ...]
    """The names of the files of each table, where the output has several."""


@dataclass(frozen=True, slots=True)
class StatedFiles:
    """What a certificate states, and of which files."""

    guarantee: AnyGuarantee
    files: tuple[PublishedFile, ...]
    tables: tuple[tuple[str, ...], ...]
    """The names of the files of each table, where the output has several."""


def stated_in(place: Path) -> StatedFiles:
    """What a certificate states, and of which files; their bytes are not read.

    Args:
        place: the certificate, or an output's folder, which holds it.

    Raises:
        UsageError: there is no certificate.
        GuaranteeError: it is not a smalti certificate.
    """
    name = place.name if place.is_file() else CERTIFICATE_NAME
    with opened_folder(place.parent if place.is_file() else place) as output:
        _, certificate = _certificate(output, name)
    return StatedFiles(certificate.stated.guarantee, certificate.files, certificate.tables)


def _certificate(output: OutputFolder, name: str = CERTIFICATE_NAME) -> tuple[str, _Certificate]:
    place, read = output.folder / name, output.read(name, _MOST_BYTES)
    if read is None:
        raise UsageError(
            str(output.folder), f"there is no {CERTIFICATE_NAME}", "the folder that a run published"
        )
    try:
        text = read.decode()
        document = json.loads(text)
        _schema().validate(document)
        return text, _read(document)
    except (ValueError, RecursionError):
        raise _unreadable(place) from None
    except Exception as error:
        if type(error).__name__ != "ValidationError":
            raise
        raise _unreadable(place) from None


def _unreadable(place: Path) -> GuaranteeError:
    return GuaranteeError(
        str(place),
        "not a smalti certificate",
        "the certificate that a run wrote",
        "take the output from its source",
    )


def _read(document: dict[str, Any]) -> _Certificate:
    promised = document["guarantee"]
    is_named = "kind" in promised
    kind = Kind(promised["kind"]) if is_named else kind_by_member(promised)
    stated = Stated(
        capability_of(kind).guarantee_from(promised),
        _composition(promised["composition"]) if "composition" in promised else None,
        promised["statement"],
        document["respondents"],
        tuple(document["doesNotProtectAgainst"]),
    )
    files = tuple(map(_file, document["distribution"]))
    return _Certificate(
        document["@id"], document["isVersionOf"], kind, is_named, files, stated, _tables(document)
    )


def _tables(document: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    files: dict[str, list[str]] = {}
    for published in document["distribution"]:
        if "table" in published:
            files.setdefault(published["table"], []).append(Path(published["name"]).name)
    return tuple(map(tuple, files.values()))


def _file(published: dict[str, Any]) -> PublishedFile:
    return PublishedFile(
        Path(published["name"]).name,
        "sha256:" + published["checksum"]["checksumValue"],
        published["byteSize"],
        published["mediaType"],
    )


def _composition(composition: dict[str, Any]) -> Composition:
    return Composition(loss_from_object(composition), composition["releases"])


@cache
def _schema() -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    text = files("smalti.vocab").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))
