"""Requirements beyond k and l, as certificates state them: `{"name": ..., "parameters": [...]}`."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from smalti.engine.plan.guarantees import Json
from smalti.errors import GuaranteeError
from smalti.transforms.base import Requirement
from smalti.transforms.requirements.registry import judge_class

_Parameter: TypeAlias = int | Fraction | str

_WHERE: Final = "certificate: guarantee/requirements"
_FRACTION: Final = re.compile(r"-?[0-9]{1,400}/[1-9][0-9]{0,399}")


def requirement_to_object(requirement: Requirement) -> Mapping[str, Json]:
    """A requirement in the words of a certificate; numbers are exact."""
    of = {} if requirement.column is None else {"column": requirement.column}
    return {
        "name": requirement.name,
        **of,
        "parameters": list(map(_as_json, requirement.parameters)),
    }


def _as_json(parameter: _Parameter) -> int | str:
    if isinstance(parameter, Fraction) and parameter.denominator == 1:
        return parameter.numerator
    return str(parameter) if isinstance(parameter, Fraction) else parameter


def requirement_from_object(stated: Mapping[str, Any], sensitive: Sequence[str] = ()) -> Requirement:
    """The requirement in a certificate that its schema has accepted.

    Args:
        stated: there.
        sensitive: the columns that it may be about.

    Raises:
        GuaranteeError: this version has no such requirement, it has other parameters, or it is about
            another column.
    """
    name, stated_parameters = stated["name"], stated["parameters"]
    judge = judge_class(name)
    if judge is None:
        raise GuaranteeError(
            _WHERE,
            f"this version of smalti cannot verify the requirement `{name}`",
            "requirements that it knows",
            "verify with the version that wrote the certificate",
        )
    column = stated.get("column")
    if column is not None and column not in sensitive:
        raise GuaranteeError(
            _WHERE,
            f"the requirement `{name}` is about a column that is not sensitive",
            "a column under `sensitive`",
            "take the output from its source",
        )
    shape = judge.examples[0]
    parameters = tuple(map(_parameter, stated_parameters, shape))
    if len(stated_parameters) != len(shape) or None in parameters:
        raise GuaranteeError(
            _WHERE,
            f"the requirement `{name}` has other parameters",
            f"{len(shape)} of its types",
            "take the output from its source",
        )
    stated_ones = tuple(parameter for parameter in parameters if parameter is not None)
    requirement = Requirement(name, stated_ones, column)
    if not judge(requirement).is_possible:
        raise GuaranteeError(
            _WHERE,
            f"the parameters of the requirement `{name}` promise nothing, or what no output can keep",
            "parameters that a policy may ask for",
            "take the output from its source",
        )
    return requirement


def _parameter(stated: int | str, example: _Parameter) -> _Parameter | None:
    """A parameter of the type of an example; None: it is of another one."""
    if isinstance(example, str):
        return stated if isinstance(stated, str) else None
    if isinstance(stated, str):
        is_number = isinstance(example, Fraction) and _FRACTION.fullmatch(stated)
        return Fraction(stated) if is_number else None
    return int(stated)
