"""Policy tests as their authors write them: a JSON file beside the policies, read into frozen values."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from smalti.errors import UsageError
from smalti.policy.decide import fact_text
from smalti.policy.decide.decision import Effect, Fact, Request
from smalti.policy.decide.names import iri, word
from smalti.policy.model.model import Value
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonValue, read, to_plain
from smalti.vocab.terms import IRI
from smalti.vocab.words import Kind

if TYPE_CHECKING:
    from smalti.engine.releases.query import Query

MAX_BYTES: Final = 4 * 1024 * 1024

_Line = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""What may name a file, or stand in a terminal."""
_Lines = Annotated[tuple[_Line, ...], Field(min_length=1)]
_Words = Annotated[tuple[str, ...], Field(min_length=1)]
_Said = str | int | float | bool | tuple[str | int | float | bool, ...]


class _Object(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)


class _Request(_Object):
    party: str
    action: str
    target: str | _Words
    purpose: str | None = None
    rule: str | None = None
    time: str | None = None
    parameters: dict[str, _Said] = {}
    query: _Line | None = None


class _World(_Object):
    facts: dict[str, _Said] = {}
    fulfilled: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    on_behalf_of: str | None = Field(default=None, validation_alias=AliasChoices("onBehalfOf"))
    agreed: str | None = None
    owners: tuple[str, ...] = ()


class _Plan(_Object):
    data: _Line
    population: _Line | None = None
    method: str | None = None
    k: int | None = None
    l: int | None = None  # noqa: E741 (the literature's name)
    dropped: tuple[str, ...] | None = None
    generalised: tuple[str, ...] | None = None
    kept: tuple[str, ...] | None = None
    explained: _Line | None = None


class _Expectation(_Object):
    effect: Effect
    rules: tuple[str, ...] | None = None
    obligations: tuple[str, ...] | None = None
    rows: bool | None = None
    withheld: tuple[str, ...] | None = None
    plan: _Plan | None = None


class _Case(_Object):
    name: _Line
    request: _Request
    world: _World = _World()
    expect: _Expectation


