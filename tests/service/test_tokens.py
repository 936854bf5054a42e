"""Keys and tokens: whoever is not recognised beyond doubt is refused."""

import base64
import hmac
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey
from service_world import World, make_world
from shell import OWNER, smalti

from smalti.engine.registry.access import Role
from smalti.errors import SmaltiError
from smalti.service import tokens
from smalti.service.configuration import Configuration, TokenIssuer, check_configuration
from smalti.service.problems import RefusedError
from smalti.vocab.terms import IRI

ISSUER, AUDIENCE = "https://login.example", "smalti"
KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"}, private=True)
OTHER = RSAKey.generate_key(2048, {"kid": "2"}, private=True)
CURVE = ECKey.generate_key("P-256", {"kid": "1"}, private=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("tokens")
    keys = folder / "jwks.json"
    keys.write_text(json.dumps(KeySet([KEY]).as_dict(private=False)))
    world = make_world(folder, tokens=TokenIssuer(ISSUER, AUDIENCE, "RS256", str(keys)))
    world.registry.access.map_subject(ISSUER, "ann", IRI(OWNER), [Role.PARTY])
    return world


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    stated = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 60} | changed
    return {name: value for name, value in stated.items() if value is not None}


def token(
    key: Any = KEY, algorithm: str = "RS256", header: dict[str, Any] | None = None, **changed: Any
) -> str:
    return jwt.encode({"alg": algorithm, "kid": "1"} | (header or {}), claims(**changed), key, [algorithm])


def written(header: dict[str, Any], secret: bytes | None) -> str:
    """A token by hand, since no library writes such ones: unsigned, or with any bytes as the secret."""

    def encoded(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).decode().rstrip("=")

    signed = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims()).encode())}"
    mac = b"" if secret is None else hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{encoded(mac)}"


def as_token(world: World, text: str) -> int:
    answer = world.client.get("/v1/self", headers={"Authorization": f"Bearer {text}"})
    if answer.status_code != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        assert text not in answer.text
    return int(answer.status_code)


def test_a_valid_token_is_the_party_that_its_subject_is_mapped_to(world: World) -> None:
    answer = world.client.get("/v1/self", headers={"Authorization": f"bearer {token()}"})
    assert answer.json() == {"party": OWNER, "roles": ["party"]}
    assert as_token(world, token(aud=["other", AUDIENCE])) == 200


REFUSED = {
    "wrong issuer": lambda: token(iss="https://evil.example"),
    "no issuer": lambda: token(iss=None),
    "wrong audience": lambda: token(aud="other"),
    "no audience": lambda: token(aud=None),
    "expired": lambda: token(exp=int(time.time()) - 120),
    "no expiry": lambda: token(exp=None),
    "not yet valid": lambda: token(nbf=int(time.time()) + 600),
    "no subject": lambda: token(sub=None),
    "none": lambda: written({"alg": "none"}, None),
    "HS256 with the public key": lambda: written({"alg": "HS256", "kid": "1"}, KEY.as_pem(private=False)),
    "HS256 with an empty secret": lambda: written({"alg": "HS256", "kid": "1"}, b""),
    "another algorithm of the same key": lambda: token(algorithm="RS512"),
    "another kind of key": lambda: token(CURVE, "ES256"),
    "another key": lambda: token(OTHER),
    "another key by its own name": lambda: token(OTHER, header={"kid": "2"}),
    "no name of a key": lambda: token(OTHER, header={"kid": "no"}),
    "a key of its own": lambda: token(OTHER, header={"jwk": OTHER.as_dict(private=False)}),
    "changed": lambda: token()[:-4] + "AAAA",
    "critical headers that are no list": lambda: written({"alg": "RS256", "kid": "1", "crit": 1}, b""),
    "no token": lambda: "x.y.z",
    "long": lambda: "a" * 20_000,
}


@pytest.mark.parametrize("name", REFUSED)
def test_tokens_that_are_not_valid_recognise_nobody(world: World, name: str) -> None:
    assert as_token(world, REFUSED[name]()) == 401


def test_a_subject_that_is_not_mapped_is_nobody(world: World) -> None:
    assert as_token(world, token(sub="bob")) == 403
    entry = world.registry.access.map_subject(ISSUER, "bob", IRI(OWNER), [Role.AUDITOR])
    assert as_token(world, token(sub="bob")) == 200
    world.registry.access.revoke(entry.handle)
    assert as_token(world, token(sub="bob")) == 403


