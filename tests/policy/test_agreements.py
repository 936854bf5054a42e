"""An agreement of two connectors says no more than was offered, or is refused with its place."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import policies

from smalti.errors import PolicyError, SmaltiError, UsageError
from smalti.policy.decide.authorize import authorize, prepare
from smalti.policy.decide.decision import DutyReading, Effect, Request
from smalti.policy.decide.fact_text import fact
from smalti.policy.decide.hierarchies import STANDARD
from smalti.policy.model.binding import Binding
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import Asset, Party, Policy, PolicyType
from smalti.policy.model.nesting import R, with_duties, with_rules
from smalti.policy.model.public_part import public_part
from smalti.policy.read.parse import load, parse
from smalti.policy.say.agreeing import agreement_document, offered_policy
from smalti.policy.say.offer import offer_document
from smalti.policy.say.widening import kept_to_offer
from smalti.vocab.terms import IRI

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "policies"
EX = "http://example.com/"
ODRL = "http://www.w3.org/ns/odrl/2/"
CX = "https://w3id.org/catenax/2025/9/policy/"
EDC = "https://w3id.org/edc/v0.0.1/ns/"
OWNER, ANA, VISITS = f"{EX}party/owner", f"{EX}party/ana", f"{EX}visits"
NOW = datetime(2026, 6, 1, tzinfo=UTC)

LIMITS: list[dict[str, Any]] = [
    {"leftOperand": f"{CX}Membership", "operator": "eq", "rightOperand": "active"},
    {"leftOperand": "odrl:purpose", "operator": "isAnyOf",
     "rightOperand": [{"@id": "https://w3id.org/dpv#ResearchAndDevelopment"}]},
    {"leftOperand": "odrl:dateTime", "operator": "lt",
     "rightOperand": {"@value": "2027-01-01T00:00:00Z", "@type": "xsd:dateTime"}},
    {"leftOperand": f"{EDC}inForceDate", "operator": "lteq", "rightOperand": "contractAgreement+30d"},
]  # fmt: skip
RULES: dict[str, Any] = {
    "odrl:conflict": {"@id": "odrl:prohibit"},
    "permission": [{
        "action": "use",
        "constraint": LIMITS,
        "duty": [{"action": "odrl:inform"}],
    }],
    "prohibition": [{"action": "odrl:distribute"}],
    "obligation": [{"action": "odrl:delete"}],
}  # fmt: skip
CONTEXT = "https://w3id.org/dspace/2025/1/context.jsonld"


def template() -> dict[str, Any]:
    """As a connector stores it: without target and parties."""
    context = ["https://w3id.org/dspace/2025/1/odrl-profile.jsonld",
               {"xsd": "http://www.w3.org/2001/XMLSchema#"}]  # fmt: skip
    return {"@context": context, "@type": "Set", "@id": f"{EX}policy/visits", **copy.deepcopy(RULES)}


def message() -> dict[str, Any]:
    return {
        "@context": [CONTEXT],
        "@type": "ContractAgreementMessage",
        "providerPid": "urn:uuid:1",
        "consumerPid": "urn:uuid:2",
        "agreement": {
            "@id": "urn:uuid:32541fe6-c580-409e-85a8-8a9a32fbe833",
            "@type": "Agreement",
            "timestamp": "2026-05-01T12:00:00Z",
            "target": VISITS,
            "assigner": OWNER,
            "assignee": ANA,
            **copy.deepcopy(RULES),
        },
    }


def edc() -> dict[str, Any]:
    context = {"@vocab": EDC, "odrl": ODRL, "xsd": "http://www.w3.org/2001/XMLSchema#"}
    inner = "https://w3id.org/dspace/2025/1/odrl-profile.jsonld"
    return {
        "@context": context,
        "@type": "ContractAgreement",
        "@id": f"{EX}agreement/1",
        "providerId": OWNER,
        "consumerId": ANA,
        "assetId": VISITS,
        "contractSigningDate": 1777636800,
        "policy": {"@context": inner, "@id": "urn:x:made-up", "@type": "Set", **copy.deepcopy(RULES)},
    }


def offered(document: dict[str, Any] | None = None, **bound: str) -> Policy:
    parts = {name: IRI(iri) for name, iri in bound.items()}
    text = json.dumps(document or template()).encode()
    return offered_policy(text, "template.json", binding=Binding(**parts))


def agreed(agreement: dict[str, Any], offer: Policy | None = None, now: datetime = NOW) -> Policy:
    text = json.dumps(agreement, indent=1).encode()
    written = agreement_document(text, "agreement.json", offer or offered(), now=now)
    parsed = parse(written, "registered.jsonld")
    assert parsed.errors == (), written.decode()
    (policy,) = parsed.policies
    return policy


def refusal(agreement: dict[str, Any], offer: Policy | None = None) -> str:
    with pytest.raises(SmaltiError) as refused:
        agreed(agreement, offer)
    return str(refused.value)


@pytest.mark.parametrize("agreement", [message(), edc(), message()["agreement"] | {"@context": [
    "https://w3id.org/dspace/2025/1/odrl-profile.jsonld", {"dspace": "https://w3id.org/dspace/2025/1/",
    "xsd": "http://www.w3.org/2001/XMLSchema#"}]} ], ids=["protocol", "edc", "bare"])  # fmt: skip
def test_an_agreement_binds_a_template(agreement: dict[str, Any]) -> None:
    agreement.pop("timestamp", None)
    policy = agreed(agreement)
    assert policy.type is PolicyType.AGREEMENT
    for rule in policy.rules:
        assert rule.targets == (Asset(IRI(VISITS)),)
        assert rule.assigners == (Party(IRI(OWNER)),)
        assert rule.assignees == (Party(IRI(ANA)),)
    assert [len(rules) for rules in (policy.permissions, policy.prohibitions, policy.obligations)] == [
        1
    ] * 3


def test_durations_are_counted_from_the_date_of_the_agreement() -> None:
    for agreement in (message(), edc()):
        written = agreement_document(json.dumps(agreement).encode(), "a.json", offered(), now=NOW).decode()
        assert "contractAgreement" not in written
        assert "2026-05-31T12:00:00Z" in written


def in_force_date(operator: str) -> dict[str, Any]:
    return {
        "leftOperand": f"{EDC}inForceDate",
        "operator": operator,
        "rightOperand": "contractAgreement+30d",
    }


@pytest.mark.parametrize("timestamp", ["2001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", NOW.isoformat()])
@pytest.mark.parametrize(
    ("word", "limit"),
    [
        ("permission", in_force_date("gteq")),
        ("permission", in_force_date("gt")),
        ("permission", {"odrl:or": [in_force_date("gteq"), in_force_date("gt")]}),
        ("permission", {"odrl:and": [in_force_date("gt")]}),
        ("permission", {"odrl:xone": [in_force_date("lteq"), in_force_date("eq")]}),
        ("permission", in_force_date("neq")),
        ("prohibition", in_force_date("lt")),
        ("prohibition", in_force_date("lteq")),
    ],
)
def test_a_date_that_the_other_side_writes_lifts_no_embargo(
    word: str, limit: dict[str, Any], timestamp: str
) -> None:
    rules: dict[str, Any] = {"odrl:conflict": {"@id": "odrl:prohibit"}, "permission": [{"action": "use"}]}
    rules.setdefault(word, [{"action": "use"}])[0]["constraint"] = [limit]
    offer = {name: value for name, value in template().items() if name not in RULES} | rules
    agreement = message()
    stated = {name: value for name, value in agreement["agreement"].items() if name not in RULES} | rules
    agreement["agreement"] = stated | {"timestamp": timestamp}
    policy = agreed(agreement, offered(offer))

    def effect(agreed: datetime | None) -> Effect:
        request = Request(
            party=IRI(ANA), action=IRI(f"{ODRL}use"), targets=(IRI(VISITS),), time=NOW, agreed=agreed
        )
        return authorize(request, [policy]).effect

    assert effect(None) is Effect.DENY
    assert effect(NOW) is (Effect.PERMIT if "neq" in str(limit) or "xone" in str(limit) else Effect.DENY)
    assert effect(NOW - timedelta(days=31)) is (Effect.DENY if "xone" in str(limit) else Effect.PERMIT)


def collection(kind: str, source: str) -> dict[str, Any]:
    named = {"@type": f"odrl:{kind}", "odrl:source": {"@id": source}}
    return named | {"odrl:refinement": [in_force_date("lteq")]}


def deadline(action: str) -> dict[str, Any]:
    return {"action": action, "constraint": [in_force_date("lteq")]}


ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "target": ("use", {"permission": [{"action": "use", "target": collection("AssetCollection", VISITS)}]}),
    "assignee": (
        "use", {"permission": [{"action": "use", "assignee": collection("PartyCollection", ANA)}]}),
    "duty": ("use", {"permission": [{"action": "use", "duty": [deadline("odrl:inform")]}]}),
    "alternatives of a duty": ("use", {"permission": [{"action": "use", "duty": [{
        "action": "odrl:inform",
        "constraint": [{"odrl:or": [in_force_date("lt"), in_force_date("lteq")]}],
    }]}]}),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("reading", list(DutyReading))
def test_no_request_restarts_what_the_date_of_the_agreement_ended(name: str, reading: DutyReading) -> None:
    action, rules = ENDS[name]
    offer = {word: value for word, value in template().items() if word not in RULES} | rules
    agreement = message()
    parts = {word: value for word, value in agreement["agreement"].items() if word not in RULES}
    agreement["agreement"] = parts | copy.deepcopy(rules)
    for shared, stated in (("target", "target"), ("assignee", "assignee")):
        if stated in rules["permission"][0]:
            agreement["agreement"].pop(shared)
    policy = agreed(agreement, offered(offer))
    duties = frozenset(duty.uid for rule in policy.permissions for duty in rule.duties)

    def effect(time: datetime, agreed: datetime | None) -> Effect:
        request = Request(
            party=IRI(ANA), action=IRI(f"{ODRL}{action}"), targets=(IRI(VISITS),), time=time,
            agreed=agreed, duties=reading, fulfilled=duties,
        )  # fmt: skip
        return authorize(request, [policy]).effect

    in_time, too_late = NOW - timedelta(days=2), NOW
    for stated_date in (None, in_time, datetime(2001, 1, 1, tzinfo=UTC)):
        assert effect(in_time, stated_date) is Effect.PERMIT
    for stated_date in (None, NOW, in_time, datetime(2001, 1, 1, tzinfo=UTC)):
        assert effect(too_late, stated_date) is Effect.DENY


def test_deadlines_of_obligations_are_counted_from_the_date_and_those_of_prohibitions_wait() -> None:
    rules = {
        "permission": [{"action": "use"}],
        "obligation": [deadline("odrl:delete")],
        "prohibition": [
            {"action": "odrl:sell", "constraint": [in_force_date("lt")],
             "odrl:remedy": [deadline("odrl:compensate")]}
        ],
    }  # fmt: skip
    offer = {word: value for word, value in template().items() if word not in RULES} | rules
    agreement = message()
    parts = {word: value for word, value in agreement["agreement"].items() if word not in RULES}
    agreement["agreement"] = parts | rules
    policy = agreed(agreement, offered(offer))
    (obligation,), (prohibition,) = policy.obligations, policy.prohibitions
    for duty in (obligation, *prohibition.remedies):
        assert "Instant(" in repr(duty.constraints)
    assert "contractAgreement+30d" in repr(prohibition.constraints)


TURTLE = f"""
@prefix odrl: <{ODRL}> .
@prefix dspace: <https://w3id.org/dspace/2025/1/> .
<urn:uuid:32541fe6-c580-409e-85a8-8a9a32fbe833> a odrl:Agreement ;
  odrl:target <{VISITS}> ; odrl:assigner <{OWNER}> ; odrl:assignee <{ANA}> ;
  dspace:timestamp DATE ;
  odrl:permission [ odrl:action odrl:use ; odrl:constraint [
    odrl:leftOperand <{EDC}inForceDate> ; odrl:operator odrl:lteq ;
    odrl:rightOperand "contractAgreement+30d" ] ] .
