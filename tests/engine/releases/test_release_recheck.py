"""Looking at releases again: nothing is taken on trust that follows from something else."""

import json
import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from certificates import at, changed, fields, instead, is_found, other, recorded
from effort import every, examples, is_full
from hypothesis import given, settings
from hypothesis import strategies as st
from release_worlds import (
    MEMBER,
    OWNER,
    PREFIX,
    QUERY,
    ROWS,
    WARDS,
    WHOLE,
    about,
    counted,
    policy,
    refinement,
    registry,
    release,
    visits,
)

import smalti
from smalti.engine.losses.certified import check_alone
from smalti.engine.plan.files import Composition
from smalti.engine.plan.losses import StatedLoss
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.registry.certificate import Certificate
from smalti.engine.releases.guarantee import LossGuarantee, describe, guarantee_of, stated_guarantee
from smalti.engine.releases.plan import ReleasePlan
from smalti.engine.releases.recheck import belief_together
from smalti.engine.run.recheck import Recheck
from smalti.errors import GuaranteeError
from smalti.transforms.loss.belief import belief_after
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation

MEAN = {"statistic": "mean", "measure": "age", "lower": 0, "upper": 100, "unit": 1}
PRIVATE = {
    "epsilon": 0.9,
    "statistics": [
        {"name": "by sex", "statistic": "count", "groupBy": ["sex"]},
        *({**MEAN, "name": f"mean {number}"} for number in range(9)),
    ],
}
"""A selection of groups, and so many numbers that Gaussian noise is less than Laplace noise."""
FIELDS = {
    "@id", "@type/*", "isVersionOf", "issued", "respondents", "doesNotProtectAgainst/*",
    "wasDerivedFrom/*", "signature",
    "guarantee/kind", "guarantee/model", "guarantee/epsilon", "guarantee/delta",
    "guarantee/posteriorBelief",
    "guarantee/membershipAdvantage", "guarantee/neighbors", "guarantee/rowsPerRespondent",
    "guarantee/groupsPerRespondent", "guarantee/statement",
    "guarantee/measurement/*/name", "guarantee/measurement/*/quantity",
    "guarantee/measurement/*/mechanism", "guarantee/measurement/*/scale",
    "guarantee/composition/epsilon", "guarantee/composition/delta",
    "guarantee/composition/posteriorBelief", "guarantee/composition/membershipAdvantage",
    "guarantee/composition/releases",
    "wasGeneratedBy/@type/*", "wasGeneratedBy/policy/@id", "wasGeneratedBy/policy/rule",
    "wasGeneratedBy/policy/checksum/@type", "wasGeneratedBy/policy/checksum/algorithm",
    "wasGeneratedBy/policy/checksum/checksumValue",
    "wasGeneratedBy/qualifiedAssociation/@type", "wasGeneratedBy/qualifiedAssociation/agent/@type",
    "wasGeneratedBy/qualifiedAssociation/agent/name",
    "wasGeneratedBy/qualifiedAssociation/agent/softwareVersion",
    "wasGeneratedBy/qualifiedAssociation/plan/@type",
    "wasGeneratedBy/qualifiedAssociation/plan/checksum/@type",
    "wasGeneratedBy/qualifiedAssociation/plan/checksum/algorithm",
    "wasGeneratedBy/qualifiedAssociation/plan/checksum/checksumValue",
    "distribution/*/@type", "distribution/*/name", "distribution/*/mediaType", "distribution/*/byteSize",
    "distribution/*/checksum/@type", "distribution/*/checksum/algorithm",
    "distribution/*/checksum/checksumValue",
}  # fmt: skip
"""All fields of a certificate of a release beside its context; a new one needs a check, and a line here."""
ON_TRUST = {"wasGeneratedBy/qualifiedAssociation/agent/softwareVersion"}
"""Nothing but the certificate says so."""
ON_TRUST_ALONE = ON_TRUST | {
    "@id", "@type/*", "isVersionOf", "issued", "wasDerivedFrom/*",
    "guarantee/measurement/*/name", "guarantee/measurement/*/quantity", "guarantee/measurement/*/scale",
    "guarantee/composition/releases",
    "wasGeneratedBy/@type/*", "wasGeneratedBy/policy/@id", "wasGeneratedBy/policy/rule",
    "wasGeneratedBy/policy/checksum/checksumValue",
    "wasGeneratedBy/qualifiedAssociation/plan/checksum/checksumValue", "distribution/*/mediaType",
}  # fmt: skip
"""Where no registry is at hand: names and digests; the scales of sums; how many releases there were."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases about the same people: Laplace noise and a choice; Gaussian noise and a selection."""
    folder = tmp_path_factory.mktemp("world")
    data = visits(folder, ROWS)
    words = {"smalti:delta": refinement("smalti:delta", "lteq", 0.001)}
    given = policy(folder, words=words, delta=0.01)
    for name, query in (("laplace", {**QUERY, "delta": 0}), ("gaussian", PRIVATE)):
        outcome = release(folder, data, name, query=query, policy=given)
        assert isinstance(outcome.plan, ReleasePlan), outcome.decision.reasons
        assert (outcome.plan.loss.mu_squared != "0") is (name == "gaussian")
    return folder


