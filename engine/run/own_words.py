"""Messages about a policy in the words of the form that it is written in."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

from smalti.engine.binding.run_request import RunRequest
from smalti.engine.plan.notices import Notice
from smalti.errors import SmaltiError
from smalti.policy.findings.short_words import message_in_short_words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_P = ParamSpec("_P")
_R = TypeVar("_R", bound="DataclassInstance")
_TEXTS: Final = ("notices", "obstacle", "not_run")
"""The fields of results that hold messages."""


def in_own_words(
    work: Callable[Concatenate[RunRequest, _P], _R],
) -> Callable[Concatenate[RunRequest, _P], _R]:
    """Let what is done for a request speak in the words of the policy's author.

    Messages are written with the words of JSON-LD. Where the policy is in the short form, those of errors,
    notices and obstacles are put in its words here, and nowhere else.
    """

    @wraps(work)
    def worded(request: RunRequest, /, *args: _P.args, **named: _P.kwargs) -> _R:
        if not request.document.is_short:
            return work(request, *args, **named)
        try:
            result = work(request, *args, **named)
        except SmaltiError as refused:
            refused.reword(message_in_short_words)
            raise
        held = {each.name for each in fields(result)}.intersection(_TEXTS)
        return replace(result, **{name: _in_short_words(getattr(result, name)) for name in held})

    return worded


def _in_short_words(said: object) -> object:
    match said:
        case str():
            return message_in_short_words(said)
        case Notice(text=text, each=each):
            each = None if each is None else message_in_short_words(each)
            return replace(said, text=message_in_short_words(text), each=each)
        case tuple():
            return tuple(map(_in_short_words, said))
    return said
