"""What the command line shows people; and the same as JSON for programs."""

import json
import re
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.files import Composition, PublishedFile
from smalti.engine.plan.losses import up
from smalti.engine.plan.reports import Report
from smalti.engine.plan.respondents import COUNTED_ROWS, counts_rows
from smalti.engine.registry.entries import Asset, StoredHierarchy, StoredPolicy, TargetVersion, TrustedKey
from smalti.engine.tables.parts import CERTIFICATE_NAME
from smalti.policy.decision import Decision, RuleReport
from smalti.policy.describe import describe_condition, describe_duty
from smalti.policy.model import ColumnComparison, Condition, Duty, Logical, Value
from smalti.terminal import LABEL, WIDTH, Json, fields, short

if TYPE_CHECKING:
    from smalti.doctor import Check
    from smalti.engine.run.case_runs import CaseResult
    from smalti.engine.run.recheck import Recheck
    from smalti.engine.run.run import Outcome, Planned


def console() -> Console:
    """Standard output; plain, and of one width, when it is no terminal."""
    out = _Output(highlight=False, soft_wrap=True)
    return out if out.is_terminal else _Output(highlight=False, soft_wrap=True, width=WIDTH)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line say how it ends; rich would end it as if there were findings."""
        raise BrokenPipeError


def as_json(document: Json | list[Json]) -> str:
    """Indented JSON with a final line end."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


# --- Decisions


def headline(decision: Decision) -> str:
    """A decision as one line."""
    asked = decision.request
    may = "may" if decision.is_permitted else "may not"
    purpose = f"for {short(asked.purpose)}" if asked.purpose else "without a stated purpose"
    targets = " and ".join(asked.targets)
    limits = ""
    if decision.is_limited:
        limits = ", within limits" if decision.is_permitted else ", except within limits"
    return f"{decision.effect}: {asked.party} {may} {short(asked.action)} {targets} {purpose}{limits}"


_LIMITED = (
    "it is permitted only within these limits, and so not to a caller who did not say that they keep to"
    " them: a program that applies the limits says so with --understands-limits (`understands_limits=True`)"
)


def show_decision(out: Console, decision: Decision) -> None:
    """A decision with its reasons, what it asks in return, and the explanation where there is one."""
    style = "green" if decision.is_unconditional else "yellow" if decision.is_permitted else "red"
    out.print(Text(headline(decision), style=f"bold {style}"))
    for reason in decision.reasons:
        where = reason.rule or reason.policy
        _bullet(out, reason.text + (f" [{where}]" if where else ""))
    for grant in decision.grants:
        for duty in grant.obligations:
            _bullet(out, f"provided that: {describe_duty(duty)} [{duty.uid}]")
        if grant.rows:
            rows = " and ".join(describe_condition(condition) for condition in grant.rows)
            _bullet(out, f"only rows where {rows} [{grant.permission.uid}]")
        if grant.withheld:
            _bullet(out, f"without the columns {', '.join(grant.withheld)} [{grant.permission.uid}]")
        if grant.spared:
            _bullet(out, f"only if the data has {', '.join(grant.spared)} [{grant.permission.uid}]")
    if decision.is_limited and not decision.is_permitted:
        _bullet(out, _LIMITED)
    for duty in decision.remedies:
        _bullet(out, f"after a violation: {describe_duty(duty)} [{duty.uid}]")
    if decision.considered:
        _show_considered(out, decision.considered)


def _show_considered(out: Console, considered: tuple[RuleReport, ...]) -> None:
    out.print(Text("considered", style=LABEL))
    for report in considered:
        applies = "applies" if report.applies else "does not apply"
        out.print(Text(f"  {report.kind} {report.rule}: {applies}"))
        for part in report.parts:
            place = f" ({part.where})" if part.where.document else ""
            _bullet(out, f"{part.part}: {part.finding}: {part.text}{place}", indent=4)


def _bullet(out: Console, text: str, indent: int = 2) -> None:
    start = " " * indent
    out.print(Text(textwrap.fill(text, min(out.width, WIDTH), initial_indent=f"{start}- ",
                                 subsequent_indent=f"{start}  ", break_long_words=False,
                                 break_on_hyphens=False)))  # fmt: skip


