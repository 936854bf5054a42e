"""Looking at an output again, after it was made: by its bytes alone, or with the owner's data."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar

from smalti.engine.anonymization.execute import execute
from smalti.engine.backends.base import Backend
from smalti.engine.binding.rows import leave_out_rows
from smalti.engine.losses.checks import ReleaseCheck, check_release
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.perturbation.guarantee import stated_guarantee as local_guarantee
from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.losses import Loss
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.respondents import ASSUMED, counts_rows
from smalti.engine.registry.certificate import AnyGuarantee, describe_respondents
from smalti.engine.registry.commit import scratch
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.releases.guarantee import LossGuarantee
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.recheck import stated_guarantee
from smalti.engine.run.taken import Taken, taken
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.engine.tables.reading import read_names
from smalti.engine.tables.sources import bind
from smalti.engine.tables.stores import StoredObject, fetched
from smalti.engine.tables.withdrawn import Withdrawn
from smalti.engine.tables.writing import content_digest
from smalti.engine.training.guarantee import ModelGuarantee
from smalti.engine.training.plan import TrainingPlan
from smalti.engine.verify.verifier import (
    Original,
    Output,
    Promise,
    PublishedCheck,
    verify_published,
    verify_run,
)
from smalti.errors import DataError, GuaranteeError, UsageError, only_ours
from smalti.transforms.base import Guarantee
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY, IRI, LOCAL_DIFFERENTIAL_PRIVACY

P = TypeVar("P")
_MOST_BYTES: Final = 1 << 28
"""Of a certificate, which lists the parts of its output."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """What another look at an output showed."""

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
    versions = registry.versions(IRI(which))
    if not versions:
        raise UsageError(
            which,
            "this is no folder, and the registry knows no such output",
            "the folder of an output, or the IRI of a target or of a version",
            "`smalti targets` lists what was recorded",
        )
    return versions[-1].path


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
    with taken(folder) as output, scratch(workspace) as place:
        text, certificate = _certificate(output)
        versions = registry.versions(IRI(certificate.version))
        version = versions[-1] if versions else None
        _check_place(registry, output, certificate)
        if version is not None and version.certificate != text:
            raise GuaranteeError(
                str(folder / CERTIFICATE_NAME),
                "the certificate is not the one that was recorded",
                "the recorded text",
                "take the output from its registered place again",
            )
        files = version.files if version else certificate.files
        copy = place / "copy"
        copy.mkdir()
        for file in files:
            output.copy(file.name, copy / file.name, file.size + 1)
        with _as_told_of(folder, copy):
            check = _check(registry, copy, text, certificate, version)
    is_of_rows = isinstance(check, PublishedCheck) and _is_of_rows(certificate, version)
    return Recheck(
        folder, IRI(certificate.output), certificate.guarantee, version, check, False, is_of_rows
    )


def _is_of_rows(certificate: "_Stated", version: TargetVersion | None) -> bool:
    """Whether nothing told people apart when the output was made."""
    if version is not None:
        return counts_rows(version.respondent)
    return certificate.respondents == describe_respondents(ASSUMED)


@contextmanager
def _as_told_of(folder: Path, copy: Path) -> Iterator[None]:
    """Tell of a folder what is found in its copy."""
    try:
        yield
    except (GuaranteeError, DataError) as error:
        where = error.where.replace(str(copy), str(folder))
        raise type(error)(where, error.problem, error.expected, error.way_out) from None


def _check(
    registry: Registry, folder: Path, text: str, certificate: "_Stated", version: TargetVersion | None
) -> PublishedCheck | ReleaseCheck:
    """Check the copy of an output, in a private folder."""
    guarantee = certificate.guarantee
    if isinstance(guarantee, LocalGuarantee):
        return _perturbation_check(registry, folder, text, guarantee, certificate, version)
    if isinstance(guarantee, LossGuarantee):
        return _release_check(registry, folder, text, guarantee, certificate, version)
    if isinstance(guarantee, ModelGuarantee):
        return _model_check(registry, folder, text, guarantee, certificate, version)
    files = version.files if version else certificate.files
    parts = tuple(folder / file.name for file in files)
    output = Output(folder, _format(files[0].name), parts)
    columns = tuple(column.name for column in version.columns) if version else _columns(output)
    promise = Promise(columns, certificate.quasi_identifiers, certificate.sensitive, (), guarantee)
    digests = tuple(file.digest.removeprefix("sha256:") for file in files)
    return _checked(promise, output, digests)


def _release_check(
    registry: Registry,
    folder: Path,
    text: str,
    guarantee: LossGuarantee,
    certificate: "_Stated",
    version: TargetVersion | None,
) -> ReleaseCheck:
    from smalti.engine.releases.recheck_certificate import (  # noqa: PLC0415 (only for releases)
        StatedRelease,
        check_recorded,
        check_sentences,
    )

    place, composition = folder / CERTIFICATE_NAME, certificate.composition
    if composition is None:
        raise _unreadable(place)
    stated = StatedRelease(
        guarantee, composition, certificate.statement, certificate.respondents, certificate.limits
    )
    bytes_seen = check_release(folder, version.files if version else certificate.files)
    alone = check_sentences(place, stated)
    if version is None:
        return bytes_seen + alone
    plan = _recorded_plan(place, version, ReleasePlan)
    recorded = check_recorded(place, text, stated, version, plan, registry.budget(plan.read.target))
    return bytes_seen + ReleaseCheck(alone.recounted, ()) + recorded


def _perturbation_check(
    registry: Registry,
    folder: Path,
    text: str,
    guarantee: LocalGuarantee,
    certificate: "_Stated",
    version: TargetVersion | None,
) -> ReleaseCheck:
    from smalti.engine.perturbation.plan import PerturbationPlan  # noqa: PLC0415 (only for perturbations)
    from smalti.engine.perturbation.recheck import check_perturbation  # noqa: PLC0415 (as above)
    from smalti.engine.perturbation.recheck_certificate import (  # noqa: PLC0415 (as above)
        StatedPerturbation,
        check_recorded,
        check_sentences,
    )

    place, composition = folder / CERTIFICATE_NAME, certificate.composition
    if composition is None:
        raise _unreadable(place)
    stated = StatedPerturbation(guarantee, composition, certificate.statement, certificate.limits)
    table = check_perturbation(folder, version.files if version else certificate.files, guarantee)
    alone = check_sentences(place, stated)
    if version is None:
        return table + alone
    plan = _recorded_plan(place, version, PerturbationPlan)
    recorded = check_recorded(place, text, stated, version, plan, registry.budget(plan.read.target))
    return table + ReleaseCheck(alone.recounted, ()) + recorded


def _model_check(
    registry: Registry,
    folder: Path,
    text: str,
    guarantee: ModelGuarantee,
    certificate: "_Stated",
    version: TargetVersion | None,
) -> ReleaseCheck:
    from smalti.engine.training.recheck import (  # noqa: PLC0415 (only for models)
        StatedModel,
        check_recorded,
        check_sentences,
    )

    place = folder / CERTIFICATE_NAME
    stated = StatedModel(guarantee, certificate.composition, certificate.statement, certificate.limits)
    bytes_seen = check_release(folder, version.files if version else certificate.files)
    alone = check_sentences(place, stated)
    if version is None:
        return bytes_seen + alone
    plan = _recorded_plan(place, version, TrainingPlan)
    recorded = check_recorded(place, text, stated, version, plan, registry.budget(plan.read.target))
    trained = ReleaseCheck(alone.recounted, ("that the model was trained and audited as it is stated",))
    return bytes_seen + trained + recorded


def _recorded_plan(place: Path, version: TargetVersion, kind: type[P]) -> P:
    plan = plan_from_json(version.plan)
    if not isinstance(plan, kind):
        raise GuaranteeError(
            str(place),
            "the recorded plan is of another kind than the certificate",
            "the plan that the output was made by",
            "ask whoever runs the registry how it came about",
        )
    return plan


def _check_place(registry: Registry, output: Taken, certificate: "_Stated") -> None:
    """A folder holds the output that was registered there, and nothing else."""
    folder = output.folder
    place = folder.absolute()
    here = {version.iri for version in registry.all_versions() if version.path == place}
    if here and certificate.version not in here:
        raise GuaranteeError(
            str(folder),
            "it holds another output than the one that was registered there",
            "the registered output",
            "put it back, or name the folder where this one was registered",
        )
    published = {file.name for file in certificate.files}
    found = output.names() - {CERTIFICATE_NAME}
    if found - published:
        raise GuaranteeError(
            str(folder),
            f"it holds {len(found - published)} more than what was published",
            f"the files that `{CERTIFICATE_NAME}` lists, and itself",
            "remove what does not belong there",
        )
    if published - found:
        raise GuaranteeError(
            str(folder),
            f"`{min(published - found)}` is missing",
            f"the files that `{CERTIFICATE_NAME}` lists",
            "take the output from its registered place again",
        )


def _checked(promise: Promise, output: Output, digests: tuple[str, ...]) -> PublishedCheck:
    try:
        return verify_published(promise, output, digests, folder=output.path.parent)
    except GuaranteeError as error:
        raise GuaranteeError(
            error.where,
            error.problem,
            error.expected,
            "the file was changed after the run, or damaged: take it from its registered place again",
        ) from None


@only_ours()
def repeat(
    registry: Registry,
    folder: Path,
    data: Path | StoredObject,
    backend: Backend,
    workspace: Path | None = None,
) -> Recheck:
    """As `recheck`, and run the recorded plan again on the owner's data: everything is repeated.

    Args:
        registry: that recorded the output.
        folder: of the output.
        data: the owner's.
        backend: where the plan runs.
        workspace: where to work, privately; all workers of a cluster must see it. None: in the system's
            folder for temporary files.

    Raises:
        GuaranteeError: as `recheck`, or the plan gives other content on this data.
        UsageError: the registry does not know the output, so that there is no plan.
        DataError: the data cannot be read as the plan says.
    """
    seen = recheck(registry, folder, workspace)
    if seen.version is None:
        raise UsageError(
            str(folder), "the registry does not know this output", "the registry that recorded it",
            "name it with --registry",
        )  # fmt: skip
    made = plan_from_json(seen.version.plan)
    if not isinstance(made, Plan):
        raise UsageError(
            str(folder),
            "it is a release with noise, which is never drawn again",
            "an output that its plan gives again",
            "leave out --data",
        )
    withdrawn = _withdrawn_then(registry, made, seen.version)
    if _content(made, data, backend, withdrawn, workspace) != seen.version.output_digest:
        raise GuaranteeError(
            str(folder),
            "the recorded plan gives other content on this data",
            "the data that the output was made from",
            "bind that data, with its description, as it was",
        )
    return replace(seen, is_repeated=True)


def _withdrawn_then(registry: Registry, made: Plan, version: TargetVersion) -> Withdrawn:
    """Who had withdrawn when the output was made: those who did later are in it."""
    asked_at = version.report.withdrawn_at or version.created_at
    numbers = {given.iri: given.version for given in version.inputs}
    return registry.withdrawn(made.read.target, numbers.get(made.read.target), at=asked_at)


def _content(
    made: Plan,
    data: Path | StoredObject,
    backend: Backend,
    withdrawn: Withdrawn,
    workspace: Path | None,
) -> str:
    with scratch(workspace) as place:
        source = bind(made.read.target, fetched(data, place / "input"))
        written, link = place / "again", place / "link"
        written.mkdir()
        with closing(backend.open(source, place / "spill")) as table:
            if table.contents.header != tuple(column.name for column in made.read.columns):
                raise UsageError(
                    source.path.name, "its columns are not those of the plan", "the same header"
                )
            leave_out_rows(made, table, withdrawn)
            execute(made, table, written / "published", link, lambda _: None)
        original = Original(source.path, source.format, source.parts)
        published = Output.in_folder(written, made.write.format)
        verify_run(made, original, published, link, withdrawn.known_form, folder=place / "spill")
        return content_digest(published.paths, made.write.format)


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a certificate states."""

    version: str
    output: str
    guarantee: AnyGuarantee
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    files: tuple[PublishedFile, ...]
    statement: str
    respondents: str
    limits: tuple[str, ...]
    composition: Composition | None
    """Of all releases; None where nothing is charged."""


