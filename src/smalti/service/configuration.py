"""How the service is reached, what it keeps and whom it believes: checked before anything is opened."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from smalti.engine.tables.sending import is_loopback, is_plain_address
from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.service.rates import OF_ADDRESS, OF_PARTY
from smalti.vocab.terms import IRI

DEFAULT_ADDRESS: Final = "127.0.0.1:8080"
DEFAULT_LIMIT: Final = 1 << 30
"""Bytes of one upload."""
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA",
)  # fmt: skip
"""Signatures by a private key; with a shared secret, whoever checks tokens could write them."""
_MOST_PORTS: Final = 65535


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Whose bearer tokens count, and how they are signed."""

    issuer: str
    audience: str
    algorithm: str
    keys: str
    """The path of a JWKS file, or its https address, which is then fetched."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """Whose data flows are taken, and where their control plane is told."""

    party: IRI
    address: str
    """What addresses of callbacks begin with."""
    key: Path | None = None
    """A private file with the bearer token that callbacks carry; None: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything that the service is started with, beside its registry."""

    uploads: Path
    """A folder that nobody else may enter; created with mode 0700."""
    outputs: Path
    """Likewise, for what jobs publish."""
    host: str = "127.0.0.1"
    port: int = 8080
    upload_limit: int = DEFAULT_LIMIT
    roots: tuple[tuple[IRI, Path], ...] = ()
    """By party, the folder whose files it may bind by name."""
    tokens: TokenIssuer | None = None
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    """A proxy on this machine does TLS, and nobody else reaches the port."""
    control_planes: tuple[ControlPlane, ...] = ()
    rate_of_party: float = OF_PARTY
    """Requests each second; 0: no limit."""
    rate_of_address: float = OF_ADDRESS
    processes: int = 1
    """That answer, on one socket."""
    public_url: str | None = None
    """Under which address others reach the service, without a slash at the end; None: `url`."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        """The address to open."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    @property
    def public_address(self) -> str:
        """What addresses in answers begin with; never what a request names as its host."""
        return self.public_url or self.url


def address_of(written: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> address_of("127.0.0.1:8080"), address_of("[::1]:0")
    (('127.0.0.1', 8080), ('::1', 0))

    Raises:
        UsageError: it is none.
    """
    host, _, port = written.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > _MOST_PORTS:
        raise UsageError(
            "address (--address)", f"`{written}` is no address", f"HOST:PORT, such as {DEFAULT_ADDRESS}"
        )
    return host, int(port)


def check_configuration(configuration: Configuration, *, has_entries: bool) -> None:
    """Refuse to start where somebody could listen in, or where nobody could be recognised.

    Args:
        configuration: what to start with.
        has_entries: whether the registry has a key in force.

    Raises:
        UsageError: all problems at once.
    """
    raise_all(
        [
            *_problems_of_address(configuration, has_entries),
            *_problems_of_public_url(configuration),
            *_problems_of_control_planes(configuration),
            *_problems_of_tokens(configuration),
        ]
    )


def _problems_of_address(configuration: Configuration, has_entries: bool) -> list[SmaltiError]:
    problems: list[SmaltiError] = []
    if (configuration.certificate is None) != (configuration.key is None):
        problems.append(
            UsageError("TLS (--tls-cert, --tls-key)", "one of the two files is missing", "both of them")
        )
    if configuration.is_local:
        return problems
    if configuration.certificate is None and not configuration.behind_proxy:
        problems.append(
            UsageError(
                "address (--address)",
                f"other machines reach `{configuration.host}`, and nothing encrypts what they send",
                "TLS, or the loopback address",
                "give --tls-cert and --tls-key, or --behind-proxy where a proxy does TLS",
            )
        )
    if configuration.tokens is None and not has_entries:
        problems.append(
            UsageError(
                "address (--address)",
                "no key and no issuer of tokens is configured, so that nobody could ask",
                "a way to recognise who asks",
                "create a key: smalti access new-key --as PARTY",
            )
        )
    return problems


def _problems_of_public_url(configuration: Configuration) -> list[SmaltiError]:
    if configuration.public_url is None or is_plain_address(configuration.public_url):
        return []
    expected = "an https address without user, query, fragment and slash at the end"
    return [UsageError("public-url ([service])", "it cannot be the beginning of addresses", expected)]


def _problems_of_control_planes(configuration: Configuration) -> list[SmaltiError]:
    where, problems = "control-planes ([service])", list[SmaltiError]()
    for plane in configuration.control_planes:
        if not is_plain_address(plane.address):
            expected = "an https address without user, query, fragment and slash at the end"
            problems.append(UsageError(where, "a control plane cannot be told at its address", expected))
        if plane.key is not None and not _is_private(plane.key):
            expected = "a file that its owner alone can read"
            problems.append(
                UsageError(str(plane.key), "it cannot be read, or others can read it", expected)
            )
    return problems


def _is_private(place: Path) -> bool:
    try:
        return not place.stat().st_mode & 0o077
    except OSError:
        return False


def _problems_of_tokens(configuration: Configuration) -> list[SmaltiError]:
    tokens = configuration.tokens
    if tokens is None:
        return []
    problems: list[SmaltiError] = []
    where = "tokens ([service.tokens])"
    if tokens.algorithm not in ALGORITHMS:
        listed = f"one of {', '.join(ALGORITHMS)}"
        problems.append(UsageError(where, f"the algorithm `{tokens.algorithm}` is not taken", listed))
    if not tokens.issuer or not tokens.audience:
        problems.append(UsageError(where, "issuer or audience is empty", "both, as tokens state them"))
    if "://" in tokens.keys and not tokens.keys.startswith("https://"):
        problems.append(
            UsageError(where, "`keys` would be fetched without TLS", "an https address, or a file")
        )
    return problems