def decision_json(decision: Decision) -> Json:
    """The same for programs; the keys are stable."""
    asked = decision.request
    return {
        "effect": str(decision.effect),
        "permitted": decision.is_permitted,
        "unconditional": decision.is_unconditional,
        "request": {
            "party": asked.party,
            "action": asked.action,
            "target": asked.target,
            "targets": list(asked.targets),
            "purpose": asked.purpose,
            "rule": asked.rule,
            "time": None if asked.time is None else asked.time.isoformat(),
            "understandsLimits": asked.understands_limits,
        },
        "reasons": [{"text": r.text, "policy": r.policy, "rule": r.rule} for r in decision.reasons],
        "grants": [
            {
                "policy": grant.policy.uid,
                "rule": grant.permission.uid,
                "obligations": [_duty_json(duty) for duty in grant.obligations],
                "rows": [_condition_json(condition) for condition in grant.rows],
                "withheld": list(grant.withheld),
                "spared": list(grant.spared),
            }
            for grant in decision.grants
        ],
        "remedies": [_duty_json(duty) for duty in decision.remedies],
        "considered": [_report_json(report) for report in decision.considered],
    }


def _condition_json(condition: Condition) -> Json:
    """A limit to rows, for programs that apply it themselves."""
    told: Json = {"text": describe_condition(condition), "operator": str(condition.operator)}
    match condition:
        case Logical(operands=operands):
            return told | {"operands": [_condition_json(one) for one in operands]}
        case ColumnComparison(column=column, values=values):
            return told | {"column": column.iri, "values": [_value_json(one) for one in values]}
    return told


def _value_json(value: Value) -> Json:
    (content,) = asdict(value).values()
    return {"type": type(value).__name__.lower(), "value": str(content)}


def _duty_json(duty: Duty) -> Json:
    return {"uid": duty.uid, "action": duty.action, "text": describe_duty(duty)}


def _report_json(report: RuleReport) -> Json:
    return {
        "policy": report.policy,
        "rule": report.rule,
        "kind": report.kind,
        "applies": report.applies,
        "parts": [
            {
                "part": str(part.part),
                "finding": str(part.finding),
                "text": part.text,
                "where": str(part.where) if part.where.document else None,
            }
            for part in report.parts
        ],
    }


# --- Keys and vocabularies


def show_keys(out: Console, keys: Iterable[TrustedKey]) -> None:
    """Each key with its owner and state."""
    for key in keys:
        state = f"trusted since {key.trusted_at:%Y-%m-%d %H:%M}"
        ended = f", revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else ""
        out.print(Text(key.thumbprint, style=LABEL))
        out.print(Text(f"  owner      {key.owner}"))
        out.print(Text(f"  state      {state}{ended}"))


def key_json(key: TrustedKey) -> Json:
    """The same for programs."""
    return asdict(key) | {"isTrusted": key.is_trusted}


def show_vocabularies(out: Console, stored: Iterable[StoredHierarchy]) -> None:
    """Each version of each vocabulary with its state."""
    for one in stored:
        state = "in force" if one.removed_at is None else f"ended {one.removed_at:%Y-%m-%d %H:%M}"
        out.print(Text(f"{one.name} version {one.number}", style=LABEL))
        out.print(Text(f"  said by    {one.party}"))
        out.print(Text(f"  state      {state}"))


def vocabulary_json(one: StoredHierarchy) -> Json:
    """The same for programs; the document as text."""
    return asdict(one) | {"document": one.document.decode("utf-8", errors="replace")}


# --- Tests of policies


def show_cases(out: Console, results: "Sequence[tuple[str, tuple[CaseResult, ...]]]") -> None:
    """Each test with how it ended, and the sum."""
    for name, found in results:
        out.print(Text(f"{name}: running {len(found)} {'test' if len(found) == 1 else 'tests'}"))
        for one in found:
            ended, style = ("ok", "green") if one.passed else ("FAILED", "bold red")
            out.print(Text(f"  {one.name} ... ").append(ended, style))
            for failure in one.failures:
                _bullet(out, failure, indent=4)
    cases = [one for _, found in results for one in found]
    passed = sum(one.passed for one in cases)
    out.print(Text(f"result: {passed} passed, {len(cases) - passed} failed", style=LABEL))


def cases_json(name: str, results: "tuple[CaseResult, ...]") -> Json:
    """The same for programs; the keys are stable."""
    return {
        "file": name,
        "tests": [
            {
                "name": one.name,
                "passed": one.passed,
                "failures": list(one.failures),
                "decision": decision_json(one.decision),
            }
            for one in results
        ],
    }


# --- Runs


def show_outcome(out: Console, outcome: "Outcome", registry: str) -> None:
    """What was asked, what was done, what the owner should know, and where everything is."""
    made, version = outcome.plan, outcome.version
    if made is None or version is None:
        show_decision(out, outcome.decision)
        return
    from smalti.console_outputs import show_output  # noqa: PLC0415 (it comes with the engines)

    folder = version.path
    out.print(Text(headline(outcome.decision), style="bold green"))
    show_warnings(out, outcome.warnings)
    not_protected = show_output(out, made, outcome)
    if outcome.report is not None:
        fields(out, *(("owner's view", line) for line in outcome.report.lines("respondents")))
    fields(
        out,
        ("not covered", "; ".join(not_protected)),
        ("output", _place(folder, version.files)),
        ("certificate", f"{folder / CERTIFICATE_NAME} (unsigned)"),
        ("target", f"{version.target} version {version.number}, recorded in {registry}"),
    )