def stated_in(place: Path) -> tuple[AnyGuarantee, tuple[PublishedFile, ...]]:
    """What a certificate states, and of which files; their bytes are not looked at.

    Args:
        place: the certificate, or an output's folder, which holds it.

    Raises:
        UsageError: there is none.
        GuaranteeError: it is none of smalti.
    """
    name = place.name if place.is_file() else CERTIFICATE_NAME
    with taken(place.parent if place.is_file() else place) as output:
        _, found = _certificate(output, name)
    return found.guarantee, found.files


def _certificate(output: Taken, name: str = CERTIFICATE_NAME) -> tuple[str, _Stated]:
    place, read = output.folder / name, output.read(name, _MOST_BYTES)
    if read is None:
        raise UsageError(
            str(output.folder), f"there is no {CERTIFICATE_NAME}", "the folder that a run published"
        )
    try:
        text = read.decode()
        document = json.loads(text)
        _schema().validate(document)
        return text, _stated(document)
    except (ValueError, RecursionError):
        raise _unreadable(place) from None
    except Exception as error:
        if type(error).__name__ != "ValidationError":
            raise
        raise _unreadable(place) from None


def _unreadable(place: Path) -> GuaranteeError:
    return GuaranteeError(
        str(place),
        "this is no certificate of smalti",
        "what a run wrote",
        "take the output from its source",
    )


