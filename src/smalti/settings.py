"""The settings file `smalti.toml`: defaults of the command line, never of the Python API.

It names what is the same every day: the registry, who asks, whose data it is, where the data lies, and how
the engine works. What a request is about (policy, purpose, parameters, facts) is stated with each request.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.policy.decide.names import iri
from smalti.policy.model.suggest import did_you_mean
from smalti.settings_text import line_of, own_text, secrets_in

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

FILE_NAME: Final = "smalti.toml"
_NAMED: Final = "--settings, SMALTI_SETTINGS"
_MOVED: Final = {
    "as": "write `party`",
    "purpose": "a purpose is stated with each request (--purpose)",
    "format": "a format is stated with each command (--format)",
    "out": "write `outputs`, the folder in which each run makes its own",
}
"""Options that somebody may look for in the file."""
_EXPECTED: Final = {
    "engine": '"local" or "spark"', "first-cuts": '"exact" or "sampled"',
    "fragments": "a whole number from 1", "cut-threshold": "a whole number from 0",
    "data": "a table with a path for each IRI", "conf": "a table with a text for each setting of Spark",
    "advanced": "a table", "service": "a table", "tokens": "a table", "behind-proxy": "true or false",
    "upload-limit": "a number of bytes from 1", "processes": "a number from 1 to 64",
    "rate-of-party": "a number from 0",
    "rate-of-address": "a number from 0", "roots": "a table with a folder for each party",
    "control-planes": "a table with an address for each party",
    "control-plane-keys": "a table with a file for each party",
}  # fmt: skip
_HARMLESS: Final = frozenset({
    "spark.cores.max", "spark.default.parallelism", "spark.driver.cores", "spark.driver.maxResultSize",
    "spark.driver.memory", "spark.driver.memoryOverhead", "spark.executor.cores",
    "spark.executor.instances", "spark.executor.memory", "spark.executor.memoryOverhead",
    "spark.memory.fraction", "spark.network.timeout", "spark.sql.files.maxPartitionBytes",
    "spark.sql.shuffle.partitions", "spark.task.cpus",
})  # fmt: skip
"""Settings of Spark that only say how much of a machine it takes."""
_LOCAL_MASTER: Final = re.compile(r"local(?:\[[0-9*, ]{1,20}\])?")
_NAME_IT: Final = f"name it with --settings {FILE_NAME} if you trust it, or use --no-settings"
_WITHOUT_SECRETS: Final = {
    "registry": "leave the password out here; set PGPASSWORD, or keep it in ~/.pgpass",
    "data": "leave it out here; give it by the environment, or by the files of the store's own tools",
    "conf": "leave it out here; give it with --conf, or in Spark's own configuration (SPARK_CONF_DIR)",
}


def _pairs(table: object) -> object:
    return tuple(table.items()) if isinstance(table, dict) else table


def _iri(written: str) -> str:
    try:
        return iri(written, "")
    except UsageError as error:
        raise ValueError(error.problem, error.expected, error.way_out) from None


def _bindable(path: str) -> str:
    if not path or ("=" in path and "://" not in path):
        raise ValueError("this path cannot be bound", "a path without `=`", "")
    return path


def _of_spark(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("Spark has no setting of this name", "a name without `=`", "")
    return name


def _with_folder(registry: str) -> str:
    if registry.startswith("sqlite:"):
        raise ValueError("an address of SQLite is relative to no file", "the path of the registry", "")
    return registry


_Iri = Annotated[str, AfterValidator(_iri)]
_Data = tuple[tuple[_Iri, Annotated[str, AfterValidator(_bindable)]], ...]
_Texts = tuple[tuple[_Iri, str], ...]
_Conf = tuple[tuple[Annotated[str, AfterValidator(_of_spark)], str], ...]


def _spelling(name: str) -> str:
    return name.replace("_", "-")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=_spelling)


class Advanced(_Part):
    """How the work is done: the options under the same heading of help, by their names."""

    engine: Literal["local", "spark"] | None = None
    master: str | None = None
    conf: Annotated[_Conf, BeforeValidator(_pairs)] = ()
    """Settings of Spark, by name; none that holds a secret."""
    fragments: Annotated[int, Field(ge=1)] | None = None
    workspace: str | None = None
    cut_threshold: Annotated[int, Field(ge=0)] | None = None
    first_cuts: Literal["exact", "sampled"] | None = None


class TokenSettings(_Part):
    """Whose bearer tokens the service takes, and how they must be signed."""

    issuer: str
    audience: str
    algorithm: str
    """The one algorithm of signatures, such as `RS256`; what a token names itself does not count."""
    keys: str
    """The issuer's public keys: the path of a JWKS file, or its https address."""


