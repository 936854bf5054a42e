"""Requests of jobs from the arguments of the commands that do the same at once."""

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import click
from click.core import ParameterSource

from smalti.cli.job_kinds import COMMANDS
from smalti.cli.settings import NOT_TAKEN
from smalti.engine.jobs.requests import (
    CheckPolicies,
    JobKind,
    JobRequest,
    PolicyOnData,
    ReleaseAudit,
    RunLike,
    absolute,
    request_type,
)
from smalti.errors import UsageError
from smalti.json.jobs import without_address

_PLACES = {
    "data", "agreement", "signature", "description", "population", "earlier_data", "query", "out",
    "page", "report", "files", "dataset", "vocabularies", "model", "members", "others", "html", "samples",
}  # fmt: skip
_SHOWING = {
    "shown_as", "verbose", "dry_run", "only_estimates", "begins", "workspace", "events", "command",
}  # fmt: skip
"""What commands take and jobs do not, by their parameters: a job has its own log and its own folder, and
runs no program of whoever submits it."""
_RENAMED = {"bindings": "data", "bound": "bind", "settings": "conf"}
"""Parameters of commands that requests have under another name."""


def request_from(
    kind: JobKind, arguments: Sequence[str], registry: str | None, *, named: str
) -> tuple[JobRequest, str]:
    """What a command with these arguments would do, as a request; and the registry that they name.

    Policies of runs are loaded, so that their errors are told at once.

    Args:
        kind: of the job.
        arguments: of the command.
        registry: the one where the arguments name none; None: the command's own default.
        named: how the command is named in messages.
    """
    here = click.get_current_context()
    command = _command(kind, here.find_root().command)
    here.meta[NOT_TAKEN] = _SHOWING
    try:
        context = command.make_context(named, list(arguments), parent=here)
    except click.UsageError as error:
        message = f"{error.format_message()} (the arguments are those of `{named}`)"
        raise click.UsageError(message, here) from None
    _refuse_what_is_not_taken(kind, context, here, named)
    options = {name: value for name, value in context.params.items() if name not in _SHOWING}
    if registry is None or _is_stated(context, "registry"):
        registry = options["registry"]
    with context.scope(cleanup=False):
        return _request(kind, options | {"registry": registry}), registry


def words_of(request: RunLike) -> list[str]:
    """The arguments of `smalti run` that ask for the same; addresses and settings are hidden."""
    from smalti.cli.runs import run

    words = [without_address(request.policy)]
    texts = {
        "bindings": (f"{request.target}={without_address(request.data)}",),
        "bound": tuple(f"{part}={iri}" for part, iri in request.bind),
        "settings": tuple(f"{name}=***" for name, _ in request.conf),
    }
    defaults = {field.name: field.default for field in fields(request)}
    for param in run.params:
        name = param.name or ""
        value = texts[name] if name in texts else getattr(request, name, None)
        if isinstance(param, click.Argument) or value is None or value in [defaults.get(name), ()]:
            continue
        if value is True:
            words.append(param.opts[0])
            continue
        for text in value if isinstance(value, tuple) else (value,):
            words += [param.opts[0], text if name in texts else without_address(str(text))]
    return words


def _command(kind: JobKind, command: click.Command) -> click.Command:
    """The command whose arguments a job takes, below the main one."""
    for word in COMMANDS[kind].split()[1:]:
        if not isinstance(command, click.Group):
            raise TypeError("a job of no command")
        command = command.commands[word]
    return command


def _names(kind: JobKind) -> set[str]:
    return {field.name for field in fields(request_type(kind))}


def _is_stated(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_what_is_not_taken(
    kind: JobKind, context: click.Context, here: click.Context, named: str
) -> None:
    taken = {*_names(kind), "registry"}
    stated = [
        param.opts[0]
        for param in context.command.params
        if _RENAMED.get(name := param.name or "", name) not in taken and _is_stated(context, name)
    ]
    if stated:
        raise click.UsageError(
            f"`{'`, `'.join(stated)}`: options of `{named}` that no such job takes.", here
        )


def _request(kind: JobKind, options: dict[str, Any]) -> JobRequest:
    type_ = request_type(kind)
    if type_ is CheckPolicies:
        return _check(options)
    if issubclass(type_, PolicyOnData):
        return type_(**_of_data(kind, options))
    if type_ is ReleaseAudit:
        options |= {"output": _place_or_iri(options["output"])}
    _check_is_there(kind, options, "sample")
    return type_(**_absolute(options, _names(kind)))


def _check_is_there(kind: JobKind, options: dict[str, Any], name: str) -> None:
    """Refuse what a command may leave out, and a job of this kind may not."""
    if name in _names(kind) and options[name] is None:
        raise UsageError(name, f"none is stated, and `{kind}` is a job about one", f"a {name}")


def _of_data(kind: JobKind, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request with a policy on data."""
    from smalti.binding import pairs
    from smalti.cli.runs import loaded

    _check_is_there(kind, options, "policy")
    policy, template = options.pop("policy"), options["bound"]
    shared = {field.name for field in fields(PolicyOnData)}
    agreed = {name: options[name] for name in ("agreement",) if name in options}
    beside = _names(kind) - shared - {*agreed}
    others: dict[str, Any] = agreed | {name: options.pop(name) for name in beside if name in options}
    _, bound = loaded(policy, {"agreement": None} | options)
    if len(bound["data"]) != 1:
        raise UsageError(
            "data (--data)", f"{len(bound['data'])} targets are bound", "exactly one",
            "bind one IRI to one path",
        )  # fmt: skip
    ((target, data),) = bound["data"].items()
    values = {name: value for name, value in bound.items() if name in shared}
    values |= {"target": target, "data": data}
    values |= {"bind": tuple(pairs(template).items()), "conf": tuple(bound["conf"].items()), **others}
    placed = {name: _place(value) if name in _PLACES else value for name, value in values.items()}
    return placed | {"policy": _place_or_iri(policy)}


def _place_or_iri(name: str) -> str:
    """The path of a document or a folder; or an IRI, such as the uid of a policy in force."""
    return name if not os.path.lexists(name) and ":" in name else absolute(name)


def _check(options: dict[str, Any]) -> CheckPolicies:
    from smalti.binding import pairs

    if "-" in options["files"]:
        raise UsageError("-", "a job has no standard input", "paths of documents")
    bind = tuple(pairs(options.pop("bound")).items())
    return CheckPolicies(**_absolute(options, _names(JobKind.CHECK)), bind=bind)


def _absolute(options: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {
        name: _place(value) if name in _PLACES else value
        for name, value in options.items()
        if name in names
    }


def _place(value: Any) -> Any:
    if value is None:
        return None
    return tuple(map(_place, value)) if isinstance(value, tuple) else absolute(str(value))
