"""Check the arguments of public functions, and let only smalti's own errors out.

Types are read from the annotations, so the documented types are those that are checked.
"""

import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import cache, wraps
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, Final, ParamSpec, TypeVar

from smalti.errors import ArgumentTypeError, SmaltiError, UsageError, ours
from smalti.policy.decide.decision import Fact, Request

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_WORDS: Final[Mapping[object, str]] = {
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Decimal: "a decimal number",
    datetime: "a point in time",
    type(None): "None",
}
_WORDS_BY_NAME: Final = {"ArrowStream": "a data frame"}
"""Of protocols of other rooms."""
_NUMBERS: Final[Mapping[object, type]] = {int: Integral, float: Real}
_SEVERAL: Final = (Iterable, Collection, Sequence, Set, tuple, frozenset, list)
_SIMPLE: Final = frozenset({bytes, bool, int, float, Decimal, datetime, type(None)})
"""Types whose values are sound whatever they are."""
_RECORDS: Final[tuple[type, ...]] = (Request, Fact)
"""Callers build these themselves, so their fields are checked, too."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Guard a public function: check the types of its arguments, and raise only smalti's errors.

    Raises:
        ArgumentTypeError: an argument is missing, unknown, or of another type.
        InternalError: an unexpected failure.
    """
    bind = _binder(function)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            _check(function, bind(args, kwargs))
            return function(*args, **kwargs)
        except SmaltiError:
            raise
        except Exception as error:
            raise ours(error) from None

    return guarded


def _binder(
    function: Callable[..., object],
) -> Callable[[tuple[object, ...], dict[str, object]], Mapping[str, object]]:
    """What gives a function's arguments by name, or says which are missing or unexpected.

    `Signature.bind` takes longer than many a guarded function, so it is asked only where a glance at the
    names does not tell.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    positional = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    named = {*positional, *(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)}
    required = {each.name for each in parameters if each.default is each.empty}
    is_plain = len(named) == len(parameters)

    def bind(args: tuple[object, ...], kwargs: dict[str, object]) -> Mapping[str, object]:
        if is_plain and len(args) <= len(positional) and kwargs.keys() <= named:
            arguments = dict(zip(positional, args, strict=False)) | kwargs
            if len(arguments) == len(args) + len(kwargs) and arguments.keys() >= required:
                return arguments
        try:
            return signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise _misfit(function, f"{error}") from None

    return bind


def public_methods(decorated: type[C]) -> type[C]:
    """Guard all public methods of a class."""
    for name, member in list(vars(decorated).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod):
            setattr(decorated, name, classmethod(public(member.__func__)))
        elif isinstance(member, types.FunctionType):
            setattr(decorated, name, public(member))
    return decorated


def _misfit(function: Callable[..., object], problem: str) -> ArgumentTypeError:
    name = function.__qualname__
    return ArgumentTypeError(f"{name}()", problem, "the documented arguments")


@dataclass(frozen=True, slots=True)
class _Expected:
    """An annotation, resolved."""

    options: tuple[object, ...]
    """The single types."""
    takes_paths: bool
    kinds: frozenset[object]
    """Types whose values are of an expected one: what most calls need to look at."""
    simple: frozenset[object]
    """Those of them whose values need no further look."""
    several: frozenset[object]
    """Those of them whose values need none where they are empty."""


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a function's arguments are checked by."""

    by_name: Mapping[str, tuple[str, _Expected]]
    """With the words that messages name each by."""
    choices: Mapping[str, object] | None
    """The types of its choices, where it takes any."""


def _check(function: Callable[..., object], arguments: Mapping[str, object]) -> None:
    parameters = _parameters(function)
    for name, value in arguments.items():
        if (parameter := parameters.by_name.get(name)) is not None:
            _check_value(parameter[0], value, parameter[1])
        elif parameters.choices is not None and isinstance(value, Mapping):
            _check_choices(function, value, parameters.choices)


def _check_choices(
    function: Callable[..., object], options: Mapping[str, object], choices: Mapping[str, object]
) -> None:
    """Refuse an unknown option, too: a caller must not believe that it had an effect."""
    for name, value in options.items():
        if name not in choices:
            close = get_close_matches(name, choices, n=1)
            suggestion = f"; did you mean `{close[0]}`?" if close else ""
            raise _misfit(function, f"got an unexpected keyword argument `{name}`{suggestion}")
        _check_value(f"{function.__qualname__}(): `{name}`", value, _resolved(choices[name]))


@cache
def _parameters(function: Callable[..., object]) -> _Parameters:
    parameters = inspect.signature(function).parameters
    # Without what the function returns, whose types need not be imported yet.
    said = {name: function.__annotations__[name] for name in parameters if name in function.__annotations__}
    of_parameters = SimpleNamespace(__annotations__=said)
    annotations = typing.get_type_hints(of_parameters, function.__globals__, dict(_LATE))
    choices: Mapping[str, object] | None = None
    for name, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            # Words of policies have no types here: the reader of policies checks them.
            for of in typing.get_args(annotations.pop(name)):
                choices = typing.get_type_hints(of, localns=dict(_LATE))
    by_name = {
        name: (f"{function.__qualname__}(): `{name}`", _resolved(annotation))
        for name, annotation in annotations.items()
    }
    return _Parameters(by_name, choices)


class _Late(type):
    """Stands for a class whose module nobody has imported yet: then nothing is an instance of it."""

    module: str

    def __instancecheck__(cls, value: object) -> bool:
        module = sys.modules.get(cls.module)
        return module is not None and isinstance(value, getattr(module, cls.__name__))