def is_far(field: str, name: str, known: str) -> bool:
    """Whether nothing is at hand that shows a small difference: other releases, or the units of sums."""
    vague = ("guarantee/composition", "guarantee/posteriorBelief", "guarantee/membershipAdvantage")
    return (name, known) == ("gaussian", "another.sqlite") and field.startswith(vague)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("known", every(2, ["r.sqlite", "another.sqlite"]))
def test_each_field_that_says_something_else_is_found(world: Path, name: str, known: str) -> None:
    document = json.loads((world / name / "certificate.jsonld").read_text())
    found, on_trust = fields(document), ON_TRUST if known == "r.sqlite" else ON_TRUST_ALONE
    assert set(found) == FIELDS
    with closing(smalti.Registry.open(world / known)) as opened:
        assert not is_found(world, name, opened)
        for field in set(found) - on_trust:
            path = found[field][-1]
            values = other(at(document, path))[int(is_far(field, name, known)) :]
            for value in values if is_full() else values[:1]:
                with instead(world, name, certificate=changed(document, path, value)):
                    assert is_found(world, name, opened), (path, value)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_plan_that_states_less_than_its_noise_loses_is_found(world: Path, name: str) -> None:
    """Who writes a false record writes the certificate to fit it: only the noise contradicts them."""
    plan, text = plan_from_json(recorded(world, name)), (world / name / "certificate.jsonld").read_text()
    assert isinstance(plan, ReleasePlan)
    said, (first, *rest) = plan.loss, plan.statistics
    (part, *parts) = first.parts
    less = (replace(part, scale=part.scale * 0.9), *parts)
    losses = [
        {"belief": said.belief - 0.001},
        {"advantage": said.advantage - 0.001},
        {"epsilon": said.epsilon * Decimal("0.99")},
        {"pure": "1/1000"},
    ]
    lies = [replace(plan, statistics=(replace(first, parts=less), *rest))]
    lies += [replace(plan, bound=replace(plan.bound, rows=plan.bound.rows + 1))]
    if name == "gaussian":
        losses += [
            {"mu_squared": "1/1000000"},
            {"selection_delta": Decimal("0.000001")},
            {"delta": Decimal("0.0005")},
        ]
        assert first.selection is not None
        shown = replace(first.selection, threshold=2)
        lies += [replace(plan, statistics=(replace(first, selection=shown), *rest))]
    lies += [replace(plan, loss=replace(said, **loss)) for loss in losses]
    with closing(smalti.Registry.open(world / "r.sqlite")) as opened:
        for made in lies:
            fit = fitting(text, made, opened, world / name)
            with (
                instead(world, name, plan=plan_to_json(made), certificate=fit),
                pytest.raises(GuaranteeError, match=r"noise|do not describe one loss"),
            ):
                smalti.verify(world / name, registry=opened)


def fitting(text: str, made: ReleasePlan, known: smalti.Registry, place: Path) -> str:
    """The certificate that a false plan would have, with the composition that it had."""
    (version,) = (one for one in known.all_versions() if one.path == place)
    told = json.loads(text)["guarantee"]["composition"]
    loss = StatedLoss(
        Decimal(told["epsilon"]),
        Decimal(told["delta"]),
        told["posteriorBelief"],
        told["membershipAdvantage"],
    )
    return Certificate(
        version=version.iri, output=version.target, issued=version.created_at,
        guarantee=guarantee_of(made), composition=Composition(loss, told["releases"]),
        respondent=made.read.respondent, inputs=tuple(one.iri for one in version.inputs),
        policy_uid=version.policy_uid, policy_digest=version.policy_digest, rule_uid=version.rule_uid,
        plan_digest=plan_digest(made), files=version.files,
    ).to_json()  # fmt: skip


# --- The composition, from the ledger


def composed(folder: Path, name: str) -> Recheck:
    return smalti.verify(folder / name, registry=folder / "r.sqlite")


def test_a_release_without_its_charge_is_found(tmp_path: Path) -> None:
    release(tmp_path, visits(tmp_path, ROWS))
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE charges SET run = 'another'")
    with pytest.raises(GuaranteeError, match="no charge for the release"):
        composed(tmp_path, "out")


def test_a_later_release_changes_nothing_about_an_earlier_one(world: Path) -> None:
    for name in ("laplace", "gaussian"):
        assert any("composition" in one for one in composed(world, name).check.recounted)


