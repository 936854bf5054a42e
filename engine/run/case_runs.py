"""Runs policy tests: decides each request by the policies alone, and compares with what is expected.

All policies of a file count, as if one owner had put them in force: whose word counts is the registry's
matter, and is not tested here. Nothing is written but private scratch, and no decision is logged.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import PlanFigures, capability_of
from smalti.engine.binding.population import population_of
from smalti.engine.binding.run_request import PolicyDocument, Query, RunRequest
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.known_columns import NO_COLUMNS
from smalti.engine.plan.notices import Notice
from smalti.engine.registry.ceilings import BUDGETS
from smalti.engine.registry.registry import Registry
from smalti.engine.run.case_files import MAX_BYTES, Case, CaseFile, ExpectedPlan
from smalti.engine.run.explain import to_text
from smalti.engine.run.grants import described_columns
from smalti.engine.run.plans import plan_granted, plan_undecided
from smalti.errors import SmaltiError, UsageError
from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Decision, Fact, Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.findings.render import render_human
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Number, Policy
from smalti.policy.read.parse import ParsedDocument, json_ld_document, parse_all
from smalti.policy.short.source import is_short
from smalti.vocab.terms import ANONYMIZE, IRI


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one test."""

    name: str
    failures: tuple[str, ...]
    """What was expected and what was found, one sentence each; empty when the test passed."""
    decision: Decision

    @property
    def passed(self) -> bool:
        return not self.failures


def run_cases(file: CaseFile, backend: Backend) -> tuple[CaseResult, ...]:
    """Run every test of a file.

    Raises:
        UsageError: a policy or a hierarchy that the file names cannot be used.
    """
    hierarchies = _hierarchies(file)
    documents = _documents(file, hierarchies)
    policies = tuple(policy for parsed, _ in documents for policy in parsed.policies)
    return tuple(_run(case, policies, hierarchies, documents, backend) for case in file.cases)


def _documents(file: CaseFile, hierarchies: Hierarchies) -> list[tuple[ParsedDocument, bytes]]:
    contents = [_bytes(file, path) for path in file.policies]
    names = [str(path) for path in file.policies]
    parsed = parse_all(list(zip(contents, names, strict=True)), hierarchies=hierarchies)
    for document in parsed:
        if document.errors:
            problem = f"a policy has errors\n{render_human(document.errors, document.text)}"
            raise UsageError(str(file.path), problem, "policies without errors", "correct the policy first")
    stored = map(json_ld_document, contents, names)
    return list(zip(parsed, stored, strict=True))


def _hierarchies(file: CaseFile) -> Hierarchies:
    if not file.hierarchies:
        return STANDARD
    from smalti.policy.read.vocabularies import read_vocabulary  # noqa: PLC0415 (it needs rdflib)

    return STANDARD.with_(*(read_vocabulary(_bytes(file, path), str(path)) for path in file.hierarchies))


def _bytes(file: CaseFile, path: Path) -> bytes:
    try:
        with path.open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        raise UsageError(
            str(file.path), f"`{_shown(path)}` cannot be read", "paths relative to the file of tests"
        ) from None


def _shown(path: Path) -> str:
    return str(path)[:200].encode("unicode_escape").decode()


def _run(
    case: Case,
    policies: tuple[Policy, ...],
    hierarchies: Hierarchies,
    documents: list[tuple[ParsedDocument, bytes]],
    backend: Backend,
) -> CaseResult:
    asked = case.request if case.query is None else _with_query(case.request, case.query)
    asked = _with_columns(asked, case, documents)
    decision = authorize(asked, policies, hierarchies, owners=case.owners)
    failures = list(_decision_failures(case, decision))
    if case.expectation.plan is not None and not failures:
        failures += _population_failures(case, case.expectation.plan, decision, policies, hierarchies)
        failures += _plan_failures(case, case.expectation.plan, decision, documents, backend)
    return CaseResult(case.name, tuple(failures), decision)


def _with_columns(request: Request, case: Case, documents: list[tuple[ParsedDocument, bytes]]) -> Request:
    """The request, with what the description of the data that a plan is expected for tells of columns."""
    if case.expectation.plan is None:
        return request
    columns = NO_COLUMNS
    for parsed, content in documents:
        for policy in parsed.policies:
            document = PolicyDocument(policy, content, parsed.name)
            columns |= described_columns(_run_request(document, case, case.expectation.plan.data))
    return replace(request, columns=columns.iris, renamed=columns.renamed)


def _with_query(request: Request, query: Query) -> Request:
    """The request, with what a query asks for, as a run puts it together; nothing has been released yet."""
    stated = {fact.operand for fact in request.facts}
    unspent = tuple(Fact(operand, (Number(Decimal(0)),)) for operand in sorted(BUDGETS - stated))
    return replace(
        request,
        parameters=(*request.parameters, *query.facts(request.target)),
        facts=(*request.facts, *unspent),
    )


