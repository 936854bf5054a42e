"""The registry's secret, and the keyed digests that are made with it.

A bare digest of a small table lets its reader test guesses about the table; one that is keyed with a
secret of the owner's registry does not.
"""

import glob
import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from smalti.errors import RegistryError, UsageError
from smalti.vocab.terms import PSEUDONYM_KEY
from smalti.vocab.words import BY_IRI

ENVIRONMENT: Final = "SMALTI_SECRET"
ENVIRONMENT_OF_KEYS: Final = "SMALTI_PSEUDONYM_KEY_"
"""Begins the names of variables that hold keys of pseudonyms."""
_OF_REGISTRY: Final = "the registry's secret"
_OF_PSEUDONYMS: Final = "the key of pseudonyms"
_LEAST_BYTES: Final = 32
_LONGER: Final = "use a longer one, for example from `openssl rand -hex 32`"


def secret_path(registry: Path) -> Path:
    """The file that holds the secret of the registry at that path."""
    return registry.with_name(registry.name + ".secret")


def load_secret(registry: Path | None) -> bytes:
    """The secret of a registry, created if it does not exist.

    `SMALTI_SECRET` in the environment comes first. Otherwise it is a file beside the registry, readable
    by its owner alone, made complete and at once. Ask for it as late as possible: the file is written
    even where the registry itself is not.

    Args:
        registry: the registry's file, or None where it has none (a database server).

    Raises:
        RegistryError: the secret is too short, readable by others, or cannot be read or made.
    """
    secret = os.environ.get(ENVIRONMENT)
    if secret:
        return _long_enough(secret.encode(), ENVIRONMENT)
    if registry is None:
        raise RegistryError(
            ENVIRONMENT,
            "a registry without a file has no place for its secret",
            f"a secret of at least {_LEAST_BYTES} characters in the environment",
            f"set {ENVIRONMENT}, and keep its value: digests are compared under it",
        )
    path = secret_path(registry)
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise RegistryError(
            str(path),
            f"the registry's secret cannot be read or made ({error.strerror})",
            "a file that you may read, in a folder that you may write to",
            f"check its permissions, or set {ENVIRONMENT}",
        ) from None


def pseudonym_key(registry: Path | None, name: str, *, is_again: bool = False) -> bytes:
    """The key of pseudonyms of that name; it is never recorded, and stands in no message.

    The environment comes first: `SMALTI_PSEUDONYM_KEY_` and the name in capitals, with `_` for each `.` and
    `-`. Otherwise it is a file beside the registry, readable by its owner alone (`pseudonym_key_path`).

    Args:
        registry: the registry's file, or None where it has none (a database server).
        name: as policies state it.
        is_again: for pseudonyms that were made before, which no other key makes.

    Raises:
        UsageError: there is none.
        RegistryError: it is too short, or others can read it.
    """
    variable = _variable(name)
    key = os.environ.get(variable)
    before = f"bring back the key that the pseudonyms were made with, as that file or as {variable}"
    way_out = before if is_again else _LONGER
    if key:
        return _long_enough(key.encode(), variable, _OF_PSEUDONYMS, way_out)
    path = None if registry is None else pseudonym_key_path(registry, name)
    try:
        if path is not None and path.exists():
            return _read(path, _OF_PSEUDONYMS, way_out)
    except OSError as error:
        raise RegistryError(
            str(path),
            f"the key of pseudonyms cannot be read ({error.strerror})",
            "a file that you may read",
        ) from None
    raise UsageError(
        f"pseudonym key `{name}`",
        "there is no key of this name",
        f"a key beside the registry, or {variable} in the environment",
        f"{before}; another key gives other pseudonyms"
        if is_again
        else f"make one with `smalti keys pseudonym {name}`; with another key, pseudonyms are others",
    )


def pseudonym_key_path(registry: Path, name: str) -> Path:
    """The file of a key of pseudonyms.

    Args:
        registry: the registry's file.
        name: of the key; letters, digits, `.`, `_` and `-` alone.
    """
    return registry.with_name(f"{registry.name}.pseudonyms.{name}")


def pseudonym_key_paths(registry: Path) -> dict[str, Path]:
    """The keys of pseudonyms beside a registry's file, by name."""
    begin = pseudonym_key_path(registry, "").name
    names = (path.name.removeprefix(begin) for path in registry.parent.glob(f"{glob.escape(begin)}*"))
    form = BY_IRI[PSEUDONYM_KEY].form
    return {
        name: pseudonym_key_path(registry, name)
        for name in sorted(names)
        if re.fullmatch(form, name, re.ASCII)
    }


def make_pseudonym_key(registry: Path | None, name: str) -> Path:
    """Make a key of pseudonyms; never another one in the place of one.

    Args:
        registry: the registry's file, or None where it has none.
        name: as policies state it.

    Returns:
        Its file, readable by its owner alone.

    Raises:
        UsageError: policies cannot state such a name, there is one already, or the registry has no file.
        RegistryError: the file cannot be made.
    """
    if not re.fullmatch(BY_IRI[PSEUDONYM_KEY].form, name, re.ASCII):
        raise UsageError(name, "not a name of a key", "letters, digits, `.`, `_` and `-`, at most 64")
    if registry is None:
        raise UsageError(
            name,
            "a registry without a file has no place for keys",
            "a key in the environment",
            f"set {_variable(name)} where runs are started",
        )
    path = pseudonym_key_path(registry, name)
    if path.exists():
        raise UsageError(
            str(path),
            f"there is a key `{name}` already",
            "a name of its own for each key",
            "use another name: outputs under another key have other pseudonyms",
        )
    try:
        _make(path)
    except OSError as error:
        raise RegistryError(
            str(path), f"the key cannot be made ({error.strerror})", "a folder that you may write to"
        ) from None
    return path


def _variable(name: str) -> str:
    return ENVIRONMENT_OF_KEYS + re.sub(r"[.-]", "_", name.upper())


def hmac_digest(secret: bytes, purpose: str, data_digest: bytes) -> str:
    """A keyed digest, comparable only under the same secret and for the same purpose.

    Args:
        secret: the registry's.
        purpose: what the digest is for, for example `input-file`; separates uses of one secret.
        data_digest: the bare digest of the data.

    Returns:
        `hmac-sha256:` and hexadecimal digits.
    """
    key = hmac.digest(secret, purpose.encode(), hashlib.sha256)
    return "hmac-sha256:" + hmac.digest(key, data_digest, hashlib.sha256).hex()


def _make(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.urandom(_LEAST_BYTES).hex().encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first; its secret is the secret
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path, what: str = _OF_REGISTRY, way_out: str = _LONGER) -> bytes:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RegistryError(
            str(path),
            f"{what} can be read by others",
            "a file that only its owner may read",
            f"run `chmod 600 {path.name}`, and treat what was made with it as disclosed",
        )
    return _long_enough(path.read_bytes().strip(), str(path), what, way_out)


def _long_enough(secret: bytes, where: str, what: str = _OF_REGISTRY, way_out: str = _LONGER) -> bytes:
    if len(secret) < _LEAST_BYTES:
        raise RegistryError(
            where,
            f"{what} is too short",
            f"at least {_LEAST_BYTES} bytes",
            way_out,
        )
    return secret