def _place(folder: Path, files: Sequence[PublishedFile]) -> str:
    names = _names(files)
    return str(folder / names) if len(files) == 1 else f"{folder}: {names}"


def _names(files: Sequence[PublishedFile]) -> str:
    first, last = files[0].name, files[-1].name
    return first if len(files) == 1 else f"{len(files)} parts, {first} to {last}"


def outcome_json(outcome: "Outcome") -> Json:
    """The same for programs."""
    version, made = outcome.version, outcome.plan
    document: Json = {
        "decision": decision_json(outcome.decision), "warnings": list(outcome.warnings)
    }  # fmt: skip
    if version is not None and made is not None:
        from smalti.engine.run.explain import promise_of  # noqa: PLC0415 (it comes with the engines)

        document |= version_json(version) | {"promise": promise_of(made)}
        if outcome.composition is not None:
            document["composition"] = _camel(asdict(outcome.composition))
    if outcome.report is not None:
        document["ownerReport"] = report_json(outcome.report)
    return document


def show_composition(out: Console, together: Composition) -> None:
    """What a release and all earlier ones about the same respondents would lose together."""
    loss = together.loss
    told = (
        f"{together.releases} release{'' if together.releases == 1 else 's'} about the same respondents,"
        f" this one too: epsilon {loss.epsilon:f}, delta {loss.delta:f}, posterior belief at most"
        f" {up(loss.belief)}, membership advantage at most {up(loss.advantage)}"
    )
    fields(out, ("together", told))


def show_warnings(out: Console, warnings: Iterable[str]) -> None:
    """What to be wary of, one after the other."""
    fields(out, *(("warning", one) for one in warnings))


def planned_json(plan: str, planned: "Planned") -> str:
    """A plan in JSON, with all that it warns of and what all releases would have lost together."""
    document: Json = {**json.loads(plan), "warnings": list(planned.warnings)}
    if planned.obstacle is not None:
        document["obstacle"] = planned.obstacle
    if planned.composition is not None:
        document["composition"] = _camel(asdict(planned.composition))
    return as_json(document)


def report_json(report: Report) -> Json:
    """The owner's figures for programs."""
    shown: Json = _camel(asdict(report))
    return shown


def _camel(value: Any) -> Any:
    """Keys as JSON writes them: `media_type` becomes `mediaType`."""
    if isinstance(value, dict):
        return {
            re.sub(r"_([a-z])", lambda m: m[1].upper(), key): _camel(item) for key, item in value.items()
        }
    return [_camel(item) for item in value] if isinstance(value, list | tuple) else value


# --- Registry


def version_json(version: TargetVersion) -> Json:
    """A version as it is recorded, without the owner's figures."""
    return listed_json(version) | {"folder": str(version.path), "party": version.party}


def listed_json(version: TargetVersion) -> Json:
    """The same for whoever reads a list: neither for whom it was made, nor where it is."""
    return {
        "target": version.target,
        "version": version.number,
        "versionIri": version.iri,
        "files": [_camel(asdict(file)) for file in version.files],
        "planDigest": version.plan_digest,
        "policy": version.policy_uid,
        "rule": version.rule_uid,
        "purpose": version.purpose,
        "inputs": [{"iri": one.iri, "version": one.version} for one in version.inputs],
        "created": version.created_at.isoformat(),
    }


def show_versions(
    out: Console,
    versions: Iterable[TargetVersion],
    ended: Mapping[str, tuple[str, ...]],
    owned: Container[str],
) -> None:
    """Versions; `ended` says by run why one is to be reviewed.

    Of those of the runs in `owned`, also for whom they were made, where they are, and the owner's figures.
    """
    for version in versions:
        inputs = ", ".join(
            one.iri if one.version is None else f"{one.iri} version {one.version}" for one in version.inputs
        )
        out.print(Text(f"{version.target} version {version.number}", style=LABEL))
        is_owned, purpose = version.run in owned, short(version.purpose)
        place = _place(version.path, version.files) if is_owned else _names(version.files)
        fields(
            out,
            ("  made", f"{version.created_at:%Y-%m-%d %H:%M} UTC from {inputs}"),
            ("  for", f"{version.party}, {purpose}" if is_owned else purpose),
            ("  policy", version.policy_uid),
            ("  file", place),
        )
        fields(out, *(("  review", reason) for reason in ended.get(version.run, ())))
        if is_owned:
            counted = "rows" if counts_rows(version.respondent) else "respondents"
            fields(out, *(("  owner", line) for line in version.report.lines(counted)))


