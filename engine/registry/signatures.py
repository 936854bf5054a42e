"""Detached signatures on policy documents: JWS (RFC 7515, appendix F) with Ed25519 (RFC 8037).

A signature says that whoever holds a key that the registry trusts for an owner has signed these very
bytes. So a document that was changed on its way, or that somebody else submits in an owner's name, is
refused. It does not say who holds the key: the first key of an owner is taken on trust. Nor does it
protect from somebody who can write the registry, nor say when a document was signed: an old document of
an owner that nobody revoked is as good as a new one. It counts within one registry.

The extra `signatures` is needed; it is imported only when a key or a signature is looked at.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from smalti.errors import UsageError, install_line

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ALGORITHMS: Final = ("EdDSA", "Ed25519")
"""Two names of one algorithm (RFC 8037 and RFC 9864); no other is accepted, whatever the key."""
_MEMBERS: Final = frozenset({"alg", "kid", "typ", "cty"})
_MAX_BYTES: Final = 4096
_COMPACT: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that may be trusted."""

    thumbprint: str
    """`sha256:` and hexadecimal digits, of the key's 32 bytes."""
    pem: str
    """SubjectPublicKeyInfo, as this module writes it."""


def read_public_key(pem: bytes, name: str) -> PublicKey:
    """The Ed25519 public key in a PEM file.

    Raises:
        UsageError: it is no such key; the message never quotes the file.
    """
    key = _public_key(pem, name)
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    text = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return PublicKey("sha256:" + sha256(raw).hexdigest(), text)


def new_key() -> tuple[bytes, bytes]:
    """A new Ed25519 key from the operating system's randomness: the private and the public half, in PEM.

    Raises:
        UsageError: cryptography is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 (an extra)
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
        )
    except ImportError:
        raise _missing() from None
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), public


def sign(document: bytes, private_key_pem: bytes, name: str) -> bytes:
    """A detached JWS of a document.

    Args:
        document: the bytes to sign.
        private_key_pem: an Ed25519 private key (PKCS #8) without a password.
        name: of the key, for messages.

    Raises:
        UsageError: it is no such key; the message never quotes it.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (an extra)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    except ImportError:
        raise _missing() from None
    try:
        key = load_pem_private_key(private_key_pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            name,
            "it is not an Ed25519 private key without a password",
            "a PEM file with a private key",
            "create one with `openssl genpkey -algorithm ed25519`",
        ) from None
    header = _encoded(json.dumps({"alg": ALGORITHMS[0]}, separators=(",", ":")).encode())
    return header + b".." + _encoded(key.sign(header + b"." + _encoded(document)))


def signing_key(signature: bytes, document: bytes, keys: Iterable[PublicKey], name: str) -> PublicKey:
    """The key, among those that are trusted, with which a document was signed.

    Args:
        signature: a JWS in compact serialization whose payload is left out: `header..signature`.
        document: the bytes that were signed.
        keys: those trusted for the owner.
        name: of the document, for messages.

    Raises:
        UsageError: it is no such signature, or of other bytes, or by none of these keys.
    """
    header, signed = _parts(signature, name)
    payload = _encoded(document)
    trusted = list(keys)
    for key in trusted:
        if _is_signed(signed, header + b"." + payload, key):
            return key
    raise UsageError(
        name,
        "no key that is trusted for its owner signed it, or it was changed after signing",
        "the signed bytes, and a signature by " + (_listed(trusted) or "a trusted key (there is none)"),
        "sign the current document, or add the key to the owner's trusted keys first",
    )


def _parts(signature: bytes, name: str) -> tuple[bytes, bytes]:
    """The header as it was signed, and the signature; nothing in the header changes what it means."""
    text = signature.strip().decode("ascii", errors="replace")
    if len(text) > _MAX_BYTES:
        raise _refused(name, "it is too long")
    match = _COMPACT.fullmatch(text)
    if match is None:
        raise _refused(name, "it is not a detached JWS")
    header, payload, signed = match.groups()
    if payload:
        raise _refused(name, "it contains a payload")
    try:
        members = json.loads(_decoded(header), object_pairs_hook=_once)
        signature_bytes = _decoded(signed)
    except (ValueError, RecursionError):  # of JSON, of UTF-8 and of base64
        raise _refused(name, "it is not a detached JWS") from None
    _check_header(members, name)
    return header.encode(), signature_bytes


def _check_header(members: object, name: str) -> None:
    if not isinstance(members, dict):
        raise _refused(name, "its header is not a JSON object")
    if members.get("alg") not in ALGORITHMS:
        raise _refused(name, "its algorithm is not Ed25519")
    if unknown := sorted(members.keys() - _MEMBERS):
        raise _refused(name, f"its header contains {', '.join(f'`{member[:40]}`' for member in unknown)}")


def _encoded(content: bytes) -> bytes:
    return urlsafe_b64encode(content).rstrip(b"=")


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _refused(name: str, problem: str) -> UsageError:
    return UsageError(
        name,
        f"its signature cannot be used: {problem}",
        "a detached JWS (`header..signature`) made with EdDSA and an Ed25519 key",
        "sign the document again",
    )


def _is_signed(signature: bytes, signed: bytes, key: PublicKey) -> bool:
    public = _public_key(key.pem.encode(), key.thumbprint)
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 (an extra)

    try:
        public.verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def _public_key(pem: bytes, name: str) -> "Ed25519PublicKey":
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (an extra)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415
    except ImportError:
        raise _missing() from None
    if b"PRIVATE KEY" in pem:
        raise UsageError(
            name,
            "it contains a private key",
            "the public key alone",
            "keep the private key secret, and create another one if others could read this file",
        )
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise UsageError(
            name,
            "it is not an Ed25519 public key",
            "a PEM file with a public key",
            "create one with `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`",
        )
    return key


def _missing() -> UsageError:
    return UsageError(
        "signatures", "cryptography is not installed", "that package", install_line("signatures")
    )


def _listed(keys: Iterable[PublicKey]) -> str:
    return ", ".join(key.thumbprint for key in keys)