class ServiceSettings(_Part):
    """How `smalti serve` is reached, and whom it believes; its options come first."""

    address: str | None = None
    """`HOST:PORT`."""
    uploads: str | None = None
    """The folder in which it keeps what owners upload."""
    outputs: str | None = None
    """The folder in which jobs that it orders publish."""
    upload_limit: Annotated[int, Field(ge=1)] | None = None
    """The most bytes of one upload."""
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    """Whether a proxy on this machine does TLS, and is the only way in."""
    processes: Annotated[int, Field(ge=1, le=64)] | None = None
    rate_of_party: Annotated[float, Field(ge=0)] | None = None
    """The most requests of a party each second; 0: no limit."""
    rate_of_address: Annotated[float, Field(ge=0)] | None = None
    """Likewise of an address of which nobody is recognised."""
    public_url: str | None = None
    """The address under which others reach it."""
    tokens: TokenSettings | None = None
    control_planes: Annotated[_Texts, BeforeValidator(_pairs)] = ()
    """By party, the address at which its control plane is told of data flows."""
    control_plane_keys: Annotated[_Data, BeforeValidator(_pairs)] = ()
    """By party, the file with the bearer token for its control plane."""
    roots: Annotated[_Data, BeforeValidator(_pairs)] = ()
    """By party, the folder whose files it may bind by name."""


class Settings(_Part):
    """What a settings file says; `read_settings` gives paths as they are to be opened."""

    registry: Annotated[str, AfterValidator(_with_folder)] | None = None
    party: _Iri | None = None
    """Who asks: `--as` of requests."""
    owner: _Iri | None = None
    """Whose data and policies they are: `--owner`, and `--as` of what only an owner does."""
    outputs: str | None = None
    """The folder in which runs without `--out` make theirs."""
    data: Annotated[_Data, BeforeValidator(_pairs)] = ()
    """Paths by the IRI of their target."""
    events: str | None = None
    """Where runs are told as events of OpenLineage: a file, or an address."""
    advanced: Advanced = Advanced()
    service: ServiceSettings = ServiceSettings()