@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "Bearer", "Bearer smalti_x", "smalti_x"])
def test_without_a_key_nobody_is_recognised(world: World, header: str | None) -> None:
    answer = world.client.get("/v1/self", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_keys_are_shown_once_and_end_at_once(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    created = smalti("access", "new-key", "--as", OWNER, "--role", "auditor", cwd=tmp_path)
    key = created.out.strip()
    assert as_token(world, key) == 200
    listed = smalti("access", "list", "--format", "json", cwd=tmp_path).json
    assert key not in str(listed)
    assert key.encode() not in (tmp_path / "smalti.sqlite").read_bytes()
    handle = listed[-1]["handle"]
    assert f"created {handle}" in created.err
    assert smalti("access", "revoke", handle, cwd=tmp_path).code == 0
    assert as_token(world, key) == 401
    assert smalti("access", "revoke", handle, cwd=tmp_path).code == 2
    assert "revoked" in smalti("access", "list", cwd=tmp_path).out


def test_a_subject_is_mapped_once(tmp_path: Path) -> None:
    mapped = ("access", "map-subject", ISSUER, "ann", "--as", OWNER)
    assert smalti(*mapped, cwd=tmp_path).code == 0
    assert "mapped to" in smalti(*mapped, cwd=tmp_path).message


# --- What may be started


def started(**configured: Any) -> str:
    configuration = Configuration(uploads=Path("uploads"), outputs=Path("outputs"), **configured)
    try:
        check_configuration(configuration, has_entries=configured.get("tokens") is not None)
    except SmaltiError as error:
        return str(error)
    return ""


def test_other_machines_need_encryption_and_a_way_to_be_recognised() -> None:
    assert started() == started(host="::1") == ""
    refused = started(host="0.0.0.0")
    assert "nothing encrypts" in refused
    assert "nobody could ask" in refused
    issuer = TokenIssuer(ISSUER, AUDIENCE, "RS256", "https://login.example/keys")
    assert started(host="0.0.0.0", behind_proxy=True, tokens=issuer) == ""
    assert started(host="0.0.0.0", certificate=Path("c"), key=Path("k"), tokens=issuer) == ""
    assert "one of the two" in started(certificate=Path("c"))


@pytest.mark.parametrize(
    ("algorithm", "keys", "said"),
    [("HS256", "jwks.json", "`HS256` is not taken"), ("none", "jwks.json", "not taken"),
     ("RS256", "http://login.example/keys", "without TLS")],
)  # fmt: skip
def test_issuers_that_anybody_could_pretend_to_be_are_refused(algorithm: str, keys: str, said: str) -> None:
    assert said in started(tokens=TokenIssuer(ISSUER, AUDIENCE, algorithm, keys))


def test_keys_of_an_issuer_must_be_public(tmp_path: Path) -> None:
    keys = tmp_path / "jwks.json"
    for content in (
        KeySet([KEY]).as_dict(private=True),
        {"keys": []},
        [],
        {"keys": [OctKey.generate_key(256).as_dict()]},
    ):
        keys.write_text(json.dumps(content))
        with pytest.raises(SmaltiError, match="not public keys"):
            make_world(tmp_path, tokens=TokenIssuer(ISSUER, AUDIENCE, "RS256", str(keys)))


def test_keys_that_cannot_be_read_again_count_for_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of their own accord: a key that the issuer removed may be among them."""
    place, clock = tmp_path / "keys.json", [1000.0]
    monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    place.write_text(json.dumps(KeySet([KEY]).as_dict(private=False)), encoding="utf-8")
    checked = tokens.Tokens(TokenIssuer(ISSUER, AUDIENCE, "RS256", str(place)))
    content = place.read_text(encoding="utf-8")
    place.unlink()
    for seconds in (tokens.OUTLASTING - 1, 1):
        clock[0] += seconds
        assert checked.subject(token()) == "ann"
    for key in (KEY, OTHER):
        clock[0] += 60
        with pytest.raises(RefusedError) as refused:
            checked.subject(token(key))
        assert (refused.value.status, refused.value.code) == (503, "machine-error")
    place.write_text(content, encoding="utf-8")
    clock[0] += 60
    assert checked.subject(token()) == "ann"
