"""Every error that leaves the API is ours, and a wrong type is a usage error."""

import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import smalti
from smalti.engine.registry.registry import Registry
from smalti.errors import ArgumentTypeError, InternalError, SmaltiError, UsageError

SECRET = "a-value-of-somebody"
CUSTOMER = "http://example.com/Customer"
ALICE = "http://example.com/party/alice"


class NoPath:
    """Looks like a path, and is none."""

    def __fspath__(self) -> bytes:
        return SECRET.encode()


class Broken:
    """Fails as soon as it is asked for its path."""

    def __fspath__(self) -> str:
        raise RuntimeError(SECRET)


FRAME = pd.DataFrame({"Name": [SECRET], "Age": [1]})
WRONG: tuple[object, ...] = (
    None, 5, 0.5, True, b"bytes", [SECRET], [5], {5: FRAME}, {CUSTOMER: FRAME}, FRAME, FRAME["Name"],
    NoPath(), Broken(), object(), "a\0b", "\ud800", datetime(2026, 1, 1),
    smalti.Request(party=5, action="read", targets=(5,)),  # type: ignore[arg-type]
    smalti.Fact(5, (5,)),  # type: ignore[arg-type]
    lambda: None,
)  # fmt: skip
RIGHT: dict[str, Any] = {
    "policy": "no-policy.jsonld", "data": {CUSTOMER: "no-data.csv"}, "party": ALICE, "out": "out",
    "document": "no-policy.jsonld", "path": "no-policy.jsonld", "output": "no-output", 
    "asked": "no-query.json",
    "table": "no-table.csv", "target": CUSTOMER, "action": "read", "epsilon": "1", "plan": None,
    "request": smalti.Request(party=smalti.IRI(ALICE), action=smalti.IRI("x"), targets=(smalti.IRI("y"),)),
    "policies": (), "name": "name", "iri": CUSTOMER, "new": ALICE, "by": ALICE, "issuer": ALICE,
    "uid": CUSTOMER,
    "digest": "sha256:0", "public_key_pem": b"", "owner": ALICE, "thumbprint": "0", "respondents": ["x"],
    "inputs": (), "bound_by": ALICE, "run": "run", "location": "no-registry.sqlite", "memberships": (),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One argument of one public function."""

    name: str
    function: Callable[..., object]
    argument: str

    def with_(self, value: object) -> object:
        parameters = inspect.signature(self.function).parameters.values()
        needed = [
            one.name
            for one in parameters
            if one.default is one.empty and one.kind is not one.VAR_KEYWORD and one.name != self.argument
        ]
        return self.function(**{one: RIGHT.get(one) for one in needed}, **{self.argument: value})


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in smalti.__all__:
        found = getattr(smalti, name)
        if inspect.isfunction(found) and name not in {"IRI"}:
            yield name, found
    registry = Registry.open("no-registry.sqlite", log_decisions=False)
    rooms = (one.name for one in fields(Registry) if not (one.init or one.name.startswith("_")))
    for of in (registry, *(getattr(registry, room) for room in rooms)):
        for name, _ in inspect.getmembers(type(of), callable):
            if not name.startswith("_"):
                yield f"{type(of).__name__}.{name}", getattr(of, name)


def calls() -> Iterator[Call]:
    for name, function in functions():
        for one in inspect.signature(function).parameters.values():
            if one.kind is one.VAR_KEYWORD and one.annotation is object:
                continue  # words of a policy, which `new_policy` looks at itself
            if one.kind is one.VAR_KEYWORD:
                (of,) = one.annotation.__args__
                yield from (Call(name, function, choice) for choice in inspect.get_annotations(of))
            else:
                yield Call(name, function, one.name)


def raised_by(call: Call, value: object) -> SmaltiError | None:
    try:
        call.with_(value)
    except SmaltiError as error:
        return error
    return None


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_walk_passes_all_public_functions() -> None:
    found = [one.name for one in calls()]
    assert {"run", "plan", "verify", "decide", "authorize", "estimate", "Registry.withdraw"} <= set(found)
    assert len(found) > 100


@pytest.mark.parametrize("call", list(calls()), ids=lambda call: f"{call.name}-{call.argument}")
def test_every_error_is_ours_and_wrong_types_are_usage_errors(call: Call) -> None:
    for value in WRONG:
        error = raised_by(call, value)
        assert not isinstance(error, InternalError), (value, str(error))
        assert SECRET not in str(error) or value == [SECRET], value
    with pytest.raises(ArgumentTypeError):
        call.with_(object())


def test_a_data_frame_as_data_is_refused_without_its_values() -> None:
    """It has to be bound to a target; there it is data, as any other."""
    with pytest.raises(UsageError, match="`DataFrame`; expected a mapping from") as caught:
        smalti.run("policy.jsonld", data=FRAME, party=ALICE, out="out")  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)
    assert "Name" not in str(caught.value)
    with pytest.raises(SmaltiError, match=r"policy\.jsonld"):
        smalti.run("policy.jsonld", data={CUSTOMER: FRAME}, party=ALICE, out="out")
    with pytest.raises(UsageError, match=r"`object`; expected .*a data frame"):
        smalti.run("policy.jsonld", data={CUSTOMER: object()}, party=ALICE, out="out")  # type: ignore[dict-item]


def test_unknown_missing_and_surplus_arguments_are_usage_errors_and_type_errors() -> None:
    tries: tuple[Callable[[], object], ...] = (
        smalti.run,
        lambda: smalti.explain(1, 2, 3),  # type: ignore[arg-type, call-arg, misc]
        lambda: smalti.verify("out", wrkspace="x"),  # type: ignore[call-arg]
        lambda: smalti.budget("x", nobody="x"),  # type: ignore[call-arg]
    )
    for one in tries:
        with pytest.raises(UsageError) as caught:
            one()
        assert isinstance(caught.value, TypeError)


def test_a_fault_of_ours_is_one_of_the_errors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("smalti.deciding.decide_request", fail)
    with pytest.raises(smalti.SmaltiError) as caught:
        smalti.decide(party=ALICE, action="read", target=CUSTOMER)
    assert isinstance(caught.value, InternalError)
    assert SECRET not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_path_of_somebody_elses_class_is_one() -> None:
    class Place:
        def __fspath__(self) -> str:
            return "no-policy.jsonld"

    with pytest.raises(SmaltiError, match=r"no-policy\.jsonld"):
        smalti.load_policy(Place())


@pytest.mark.parametrize("path", ["x" * 400, "x/" * 5000, "postgresql://host:port/database"])
def test_a_path_that_no_system_takes_is_no_fault_of_ours(path: str) -> None:
    tries: tuple[Callable[[], object], ...] = (
        lambda: smalti.load_policy(path),
        lambda: smalti.check("none.jsonld", dataset=path),
        lambda: smalti.verify(path),
        lambda: smalti.estimate(path),
        lambda: smalti.query(path),
        lambda: smalti.decide(party=ALICE, action="read", target=CUSTOMER, registry=path),
    )
    for one in tries:
        with pytest.raises(SmaltiError) as caught:
            one()
        assert not isinstance(caught.value, InternalError), str(caught.value)