class _File(_Object):
    policies: _Lines
    # `hierarchies` is the former spelling.
    vocabularies: tuple[_Line, ...] = Field(
        (), validation_alias=AliasChoices("vocabularies", "hierarchies")
    )
    tests: Annotated[tuple[_Case, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class ExpectedPlan:
    """What a plan must be; None: not asked."""

    data: Path
    method: str | None
    k: int | None
    l: int | None  # noqa: E741 (the literature's name)
    dropped: frozenset[str] | None
    generalised: frozenset[str] | None
    kept: frozenset[str] | None
    explained: Path | None
    """A file with the text that `smalti plan` prints."""
    population: Path | None = None
    """The data of the population table that the policy names."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a decision must be; None: not asked."""

    effect: Effect
    rules: frozenset[IRI] | None
    """The uids of the determining rules: those that grant, or the prohibitions that deny."""
    obligations: frozenset[IRI] | None
    """The uids of the duties that come back as obligations."""
    has_rows: bool | None
    """Whether the grant is limited to some rows."""
    withheld: frozenset[IRI] | None
    """The columns that may be neither published nor shown."""
    plan: ExpectedPlan | None


@dataclass(frozen=True, slots=True)
class Case:
    """One test."""

    name: str
    request: Request
    expectation: Expectation
    owners: frozenset[IRI] = frozenset()
    """The owners of all targets; a remedy without an assignee is theirs."""
    query: "Query | None" = None
    """What is asked of a release; not in the request's parameters yet."""


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of tests."""

    path: Path
    policies: tuple[Path, ...]
    hierarchies: tuple[Path, ...]
    cases: tuple[Case, ...]


def read_cases(path: Path) -> CaseFile:
    """Read a file of policy tests; paths in it are relative to its folder.

    Raises:
        UsageError: it cannot be read, or is no such file; the message says where, and every problem.
    """
    try:
        text = path.read_bytes()[: MAX_BYTES + 1].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UsageError(str(path), "the file cannot be read", "a file of policy tests") from None
    tree, faults = read(text)
    if faults or tree is None or len(text) > MAX_BYTES:
        problem = faults[0].message if faults else "the file is too large"
        at = _line_and_column(text, faults[0].place.start) if faults else ""
        raise UsageError(f"{path}{at}", problem, "JSON", faults[0].help if faults else "")
    try:
        content = _File.model_validate(to_plain(tree))
    except ValidationError as error:
        raise _problems(path, text, tree, error) from None
    return _file(path, content)


def _file(path: Path, content: _File) -> CaseFile:
    names = [case.name for case in content.tests]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(str(path), f"the name `{twice[0]}` is used twice", "a name for each test")
    here = path.parent
    return CaseFile(
        path,
        tuple(here / name for name in content.policies),
        tuple(here / name for name in content.vocabularies),
        tuple(_case(path, case) for case in content.tests),
    )


def _case(path: Path, case: _Case) -> Case:
    where = f"{path}, test `{case.name}`"
    asked, world, expect = case.request, case.world, case.expect
    targets = (asked.target,) if isinstance(asked.target, str) else asked.target
    request = Request(
        party=iri(asked.party, where),
        action=word(Kind.ACTION, asked.action, where),
        targets=tuple(iri(target, where) for target in targets),
        purpose=None if asked.purpose is None else word(Kind.PURPOSE, asked.purpose, where),
        rule=None if asked.rule is None else iri(asked.rule, where),
        parameters=tuple(
            Fact(word(Kind.REFINEMENT, name, where), _values(said, where))
            for name, said in asked.parameters.items()
        ),
        time=_time(asked.time, where),
        facts=tuple(
            Fact(fact_text.fact_operand(name, where), _values(said, where))
            for name, said in world.facts.items()
        ),
        fulfilled=frozenset(iri(duty, where) for duty in world.fulfilled),
        accepted=tuple(fact_text.acceptance(written, where) for written in world.accepted),
        on_behalf_of=None if world.on_behalf_of is None else iri(world.on_behalf_of, where),
        agreed=_time(world.agreed, where),
    )
    expectation = Expectation(
        expect.effect,
        _iris(expect.rules, where),
        _iris(expect.obligations, where),
        expect.rows,
        _iris(expect.withheld, where),
        None if expect.plan is None else _plan(path.parent, expect.plan),
    )
    owners = frozenset(iri(owner, where) for owner in world.owners)
    query = None if asked.query is None else _query(path.parent / asked.query, where)
    return Case(case.name, request, expectation, owners, query)


def _query(path: Path, where: str) -> "Query":
    from smalti.engine.releases.query_form import read_query  # noqa: PLC0415 (only for releases)

    try:
        return read_query(path.read_bytes(), str(path))
    except OSError:
        raise UsageError(
            where,
            f"the query `{path}` cannot be read",
            "a path relative to the file of tests",
            "correct it",
        ) from None


def _plan(here: Path, plan: _Plan) -> ExpectedPlan:
    def columns(names: tuple[str, ...] | None) -> frozenset[str] | None:
        return None if names is None else frozenset(names)

    explained = None if plan.explained is None else here / plan.explained
    return ExpectedPlan(
        here / plan.data, plan.method, plan.k, plan.l,
        columns(plan.dropped), columns(plan.generalised), columns(plan.kept), explained,
        None if plan.population is None else here / plan.population,
    )  # fmt: skip


def _time(text: str | None, where: str) -> datetime | None:
    return None if text is None else fact_text.time(text, where)


def _iris(uids: tuple[str, ...] | None, where: str) -> frozenset[IRI] | None:
    return None if uids is None else frozenset(iri(uid, where) for uid in uids)


def _values(said: _Said, where: str) -> tuple[Value, ...]:
    items = said if isinstance(said, tuple) else (said,)
    written = (str(item).lower() if isinstance(item, bool) else str(item) for item in items)
    return tuple(fact_text.value(text, where) for text in written)


def _problems(path: Path, text: str, tree: JsonValue, error: ValidationError) -> UsageError:
    """Every problem with its place; pydantic's messages quote no value."""
    lines = []
    for fault in error.errors(include_input=False, include_url=False):
        steps = [str(step) for step in fault["loc"]]
        at = _line_and_column(text, _nearest(tree, fault["loc"]).place.start)
        lines.append(f"{path}{at}: {'/'.join(steps)}: {fault['msg'][0].lower()}{fault['msg'][1:]}")
    more = "" if len(lines) == 1 else "\n" + "\n".join(lines[1:])
    return UsageError(lines[0] + more, "not a file of policy tests", "see docs/how-to/test-policies.md")


def _nearest(tree: JsonValue, steps: tuple[int | str, ...]) -> JsonValue:
    """The value at a path, or the nearest one above it."""
    for step in steps:
        if isinstance(tree, JsonArray) and isinstance(step, int) and step < len(tree.items):
            tree = tree.items[step]
        elif isinstance(tree, JsonObject) and (member := tree.find(str(step))) is not None:
            tree = member.value
    return tree


def _line_and_column(text: str, offset: int) -> str:
    return f":{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"
