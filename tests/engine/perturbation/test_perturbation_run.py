"""Whole runs of perturbations: the output, its certificate, the ledger, and what nobody may learn."""

import csv
import hashlib
import io
import json
import logging
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from certificates import at, changed, fields, instead, is_found, other, recorded, undercharge
from effort import is_full
from jsonschema import Draft202012Validator
from pyld import jsonld
from shell import smalti as command
from stub_sampler import StubSampler

import smalti
from smalti.deciding import using
from smalti.engine.binding.run_request import Outcome
from smalti.engine.perturbation import capability as running
from smalti.engine.perturbation.guarantee import describe, from_object, limits, stated_guarantee, to_object
from smalti.engine.perturbation.plan import PerturbationPlan
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.reports import ReleaseReport
from smalti.engine.registry.budget import Budget
from smalti.errors import GuaranteeError, SmaltiError
from smalti.transforms.sensitivity import NeighboringRelation

VISITS = "http://example.com/visits"
OWNER, RESEARCH = "http://example.com/hospital", "http://example.com/research"
CANARIES = ("wombat", "918273645")
SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())
HEADER = ("patient", "sex", "age", "secret")
ROWS = [
    ("a", "f", "30", "wombat"),
    ("wombat", "m", "40", ""),
    ("c", "wombat", "918273645", "wombat"),
    ("c", "m", "50", "wombat"),
    ("", "f", "50", "wombat"),
    ("d", "", "wombat", "x"),
]
MISSING: Any = object()


def refinements(**changes: Any) -> list[dict[str, Any]]:
    wanted: dict[str, tuple[str, Any]] = {
        "mosaicrown:method": ("eq", "local-differential-privacy"),
        "smalti:epsilon": ("lteq", 2),
        "smalti:measure": ("isAnyOf", ["sex", "age"]),
        "smalti:respondent": ("eq", "patient"),
    }
    wanted |= {f"smalti:{name}": value for name, value in changes.items()}
    return [
        {"leftOperand": word, "operator": operator, "rightOperand": value}
        for word, (operator, value) in wanted.items()
        if value is not MISSING
    ]


def write_policy(folder: Path, *, budget: Any = 3, target: Any = VISITS, **changes: Any) -> Path:
    place = folder / "policy.jsonld"
    rule: dict[str, Any] = {
        "uid": "http://example.com/policy/1",
        "target": target,
        "assignee": RESEARCH,
        "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": refinements(**changes)}],
        "output": "http://example.com/noisy",
    }
    if budget is not MISSING:
        rule["constraint"] = [
            {"leftOperand": "smalti:budgetEpsilon", "operator": "lteq", "rightOperand": budget}
        ]
    contexts = ("http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
                "https://w3id.org/smalti/context.jsonld")  # fmt: skip
    document = {
        "@context": contexts, "@type": "Set", "uid": "http://example.com/policy",
        "profile": "https://w3id.org/smalti#", "permission": [rule],
    }  # fmt: skip
    place.write_text(json.dumps(document))
    return place


def write_data(folder: Path, rows: Any = None, header: tuple[str, ...] = HEADER) -> Path:
    place = folder / "visits.csv"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *(ROWS if rows is None else rows)])
    place.write_text(text.getvalue())
    columns = [
        {"name": "patient", "datatype": "string"},
        {"name": "sex", "csvw-eo:keyValues": ["f", "m"]},
        {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 100}},
    ]
    context = ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#"}]
    metadata = {"@context": context, "url": "visits.csv", "tableSchema": {"columns": columns}}
    (folder / "visits.csv-metadata.json").write_text(json.dumps(metadata))
    return place


def run(folder: Path, name: str = "out", **choices: Any) -> Outcome:
    return smalti.run(
        folder / "policy.jsonld",
        data={VISITS: folder / "visits.csv"},
        party=RESEARCH,
        **{"owner": OWNER, "out": folder / name, "registry": folder / "registry.sqlite"} | choices,
    )


def charged(folder: Path) -> Budget:
    with using(folder / "registry.sqlite") as registry:
        return registry.ledger.budget(smalti.IRI(VISITS))


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write_policy(tmp_path)
    write_data(tmp_path)
    return tmp_path


# --- The output


