"""Signatures, vocabularies, withdrawals and what a policy affects, on the command line; and decisions."""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from shell import (
    CUSTOMER,
    OUTPUT,
    OWNER,
    USER,
    Ran,
    nobody_has_those_in,
    request,
    small_policy,
    small_rows,
    small_table,
    smalti,
)

GROUP, MEMBER = "http://example.com/party/analysts", "http://example.com/party/ana"
POLICY_UID = "http://example.com/policy/small"
READ_UID = "http://example.com/policy/read/1"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A private and a public key, in PEM files."""
    private = Ed25519PrivateKey.generate()
    (tmp_path / "private.pem").write_bytes(
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "public.pem").write_bytes(public)
    return tmp_path


def reading(folder: Path, **rule: Any) -> str:
    """A policy to read the customers."""
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": "http://example.com/policy/read",
        "profile": "https://w3id.org/smalti#",
        "permission": [{"uid": READ_UID, "action": "read", "target": CUSTOMER} | rule],
    }
    (folder / "read.jsonld").write_text(json.dumps(document), encoding="utf-8")
    return "read.jsonld"


def done(folder: Path, *arguments: str) -> Ran:
    ran = smalti(*arguments, cwd=folder)
    assert (ran.code, ran.err) == (0, ""), ran.err
    return ran


def asked(folder: Path, *options: str, party: str = USER) -> Ran:
    ran = smalti("decide", "--as", party, "--action", "read", *options, "--format", "json", cwd=folder)
    assert ran.err == ""
    return ran


def effect(folder: Path, *options: str, party: str = USER) -> str:
    ran = asked(folder, "--target", CUSTOMER, *options, party=party)
    told: str = ran.json["effect"]
    assert ran.code == (0 if told == "permit" else 1)
    assert ran.json["permitted"] is ran.json["unconditional"] is (told == "permit")
    return told


# --- Signatures


def test_a_trusted_key_makes_signatures_necessary(keys: Path) -> None:
    policy = reading(keys)
    trusted = done(keys, "keys", "trust", "public.pem", "--as", OWNER).out
    thumbprint = trusted.split()[-1]
    assert thumbprint in done(keys, "keys", "list").out
    refused = smalti("policy", "add", policy, "--as", OWNER, cwd=keys)
    assert (refused.code, refused.out) == (2, "")
    assert "it is not signed" in refused.err
    assert effect(keys) == "not applicable"
    done(keys, "keys", "sign", policy, "--key", "private.pem")
    done(keys, "policy", "add", policy, "--as", OWNER, "--signature", "read.jsonld.jws")
    assert effect(keys) == "permit"
    done(keys, "keys", "distrust", thumbprint, "--as", OWNER)
    assert effect(keys) == "deny"
    assert json.loads(done(keys, "keys", "list", "--format", "json").out)[0]["isTrusted"] is False


def test_a_new_key_signs_and_overwrites_nothing(tmp_path: Path) -> None:
    made = done(tmp_path, "keys", "new", "--private", "a.pem", "--public", "b.pem")
    assert made.out == "created: a.pem, b.pem\n"
    assert (tmp_path / "a.pem").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "a.pem").read_bytes()
    assert smalti("keys", "new", "--private", "a.pem", "--public", "c.pem", cwd=tmp_path).code == 2
    assert (tmp_path / "a.pem").read_bytes() == before
    assert not (tmp_path / "c.pem").exists()
    policy = reading(tmp_path)
    done(tmp_path, "keys", "trust", "b.pem", "--as", OWNER)
    done(tmp_path, "keys", "sign", policy, "--key", "a.pem")
    done(tmp_path, "policy", "add", policy, "--as", OWNER, "--signature", "read.jsonld.jws")


def test_a_signature_of_other_bytes_is_refused(keys: Path) -> None:
    policy = reading(keys)
    done(keys, "keys", "trust", "public.pem", "--as", OWNER)
    done(keys, "keys", "sign", policy, "--key", "private.pem", "--out", "signed")
    reading(keys, assignee=USER)
    refused = smalti("policy", "add", policy, "--as", OWNER, "--signature", "signed", cwd=keys)
    assert refused.code == 2
    assert "changed after signing" in refused.err
    assert smalti("keys", "trust", "private.pem", "--as", OWNER, cwd=keys).code == 2
    assert smalti("keys", "sign", policy, "--key", "public.pem", cwd=keys).code == 2


# --- Decisions


def test_everything_that_a_request_may_state(tmp_path: Path) -> None:
    reading(
        tmp_path,
        constraint=[
            {"leftOperand": "dateTime", "operator": "lt",
             "rightOperand": {"@value": "2026-06-01", "@type": "xsd:date"}},
            {"leftOperand": "recipient", "operator": "eq", "rightOperand": {"@id": MEMBER}},
        ],
        duty=[{"uid": "http://example.com/policy/read/duty", "action": "inform"}],
    )  # fmt: skip
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    early, late = ("--time", "2026-05-01T12:00:00Z"), ("--time", "2026-07-01")
    fact, duty = ("--fact", f"recipient={MEMBER}"), ("--fulfilled", "http://example.com/policy/read/duty")
    assert effect(tmp_path, *early, *fact, *duty) == "permit"
    assert effect(tmp_path, *late, *fact, *duty) == "deny"
    assert effect(tmp_path, *early, *duty) == "deny"
    assert effect(tmp_path, *early, *fact) == "deny"
    assert effect(tmp_path, *early, "--fact", f"recipient={USER}", *duty) == "deny"
    wrong = smalti("decide", "--as", USER, "--action", "read", "--target", CUSTOMER,
                   "--time", "noon", cwd=tmp_path)  # fmt: skip
    assert (wrong.code, wrong.out) == (2, "")


def test_a_caller_chooses_how_duties_are_read(tmp_path: Path) -> None:
    uid = "http://example.com/policy/read/duty"
    reading(tmp_path, duty=[{"uid": uid, "action": "inform"}])
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    assert effect(tmp_path) == effect(tmp_path, "--duties", "fulfilled") == "deny"
    open_ = ("--duties", "not-violated")
    assert effect(tmp_path, *open_) == "limited"
    assert effect(tmp_path, *open_, "--fulfilled", uid) == "permit"
    ran = asked(tmp_path, "--target", CUSTOMER, *open_, "--understands-limits")
    assert (ran.code, ran.json["permitted"], ran.json["request"]["duties"]) == (0, True, "not-violated")
    assert [duty["uid"] for duty in ran.json["grants"][0]["obligations"]] == [uid]
    assert asked(tmp_path, "--target", CUSTOMER).json["request"]["duties"] == "fulfilled"
    ask = ("decide", "--as", USER, "--action", "read", "--target", CUSTOMER)
    shown = smalti(*ask, *open_, cwd=tmp_path).out
    assert "duties were read as `not-violated`" in shown
    assert f"[{uid}]" in shown
    assert "not-violated" not in smalti(*ask, cwd=tmp_path).out
    assert smalti(*ask, "--duties", "later", cwd=tmp_path).code == 2


def test_limits_permit_only_whoever_says_that_they_understand_them(tmp_path: Path) -> None:
    grown_up = {"leftOperand": f"{CUSTOMER}/age", "operator": "gteq", "rightOperand": 18}
    reading(tmp_path, constraint=[grown_up])
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    assert effect(tmp_path) == "limited"
    understood = asked(tmp_path, "--target", CUSTOMER, "--understands-limits")
    told = understood.json
    assert (understood.code, told["effect"], told["permitted"]) == (0, "limited", True)
    assert told["unconditional"] is False
    (grant,) = told["grants"]
    assert (grant["rows"][0]["column"], grant["withheld"]) == (f"{CUSTOMER}/age", [])
    options = ("decide", "--as", USER, "--action", "read", "--target", CUSTOMER)
    refused = smalti(*options, cwd=tmp_path)
    assert refused.code == 1
    assert refused.out.startswith(f"limited: {USER} may not read")
    assert "only rows where age is at least 18" in refused.out
    assert "--understands-limits" in refused.out
    assert smalti(*options, "--understands-limits", cwd=tmp_path).out.startswith(
        f"limited: {USER} may read"
    )


def test_an_explanation_tells_each_part_of_each_rule(tmp_path: Path) -> None:
    reading(tmp_path, assignee=MEMBER)
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    (report,) = asked(tmp_path, "--target", CUSTOMER, "--explain").json["considered"]
    assert (report["rule"], report["applies"]) == (READ_UID, False)
    parts = {part["part"]: part["finding"] for part in report["parts"]}
    assert (parts["target"], parts["action"], parts["party"]) == ("satisfied", "satisfied", "unsatisfied")
    assert asked(tmp_path, "--target", CUSTOMER).json["considered"] == []
    shown = smalti("decide", "--as", USER, "--action", "read", "--target", CUSTOMER, "--explain",
                   cwd=tmp_path).out  # fmt: skip
    assert "party: unsatisfied" in shown


def test_joint_targets_need_one_rule(tmp_path: Path) -> None:
    other = "http://example.com/Other"
    reading(tmp_path, target=[CUSTOMER, other])
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    both = ("--target", CUSTOMER, "--target", other)
    assert asked(tmp_path, *both).json["effect"] == "permit"
    more = (*both, "--target", "http://example.com/Third")
    assert asked(tmp_path, *more).json["effect"] != "permit"


def test_every_decision_is_logged(tmp_path: Path) -> None:
    reading(tmp_path)
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    assert effect(tmp_path) == "permit"
    assert asked(tmp_path, "--target", "http://example.com/x", "--fact", "recipient=wombat").code == 1
    log = (tmp_path / "smalti.sqlite.decisions.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = map(json.loads, log)
    assert (first["effect"], first["rules"][0]["rule"]) == ("permit", READ_UID)
    assert second["effect"] == "not applicable"
    assert first["id"] != second["id"]
    assert "wombat" not in "".join(log)


# --- Vocabularies


def test_a_group_is_known_while_its_vocabulary_is_in_force(tmp_path: Path) -> None:
    reading(tmp_path, assignee=GROUP)
    done(tmp_path, "policy", "add", "read.jsonld", "--as", OWNER)
    (tmp_path / "groups.ttl").write_text(
        "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n"
        f"<{MEMBER}> a odrl:Party ; odrl:partOf <{GROUP}> .\n<{GROUP}> a odrl:PartyCollection .\n",
        encoding="utf-8",
    )
    assert effect(tmp_path, party=MEMBER) == "deny"
    added = done(tmp_path, "vocabulary", "add", "groups.ttl", "--as", OWNER)
    assert added.out == "in force: groups.ttl, version 1\n"
    assert effect(tmp_path, party=MEMBER) == "permit"
    assert effect(tmp_path, party=USER) == "deny"
    assert "groups.ttl version 1" in done(tmp_path, "vocabulary", "list").out
    done(tmp_path, "vocabulary", "remove", "groups.ttl", "--as", OWNER)
    assert effect(tmp_path, party=MEMBER) == "deny"
    done(tmp_path, "vocabulary", "add", "groups.ttl", "--as", USER)
    assert effect(tmp_path, party=MEMBER) == "deny"
    said = done(tmp_path, "vocabulary", "trust", USER, "--as", OWNER)
    assert said.out == f"trusted: the vocabularies of {USER} count for what {OWNER} owns\n"
    assert effect(tmp_path, party=MEMBER) == "permit"
    done(tmp_path, "vocabulary", "distrust", USER, "--as", OWNER)
    assert effect(tmp_path, party=MEMBER) == "deny"


# --- Withdrawals and reviews


def made(folder: Path, out: str, *more: str, code: int = 0) -> Ran:
    ran = smalti("run", "policy.jsonld", *request(Path("people.csv")), "--out", out, *more, cwd=folder)
    assert ran.code == code, ran.err
    return ran


def published(folder: Path, out: str) -> list[str]:
    return (folder / out / "anonCustomer.csv").read_text(encoding="utf-8").splitlines()[1:]


def test_respondents_who_withdrew_are_left_out_of_every_later_run(tmp_path: Path) -> None:
    small_table(tmp_path, small_rows(12), respondent="who")
    small_policy(tmp_path)
    made(tmp_path, "before")
    (tmp_path / "list.txt").write_text("p3\np4\n", encoding="utf-8")
    stranger = smalti("targets", "withdraw", CUSTOMER, "--from", "list.txt", "--as", USER, cwd=tmp_path)
    assert stranger.code == 2
    told = done(tmp_path, "targets", "withdraw", CUSTOMER, "--from", "list.txt", "--as", OWNER)
    assert told.out.startswith("2 respondents are left out")
    nobody_has_those_in(tmp_path)
    made(tmp_path, "after")
    assert len(published(tmp_path, "before")) == 12
    assert len(published(tmp_path, "after")) == 10
    assert "respondents withdrew after it was made" in done(tmp_path, "targets").out
    verified = smalti("verify", "after", "--data", "people.csv", cwd=tmp_path)
    assert verified.code == 0, verified.err
    for text in (tmp_path / "smalti.sqlite").read_bytes(), (tmp_path / "after").rglob("*"):
        if isinstance(text, bytes):
            assert b"p3\n" not in text


def test_what_a_policy_affects(tmp_path: Path) -> None:
    small_policy(tmp_path)
    small_table(tmp_path)
    made(tmp_path, "out")
    shown = done(tmp_path, "targets", "--affected-by", POLICY_UID, "--format", "json").json
    assert [one["target"] for one in shown] == [OUTPUT]
    assert shown[0]["forReview"] is False
    none = smalti("targets", "--affected-by", "http://example.com/policy/none", cwd=tmp_path)
    assert none.code == 2
    assert "no such policy was ever put in force" in none.err
    done(tmp_path, "policy", "revoke", POLICY_UID, "--as", OWNER)
    (after,) = done(tmp_path, "targets", "--affected-by", POLICY_UID, "--format", "json").json
    assert after["forReview"] is True
    assert "was revoked" in after["reviewReasons"][0]


def test_a_replaced_policy_is_listed_so(tmp_path: Path) -> None:
    """By another document, or by the layout that is in force when another one of it was run."""

    def states(*more: str) -> list[str]:
        return [one["state"] for one in done(tmp_path, "policy", "list", "--format", "json").json]

    given = small_policy(tmp_path)
    done(tmp_path, "policy", "add", given.name, "--as", OWNER)
    document = json.loads(given.read_text(encoding="utf-8"))
    given.write_text(json.dumps(document | {"dct:title": "again"}, indent=3), encoding="utf-8")
    done(tmp_path, "policy", "add", given.name, "--as", OWNER, "--replace")
    assert states() == ["replaced", "in force"]
    assert "replaced 20" in done(tmp_path, "policy", "list").out
    done(tmp_path, "policy", "revoke", POLICY_UID, "--as", OWNER)
    assert states() == ["revoked", "revoked"]


def test_a_remedy_that_is_named_can_be_run(tmp_path: Path) -> None:
    given = small_policy(tmp_path)
    document = json.loads(given.read_text(encoding="utf-8"))
    (permission,) = document.pop("permission")
    uid = "http://example.com/rule/remedy"
    document["prohibition"] = [
        {
            "uid": "http://example.com/rule/no",
            "target": CUSTOMER,
            "action": "use",
            "remedy": [{**permission, "uid": uid}],
        }
    ]
    given.write_text(json.dumps(document), encoding="utf-8")
    small_table(tmp_path)
    made(tmp_path, "none", code=1)
    assert not (tmp_path / "none").exists()
    shown = made(tmp_path, "out", "--rule", uid, "--format", "json").json
    assert [one["rule"] for one in shown["decision"]["grants"]] == [uid]
    assert published(tmp_path, "out")


def test_a_stronger_guarantee_may_be_asked_for(tmp_path: Path) -> None:
    small_policy(tmp_path)
    small_table(tmp_path)
    shown = made(tmp_path, "out", "--with", "k=4", "--format", "json").json
    assert shown["decision"]["permitted"] is True
    rows = [line.rsplit(",", 1)[0] for line in published(tmp_path, "out")]
    assert min(rows.count(row) for row in rows) >= 4
    weaker = made(tmp_path, "weak", "--with", "k=1", code=1)
    assert "deny" in weaker.out


# --- Attacks that were tried


def test_a_policy_never_inherits_from_a_stranger(tmp_path: Path) -> None:
    """Else whoever takes an ended parent's uid would write the owner's rules."""
    stranger = "http://example.com/party/stranger"
    parent = small_policy(tmp_path, file="parent.jsonld", uid="http://example.com/policy/parent")
    child = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "uid": "http://example.com/policy/child",
        "profile": "https://w3id.org/smalti#",
        "inheritFrom": "http://example.com/policy/parent",
    }
    (tmp_path / "child.jsonld").write_text(json.dumps(child), encoding="utf-8")
    small_table(tmp_path)
    done(tmp_path, "policy", "add", parent.name, "--as", OWNER)
    done(tmp_path, "policy", "add", "child.jsonld", "--as", OWNER)
    text = parent.read_text(encoding="utf-8").replace(CUSTOMER, "http://example.com/Theirs")
    (tmp_path / "theirs.jsonld").write_text(text, encoding="utf-8")
    done(tmp_path, "policy", "add", "theirs.jsonld", "--as", stranger)
    asked = ["child.jsonld", *request(Path("people.csv"))]
    assert smalti("run", *asked, "--out", "one", cwd=tmp_path).code == 0
    done(tmp_path, "policy", "revoke", "http://example.com/policy/parent", "--as", OWNER)
    refused = smalti("run", *asked, "--out", "two", cwd=tmp_path)
    assert refused.code == 1
    assert "P328" in refused.err
    assert not (tmp_path / "two").exists()


def test_a_prohibition_on_an_overlapping_collection_is_seen_from_the_first_decision(tmp_path: Path) -> None:
    """Two collections share a member: what is forbidden of one touches the other."""
    whole, other, part = (f"http://example.com/{name}" for name in ("Whole", "Other", "Part"))
    base = {"@context": "http://www.w3.org/ns/odrl.jsonld", "profile": "https://w3id.org/smalti#"}
    for name, kind, target in (
        ("a", "permission", whole),
        ("b", "prohibition", other),
        ("c", "permission", part),
    ):
        rule = {"uid": f"urn:x:{name}:1", "action": "read", "target": target}
        document = base | {"uid": f"urn:x:{name}", kind: [rule]}
        (tmp_path / f"{name}.jsonld").write_text(json.dumps(document), encoding="utf-8")
        done(tmp_path, "policy", "add", f"{name}.jsonld", "--as", OWNER)
    (tmp_path / "v.ttl").write_text(
        "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n"
        f"<{part}> a odrl:Asset ; odrl:partOf <{whole}>, <{other}> .\n"
        f"<{whole}> a odrl:AssetCollection . <{other}> a odrl:AssetCollection .\n",
        encoding="utf-8",
    )
    done(tmp_path, "vocabulary", "add", "v.ttl", "--as", OWNER)
    assert [asked_effect(tmp_path, target) for target in (whole, other, whole)] == ["deny"] * 3


def asked_effect(folder: Path, target: str) -> str:
    told: str = asked(folder, "--target", target).json["effect"]
    return told