def test_data_that_joins_the_ledger_later_is_told_and_covers_no_smaller_claim(tmp_path: Path) -> None:
    """What a membership joins is not known by its time: what was certainly charged before is the least."""
    known = registry(tmp_path)
    third = "http://hospital.example/third"
    given = {
        name: about(tmp_path, target, name, budget=9)
        for name, target in (("third", third), ("whole", WHOLE), ("part", MEMBER))
    }
    for path in given.values():
        known.add_policy(path.read_bytes(), path.name, smalti.IRI(OWNER))
    known.add_hierarchy(WARDS, "wards", smalti.IRI(OWNER))
    for number, (name, target) in enumerate((("third", third), ("whole", WHOLE), ("part", MEMBER))):
        data = visits(tmp_path, ROWS[number:], f"{name}.csv")
        assert counted(tmp_path, target, given[name], data, f"{name}-out").decision.is_permitted
    assert any("composition" in one for one in composed(tmp_path, "part-out").check.recounted)
    with instead(tmp_path, "part-out", certificate=without_others(tmp_path / "part-out")):
        seen = composed(tmp_path, "part-out").check
        assert not any("composition" in one for one in seen.recounted), "it leaves a charge out"
    more = f"{PREFIX}\n<{third}> a odrl:Asset ; odrl:partOf <{WHOLE}> .".encode()
    known.add_hierarchy(more, "more", smalti.IRI(OWNER))
    counted(tmp_path, WHOLE, given["whole"], tmp_path / "whole.csv", "joined")
    for name in given:
        composed(tmp_path, f"{name}-out")
    joined = composed(tmp_path, "part-out").check
    assert any("joined their ledger" in one for one in joined.attested)
    text = (tmp_path / "part-out" / "certificate.jsonld").read_text()
    document = json.loads(text)
    assert document["guarantee"]["composition"]["releases"] == 2
    for field, value in (
        ("epsilon", "0.5"),
        ("epsilon", "9"),
        ("releases", 4),
        ("membershipAdvantage", 0.1),
    ):
        path = ("guarantee", "composition", field)
        with (
            instead(tmp_path, "part-out", certificate=changed(document, path, value)),
            pytest.raises(GuaranteeError, match="composition"),
        ):
            composed(tmp_path, "part-out")
    document = json.loads((tmp_path / "joined" / "certificate.jsonld").read_text())
    path, own = ("guarantee", "composition", "posteriorBelief"), document["guarantee"]["posteriorBelief"]
    with (
        instead(tmp_path, "joined", certificate=changed(document, path, own + 0.01)),
        pytest.raises(GuaranteeError, match="does not match their charges"),
    ):
        composed(tmp_path, "joined")


def without_others(place: Path) -> str:
    """The certificate, as if its release were the only one."""
    document = json.loads((place / "certificate.jsonld").read_text())
    promised = document["guarantee"]
    words = ("epsilon", "delta", "posteriorBelief", "membershipAdvantage")
    promised["composition"] |= {word: promised[word] for word in words} | {"releases": 1}
    return json.dumps(document)


def test_gaussian_noise_leaves_a_belief_that_no_composition_is_below(world: Path) -> None:
    """Also where nothing but the certificate is at hand: the other release has no delta here."""
    document = json.loads((world / "gaussian" / "certificate.jsonld").read_text())
    own = document["guarantee"]["posteriorBelief"]
    path = ("guarantee", "composition", "posteriorBelief")
    assert at(document, path) > own
    for known in ("r.sqlite", "another.sqlite"):
        with (
            instead(world, "gaussian", certificate=changed(document, path, own - 1e-6)),
            pytest.raises(GuaranteeError, match="does not contain the loss of this one"),
        ):
            smalti.verify(world / "gaussian", registry=world / known)


deltas = st.floats(-60, -0.01).map(math.exp)


@settings(max_examples=examples(60), deadline=None)
@given(st.floats(0, 40), st.floats(0.001, 40), st.tuples(deltas, deltas).map(sorted), st.floats(0, 3))
def test_no_composition_is_refused_for_its_belief(
    pure: float, mu: float, within: list[float], more: float
) -> None:
    own, together = within
    loss = StatedLoss(Decimal(10**6), Decimal(own), belief_after(pure, mu, own), 1.0)
    composition = StatedLoss(
        Decimal(10**7), Decimal(together), belief_after(pure + more, mu, together), 1.0
    )
    promised = LossGuarantee("", loss, NeighboringRelation.ADD_OR_REMOVE_ONE, 1, 1, ())
    for known in (PrivacyLoss(), PrivacyLoss(Fraction(pure), Fraction(mu) ** 2)):
        least = belief_together(promised, known, composition.delta)
        check_alone(Path(), loss, Composition(composition, 2), least)


def test_a_smaller_advantage_contradicts_the_belief_also_where_every_sentence_agrees(world: Path) -> None:
    document = json.loads((world / "laplace" / "certificate.jsonld").read_text())
    promised = document["guarantee"]
    for told in (promised, promised["composition"]):
        told["membershipAdvantage"] = 0.45
    promised["statement"] = describe(stated_guarantee(promised))
    with (
        instead(world, "laplace", certificate=json.dumps(document)),
        pytest.raises(GuaranteeError, match="do not describe one loss"),
    ):
        smalti.verify(world / "laplace", registry=world / "another.sqlite")