def show_policies(out: Console, policies: Iterable[StoredPolicy]) -> None:
    """Stored policies with their state."""
    listed = list(policies)
    for stored, word in zip(listed, policy_states(listed), strict=True):
        state = word if stored.is_in_force else f"{word} {stored.revoked_at:%Y-%m-%d %H:%M}"
        out.print(Text(stored.uid, style=LABEL))
        fields(out, ("  state", state))
        fields(out, ("  issuer", stored.issuer))
        fields(out, ("  about", ", ".join(sorted(stored.targets))))
        fields(out, ("  document", f"{stored.name}, {stored.digest}"))


def policy_states(policies: Sequence[StoredPolicy]) -> list[str]:
    """What became of each policy: `in force`, `revoked`, or `replaced`.

    One has been replaced when another document of its issuer, or about one of its targets, is in force
    under its uid; so has a layout of it, in which a run was given the policy that is in force.
    """
    standing: dict[str, list[StoredPolicy]] = {}
    for one in policies:
        if one.is_in_force:
            standing.setdefault(one.uid, []).append(one)

    def state(one: StoredPolicy) -> str:
        if one.is_in_force:
            return "in force"
        rivals = standing.get(one.uid, ())
        is_replaced = any(new.issuer == one.issuer or new.targets & one.targets for new in rivals)
        return "replaced" if is_replaced else "revoked"

    return [state(one) for one in policies]


def policy_json(stored: StoredPolicy, state: str) -> Json:
    """The same for programs."""
    return {
        "uid": stored.uid,
        "digest": stored.digest,
        "name": stored.name,
        "issuer": stored.issuer,
        "targets": sorted(stored.targets),
        "added": stored.added_at.isoformat(),
        "state": state,
        "revoked": stored.revoked_at.isoformat() if stored.revoked_at else None,
    }


def show_owners(out: Console, assets: Iterable[tuple[Asset, frozenset[str]]]) -> None:
    """Assets and who owns them."""
    for asset, owners in assets:
        fields(out, (str(asset.kind), f"{asset.iri}  owned by {', '.join(sorted(owners)) or 'nobody'}"))


# --- Verification and doctor


def show_recheck(out: Console, seen: "Recheck") -> None:
    """What another look at an output showed."""
    from smalti.engine.verify.promise import PublishedCheck  # noqa: PLC0415 (it brings NumPy)

    if seen.version is None:
        out.print(Text(f"not recorded: {seen.target}", style="bold yellow"))
        fields(out, ("note", _UNRECORDED))
    else:
        out.print(Text(f"verified: {seen.target}", style="bold green"))
        fields(out, ("recorded", f"version {seen.version.number} in this registry"))
    check = seen.check
    fields(out, *([("people", COUNTED_ROWS)] if seen.counts_rows else []))
    fields(out, *(("recounted", str(prop)) for prop in check.recounted))
    if isinstance(check, PublishedCheck):
        fields(out, ("rows", f"{check.rows} in {check.classes} classes of {check.least_rows} or more"))
    if seen.is_repeated:
        again = "the recorded plan gave the same content on this data, with every check of a run"
        fields(out, ("repeated", again))
    else:
        counted = "counted at run time, not again" if seen.version else "only its certificate says so"
        fields(out, *(("attested", f"{prop} ({counted})") for prop in check.attested))


_UNRECORDED = (
    "this registry does not know it. It agrees with its own certificate, which is unsigned: whoever made"
    " the one can have made the other. Name the registry that recorded it with --registry"
)


def recheck_json(seen: "Recheck") -> Json:
    """The same for programs."""
    return {
        "target": seen.target,
        "recorded": seen.version is not None,
        "version": seen.version.number if seen.version else None,
        "recounted": [str(prop) for prop in seen.check.recounted],
        "attested": [] if seen.is_repeated else [str(prop) for prop in seen.check.attested],
        "repeated": seen.is_repeated,
        "countsRows": seen.counts_rows,
        **_counts(seen),
    }


def _counts(seen: "Recheck") -> Json:
    from smalti.engine.verify.promise import PublishedCheck  # noqa: PLC0415 (it brings NumPy)

    check = seen.check
    if isinstance(check, PublishedCheck):
        return {"rows": check.rows, "classes": check.classes, "leastRows": check.least_rows}
    return {}


def show_doctor(out: Console, checks: "Iterable[Check]") -> None:
    """What is there, and how to mend what is not."""
    for check in checks:
        mark, style = ("ok", "green") if check.is_there else ("--", "yellow")
        line = Text.assemble((f"{mark}  ", style), f"{check.name:14}", f" {check.found}")
        if not check.is_there:
            line.append(f"   for {check.needed_for}: {check.mend}")
        out.print(line)