"""


def test_an_agreement_in_turtle_has_the_same_date() -> None:
    rules = {"permission": [{"action": "use", "constraint": [in_force_date("lteq")]}]}
    offer = offered({word: value for word, value in template().items() if word not in RULES} | rules)
    date = '"2026-05-01T12:00:00Z"'

    def written(date: str) -> str:
        return agreement_document(TURTLE.replace("DATE", date).encode(), "a.ttl", offer, now=NOW).decode()

    for text in (date, f"{date}^^<http://www.w3.org/2001/XMLSchema#dateTime>"):
        assert "2026-05-31T12:00:00Z" in written(text)
        assert "contractAgreement" not in written(text)
    for text in (f'{date}, "2026-05-02T12:00:00Z"', "1777636800", f"<{EX}now>", '"2027-01-01T00:00:00Z"'):
        with pytest.raises(SmaltiError):
            written(text)


def test_without_a_date_durations_wait_for_the_request() -> None:
    agreement = message()
    del agreement["agreement"]["timestamp"]
    written = agreement_document(json.dumps(agreement).encode(), "a.json", offered(), now=NOW).decode()
    assert "contractAgreement+30d" in written


@pytest.mark.parametrize(
    ("timestamp", "problem"),
    [
        ("2026-06-02T00:00:00Z", "the date of the agreement is to come"),
        ("2026-05-01T12:00:00", "is not a point in time"),
        ("soon", "is not a point in time"),
        (True, "it is no point in time"),
        (-1, "it is no point in time"),
        (10**12, "it is no point in time"),
    ],
)
def test_the_date_is_one_that_has_passed(timestamp: object, problem: str) -> None:
    agreement = message()
    agreement["agreement"]["timestamp"] = timestamp
    assert problem in refusal(agreement)


def test_two_dates_are_refused() -> None:
    assert "two dates" in refusal(message() | {"timestamp": "2026-05-02T12:00:00Z"})
    assert agreed(message() | {"timestamp": "2026-05-01T12:00:00Z"})


def edited(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    agreement = message()
    change(agreement["agreement"])
    return agreement


def permission(agreement: dict[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = agreement["permission"][0]
    return rule


def limit(agreement: dict[str, Any], number: int, value: object) -> None:
    permission(agreement)["constraint"][number]["rightOperand"] = value


BOUND = {"target": VISITS, "assigner": OWNER, "assignee": ANA}
WIDER: dict[str, tuple[Callable[[dict[str, Any]], object], str, str]] = {
    # what is changed; what the message names of the agreement; what it says was offered
    "target": (lambda a: a.update(target=f"{EX}all"), "target", f"/target.*{VISITS}"),
    "target-beside": (
        lambda a: permission(a).update(target=[VISITS, f"{EX}all"]), "second target", "one target"),
    "target-of-a-rule": (
        lambda a: a["prohibition"].append({"action": "odrl:use", "target": f"{EX}other"}),
        "an added prohibition", "for them alone"),
    "collection": (
        lambda a: permission(a).update({"target": {"@id": VISITS, "odrl:partOf": {"@id": f"{EX}all"}}}),
        "is part of", "does not state"),
    "assigner": (lambda a: a.update(assigner=f"{EX}party/other"), "assigner", OWNER),
    "assignee": (lambda a: a.update(assignee=f"{EX}party/bob"), "assignee", ANA),
    "assignee-beside": (
        lambda a: a.update(assignee=[ANA, f"{EX}party/bob"]), "second assignee", "one assignee"),
    "action": (lambda a: permission(a).update(action="odrl:transfer"), "odrl/2/transfer", "odrl/2/use"),
    "narrower-action": (lambda a: permission(a).update(action="odrl:read"), "odrl/2/read", "odrl/2/use"),
    "action-beside": (
        lambda a: permission(a).update(action=["use", "odrl:transfer"]), "odrl/2/transfer", "odrl/2/use"),
    "permission-beside": (
        lambda a: a["permission"].append({"action": "odrl:sell"}), "odrl/2/sell", "odrl/2/use"),
    "purpose": (
        lambda a: limit(a, 1, [{"@id": "https://w3id.org/dpv#Marketing"}]),
        "Marketing", "ResearchAndDevelopment"),
    "purpose-beside": (
        lambda a: limit(a, 1, [{"@id": "https://w3id.org/dpv#ResearchAndDevelopment"},
                               {"@id": "https://w3id.org/dpv#Marketing"}]),
        "Marketing", "ResearchAndDevelopment"),
    "purpose-dropped": (
        lambda a: permission(a)["constraint"].pop(1), "leaves out", "ResearchAndDevelopment"),
    "time": (
        lambda a: limit(a, 2, {"@value": "2028-01-01T00:00:00Z", "@type": "xsd:dateTime"}),
        "2028-01-01", "2027-01-01"),
    "time-dropped": (lambda a: permission(a)["constraint"].pop(2), "leaves out", "2027-01-01"),
    "duration": (lambda a: limit(a, 3, "contractAgreement+31d"), r"\+31d", r"\+30d"),
    "fact": (lambda a: limit(a, 0, "past"), "past", "active"),
    "fact-in-an-or": (
        lambda a: permission(a).update(constraint=[{"or": copy.deepcopy(LIMITS)}]), "leaves out", "active"),
    "no-constraint": (lambda a: permission(a).pop("constraint"), "leaves out", "active"),
    "duty": (lambda a: permission(a).pop("duty"), "leaves out an offered duty", "inform"),
    "other-duty": (
        lambda a: permission(a).update(duty=[{"action": "odrl:delete"}]),
        "leaves out an offered duty", "inform"),
    "duty-of-the-owner": (
        lambda a: permission(a)["duty"].append(
            {"action": "odrl:compensate", "assignee": OWNER, "assigner": ANA}),
        "obliges somebody else", "of the assignee alone"),
    "prohibition": (lambda a: a.pop("prohibition"), "leaves out an offered prohibition", "distribute"),
    "prohibition-limited": (
        lambda a: a["prohibition"][0].update(constraint=[copy.deepcopy(LIMITS[2])]),
        "leaves out an offered prohibition", "distribute"),
    "obligation": (lambda a: a.pop("obligation"), "leaves out an offered obligation", "delete"),
    "conflict": (
        lambda a: a.update({"odrl:conflict": {"@id": "odrl:perm"}}), "conflict strategy.*perm", "prohibit"),
    "profile": (lambda a: a.update(profile=CX), "names the profile", "none"),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDER)
def test_an_agreement_that_widens_its_offer_is_refused(name: str) -> None:
    change, said, expected = WIDER[name]
    text = refusal(edited(change), offered(**BOUND))
    assert re.search(said, text, re.DOTALL), text
    assert re.search(rf"expected .*{expected.removeprefix('/target.*')}", text, re.DOTALL), text
    assert re.match(r"agreement\.json:\d+:\d+: ", text), "with its place"
    assert "have the owner offer this" in text or "of one negotiation" in text


def test_the_place_is_where_the_agreement_says_it() -> None:
    agreement = edited(lambda a: limit(a, 0, "past"))
    line = json.dumps(agreement, indent=1).splitlines().index('      "rightOperand": "past"')
    (place,) = re.findall(r"agreement\.json:(\d+):", refusal(agreement))
    assert line - 3 <= int(place) <= line + 1


def test_a_shorter_time_stands_beside_the_offered_one() -> None:
    def shorter(agreement: dict[str, Any]) -> None:
        (limit,) = (each for each in permission(agreement)["constraint"] if "inForceDate" in str(each))
        limit["rightOperand"] = "contractAgreement+10d"

    assert "Keep what is offered, and agree on a narrower one beside it" in refusal(edited(shorter))


def test_a_template_with_columns_says_that_its_target_is_open() -> None:
    def anonymizing(column: str) -> dict[str, Any]:
        m = "https://www.mosaicrown.eu/ns/mosaicrown/1/"
        limits = [
            {"leftOperand": {"@id": m + word}, "operator": operator, "rightOperand": value}
            for word, operator, value in (
                ("method", "eq", "k-anonymity"),
                ("k", "gteq", 3),
                ("quasi-identifier", "isAllOf", [column]),
            )
        ]
        action = {
            "http://www.w3.org/1999/02/22-rdf-syntax-ns#value": {"@id": "odrl:anonymize"},
            "odrl:refinement": limits,
        }
        return {"permission": [{"action": action, "odrl:output": {"@id": f"{EX}published"}}]}

    parts = {word: value for word, value in template().items() if word not in RULES}
    agreement = message()
    stated = {word: value for word, value in agreement["agreement"].items() if word not in RULES}
    agreement["agreement"] = stated | anonymizing(f"{VISITS}/zip")
    assert "ind it (--bind target=IRI)" in refusal(agreement, offered(parts | anonymizing("zip")))


def test_each_place_is_named_at_once() -> None:
    def change(agreement: dict[str, Any]) -> None:
        limit(agreement, 0, "past")
        del agreement["prohibition"]
        agreement["odrl:conflict"] = {"@id": "odrl:perm"}

    assert "conflict" in refusal(edited(change))

    def rules(agreement: dict[str, Any]) -> None:
        limit(agreement, 0, "past")
        del agreement["prohibition"]

    assert len(refusal(edited(rules)).splitlines()) == 2


def test_conditions_that_read_alike_are_told_apart() -> None:
    purpose = {"leftOperand": "odrl:purpose", "operator": "eq",
               "rightOperand": {"@id": "https://w3id.org/dpv#Marketing"}}  # fmt: skip
    offer = template() | {"permission": [{"action": "use", "constraint": [purpose]}]}
    other = purpose | {"operator": "isAnyOf"}
    text = refusal(
        edited(lambda a: a.update(permission=[{"action": "use", "constraint": [other]}])), offered(offer)
    )
    assert "(as isAnyOf named)" in text
    assert "(as eq named)" in text


def test_problems_are_not_without_end() -> None:
    agreement = edited(lambda a: a.update(permission=[{"action": "odrl:print"} for _ in range(100)]))
    assert len(refusal(agreement).splitlines()) == 20


@given(st.data())
@settings(max_examples=examples(25, full=2000))
def test_a_hostile_message_is_refused_in_our_words(data: st.DataObject) -> None:
    """Whatever stands in place of a part of a message: a document or a refusal, and nothing wider."""
    agreement = data.draw(st.sampled_from([message(), edc()]))
    policy = agreement["agreement"] if "agreement" in agreement else agreement["policy"]
    holder = data.draw(
        st.sampled_from([agreement, policy, policy["permission"][0], policy["prohibition"][0]])
    )
    key = data.draw(st.sampled_from([*holder, "@id", "timestamp", "dspace:timestamp", "hasPolicy", "duty"]))
    junk = [
        None,
        1e300,
        -1,
        True,
        [],
        {},
        "",
        [[]],
        {"@value": {}},
        {"@id": "_:x"},
        [{}, {}],
        "x" * 50,
        OWNER,
    ]
    holder[key] = data.draw(st.sampled_from(junk))
    try:
        registered = agreed(agreement)
    except SmaltiError:
        return
    for rule in registered.permissions:
        assert rule.action == f"{ODRL}use"
        assert len(rule.constraints) == len(LIMITS)
    assert registered.prohibitions


NARROWER: dict[str, Callable[[dict[str, Any]], object]] = {
    "constraint": lambda a: permission(a)["constraint"].append(
        {"leftOperand": "odrl:dateTime", "operator": "lt",
         "rightOperand": {"@value": "2026-12-01T00:00:00Z", "@type": "xsd:dateTime"}}),
    "duty": lambda a: permission(a)["duty"].append({"action": "odrl:delete"}),
    "refinement": lambda a: permission(a).update(action={
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#value": {"@id": "odrl:use"},
        "odrl:refinement": [{"leftOperand": "odrl:count", "operator": "lteq", "rightOperand": 5}]}),
    "prohibition": lambda a: a["prohibition"].append({"action": "odrl:print"}),
    "obligation": lambda a: a["obligation"].append({"action": "odrl:inform"}),
    "validity": lambda a: a.update({"http://purl.org/dc/terms/valid": "2026-01-01/2026-12-31"}),
    "order": lambda a: permission(a)["constraint"].reverse(),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROWER)
def test_an_agreement_may_say_less(name: str) -> None:
    assert agreed(edited(NARROWER[name]), offered(**BOUND)).type is PolicyType.AGREEMENT


def test_an_agreement_may_leave_a_permission_out() -> None:
    document = template()
    document["permission"].append({"action": "odrl:print"})
    assert len(agreed(message(), offered(document)).permissions) == 1


@pytest.mark.parametrize("change", ["none", "narrower", "one less"])
def test_no_agreement_puts_a_void_offer_in_force(change: str) -> None:
    """Naive: a further constraint ends the contradiction for which the offer permits nothing."""
    offer, agreement = template(), message()
    europe = {"leftOperand": "odrl:spatial", "operator": "eq", "rightOperand": {"@id": f"{EX}europe"}}
    for document in (offer, agreement["agreement"]):
        del document["odrl:conflict"]
        document["permission"] = [{"action": "use"}, {"action": "odrl:print"}]
        document["prohibition"] = [{"action": "odrl:display", "constraint": [europe]}]
    agreed_on = agreement["agreement"]["permission"]
    if change == "narrower":
        agreed_on[0]["constraint"] = [europe | {"operator": "neq"}]
    elif change == "one less":
        del agreed_on[0]
    assert "the offer is void" in refusal(agreement, offered(offer))
    both = {"odrl:conflict": {"@id": "odrl:prohibit"}}
    assert agreed(agreement | {"agreement": agreement["agreement"] | both}, offered(offer | both))


@pytest.mark.parametrize(
    ("valid", "is_within"),
    [(None, False), ("2026-01-01/2027-01-01", True), ("2026-02-01/2026-03-01", True),
     ("2025-12-31/2027-01-01", False), ("2026-01-01/..", False), ("../2026-03-01", False)],
)  # fmt: skip
def test_the_validity_lies_within_that_of_the_offer(valid: str | None, is_within: bool) -> None:
    word = "http://purl.org/dc/terms/valid"
    offer = offered(template() | {word: "2026-01-01/2027-01-01"})
    agreement = message() if valid is None else edited(lambda a: a.update({word: valid}))
    if is_within:
        assert agreed(agreement, offer).valid
    else:
        assert "in force at times when the offer is not" in refusal(agreement, offer)


def test_profiles_and_memberships_stay_those_of_the_owner() -> None:
    document = template() | {"profile": CX}
    document["permission"][0]["target"] = {"@id": VISITS, "odrl:partOf": {"@id": f"{EX}all"}}
    policy = agreed(message(), offered(document))
    assert policy.profiles == (CX,)
    assert [membership.collection for membership in policy.memberships] == [f"{EX}all"]


# --- What is no agreement


def second(agreement: dict[str, Any]) -> dict[str, Any]:
    twice = copy.deepcopy(agreement["agreement"]) | {"@id": "urn:uuid:other"}
    return agreement | {"agreement": [agreement["agreement"], twice]}


@pytest.mark.parametrize(
    ("agreement", "problem"),
    [
        (second(message()), "contains 2 policies, where one is meant"),
        ([message(), message()["agreement"] | {"@id": "urn:uuid:x", "@context": [
            "https://w3id.org/dspace/2025/1/odrl-profile.jsonld",
            {"xsd": "http://www.w3.org/2001/XMLSchema#", "dspace": "https://w3id.org/dspace/2025/1/"}]}],
         "1 error|contains 2 policies"),
        (json.loads(json.dumps(message()).replace("ContractAgreementMessage", "ContractOfferMessage")
                    .replace('"agreement"', '"offer"')), "no agreement|1 error"),
        (template() | BOUND, "this is no agreement"),
        (template() | {"@type": "Offer"} | BOUND, "this is no agreement"),
        (template() | {"@type": "Agreement", "target": VISITS, "assigner": OWNER}, "leaves open: assignee"),
        ({key: value for key, value in edc().items() if key != "consumerId"},
         "does not name its assignee|leaves open"),
        (edited(lambda a: a.pop("target")), "leaves open: target|no `target`"),
        ({}, "1 error"),
        ([], "1 error"),
        ("text", "1 error"),
        ({"@context": [CONTEXT], "@type": "ContractAgreementMessage"}, "error"),
    ],
)  # fmt: skip
def test_one_agreement_is_meant(agreement: Any, problem: str) -> None:
    text = refusal(agreement)
    assert re.search(problem, text), text


def test_an_offer_document_with_two_policies_is_refused() -> None:
    documents = [template(), template() | {"@id": f"{EX}policy/other"}]
    with pytest.raises(PolicyError, match=r"template\.json:.*2 policies, where one is meant"):
        offered_policy(json.dumps(documents).encode(), "template.json")


def test_names_without_a_scheme_need_a_base() -> None:
    agreement = edited(lambda a: a.update(target="visits"))
    assert "--bind base=IRI" in refusal(agreement)
    text = json.dumps(agreement).encode()
    written = agreement_document(text, "a.json", offered(), base=IRI(EX), now=NOW)
    assert parse(written, "a.jsonld").policies[0].targets == {VISITS}


# --- Offers that smalti wrote


def agreement_about(offer: dict[str, Any], assignee: str = ANA) -> dict[str, Any]:
    """As another connector makes it: the terms that it saw, the target, both parties."""
    terms: dict[str, Any] = copy.deepcopy(offer["hasPolicy"][0])
    own = {"@type": "Agreement", "@id": "urn:uuid:1", "target": offer["@id"], "assignee": assignee}
    context = offer["@context"]
    return {"@context": context, "@type": "ContractAgreementMessage", "agreement": {**terms, **own}}


@pytest.mark.parametrize(
    "name",
    ["contraceptive", "contraceptive-local", "contraceptive-statistics", "contraceptive-model",
     "fig-2.6-canonical", "analyst-read"],
)  # fmt: skip
def test_an_agreement_about_a_written_offer_is_the_owners_policy(name: str) -> None:
    """The terms went out without the internals, and come back with them."""
    source = (EXAMPLES / f"{name}.jsonld").read_bytes()
    owner = offered_policy(source, name, binding=Binding(assigner=IRI(OWNER)))
    offer = json.loads(offer_document(owner))
    (assignee,) = owner.permissions[0].assignees
    policy = agreed(agreement_about(offer, assignee.iri), owner)
    expected = replace(owner, type=PolicyType.AGREEMENT, uid=policy.uid, shared=None)
    bare = replace(with_rules(expected, without_rule_uids), memberships=expected.memberships)
    assert meaning_digest(replace(policy, shared=None)) == meaning_digest(bare)


def without_rule_uids(rule: R) -> R:
    return with_duties(replace(rule, uid=IRI("urn:smalti:rule:sha256:x")), without_rule_uids)


def test_internals_of_an_agreement_are_the_owners_or_refused() -> None:
    source = (EXAMPLES / "fig-2.6-canonical.jsonld").read_bytes()
    owner = offered_policy(source, "p", binding=Binding(assigner=IRI(OWNER)))
    agreement = agreement_about(json.loads(offer_document(owner)), "http://org/user")
    refinements = agreement["agreement"]["permission"][0]["action"][0]["odrl:refinement"]
    refinements.append({"leftOperand": "mosaicrown:identifier", "operator": "isAllOf",
                        "rightOperand": [{"@id": "http://example.com/Customer/FirstName"}]})  # fmt: skip
    assert "anonymizes otherwise than is offered" in refusal(agreement, owner)
    refinements.pop()
    refinements[1]["rightOperand"] = 2
    assert "anonymizes otherwise than is offered" in refusal(agreement, owner)


def test_a_duty_to_anonymize_cannot_be_added() -> None:
    """It would grant the anonymization, and an output to read."""
    duty = json.loads((HERE / "good" / "duty-to-anonymize.jsonld").read_text(encoding="utf-8"))
    (policy,) = load(HERE / "good" / "duty-to-anonymize.jsonld").policies
    assert "permission" in duty
    parties = {"assigners": (Party(IRI(OWNER)),), "assignees": (Party(IRI(ANA)),)}

    def filled(rule: R) -> R:
        return with_duties(replace(rule, **parties), filled)  # type: ignore[arg-type] # their fields

    agreement = replace(with_rules(policy, filled), type=PolicyType.AGREEMENT)
    assert kept_to_offer(agreement, agreement)
    bare = replace(agreement, permissions=tuple(replace(p, duties=()) for p in agreement.permissions))
    with pytest.raises(SmaltiError, match="makes something"):
        kept_to_offer(agreement, bare)


# --- Any policy


def about_one_target(policy: Policy) -> Policy:
    target = next(iter(policy.permissions or policy.rules)).targets or (Asset(IRI(VISITS)),)

    def filled(rule: R) -> R:
        parts = {"targets": target, "assigners": (Party(IRI(OWNER)),), "assignees": (Party(IRI(ANA)),)}
        return with_duties(replace(rule, **parts), filled)  # type: ignore[arg-type] # their fields

    return replace(with_rules(policy, filled), shared=None, inclusions=())


@given(policies())
@settings(max_examples=examples(10, full=400))
def test_any_policy_keeps_to_itself_and_to_its_public_part(policy: Policy) -> None:
    policy = about_one_target(policy)
    if len(policy.rules[0].targets) > 1:
        return
    agreement = replace(policy, type=PolicyType.AGREEMENT)
    public = replace(public_part(agreement), memberships=())
    if prepare(policy, STANDARD).conflict is not None:
        with pytest.raises(SmaltiError, match="void"):
            kept_to_offer(agreement, policy)
        return
    expected = meaning_digest(with_rules(agreement, without_rule_uids))
    assert meaning_digest(with_rules(kept_to_offer(agreement, policy), without_rule_uids)) == expected
    assert meaning_digest(with_rules(kept_to_offer(public, policy), without_rule_uids)) == expected


@given(st.data())
@settings(max_examples=examples(30, full=400))
def test_an_accepted_agreement_never_permits_more(data: st.DataObject) -> None:
    """Against decisions: what the registered agreement permits, the bound template permits."""
    agreement = message()
    changes = data.draw(st.lists(st.sampled_from([*WIDER, *NARROWER]), max_size=2, unique=True))
    # Wider ones last: a narrower action would undo a wider one.
    for name in sorted(changes, key=lambda change: change in WIDER):
        change = WIDER[name][0] if name in WIDER else NARROWER[name]
        try:
            change(agreement["agreement"])
        except (KeyError, IndexError):
            return
    try:
        policy = agreed(agreement, offered(**BOUND))
    except SmaltiError:
        assert set(changes) & set(WIDER)
        return
    assert not set(changes) & set(WIDER)
    request = Request(
        party=IRI(data.draw(st.sampled_from([ANA, OWNER]))),
        action=IRI(ODRL + data.draw(st.sampled_from(["use", "read", "distribute", "print", "sell"]))),
        targets=(IRI(VISITS),),
        purpose=IRI("https://w3id.org/dpv#ResearchAndDevelopment"),
        time=NOW - timedelta(days=data.draw(st.sampled_from([-20, 1, 20]))),
        facts=(fact(f"{CX}Membership={data.draw(st.sampled_from(['active', 'past']))}", "facts"),),
        agreed=datetime(2026, 5, 1, 12, tzinfo=UTC),
    )

    def effect(policy: Policy) -> Effect:
        duties = frozenset(duty.uid for rule in policy.permissions for duty in rule.duties)
        return authorize(replace(request, fulfilled=duties), [policy]).effect

    effects = [effect(policy), effect(offered(**BOUND))]
    granted = {Effect.PERMIT, Effect.LIMITED}
    assert effects[0] not in granted or effects[1] in granted


def test_an_agreement_permits_what_was_offered() -> None:
    """Until the end of the duration that is counted from its own date, whatever the request says of it."""
    policy = agreed(message())

    def effect(**stated: Any) -> Effect:
        request = Request(
            party=IRI(ANA),
            action=IRI(f"{ODRL}read"),
            targets=(IRI(VISITS),),
            purpose=IRI("https://w3id.org/dpv#ResearchAndDevelopment"),
            fulfilled=frozenset(duty.uid for duty in policy.permissions[0].duties),
            **{"time": NOW - timedelta(days=2), "facts": (fact(f"{CX}Membership=active", "facts"),)}
            | stated,
        )
        return authorize(request, [policy]).effect

    assert effect() is Effect.PERMIT
    assert effect(facts=()) is Effect.DENY
    assert effect(time=NOW) is Effect.DENY
    assert effect(time=NOW, agreed=NOW) is Effect.DENY


def test_usage_errors_stay_usage_errors() -> None:
    agreement = message()
    agreement["agreement"]["timestamp"] = "2026-13-01T00:00:00Z"
    with pytest.raises(UsageError):
        agreed(agreement)
