"""Signatures on policies: what is refused, and what a key's trust and its end change.

joserfc signs, an implementation that shares no code with the one that verifies here.
"""

import base64
import hmac
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import OKPKey, RSAKey

from smalti.engine.registry.authority import decide
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.signatures import read_public_key, sign, signing_key
from smalti.engine.registry.submissions import Submission
from smalti.errors import UsageError
from smalti.policy.decide.decision import Request
from smalti.policy.read.parse import parse
from smalti.vocab import terms

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OWNER, SOURCE, USER

READ = world.document("read", world.read_rule("read", assignee=USER))
KEY = OKPKey.generate_key("Ed25519")
SECOND_KEY = OKPKey.generate_key("Ed25519")
ASKED = Request(party=USER, action=terms.READ, targets=(SOURCE,))


def pem(key: Any) -> bytes:
    found: bytes = key.as_pem(private=False)
    return found


def signed(document: bytes, key: Any = KEY, alg: str = "EdDSA", **header: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        compact = jws.serialize_compact({"alg": alg, **header}, document, key, algorithms=[alg])
    return str(jws.detach_compact_content(compact)).encode()


def with_header(header: object, document: bytes = READ) -> bytes:
    """A signature with any header, made with the trusted key (as no attacker could)."""
    part = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=")
    payload = base64.urlsafe_b64encode(document).rstrip(b"=")
    made = KEY.private_key.sign(part + b"." + payload)  # type: ignore[union-attr]
    return part + b".." + base64.urlsafe_b64encode(made).rstrip(b"=")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519"])
def test_a_signature_of_another_implementation_is_good(alg: str) -> None:
    keys = [read_public_key(pem(key), "key") for key in (SECOND_KEY, KEY)]
    assert signing_key(signed(READ, alg=alg) + b"\n", READ, keys, "read") == keys[1]


def test_another_implementation_takes_what_is_signed_here() -> None:
    made = sign(READ, KEY.as_pem(private=True), "key").decode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        assert jws.deserialize_compact(made, KEY, algorithms=["EdDSA"], payload=READ)
    for wrong in (pem(KEY), b"canary", RSAKey.generate_key(2048).as_pem(private=True)):
        with pytest.raises(UsageError, match="not an Ed25519 private key") as caught:
            sign(READ, wrong, "key")
        assert "canary" not in str(caught.value)


def test_the_example_of_rfc_8037() -> None:
    """Appendix A.4; the key is that of A.2."""
    key = OKPKey.import_key(
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    )
    compact = (
        b"eyJhbGciOiJFZERTQSJ9..hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt"
        b"9g7sVvpAr_MuM0KAg"
    )
    known = read_public_key(pem(key), "key")
    assert signing_key(compact, b"Example of Ed25519 signing", [known], "example") == known
    with pytest.raises(UsageError):
        signing_key(compact, b"Example of Ed25519 signing.", [known], "example")


HEADERS: list[object] = [
    {"alg": "none"},
    {"alg": "HS256"},
    {"alg": "RS256"},
    {"alg": "eddsa"},
    {"alg": ["EdDSA"]},
    {},
    [],
    "EdDSA",
    {"alg": "EdDSA", "crit": ["exp"], "exp": 1},
    {"alg": "EdDSA", "b64": False, "crit": ["b64"]},
    {"alg": "EdDSA", "jwk": {"kty": "OKP"}},
    {"alg": "EdDSA", "jku": "http://e.com"},
    {"alg": "EdDSA", "zip": "DEF"},
]


@pytest.mark.parametrize("header", HEADERS, ids=str)
def test_a_header_that_could_mean_something_else_is_refused(header: object) -> None:
    """Even where the signature itself is good."""
    key = read_public_key(pem(KEY), "key")
    assert signing_key(with_header({"alg": "EdDSA", "kid": "k"}), READ, [key], "read") == key
    with pytest.raises(UsageError, match="its signature cannot be used"):
        signing_key(with_header(header), READ, [key], "read")


def wrong_signatures() -> dict[str, bytes]:
    good = signed(READ)
    header, _, made = good.split(b".")
    payload = base64.urlsafe_b64encode(READ).rstrip(b"=")
    rsa = RSAKey.generate_key(2048)
    # The classic confusion: the public key as an HMAC secret (joserfc does not let one do it).
    start = base64.urlsafe_b64encode(b'{"alg":"HS256"}').rstrip(b"=")
    confused = base64.urlsafe_b64encode(hmac.digest(pem(KEY), start + b"." + payload, "sha256"))
    return {
        "other key": signed(READ, SECOND_KEY),
        "other document": signed(READ + b" "),
        "public key as secret": start + b".." + confused.rstrip(b"="),
        "rsa": signed(READ, rsa, "RS256"),
        "not detached": header + b"." + payload + b"." + made,
        "no signature": header + b"..",
        "unsigned": header,
        "empty": b"",
        "bytes": b"\xff" * 20,
        "long": good + b"A" * 10_000,
        "odd base64": header + b".." + made[:-1],
        "twice": good + b"\n" + good,
        "duplicate member": base64.urlsafe_b64encode(b'{"alg":"none","alg":"EdDSA"}').rstrip(b"=")
        + b".."
        + made,
    }


@pytest.mark.parametrize("name", wrong_signatures())
def test_a_wrong_signature_is_refused_and_nothing_changes(registry: Registry, name: str) -> None:
    registry.trust_key(OWNER, pem(KEY), by=OWNER)
    before = world.everything(registry)
    with pytest.raises(UsageError, match="signature"):
        registry.add_policy(READ, "read", OWNER, signature=wrong_signatures()[name])
    with pytest.raises(UsageError, match="it is not signed"):
        registry.add_policy(READ, "read", OWNER)
    assert world.everything(registry) == before


def test_a_signature_by_a_key_that_is_not_trusted_is_refused(registry: Registry) -> None:
    with pytest.raises(UsageError, match="a trusted key \\(there is none\\)"):
        registry.add_policy(READ, "read", OWNER, signature=signed(READ))
    registry.trust_key(OTHER, pem(KEY), by=OTHER)
    with pytest.raises(UsageError, match="there is none"):
        registry.add_policy(READ, "read", OWNER, signature=signed(READ))
    registry.add_policy(READ, "read", OWNER)  # only the other owner's policies must be signed


def test_a_signed_policy_counts_and_shows_its_key(registry: Registry) -> None:
    key = registry.trust_key(OWNER, pem(KEY), by=OWNER)
    (stored,) = registry.add_policy(READ, "read", OWNER, signature=signed(READ))
    assert stored.signed_by == key.thumbprint
    assert registry.list_keys() == (key,)
    assert decide(registry, ASKED).is_permitted


def test_who_speaks_for_an_owners_keys(registry: Registry) -> None:
    for action in (
        lambda: registry.trust_key(OWNER, pem(KEY), by=OTHER),
        lambda: registry.revoke_key(OWNER, "sha256:0", by=OTHER),
        lambda: registry.revoke_key(OWNER, "sha256:0", by=OWNER),
    ):
        with pytest.raises(UsageError):
            action()
    assert not registry.exists


def test_what_a_revoked_key_signed_prohibits_only_until_it_is_signed_anew(registry: Registry) -> None:
    first = registry.trust_key(OWNER, pem(KEY), by=OWNER)
    rule = {**world.read_rule("no"), "assignee": OTHER}
    document = world.document("read", world.read_rule("read", assignee=USER), prohibitions=(rule,))
    registry.add_policy(document, "read", OWNER, signature=signed(document))
    assert decide(registry, ASKED).is_permitted
    registry.revoke_key(OWNER, first.thumbprint, by=OWNER)
    decision = decide(registry, ASKED)
    assert not decision.is_permitted
    assert "the key that signed it is no longer trusted" in "".join(
        reason.text for reason in decision.reasons
    )
    forbidden = decide(registry, Request(party=OTHER, action=terms.READ, targets=(SOURCE,)))
    assert [name.rule for name in forbidden.determining] == ["http://example.com/rule/no"]
    with pytest.raises(UsageError, match="it is not signed"):  # no way around by revoking all keys
        registry.add_policy(document, "read", OWNER)
    registry.trust_key(OWNER, pem(SECOND_KEY), by=OWNER)
    registry.add_policy(document, "read", OWNER, signature=signed(document, SECOND_KEY))
    assert decide(registry, ASKED).is_permitted
    assert [stored.is_in_force for stored in registry.list_policies()] == [False, True]


def test_submitted_documents_must_be_signed_too(registry: Registry, tmp_path: Path) -> None:
    registry.trust_key(OWNER, pem(KEY), by=OWNER)
    own = world.document("own", world.read_rule("own"))
    registry.add_policy(own, "own", OWNER, signature=signed(own))
    (policy,) = parse(READ, "read").policies
    for document, signature in ((b"", None), (READ, None), (READ, signed(READ, SECOND_KEY))):
        submission = Submission(policy, OWNER, document, signature)
        decision = decide(registry, ASKED, submission=submission)
        assert not decision.is_permitted
        assert "it does not count, because" in decision.reasons[0].text
    good = Submission(policy, OWNER, READ, signed(READ))
    assert decide(registry, ASKED, submission=good).is_permitted


def test_a_signature_of_another_document_does_not_stand_for_a_submitted_policy(registry: Registry) -> None:
    registry.trust_key(OWNER, pem(KEY), by=OWNER)
    own = world.document("own", world.read_rule("own", assignee=OTHER))
    registry.add_policy(own, "own", OWNER, signature=signed(own))
    (policy,) = parse(READ, "read").policies
    assert not decide(registry, ASKED, submission=Submission(policy, OWNER, own, signed(own))).is_permitted


def test_a_run_records_a_signed_policy_or_nothing(registry: Registry, tmp_path: Path) -> None:
    registry.trust_key(OWNER, pem(KEY), by=OWNER)
    with pytest.raises(UsageError, match="it is not signed"):
        world.run(registry, tmp_path / "out")
    assert registry.all_versions() == registry.intents.pending() == ()
    assert not (tmp_path / "out").exists()
    world.run(registry, tmp_path / "out", signature=signed(world.SOURCE_POLICY))
    assert registry.list_policies()[0].signed_by is not None


@pytest.mark.parametrize("kind", ["private", "rsa", "certificate", "text", "empty", "x25519"])
def test_only_ed25519_public_keys_are_trusted(registry: Registry, kind: str) -> None:
    content = {
        "private": KEY.as_pem(private=True),
        "rsa": pem(RSAKey.generate_key(2048)),
        "certificate": b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "text": b"canary",
        "empty": b"",
        "x25519": pem(OKPKey.generate_key("X25519")),
    }[kind]
    with pytest.raises(
        UsageError, match="private key" if kind == "private" else "not an Ed25519 public key"
    ) as caught:
        registry.trust_key(OWNER, content, by=OWNER)
    assert "canary" not in str(caught.value)
    assert not registry.exists