def test_each_respondent_has_one_row_of_the_published_domain(world: Path) -> None:
    outcome = run(world)
    assert outcome.decision.is_permitted
    assert isinstance(outcome.plan, PerturbationPlan)
    assert outcome.version is not None
    with (world / "out" / "noisy.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header == ["sex", "age"]
    assert len(rows) == 4, "a, wombat, c and d"
    assert {sex for sex, _ in rows} <= {"", "f", "m"}
    assert all(re.fullmatch("-?[0-9]+", age) for _, age in rows)
    order = [(["", "f", "m"].index(sex), int(age)) for sex, age in rows]
    assert order == sorted(order)
    assert isinstance(outcome.report, ReleaseReport)


def test_a_parquet_file_holds_the_same_form(world: Path) -> None:
    run(world, output_format="parquet")
    found = pq.read_table(world / "out" / "noisy.parquet")
    assert found.column_names == ["sex", "age"]
    assert found.num_rows == 4
    assert set(found.column("sex").to_pylist()) <= {None, "f", "m"}
    assert len(smalti.estimate(world / "out")) == 2


def test_the_same_draws_give_the_same_bytes_whatever_is_dropped_and_in_any_order(world: Path) -> None:
    with patch.object(running, "SAMPLER", StubSampler(3)):
        run(world)
    rows = [("p1", *ROWS[0][1:3], ""), ("p2", *ROWS[1][1:3], ""), ("p3", *ROWS[2][1:3], ""),
            ("p4", *ROWS[5][1:3], "")]  # fmt: skip
    other = world / "other"
    other.mkdir()
    write_policy(other)
    write_data(other, rows[::-1])
    with patch.object(running, "SAMPLER", StubSampler(3)):
        run(other)
    assert (world / "out" / "noisy.csv").read_bytes() == (other / "out" / "noisy.csv").read_bytes()


def test_no_two_runs_draw_alike(world: Path) -> None:
    write_policy(world, budget=100)
    write_data(world, [(f"p{number}", "f", "30", "") for number in range(200)])
    run(world, "first")
    run(world, "second")
    assert (world / "first" / "noisy.csv").read_bytes() != (world / "second" / "noisy.csv").read_bytes()


# --- The certificate


def guarantee(world: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((world / "out" / "certificate.jsonld").read_text())["guarantee"]
    return found


def test_the_certificate_states_all_that_is_needed_and_nothing_of_the_data(world: Path) -> None:
    run(world)
    text = (world / "out" / "certificate.jsonld").read_text()
    Draft202012Validator(SCHEMA).validate(json.loads(text))
    assert not [canary for canary in CANARIES if canary in text]
    found = guarantee(world)
    assert found["model"] == "local-differential-privacy"
    assert (found["epsilon"], found["delta"], found["neighbors"]) == ("2", "0", "change-one")
    sex, age = found["perturbed"]
    assert (sex["name"], sex["values"], sex["hasMissing"], sex["epsilon"]) == ("sex", ["f", "m"], True, "1")
    assert (age["lower"], age["upper"], age["unit"], age["scale"]) == ("0", "100", "1", 100.0)
    assert found["composition"]["releases"] == 1


def test_the_certificate_is_read_again_as_it_was_meant(world: Path) -> None:
    made = run(world).plan
    assert isinstance(made, PerturbationPlan)
    stated = stated_guarantee(guarantee(world))
    assert stated.perturbed == made.perturbed
    assert [from_object(json.loads(json.dumps(to_object(one)))) for one in made.perturbed] == [
        *made.perturbed
    ]


@pytest.mark.parametrize("path", [("perturbed", 0, "rows"), ("perturbed", 1, "minimum"), ("rows",)])
def test_the_schema_takes_nothing_else(world: Path, path: tuple[Any, ...]) -> None:
    run(world)
    document = json.loads((world / "out" / "certificate.jsonld").read_text())
    part = document["guarantee"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = 4
    assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_no_word_of_the_certificate_is_lost_as_json_ld(world: Path) -> None:
    run(world)
    document = json.loads((world / "out" / "certificate.jsonld").read_text())
    again = jsonld.compact(jsonld.expand(document), document["@context"])
    assert again["guarantee"]["perturbed"] == document["guarantee"]["perturbed"]


def test_no_word_promises_too_much(world: Path) -> None:
    stated = stated_guarantee(guarantee(world) if run(world) else {})
    for sentence in (describe(stated), *limits(stated)):
        assert not re.search(r"\b(anonymous|safe|compliant|certified|private)\b", sentence, re.IGNORECASE)
        assert sentence[0].islower()
        assert not sentence.endswith(".")
    assert any("number of rows" in one for one in limits(stated))


def test_an_output_is_verified_by_its_bytes(world: Path) -> None:
    run(world)
    registry = world / "registry.sqlite"
    seen = smalti.verify(world / "out", registry=registry)
    assert seen.version is not None
    with pytest.raises(SmaltiError, match="depends on random numbers"):
        smalti.verify(world / "out", registry=registry, data=world / "visits.csv")
    (world / "out" / "noisy.csv").write_text("sex,age\nf,1\n")
    for look in (
        lambda: smalti.verify(world / "out", registry=registry),
        lambda: smalti.estimate(world / "out"),
    ):
        with pytest.raises(GuaranteeError, match="bytes"):
            look()


def certified(world: Path, text: str) -> None:
    """Put other bytes in the place of an output that no registry knows, with a certificate about them."""
    (world / "out" / "noisy.csv").write_text(text)
    place = world / "out" / "certificate.jsonld"
    document = json.loads(place.read_text())
    (file,) = document["distribution"]
    file["byteSize"] = len(text)
    file["checksum"]["checksumValue"] = hashlib.sha256(text.encode()).hexdigest()
    place.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sex,age,who\nf,1,a\n", "columns"),
        ("age,sex\n1,f\n", "columns"),
        ("sex,age\nwombat,1\n", "a value"),
        ("sex,age\nf,1.5\n", "a value"),
        ("sex,age\nf,2\nf,1\n", "order"),
        ("sex,age\nm,1\nf,2\n", "order"),
        ("sex,age\nf,1\n,2\n", "order"),
    ],
)
def test_a_table_that_the_noise_never_gives_is_found_out(world: Path, text: str, problem: str) -> None:
    run(world)
    certified(world, text)
    with pytest.raises(GuaranteeError, match=problem) as caught:
        smalti.verify(world / "out", registry=world / "another.sqlite")
    assert "wombat" not in str(caught.value)
    certified(world, "sex,age\n,5\nf,-1\nf,-1\nm,-3\n")
    assert smalti.verify(world / "out", registry=world / "another.sqlite").version is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("epsilon",), "1.9"),
        (("perturbed", 0, "epsilon"), "0.9"),
        (("perturbed", 0, "changed"), "1/3"),
        (("perturbed", 0, "changed"), "1/0"),
        (("perturbed", 1, "unit"), "0"),
        (("perturbed", 1, "scale"), 50.0),
        (("posteriorBelief",), 0.5),
        (("posteriorBelief",), 0.88),
        (("membershipAdvantage",), 0.0),
        (("membershipAdvantage",), 0.76),
    ],
)
def test_a_certificate_that_states_less_noise_than_it_promises_is_found_out(
    world: Path, path: tuple[Any, ...], value: Any
) -> None:
    run(world)
    place = world / "out" / "certificate.jsonld"
    document = json.loads(place.read_text())
    part = document["guarantee"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    place.write_text(json.dumps(document))
    with pytest.raises(GuaranteeError, match="noise"):
        smalti.verify(world / "out", registry=world / "another.sqlite")


@pytest.mark.parametrize("known", ["registry.sqlite", "another.sqlite"])
def test_each_field_that_says_something_else_is_found(world: Path, known: str) -> None:
    """But for what the certificate alone says; without the registry, names, digests and other releases."""
    write_policy(world, budget=100)
    run(world, "first")
    run(world, "out")
    document = json.loads((world / "out" / "certificate.jsonld").read_text())
    found, on_trust = fields(document), {"wasGeneratedBy/qualifiedAssociation/agent/softwareVersion"}
    if known == "registry.sqlite":
        tried = {one for one in found if is_full() or one.startswith("guarantee/composition")} - on_trust
    else:
        tried = {one for one in found if one.startswith(("guarantee", "doesNotProtect", "signature"))}
        tried -= {one for one in found if one.startswith(("guarantee/composition", "guarantee/perturbed"))}
    assert len(tried) > 4
    with closing(smalti.Registry.open(world / known)) as opened:
        assert not is_found(world, "out", opened)
        for field in sorted(tried):
            path = found[field][-1]
            value = at(document, path)
            claim = not value if isinstance(value, bool) else other(value)[0]
            with instead(world, "out", certificate=changed(document, path, claim)):
                assert is_found(world, "out", opened), (path, claim)


def test_a_charge_of_less_than_the_noise_loses_is_found_also_where_plan_and_certificate_agree(
    world: Path,
) -> None:
    write_policy(world, budget=100)
    run(world, "first")
    run(world, "out")
    made = plan_from_json(recorded(world, "out"))
    assert isinstance(made, PerturbationPlan)
    undercharge(world, "out", made, VISITS)
    assert smalti.verify(world / "out", registry=world / "registry.sqlite").version is not None
    undercharge(world, "out", replace(made, loss=replace(made.loss, pure="1/1000")), VISITS)
    with pytest.raises(GuaranteeError, match="the noise of the plan loses more than the plan states"):
        smalti.verify(world / "out", registry=world / "registry.sqlite")


def test_a_stranger_runs_again_what_an_owner_bound_and_nothing_else(world: Path) -> None:
    write_policy(world, budget=100)
    run(world)
    assert run(world, "again", owner=None).version is not None
    write_data(world, [("a", "f", "1", "")])
    with pytest.raises(SmaltiError, match="must not bind other data to it"):
        run(world, "other", owner=None)


# --- The ledger


def test_a_run_is_charged_what_the_policy_allows_once_and_before_it_draws(world: Path) -> None:
    seen: list[Any] = []

    def drawing(*arguments: Any) -> Any:
        seen.append(charged(world).epsilon)
        return inner(*arguments)

    inner = running.draw
    with patch.object(running, "draw", drawing):
        run(world)
    (one,) = charged(world).charges
    assert seen == [Decimal(2)]
    assert (one.epsilon, one.delta, one.neighbors) == (Decimal(2), 0, NeighboringRelation.CHANGE_ONE)
    assert one.loss.pure <= 2


def test_what_does_not_fit_is_denied_and_draws_nothing(world: Path) -> None:
    run(world)
    with patch.object(running, "draw", side_effect=AssertionError):
        outcome = run(world, "again")
    assert not outcome.decision.is_permitted
    assert "exceeds what is left of the budget" in outcome.decision.reasons[0].text
    assert not (world / "again").exists()
    assert charged(world).epsilon == 2
    assert run(world, "less", parameters=["epsilon=1"]).version is not None
    assert charged(world).epsilon == 3


def test_planning_charges_nothing(world: Path) -> None:
    registry = world / "registry.sqlite"
    for party in (None, RESEARCH):
        planned = smalti.plan(
            world / "policy.jsonld", data={VISITS: world / "visits.csv"}, party=party, owner=OWNER,
            registry=registry,
        )  # fmt: skip
        assert isinstance(planned.plan, PerturbationPlan)
        assert "randomized-response" in smalti.explain(planned.plan)
    assert not registry.exists()


Make = Callable[[Path], Any]
REFUSED: dict[str, tuple[Make, str]] = {
    "no budget": (lambda folder: write_policy(folder, budget=MISSING), "budget"),
    "nobody declared": (lambda folder: write_policy(folder, respondent=("eq", MISSING)), "reports once"),
    "no columns": (
        lambda folder: write_policy(folder, measure=("isAnyOf", MISSING)),
        "the policy names no column",
    ),
    "column of the data": (lambda folder: write_policy(folder, measure=("isAnyOf", ["secret"])), "public"),
    "statistic": (
        lambda folder: write_policy(folder, statistic=("isAnyOf", ["count"])),
        "`smalti:statistic`",
    ),
    "limit to rows": (
        lambda folder: write_policy(
            folder,
            target={
                "@type": "AssetCollection",
                "source": VISITS,
                "refinement": [{"leftOperand": f"{VISITS}/sex", "operator": "eq", "rightOperand": "f"}],
            },
        ),
        "row",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_and_charges_nothing(world: Path, name: str) -> None:
    change, expected = REFUSED[name]
    change(world)
    with pytest.raises(SmaltiError, match=expected) as caught:
        run(world)
    assert not [canary for canary in CANARIES if canary in str(caught.value)]
    assert not (world / "out").exists()
    assert charged(world).epsilon == 0


def test_queries_and_parts_are_refused(world: Path) -> None:
    (world / "query.json").write_text('{"statistics": [{"statistic": "count"}]}')
    with pytest.raises(SmaltiError):
        run(world, parts=True)
    planned = command(
        "plan", "policy.jsonld", "--data", f"{VISITS}=visits.csv", "--query", "query.json", cwd=world
    )
    assert planned.code == 2
    assert "does not answer queries" in planned.err


@pytest.mark.parametrize(
    ("word", "bound", "epsilon"),
    [("posteriorBelief", 0.75, "1.09861228"), ("membershipAdvantage", 0.5, "1.09861228")],
)
def test_a_belief_or_an_advantage_bounds_all_columns_together(
    world: Path, word: str, bound: float, epsilon: str
) -> None:
    write_policy(world, epsilon=("lteq", MISSING), **{word: ("lteq", bound)})
    outcome = run(world)
    assert isinstance(outcome.plan, PerturbationPlan)
    loss = outcome.plan.loss
    assert format(loss.epsilon, "f") == epsilon == format(charged(world).epsilon, "f")
    assert 0.75 - 1e-6 < loss.belief <= 0.75
    assert 0.5 - 1e-6 < loss.advantage <= 0.5
    assert len(outcome.plan.perturbed) == 2
    less = run(world, "less", parameters=[f"{word}=0.6" if bound > 0.6 else f"{word}=0.2"])
    assert less.decision.is_permitted
    with pytest.raises(SmaltiError, match="out of range"):
        run(world, "wrong", parameters=[f"{word}=0"])
    assert not run(world, "wrong", parameters=[f"{word}=0.9"]).decision.is_permitted


def test_columns_may_be_asked_for_by_their_names(world: Path) -> None:
    outcome = run(world, parameters=["measure=age"])
    assert isinstance(outcome.plan, PerturbationPlan)
    assert [one.column for one in outcome.plan.perturbed] == ["age"]
    assert not run(world, "other", parameters=["measure=secret"]).decision.is_permitted


@pytest.mark.parametrize("epsilon", ["0", "-1"])
def test_an_epsilon_that_is_asked_for_is_positive(world: Path, epsilon: str) -> None:
    with pytest.raises(SmaltiError, match="out of range"):
        run(world, parameters=[f"epsilon={epsilon}"])
    assert charged(world).epsilon == 0


def test_a_table_is_read_by_its_own_certificate_alone(world: Path) -> None:
    write_policy(world, budget=9)
    run(world)
    run(world, "other", parameters=["epsilon=1"])
    table = world / "out" / "noisy.csv"
    beside = smalti.estimate(table)
    assert (
        beside
        == smalti.estimate(world / "out")
        == smalti.estimate(table, table.parent / "certificate.jsonld")
    )
    with pytest.raises(GuaranteeError, match="bytes"):
        smalti.estimate(table, world / "other" / "certificate.jsonld")
    with pytest.raises(SmaltiError, match="no such file"):
        smalti.estimate(world / "none.csv", world / "other" / "certificate.jsonld")


# --- What nobody may learn


BAD: dict[str, Any] = {
    "nobody": [],
    "no respondent": [("", "f", "1", "")],
    "no values": [("a", "wombat", "wombat", "wombat"), ("b", "", "", "")],
    "far numbers": [("a", "f", "9" * 99, ""), ("b", "f", "-" + "9" * 99, ""), ("c", "f", "1e999999", "")],
}


@pytest.mark.parametrize("name", BAD)
def test_no_value_makes_a_run_fail_or_is_quoted(
    world: Path, name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    write_data(world, BAD[name])
    assert run(world).version is not None
    told = (caplog.text, *capfd.readouterr(), (world / "out" / "certificate.jsonld").read_text())
    assert not [text for text in told if any(canary in text for canary in CANARIES)]
    rows = (world / "out" / "noisy.csv").read_text().splitlines()[1:]
    assert len(rows) == len({row[0] for row in BAD[name]} - {""})


def test_the_command_line_shows_what_was_done_and_estimates(world: Path) -> None:
    ran = command(
        "run", "policy.jsonld", "--data", f"{VISITS}=visits.csv", "--as", RESEARCH, "--owner", OWNER,
        "--out", "out", cwd=world,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "randomized-response" in ran.out
    assert "wombat" not in ran.out + ran.err
    read = command("estimate", "out", cwd=world)
    assert (read.code, "share of f" in read.out) == (0, True)
    shown = json.loads(command("estimate", "out", "--format", "json", cwd=world).out)
    assert [one["column"] for one in shown["columns"]] == ["sex", "age"]
    listed = command("targets", "show", "http://example.com/noisy", cwd=world)
    assert "wombat" not in listed.out
