"""Requests of jobs: one JSON form, refused at the edge, and the same as the commands take."""

from dataclasses import fields
from pathlib import Path

import click
import pytest
import shell
from model_worlds import TARGET, USER, people, policy

from smalti.cli import job_requests
from smalti.cli.main import cli
from smalti.engine.jobs.queue import request_of
from smalti.engine.jobs.requests import (
    Assess,
    Audit,
    CheckPolicies,
    Compare,
    GenerativeAudit,
    Identifiability,
    IdentifiabilitySample,
    JobKind,
    JobRequest,
    PolicyOnData,
    ReleaseAudit,
    Run,
    Study,
    Sweep,
    absolute,
    from_json,
    page_of,
    to_json,
)
from smalti.engine.registry.registry import Registry
from smalti.errors import ProblemsError, UsageError

KINDS: dict[JobKind, type[JobRequest]] = {
    JobKind.RUN: Run, JobKind.AUDIT: Audit, JobKind.SWEEP: Sweep, JobKind.ASSESS: Assess,
    JobKind.CHECK: CheckPolicies, JobKind.STUDY: Study, JobKind.COMPARE: Compare,
    JobKind.RELEASE_AUDIT: ReleaseAudit, JobKind.GENERATIVE_AUDIT: GenerativeAudit,
    JobKind.IDENTIFIABILITY: Identifiability, JobKind.IDENTIFIABILITY_SAMPLE: IdentifiabilitySample,
}  # fmt: skip
GENERATIVE = ("--members", "m.npy", "--others", "o.npy", "--attack", "monte-carlo")
ON_DATA = {"policy": "/p.jsonld", "target": TARGET, "data": "s3://bucket/key.csv", "party": USER}
EXAMPLES = (
    Run(**ON_DATA, out="/out", bind=(("target", TARGET),), conf=(("a", "b"),), fragments=2),  # type: ignore[arg-type]
    Audit(**ON_DATA, out="/out", facts=("a=b",)),  # type: ignore[arg-type]
    Sweep(**ON_DATA, vary=("k=2,5",)),  # type: ignore[arg-type]
    Assess(data="/d.csv", sensitive=("illness",)),
    CheckPolicies(files=("/a", "/b"), strict=True),
    Study(model="/m", members="/a.csv", others="/b.csv", label="y", attacks=("loss",), html="/p.html"),
    Compare(out="/study", classes=(20,), noises=(0.5,)),
    ReleaseAudit(output="urn:uuid:1", data="/d.csv", party=USER, population="/p.csv", page="/p.html"),
    GenerativeAudit(members="/a.npy", others="/b.npy", attacks=("monte-carlo",), samples="/s.npy"),
    Identifiability(**ON_DATA, beliefs=(0.9,), steps=5),  # type: ignore[arg-type]
    IdentifiabilitySample(sample="digits", hidden=(16, 8)),
)


@pytest.mark.parametrize("request_", EXAMPLES)
def test_requests_come_back(request_: JobRequest) -> None:
    text = to_json(request_)
    assert from_json(text) == request_
    assert to_json(from_json(text)) == text


def test_there_is_an_example_of_each_kind() -> None:
    assert {example.kind: type(example) for example in EXAMPLES} == KINDS


RUN = to_json(EXAMPLES[0])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "invalid JSON"),
        ("[]", "should be an object"),
        ('{"kind": "wombat"}', "request: kind: it is no kind of job; expected one of run, audit, sweep"),
        ('{"files": ["/a"]}', "it is no kind of job"),
        (RUN.replace("/out", "out"), "request: out: it is no absolute path"),
        (RUN.replace("/p.jsonld", "p.jsonld"), "policy: it is no absolute path, and no IRI"),
        (RUN.replace('"out"', '"owt"'), "request: out: field required"),
        (RUN.replace('"fragments":2', '"fragments":"2"'), "fragments: input should be a valid integer"),
        (RUN.replace('"fragments":2', '"fragments":0'), "fragments"),
        (RUN.replace('"local"', '"abacus"'), "engine"),
        ('{"kind": "check", "files": []}', "files"),
    ],
)
def test_what_is_malformed_is_refused(text: str, told: str) -> None:
    with pytest.raises((UsageError, ProblemsError), match=told):
        from_json(text)


def test_all_problems_are_told_at_once_and_no_value() -> None:
    text = RUN.replace('"out":"/out"', '"out":"secret"').replace(
        '"rule":null', '"rule":17, "wombat":"secret"'
    )
    with pytest.raises(ProblemsError) as refused:
        from_json(text)
    assert len(refused.value.problems) == 3
    assert "secret" not in str(refused.value)


def test_paths_become_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("a/../d.xlsx#Sheet") == f"{tmp_path}/d.xlsx#Sheet"
    assert absolute("postgresql://h/d#t") == "postgresql://h/d#t"


