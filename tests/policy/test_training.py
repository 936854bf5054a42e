"""Permissions to train, and duties to audit: what they say, what goes together, and where they stand."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from written import TARGET, Json, document, errors, granted, permission, refinement

from smalti.policy.lint.check_dataset import check_dataset
from smalti.policy.lint.lint import lint
from smalti.policy.model.dataset import ColumnFacts, DatasetFacts
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import (
    Asset,
    Audit,
    Bound,
    DecimalBound,
    Operator,
    Prohibition,
    Shared,
    Training,
)
from smalti.policy.read.parse import ParsedDocument, parse, require
from smalti.policy.read.unimplemented import unimplemented_refinements
from smalti.policy.say.describe import describe
from smalti.policy.say.serialize import serialize
from smalti.vocab.attacks import OF_SAMPLES
from smalti.vocab.terms import IRI, TRAIN
from smalti.vocab.words import ATTACKS

MODEL = "http://example.com/model"


def s(word: str, value: Json, operator: str = "eq") -> Json:
    return refinement(f"smalti:{word}", operator, value)


MODEL_OF = [s("recipe", "mlp-128"), s("labelColumn", "Illness")]
STEPS = [s("clippingNorm", 1), s("samplingRate", 0.01, "lteq"), s("delta", 1e-6, "lteq")]
NOISE = [*STEPS, s("noiseMultiplier", 1.1, "gteq"), s("epochs", 20, "lteq")]
ATTACKED = [s("attack", ["loss", "rmia"], "isAllOf"), s("attackAdvantage", 0.1, "lteq")]


def refined(action: str, refinements: Sequence[Json]) -> Json:
    return {"rdf:value": {"@id": action}, "refinement": list(refinements)}


def train(*refinements: Json, **parts: Json) -> ParsedDocument:
    action = refined("smalti:train", [*MODEL_OF, *refinements])
    return permission(**{"action": action, "output": MODEL, **parts})


def duty(refinements: Sequence[Json] = ATTACKED, **parts: Json) -> Json:
    return {"action": refined("smalti:audit", refinements), **parts}


def training(parsed: ParsedDocument) -> Training:
    found = granted(parsed).training
    assert found is not None
    return found


def audit(*refinements: Json) -> Audit:
    (only,) = granted(train(duty=duty([*ATTACKED, *refinements]))).duties
    assert only.audit is not None
    return only.audit


def codes(parsed: ParsedDocument) -> list[str]:
    return [code for code, _ in errors(parsed)]


# --- Training


def test_every_word_of_training_is_read() -> None:
    parsed = train(
        *STEPS, s("noiseMultiplier", 1.10), s("epochs", 20), s("epsilon", 3, "lteq"),
        s("neighbors", "change-one"), s("rowsPerRespondent", 2, "lteq"), s("respondent", "Id"),
        refinement("mosaicrown:identifier", "isAllOf", ["Name", "Id"]),
    )  # fmt: skip
    found, rule = training(parsed), granted(parsed)
    assert (found.recipe, found.label_column.iri) == ("mlp-128", f"{TARGET}/Illness")
    assert [one.iri for one in found.identifiers] == [f"{TARGET}/Id", f"{TARGET}/Name"]
    assert found.respondent is not None
    assert (found.respondent.iri, found.one_row_each) == (f"{TARGET}/Id", False)
    assert found.noise_multiplier == DecimalBound(Operator.EQ, Decimal("1.1"))
    assert found.clipping_norm == DecimalBound(Operator.EQ, Decimal(1))
    assert found.sampling_rate == DecimalBound(Operator.LTEQ, Decimal("0.01"))
    assert found.delta == DecimalBound(Operator.LTEQ, Decimal("1e-6"))
    assert (found.epochs, found.neighbors) == (Bound(Operator.EQ, 20), "change-one")
    assert found.rows_per_respondent == Bound(Operator.LTEQ, 2)
    assert found.epsilon == found.loss_bound == DecimalBound(Operator.LTEQ, Decimal(3))
    assert (rule.output, rule.refinements, rule.anonymization) == (MODEL, (), None)
    assert found.noise_multiplier.where.line > found.where.line > 0


def test_training_is_private_by_noise_or_by_a_bound() -> None:
    plain = training(train(s("epochs", 3), s("respondent", {"@id": "smalti:oneRowEach"})))
    assert (plain.is_private, plain.loss_bound, plain.one_row_each) == (False, None, True)
    assert training(train(*NOISE)).is_private
    for word, field in (
        ("epsilon", "epsilon"), ("posteriorBelief", "posterior_belief"),
        ("membershipAdvantage", "membership_advantage"),
    ):  # fmt: skip
        found = training(train(*STEPS, s(word, 0.75, "lteq")))
        assert found.is_private
        assert found.loss_bound == getattr(found, field) == DecimalBound(Operator.LTEQ, Decimal("0.75"))


@pytest.mark.parametrize(
    ("refinements", "expected"),
    [
        ([s("epsilon", 1, "lteq")], ["P411"]),
        ([s("epsilon", 1, "lteq"), *STEPS[:2]], ["P411"]),
        ([s("epsilon", 1, "lteq"), *STEPS[1:]], ["P411"]),
        ([s("epsilon", 1, "lteq"), STEPS[0], STEPS[2]], ["P411"]),
        (NOISE[:-1], ["P411"]),
        ([s("epsilon", 1, "lteq"), *STEPS[:2], s("delta", 0)], ["P435"]),
        ([*NOISE, s("epsilon", 1, "lteq")], ["P439"]),
        ([*NOISE, s("membershipAdvantage", 0.3, "lteq")], ["P439"]),
        ([*STEPS, s("epsilon", 1, "lteq"), s("posteriorBelief", 0.9, "lteq")], ["P428"]),
        ([s("clippingNorm", 1), s("neighbors", "change-one")], ["P411", "P411"]),
        ([s("delta", 1e-6)], ["P411"]),
        ([s("rowsPerRespondent", 1)], ["P411"]),
        ([s("samplingRate", 0.01, "lteq"), s("epochs", 2)], ["P411"]),
        ([s("epochs", 2), s("epochs", 3)], ["P412"]),
        ([s("epochs", 20, "gteq")], ["P406"]),
        ([*STEPS, s("noiseMultiplier", 1, "lteq")], ["P406"]),
        ([s("samplingRate", 1.5)], ["P424"]),
        ([refinement("mosaicrown:k", "gteq", 10)], ["P419"]),
        ([s("attackAdvantage", 0.1, "lteq")], ["P419"]),
        ([s("budgetEpsilon", 1, "lteq")], ["P419"]),
        ([{"or": [s("epochs", 2), s("epochs", 3)]}], ["P419"]),
        ([{"and": [s("column", "Illness"), s("epochs", 3)]}], ["P419"]),
        ([refinement("mosaicrown:identifier", "isAllOf", ["Illness"])], ["P407"]),
        ([s("respondent", "Illness")], ["P407"]),
    ],
)
def test_what_cannot_be_or_lacks_is_told(refinements: list[Json], expected: list[str]) -> None:
    assert codes(train(*refinements)) == expected


def test_words_of_private_training_alone_are_told_with_the_way_out() -> None:
    words = [*STEPS, s("neighbors", "change-one"), s("rowsPerRespondent", 1, "lteq")]
    for word in words:
        (found,) = train(word).errors
        assert found.code == "P411"
        assert "add `smalti:noiseMultiplier` or `smalti:epsilon`" in found.help
    assert codes(train(*words)) == ["P411"] * 5


def test_what_lacks_is_told_of_no_refinements_that_could_not_be_read() -> None:
    assert codes(permission(action=refined("smalti:train", [s("recipe", 3)]), output=MODEL)) == ["P422"]


@pytest.mark.parametrize(
    "name", ["a/b", "../x", "os:system", "http://x.org", "", " x", "x" * 65, "é", "9x"]
)
def test_a_recipe_is_a_short_name(name: str) -> None:
    parsed = permission(action=refined("smalti:train", [s("recipe", name), MODEL_OF[1]]), output=MODEL)
    assert codes(parsed) == ["P422"]


def test_the_delta_of_training_fits_into_the_budget() -> None:
    budget = [s("budgetEpsilon", 5, "lteq"), s("budgetDelta", 1e-9, "lteq")]
    assert codes(train(*NOISE, constraint=budget)) == ["P438"]
    assert codes(train(*NOISE, constraint=[budget[0], s("budgetDelta", 1e-6, "lteq")])) == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"output": TARGET}, ["P413"]),
        ({"target": [TARGET, "http://example.com/other"]}, ["P416", "P333"]),
        ({"action": [refined("smalti:train", MODEL_OF), refined("smalti:train", MODEL_OF)]}, ["P333"]),
    ],
)
def test_one_rule_trains_one_model_of_one_target(parts: dict[str, Json], expected: list[str]) -> None:
    assert sorted(codes(train(**parts))) == sorted(expected)


def test_training_and_reading_may_stand_in_one_rule() -> None:
    parsed = train(action=["odrl:read", refined("smalti:train", MODEL_OF)])
    read, trained = require(parsed).permissions
    assert (read.output, read.training) == (None, None)
    assert (trained.output, trained.training is not None) == (MODEL, True)


def test_a_policy_that_shares_an_action_still_says_how_another_rule_trains() -> None:
    """As where it inherits the permission, and forbids to train on something else."""
    parent = require(train())
    other = Prohibition(uid=IRI("urn:x:n"), action=TRAIN, targets=(Asset(IRI("http://example.com/o")),))
    both = replace(parent, prohibitions=(other,), shared=Shared(actions=(TRAIN,)))
    again = require(parse(serialize(both), "again.jsonld"))
    assert again.permissions[0].training == parent.permissions[0].training
    assert [one.action for one in again.prohibitions] == [TRAIN]


@pytest.mark.parametrize("kind", ["duty", "obligation", "remedy", "consequence"])
def test_only_a_permission_trains(kind: str) -> None:
    bad = {"target": TARGET, "action": refined("smalti:train", MODEL_OF)}
    assert codes(_placed(bad, kind)) == ["P441"]


def _placed(rule: Json, kind: str) -> ParsedDocument:
    if kind == "obligation":
        return document({"obligation": [rule]})
    if kind == "remedy":
        return document({"prohibition": [{"target": TARGET, "action": "odrl:sell", "remedy": [rule]}]})
    inner = {"action": "odrl:inform", "consequence": [rule]} if kind == "consequence" else rule
    return permission(action="odrl:read", duty=[inner])


def test_an_action_to_train_that_is_taken_over_says_nothing_of_how() -> None:
    parsed = document({"action": "smalti:train", "permission": [{"target": TARGET, "output": MODEL}]})
    assert codes(parsed) == ["P411"]


def test_a_prohibition_to_train_may_be_bounded_from_any_side() -> None:
    rule = {"target": TARGET, "action": refined("smalti:train", [s("noiseMultiplier", 1, "lt")])}
    assert errors(document({"prohibition": [rule]})) == []


# --- Audits


def test_every_word_of_an_audit_is_read() -> None:
    found = audit(
        s("attackPrecision", 0.6, "lteq"), s("truePositiveRate", 0.02, "lteq"),
        s("falsePositiveRate", 0.01), s("epsilonLowerBound", 2, "lteq"), s("confidence", 0.99),
    )  # fmt: skip
    assert found == Audit(
        attacks=("loss", "rmia"), attack_advantage=Decimal("0.1"), attack_precision=Decimal("0.6"),
        true_positive_rate=Decimal("0.02"), false_positive_rate=Decimal("0.01"),
        epsilon_lower_bound=Decimal(2), confidence=Decimal("0.99"),
    )  # fmt: skip


def test_confidence_has_a_default_that_may_be_written() -> None:
    assert audit().confidence == Decimal("0.95")
    said, unsaid, other = (
        meaning_digest(require(train(duty=duty([*ATTACKED, *more]))))
        for more in ([s("confidence", 0.95)], [], [s("confidence", 0.9)])
    )
    assert said == unsaid != other


def test_all_attacks_are_names() -> None:
    on_models = sorted({*ATTACKS} - OF_SAMPLES)
    (only,) = granted(train(duty=duty([s("attack", on_models, "isAllOf"), ATTACKED[1]]))).duties
    assert only.audit is not None
    assert only.audit.attacks == tuple(on_models)


@pytest.mark.parametrize(
    ("refinements", "expected"),
    [
        (ATTACKED[:1], ["P411"]),
        (ATTACKED[1:], ["P411"]),
        ([*ATTACKED, s("truePositiveRate", 0.1, "lteq")], ["P411"]),
        ([*ATTACKED, s("falsePositiveRate", 0.1)], ["P411"]),
        ([ATTACKED[0], s("confidence", 0.9)], ["P411"]),
        ([*ATTACKED, s("attackAdvantage", 0.2, "lteq")], ["P412"]),
        ([ATTACKED[0], s("attackAdvantage", 0.1, "gteq")], ["P406"]),
        ([s("attack", ["mia"], "isAllOf"), ATTACKED[1]], ["P402"]),
        ([s("attack", ["loss"], "isAnyOf"), ATTACKED[1]], ["P405"]),
        ([*ATTACKED, s("confidence", 1)], ["P424"]),
        ([ATTACKED[0], s("attackAdvantage", 0, "lteq")], ["P424"]),
        ([ATTACKED[0], s("attackAdvantage", 1, "lteq")], ["P424"]),
        ([*ATTACKED, s("attackPrecision", 0.5, "lteq")], ["P424"]),
        ([*ATTACKED, s("attackPrecision", 1, "lteq")], ["P424"]),
        ([*ATTACKED, s("truePositiveRate", 0, "lteq"), s("falsePositiveRate", 0.1)], ["P424"]),
        ([*ATTACKED, s("truePositiveRate", 1, "lteq"), s("falsePositiveRate", 0.1)], ["P424"]),
        ([*ATTACKED, s("epsilon", 1, "lteq")], ["P419"]),
        ([{"and": ATTACKED}], ["P419"]),
    ],
)
def test_what_an_audit_lacks_is_told(refinements: list[Json], expected: list[str]) -> None:
    assert codes(train(duty=duty(refinements))) == expected


def test_who_trains_audits_the_model() -> None:
    (unsaid,) = granted(train(duty=duty())).duties
    assert unsaid.targets == (Asset(IRI(MODEL)),)
    assert granted(train(duty=duty(target=MODEL))).duties[0].targets == unsaid.targets
    assert codes(train(duty=duty(target=TARGET))) == ["P440"]


def test_who_uses_a_model_audits_it() -> None:
    (only,) = granted(permission(action="odrl:use", duty=duty())).duties
    assert (only.targets, only.audit is not None) == ((Asset(IRI(TARGET)),), True)


@pytest.mark.parametrize("kind", ["obligation", "remedy", "consequence"])
def test_an_audit_elsewhere_is_refused(kind: str) -> None:
    assert codes(_placed({"target": MODEL, **duty()}, kind)) == ["P440"]  # type: ignore[dict-item]


def test_an_audit_is_no_duty_of_who_anonymizes() -> None:
    how = [
        refinement("mosaicrown:method", "eq", "k-anonymity"), refinement("mosaicrown:k", "gteq", 5),
        refinement("mosaicrown:quasi-identifier", "isAllOf", ["Age"]),
    ]  # fmt: skip
    parsed = permission(action=refined("odrl:anonymize", how), output=MODEL, duty=duty())
    assert codes(parsed) == ["P440"]


# --- In words, and beside a description of the data


def test_words_that_no_run_heeds_are_named_with_their_places() -> None:
    parsed = train(
        refinement("odrl:count", "lteq", 3), duty=duty([*ATTACKED, refinement("count", "eq", 1)])
    )
    rule = granted(parsed)
    for one in (rule, *rule.duties):
        named = dict(unimplemented_refinements(one))
        assert "`odrl:count`" in named
        assert all(where.line > 0 for where in named.values())
    assert "odrl:count" in parsed.diagnostics[0].message


def test_training_and_audit_are_told_in_a_sentence() -> None:
    (told,) = describe(require(train(*NOISE, duty=duty([*ATTACKED, s("confidence", 0.9)]))))
    for part in (
        "may train http://example.com/Customer: a model by `mlp-128` that predicts Illness, with noise",
        "noiseMultiplier at least 1.1", f"output {MODEL}",
        f"in return must audit {MODEL}: by `loss` and `rmia`",
        "attackAdvantage at most 0.1 at confidence 0.9",
    ):  # fmt: skip
        assert part in told
    (plain,) = describe(require(train()))
    assert "without noise, so that it may memorise its data" in plain


def test_training_fits_the_description_of_the_data() -> None:
    columns = (ColumnFacts("Illness"), ColumnFacts("Id"))
    facts = DatasetFacts(columns, "d.json", IRI(TARGET), respondent="Id")
    names = refinement("mosaicrown:identifier", "isAllOf", ["Name"])
    assert check_dataset(require(train()), facts) == ()
    assert [one.code for one in check_dataset(require(train(names)), facts)] == ["P610"]
    other = DatasetFacts(columns[1:], "d.json", IRI(TARGET))
    assert [one.code for one in check_dataset(require(train()), other)] == ["P610"]
    each = train(s("respondent", {"@id": "smalti:oneRowEach"}))
    assert [one.code for one in check_dataset(require(each), facts)] == ["P614"]


@pytest.mark.parametrize(
    ("refinements", "parts", "expected"),
    [
        ([], {}, ["P617"]),
        ([], {"duty": duty()}, []),
        (NOISE, {}, ["P615"]),
        (NOISE, {"constraint": [s("budgetEpsilon", 5, "lteq"), s("budgetDelta", 1e-5, "lteq")]}, []),
        ([], {"constraint": s("budgetEpsilon", 5, "lteq"), "duty": duty()}, ["P616"]),
    ],
)
def test_what_training_probably_does_not_mean(
    refinements: list[Json], parts: dict[str, Json], expected: list[str]
) -> None:
    each = s("respondent", {"@id": "smalti:oneRowEach"})
    assert [one.code for one in lint(require(train(*refinements, each, **parts)))] == expected
    undeclared = lint(require(train(*refinements, **parts)))
    assert sorted(one.code for one in undeclared) == sorted([*expected, "P620"])