def _stated(document: dict[str, Any]) -> _Stated:
    promised = document["guarantee"]
    return _Stated(
        document["@id"],
        document["isVersionOf"],
        _guarantee(promised),
        tuple(promised.get("quasiIdentifiers", ())),
        tuple(promised.get("sensitive", ())),
        tuple(
            PublishedFile(
                Path(published["name"]).name,
                "sha256:" + published["checksum"]["checksumValue"],
                published["byteSize"],
                published["mediaType"],
            )
            for published in document["distribution"]
        ),
        promised["statement"],
        document["respondents"],
        tuple(document["doesNotProtectAgainst"]),
        _composition(promised["composition"]) if "composition" in promised else None,
    )


def _composition(told: dict[str, Any]) -> Composition:
    loss = Loss(
        Decimal(told["epsilon"]),
        Decimal(told["delta"]),
        told["posteriorBelief"],
        told["membershipAdvantage"],
    )
    return Composition(loss, told["releases"])


def _guarantee(promised: dict[str, Any]) -> AnyGuarantee:
    if "recipe" in promised:
        from smalti.engine.training.recheck import stated_guarantee as of_model  # noqa: PLC0415 (as needed)

        return of_model(promised)
    if promised["model"] == DIFFERENTIAL_PRIVACY:
        return stated_guarantee(promised)
    if promised["model"] == LOCAL_DIFFERENTIAL_PRIVACY:
        return local_guarantee(promised)
    return Guarantee(promised["model"], promised["k"], promised.get("l"))


@cache
def _schema() -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    text = files("smalti.vocab").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def _format(name: str) -> OutputFormat:
    return OutputFormat.PARQUET if name.endswith(".parquet") else OutputFormat.CSV


def _columns(output: Output) -> tuple[str, ...]:
    return read_names(output.paths[0], output.format)