RENAMED = job_requests._RENAMED
NOT_OF_A_JOB = {*job_requests._SHOWING, "registry", "help"}
NOT_OF_A_KIND = {
    JobKind.IDENTIFIABILITY: {"sample"},
    JobKind.IDENTIFIABILITY_SAMPLE: {field.name for field in fields(PolicyOnData)},
}
"""Parameters of a command that jobs of one kind take, and those of another do not."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_option_of_a_command_is_in_its_request(kind: JobKind) -> None:
    """A new option has to be a field, or to be listed among those that a job has no use for."""
    command = job_requests._command(kind, cli)
    options = {param.name for param in command.params if isinstance(param, click.Parameter)} - NOT_OF_A_JOB
    names = {RENAMED.get(str(name), name) for name in options} - NOT_OF_A_KIND.get(kind, set())
    assert names == {field.name for field in fields(KINDS[kind])} - {"kind", "target"}


def test_the_command_line_makes_the_same_requests(tmp_path: Path) -> None:
    people(tmp_path)
    policy(tmp_path)
    run = (
        "run", "policy.jsonld", "--data", f"{TARGET}=people.csv", "--as", USER, "--out", "out",
        "--with", "k=3", "--fragments", "2",
    )  # fmt: skip
    done = shell.smalti("jobs", "submit", "--priority", "-2", "--format", "json", *run, cwd=tmp_path)
    assert done.code == 0, done.err
    (shown,) = done.json["jobs"]
    (job,) = Registry.open(tmp_path / "smalti.sqlite").jobs.listed()
    assert (job.id, job.priority, job.party, job.kind) == (shown["id"], -2, USER, "run")
    expected = Run(
        policy=str(tmp_path / "policy.jsonld"), target=TARGET, data=str(tmp_path / "people.csv"),
        party=USER, out=str(tmp_path / "out"), parameters=("k=3",), fragments=2,
    )  # fmt: skip
    assert request_of(job) == expected
    (tmp_path / "request.json").write_text(to_json(expected))
    again = shell.smalti("jobs", "submit", "--request", "request.json", cwd=tmp_path)
    assert again.code == 0, again.err
    assert [request_of(each) for each in Registry.open(tmp_path / "smalti.sqlite").jobs.listed()] == [
        expected, expected,
    ]  # fmt: skip


def test_studies_are_submitted_as_their_commands_are_written(tmp_path: Path) -> None:
    people(tmp_path)
    policy(tmp_path)
    for words in (
        ("compare", "--out", "study", "--classes", "10", "--classes", "20"),
        ("release-audit", "out", "--data", "d.csv", "--as", USER, "--seed", "3"),
        ("release-audit", "urn:uuid:1", "--data", "d.csv", "--as", USER),
        ("generative-audit", *GENERATIVE, "--samples", "s.npy", "--page", "p.html"),
        ("identifiability", "policy.jsonld", "--data", f"{TARGET}=people.csv", "--belief", "0.9"),
        ("identifiability-sample", "--sample", "digits", "--hidden", "8"),
    ):
        done = shell.smalti("jobs", "submit", *words, cwd=tmp_path)
        assert done.code == 0, done.err
    jobs = Registry.open(tmp_path / "smalti.sqlite").jobs.listed()
    requests = [request_of(job) for job in jobs]
    assert requests == [
        Compare(out=f"{tmp_path}/study", classes=(10, 20)),
        ReleaseAudit(output=f"{tmp_path}/out", data=f"{tmp_path}/d.csv", party=USER, seed=3),
        ReleaseAudit(output="urn:uuid:1", data=f"{tmp_path}/d.csv", party=USER),
        GenerativeAudit(
            members=f"{tmp_path}/m.npy", others=f"{tmp_path}/o.npy", attacks=("monte-carlo",),
            samples=f"{tmp_path}/s.npy", page=f"{tmp_path}/p.html",
        ),
        Identifiability(
            policy=f"{tmp_path}/policy.jsonld", target=TARGET, data=f"{tmp_path}/people.csv", beliefs=(0.9,)
        ),
        IdentifiabilitySample(sample="digits", hidden=(8,)),
    ]  # fmt: skip
    assert [job.party for job in jobs] == [None, USER, USER, None, None, None]
    pages = [None if (place := page_of(each)) is None else Path(place).name for each in requests]
    assert pages == ["comparison.html", None, None, "p.html", None, None]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("wombat",), "'wombat' is not one of"),
        ((), "Give a KIND with its arguments, or --request"),
        (("--request", "r.json", "check", "a"), "Give a KIND with its arguments, or --request"),
        (("--request", "none.json"), "`none.json` cannot be read"),
        (("check", "-"), "a job has no standard input"),
        (("assess", "d.csv", "--init"), "`--init`: options of `smalti assess` that no such job takes"),
        (("generative-audit", *GENERATIVE, "--command", "cp a {file}"), "`--command`: options of"),
        (
            ("identifiability", "--sample", "digits"),
            "`--sample`: options of `smalti audit identifiability`",
        ),
        (("identifiability",), "policy: none is stated, and `identifiability` is a job about one"),
        (("identifiability-sample",), "sample: none is stated"),
        (("identifiability-sample", "--sample", "digits", "--data", "a=b"), "`--data`: options of"),
        (("run", "p.jsonld"), "the arguments are those of `smalti run`"),
    ],
)
def test_what_no_job_takes_is_refused(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    ran = shell.smalti("jobs", "submit", *arguments, cwd=tmp_path)
    assert ran.code == 2
    assert told in ran.err
    assert not (tmp_path / "smalti.sqlite").exists()