_LATE: Final[Mapping[str, object]] = {
    "Query": _Late("Query", (), {"module": "smalti.engine.releases.query"}),
    "pa": types.SimpleNamespace(Table=_Late("Table", (), {"module": "pyarrow"})),
}
"""What annotations name that is imported for type checkers alone."""


def _check_value(where: str, value: object, expected: _Expected) -> None:
    """Refuse a value of another type than what is expected; the message names its type only.

    Raises:
        ArgumentTypeError: it is of another type.
        UsageError: it is a path or a text with a character that none has.
    """
    kind = type(value)
    if kind in expected.simple or (kind in expected.several and not value):
        return
    options = expected.options
    if not (kind in expected.kinds or any(_is(value, option) for option in options)):
        words = " or ".join(_words(option) for option in options)
        raise ArgumentTypeError(where, f"its type is `{type(value).__name__}`", words)
    if expected.takes_paths:
        _check_characters(where, _path(value), os.fsencode)
    elif isinstance(value, str):
        _check_characters(where, value, str.encode)
    if not isinstance(value, str) and (kind in expected.several or kind not in expected.kinds):
        for part, of in _parts(value, options):
            _check_value(f"{where}, a part", part, _resolved(of))
    if isinstance(value, _RECORDS):
        for name, of in _fields(typing.cast(Hashable, type(value))).items():
            _check_value(f"{where}, `{name}`", getattr(value, name), of)


def _check_characters(where: str, text: str | None, encode: Callable[[str], bytes]) -> None:
    try:
        is_sound = text is None or b"\0" not in encode(text)
    except UnicodeError:
        is_sound = False
    if not is_sound:
        raise UsageError(where, "it contains an invalid character", "Unicode text without U+0000")


@cache
def _resolved(annotation: object) -> _Expected:
    options = tuple(_options(annotation))
    takes_paths = any(map(_is_path, options))
    several = frozenset(
        kind for kind in (tuple, list, frozenset) if any(_is(kind(), each) for each in options)
    )
    kinds = several.union(option for option in options if type(option) is type and option not in _SEVERAL)
    return _Expected(options, takes_paths, kinds, kinds & _SIMPLE, several)


def _options(annotation: object) -> Iterator[object]:
    """The single types of a union, resolved."""
    if isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    if typing.get_origin(annotation) in {types.UnionType, typing.Union}:
        for member in typing.get_args(annotation):
            yield from _options(member)
    else:
        yield annotation


def _is(value: object, option: object) -> bool:
    kind = option if type(option) is type else _origin(option)
    if type(value) is kind:
        return True
    if kind is Any or isinstance(kind, TypeVar):
        return True
    if kind is os.PathLike:
        return not isinstance(value, str) and _path(value) is not None
    if kind in _SEVERAL:
        return _is_several(value, kind)
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    return isinstance(value, kind) if isinstance(kind, type) else callable(value)


@cache
def _origin(option: object) -> object:
    return typing.get_origin(option) or option


def _is_several(value: object, kind: object) -> bool:
    """Whether it is several values, and no text, and no table, which yields its header."""
    if isinstance(value, str | bytes | Mapping) or hasattr(type(value), "columns"):
        return False
    if kind in {Set, frozenset}:
        return isinstance(value, Set)
    if kind is Collection:
        return isinstance(value, Collection)
    return isinstance(value, Iterable if kind is Iterable else Sequence)


def _is_path(option: object) -> bool:
    kind = typing.get_origin(option) or option
    return isinstance(kind, type) and issubclass(kind, os.PathLike)


def _path(value: object) -> str | None:
    """A path as text; None for anything else."""
    if not isinstance(value, str | os.PathLike):
        return None
    try:
        path = os.fspath(value)
    except Exception:  # somebody else's code
        return None
    return path if isinstance(path, str) else None


def _parts(value: object, options: Sequence[object]) -> Iterator[tuple[object, object]]:
    """What a value holds, each with its type; of an iterator nothing, which would use it up."""
    option = next(candidate for candidate in options if _is(value, candidate))
    kind, of = typing.get_origin(option) or option, typing.get_args(option)
    if not of or not isinstance(value, Collection):
        return
    if isinstance(value, Mapping) and kind is not type(None):
        for key, held in value.items():
            yield from ((key, of[0]), (held, of[1]))
    elif kind in _SEVERAL:
        for place, held in enumerate(value):
            yield held, of[place] if kind is tuple and len(of) > place and of[-1] is not Ellipsis else of[0]


@cache
def _fields(record: Any) -> Mapping[str, _Expected]:
    return {name: _resolved(annotation) for name, annotation in typing.get_type_hints(record).items()}


def _words(option: object) -> str:
    """A type in words."""
    kind, of = typing.get_origin(option) or option, typing.get_args(option)
    if isinstance(kind, typing.Hashable) and kind in _WORDS:
        return _WORDS[kind]
    if _is_path(option):
        return "a path"
    if (name := getattr(kind, "__name__", "")) in _WORDS_BY_NAME:
        return _WORDS_BY_NAME[name]
    held = [" or ".join(_words(option) for option in _options(part)) for part in of if part is not Ellipsis]
    if kind in _SEVERAL:
        return f"several, each {held[0]}" if held else "several"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a mapping from {held[0]} to {held[1]}" if held else "a mapping"
    return f"a `{getattr(kind, '__name__', kind)}`" if isinstance(kind, type) else "a function"