def _decision_failures(case: Case, decision: Decision) -> Iterator[str]:
    expected = case.expectation
    if decision.effect is not expected.effect:
        yield f"expected the effect `{expected.effect}`, got `{decision.effect}`"
    determining = frozenset(name.rule for name in decision.determining)
    if expected.rules is not None and determining != expected.rules:
        yield f"expected the rules {_listed(expected.rules)}, got {_listed(determining)}"
    obliged = frozenset(duty.uid for grant in decision.grants for duty in grant.obligations)
    if expected.obligations is not None and obliged != expected.obligations:
        yield f"expected the obligations {_listed(expected.obligations)}, got {_listed(obliged)}"
    withheld = frozenset(column for grant in decision.grants for column in grant.withheld)
    if expected.withheld is not None and withheld != frozenset(map(normalised_column, expected.withheld)):
        yield (f"expected the columns {_listed(expected.withheld)} to be withheld, got {_listed(withheld)}")
    has_rows = any(grant.rows for grant in decision.grants)
    if expected.has_rows is not None and has_rows is not expected.has_rows:
        yield (
            "expected a limit to some rows, got none"
            if expected.has_rows
            else ("expected no limit to some rows, got one")
        )


def _listed(uids: frozenset[IRI]) -> str:
    return ", ".join(f"`{uid}`" for uid in sorted(uids)) or "none"


def _population_failures(
    case: Case,
    expected: ExpectedPlan,
    decision: Decision,
    policies: tuple[Policy, ...],
    hierarchies: Hierarchies,
) -> Iterator[str]:
    """That a run is denied by a prohibition on the population table."""
    iri = population_of(decision.grants[0].permission) if decision.grants else None
    if iri is None or expected.population is None:
        return
    granted = decision.grants[0].policy
    document = PolicyDocument(granted, b"", granted.where.document)
    bound = replace(_run_request(document, case, expected.population), target=iri)
    columns = described_columns(bound)
    asked = Request(
        party=case.request.party,
        action=ANONYMIZE,
        targets=(iri,),
        purpose=case.request.purpose,
        time=case.request.time,
        columns=columns.iris,
        renamed=columns.renamed,
    )
    considered = authorize(asked, policies, hierarchies, explain=True, owners=case.owners).considered
    if any(report.kind == "prohibition" and report.applies for report in considered):
        yield f"expected a plan, but a run of it is denied: a prohibition on `{iri}` applies"


def _plan_failures(
    case: Case,
    expected: ExpectedPlan,
    decision: Decision,
    documents: list[tuple[ParsedDocument, bytes]],
    backend: Backend,
) -> list[str]:
    if not decision.grants:
        return ["expected a plan, but nothing is permitted"]
    grant = decision.grants[0]
    parsed, content = next(
        (parsed, content) for parsed, content in documents if grant.policy in parsed.policies
    )
    short = is_short(parsed.name, parsed.text)
    document = PolicyDocument(grant.policy, content, parsed.name, is_short=short)
    request = replace(
        _run_request(document, case, expected.data),
        rule=grant.permission.uid,
        population=expected.population,
    )
    with tempfile.TemporaryDirectory(prefix="smalti-") as nowhere:
        try:
            registry = Registry.open(Path(nowhere) / "none.sqlite")
            if grant.permission.how is not None:
                planned = plan_granted(request, registry, backend, grant)
            else:  # to read what a duty says how to anonymize
                planned = plan_undecided(request, registry, backend, grant)
        except SmaltiError as error:
            return [f"expected a plan, but there is none: {error}"]
        except OSError:
            return [f"expected a plan, but `{_shown(expected.data)}` cannot be read"]
    failures = [] if planned.plan is None else list(_differences(expected, planned.plan, planned.notices))
    if planned.obstacle is not None:
        failures.append(f"expected a plan, but a run of it is denied: {planned.obstacle}")
    return failures


def _run_request(document: PolicyDocument, case: Case, data: Path) -> RunRequest:
    return RunRequest(
        document=document,
        target=case.request.target,
        data=data,
        party=None,
        purpose=case.request.purpose,
        asks=case.request.parameters,
        query=case.query,
    )


def _differences(expected: ExpectedPlan, plan: AnyPlan, notices: Sequence[Notice]) -> Iterator[str]:
    yield from _figure_differences(expected, capability_of(plan.kind).figures(plan))
    if expected.explained is not None:
        yield from _explanation_differs(expected.explained, plan, notices)


def _figure_differences(expected: ExpectedPlan, figures: PlanFigures) -> Iterator[str]:
    for name, wanted, figure in (
        ("the method", expected.method, figures.method),
        ("k", expected.k, figures.k),
        ("l", expected.l, figures.l),
    ):
        if wanted is None or wanted == figure:
            continue
        if figures.has_classes or name == "the method":
            yield f"expected {name} to be {wanted}, got {figure}"
        else:
            yield f"expected {name}, but a plan of {figures.method} has none"
    for name, wanted_columns, columns in (
        ("dropped", expected.dropped, figures.dropped),
        ("generalised", expected.generalised, figures.generalised),
        ("kept", expected.kept, figures.kept),
    ):
        if wanted_columns is None or (figures.has_classes and wanted_columns == columns):
            continue
        if figures.has_classes:
            yield (
                f"expected {', '.join(sorted(wanted_columns)) or 'no column'} to be {name}, got "
                + (", ".join(sorted(columns)) or "none")
            )
        else:
            yield f"expected columns that are {name}, but a plan of {figures.method} has none"


def _explanation_differs(path: Path, plan: AnyPlan, notices: Sequence[Notice]) -> Iterator[str]:
    """Of what `smalti plan` prints on this data, or of what `smalti.explain` says whatever the data."""
    try:
        wanted = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        yield f"`{path}` cannot be read"
        return
    if wanted.strip() not in {to_text(plan).strip(), to_text(plan, notices).strip()}:
        yield f"the explanation of the plan differs from `{path}`"
