"""Requests of jobs from the arguments of the commands that do the same at once."""

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import click
from click.core import ParameterSource

from smalti.cli.settings import NOT_TAKEN
from smalti.engine.jobs.requests import (
    Assess,
    Audit,
    CheckPolicies,
    JobKind,
    JobRequest,
    PolicyOnData,
    Run,
    RunLike,
    Study,
    Sweep,
    absolute,
)
from smalti.errors import UsageError
from smalti.json.jobs import without_address

_PLACES = {
    "data", "agreement", "signature", "description", "population", "earlier_data", "query", "out",
    "page", "report", "files", "dataset", "vocabularies", "model", "members", "others", "html",
}  # fmt: skip
_BESIDE: tuple[str, ...] = ("out", "replace", "page", "report", "vary")
"""What commands with a policy on data take beside their requests, by parameter."""
_SHOWING = {"shown_as", "verbose", "dry_run", "begins", "workspace", "events"}
"""What commands take and jobs do not, by their parameters: a job has its own log and its own folder."""


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
    command, here = _command(kind), click.get_current_context()
    here.meta[NOT_TAKEN] = _SHOWING
    try:
        context = command.make_context(named, list(arguments), parent=here)
    except click.UsageError as error:
        message = f"{error.format_message()} (the arguments are those of `{named}`)"
        raise click.UsageError(message, here) from None
    _refuse_showing(context, here, named)
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


def _command(kind: JobKind) -> click.Command:
    from smalti.cli import assessing, language, runs, studying, sweeping

    return {
        JobKind.RUN: runs.run,
        JobKind.AUDIT: runs.run,
        JobKind.SWEEP: sweeping.sweep,
        JobKind.ASSESS: assessing.assess,
        JobKind.CHECK: language.check,
        JobKind.STUDY: studying.model_file,
    }[kind]


def _is_stated(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse_showing(context: click.Context, here: click.Context, named: str) -> None:
    stated = [
        param.opts[0]
        for param in context.command.params
        if param.name in _SHOWING and _is_stated(context, param.name)
    ]
    if stated:
        raise click.UsageError(f"`{'`, `'.join(stated)}`: options of `{named}` that no job takes.", here)


def _request(kind: JobKind, options: dict[str, Any]) -> JobRequest:
    match kind:
        case JobKind.RUN:
            return Run(**_of_data(options))
        case JobKind.AUDIT:
            return Audit(**_of_data(options))
        case JobKind.SWEEP:
            return Sweep(**_of_data(options))
        case JobKind.ASSESS:
            return Assess(**_absolute(options, Assess))
        case JobKind.CHECK:
            return _check(options)
        case JobKind.STUDY:
            return Study(**_absolute(options, Study))


def _of_data(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request with a policy on data."""
    from smalti.binding import pairs
    from smalti.cli.runs import loaded

    policy, template = options.pop("policy"), options["bound"]
    agreed = {name: options[name] for name in ("agreement",) if name in options}
    others: dict[str, Any] = agreed | {name: options.pop(name) for name in _BESIDE if name in options}
    _, bound = loaded(policy, {"agreement": None} | options)
    if len(bound["data"]) != 1:
        raise UsageError(
            "data (--data)", f"{len(bound['data'])} targets are bound", "exactly one",
            "bind one IRI to one path",
        )  # fmt: skip
    ((target, data),) = bound["data"].items()
    shared = {field.name for field in fields(PolicyOnData)}
    values = {name: value for name, value in bound.items() if name in shared}
    values |= {"target": target, "data": data}
    values |= {"bind": tuple(pairs(template).items()), "conf": tuple(bound["conf"].items()), **others}
    placed = {name: _place(value) if name in _PLACES else value for name, value in values.items()}
    return placed | {"policy": _policy(policy)}


def _policy(policy: str) -> str:
    """The path of a document, or the uid of a policy in force."""
    return policy if not os.path.lexists(policy) and ":" in policy else absolute(policy)


def _check(options: dict[str, Any]) -> CheckPolicies:
    from smalti.binding import pairs

    if "-" in options["files"]:
        raise UsageError("-", "a job has no standard input", "paths of documents")
    bind = tuple(pairs(options.pop("bound")).items())
    return CheckPolicies(**_absolute(options, CheckPolicies), bind=bind)


def _absolute(options: dict[str, Any], kind: type[JobRequest]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {
        name: _place(value) if name in _PLACES else value
        for name, value in options.items()
        if name in names
    }


def _place(value: Any) -> Any:
    if value is None:
        return None
    return tuple(map(_place, value)) if isinstance(value, tuple) else absolute(str(value))