_TABLES: Final[Mapping[str, type[_Part]]] = {
    "": Settings, "advanced": Advanced, "service": ServiceSettings, "service.tokens": TokenSettings,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file that was read."""

    name: str
    """Its path, as messages show it."""
    settings: Settings


def read_settings(file: str | None = None) -> SettingsFile | None:
    """Read a settings file.

    Args:
        file: its path; None: `smalti.toml` in the working folder, where there is one. That one must be the
            user's own, for nobody has named it (see `settings_text.own_text`), and choose nothing that runs
            programs or gives the data to another machine.

    Returns:
        None where no file was named, and the working folder has none.

    Raises:
        UsageError: the file cannot be read, or may be somebody else's; it has settings that are unknown or
            malformed, or holds a secret. All problems of its text at once; the message quotes no value.
    """
    if file is None:
        text, name = own_text(Path(FILE_NAME)), FILE_NAME
        if text is None:
            return None
        settings = _read(text, name)
        _check_unnamed(settings)
        return SettingsFile(name, settings)
    try:
        text = Path(file).read_bytes()
    except OSError:
        raise UsageError(f"{file} ({_NAMED})", "the file cannot be read", "a settings file") from None
    return SettingsFile(file, _read(text, file))


def _check_unnamed(settings: Settings) -> None:
    """Refuse what could run programs, or hand the data to another machine.

    A file that belongs to the user may have come with somebody's files, by a clone or an archive.
    """
    advanced = settings.advanced
    problems: list[SmaltiError] = [
        UsageError(
            FILE_NAME,
            f"`advanced.conf.{name}` counts only in a file that you name: it may run programs",
            f"one of {', '.join(sorted(_HARMLESS))}",
            _NAME_IT,
        )
        for name, _ in advanced.conf
        if name not in _HARMLESS
    ]
    if advanced.master is not None and not _LOCAL_MASTER.fullmatch(advanced.master):
        problem = "`advanced.master` counts only in a file that you name: other machines get the data"
        problems.append(UsageError(FILE_NAME, problem, "`local[*]`, or none", _NAME_IT))
    if settings.events is not None and "://" in settings.events:
        problem = "`events` counts only in a file that you name: another machine is told of runs"
        problems.append(UsageError(FILE_NAME, problem, "a file, or none", _NAME_IT))
    if settings.service != ServiceSettings():
        problem = "`[service]` counts only in a file that you name: it says who is believed"
        problems.append(UsageError(FILE_NAME, problem, "no `[service]`", _NAME_IT))
    raise_all(problems)


def _read(text: bytes, name: str) -> Settings:
    try:
        content = text.decode("utf-8")
        document = tomllib.loads(content)
    except (UnicodeDecodeError, RecursionError):
        raise UsageError(name, "it is not TOML in UTF-8", "a settings file") from None
    except tomllib.TOMLDecodeError as error:
        _, _, place = str(error).rpartition("(at ")
        raise UsageError(
            f"{name}, {place.removesuffix(')')}", "it is not TOML", 'lines such as `party = "http://..."`'
        ) from None

    def where(key: str) -> str:
        line = line_of(content, key)
        return name if line is None else f"{name}:{line}"

    problems: list[SmaltiError] = [
        UsageError(where(keys[-1]), "a secret stands here", "a file without secrets", _without_secret(keys))
        for keys in secrets_in(document)
    ]
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        faults = {_keys(fault["loc"], document): fault for fault in error.errors()}
        raise_all([*problems, *(_fault(keys, fault, where) for keys, fault in faults.items())])
        raise
    raise_all(problems)
    return _located(settings, os.path.dirname(name))


def _without_secret(keys: tuple[str, ...]) -> str:
    return next((_WITHOUT_SECRETS[key] for key in keys if key in _WITHOUT_SECRETS), "leave it out")


def _keys(place: tuple[int | str, ...], document: Mapping[str, object]) -> tuple[str, ...]:
    """The keys down to a setting; tables of pairs are counted in a place."""
    keys: list[str] = []
    table: object = document
    for part in place:
        if isinstance(part, str):
            keys.append(part)
            table = table.get(part) if isinstance(table, Mapping) else None
        elif isinstance(table, Mapping):
            return (*keys, list(table)[part])
    return tuple(keys)


def _fault(keys: tuple[str, ...], fault: "ErrorDetails", where: Callable[[str], str]) -> UsageError:
    name, key = ".".join(keys), keys[-1]
    if fault["type"] == "value_error":
        problem, expected, way_out = fault["ctx"]["error"].args
        return UsageError(where(key), f"`{name}`: {problem}", expected, way_out)
    if fault["type"] != "extra_forbidden":
        return UsageError(where(key), f"`{name}` cannot have this value", _EXPECTED.get(key, "a text"))
    table, spelled = ".".join(keys[:-1]), _spelling(key)
    names = _names(_TABLES[table])
    elsewhere = next((place for place, model in _TABLES.items() if spelled in _names(model)), None)
    if spelled in names:
        way_out = f"did you mean `{spelled}`?"
    elif elsewhere is not None:
        way_out = f"write it below `[{elsewhere}]`" if elsewhere else "write it above all tables"
    else:
        way_out = _MOVED.get(key) or did_you_mean(spelled, names) or f"known are {', '.join(names)}"
    return UsageError(where(key), f"`{name}` is not a setting", way_out=way_out)


def _names(model: type[_Part]) -> list[str]:
    return [_spelling(name) for name in model.model_fields]


def _located(settings: Settings, folder: str) -> Settings:
    """With paths relative to the folder of the file; addresses stay as they are."""

    def opened(path: str | None) -> str | None:
        return path if path is None or "://" in path else os.path.join(folder, os.path.expanduser(path))

    advanced = settings.advanced.model_copy(update={"workspace": opened(settings.advanced.workspace)})
    data = tuple((target, opened(path)) for target, path in settings.data)
    paths = {name: opened(getattr(settings, name)) for name in ("registry", "outputs", "events")}
    service = settings.service.model_copy(
        update={
            name: opened(getattr(settings.service, name))
            for name in ("uploads", "outputs", "tls_cert", "tls_key")
        }
        | {
            name: tuple((party, opened(path)) for party, path in getattr(settings.service, name))
            for name in ("roots", "control_plane_keys")
        }
        | {"tokens": _with_keys_at(settings.service.tokens, opened)}
    )
    return settings.model_copy(update={**paths, "data": data, "advanced": advanced, "service": service})


def _with_keys_at(
    tokens: TokenSettings | None, opened: Callable[[str | None], str | None]
) -> TokenSettings | None:
    return None if tokens is None else tokens.model_copy(update={"keys": opened(tokens.keys)})
