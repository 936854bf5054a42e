"""The command that serves everything over HTTP."""

from typing import TYPE_CHECKING

import click

from smalti.cli.options import PLACE, party_option, registry_option

if TYPE_CHECKING:
    from pathlib import Path

    from smalti.service.configuration import ControlPlane, TokenIssuer
    from smalti.service.server import Announcement
    from smalti.settings import ServiceSettings

NOBODY_NAMED = "urn:smalti:local-user"
"""Who asks with a generated key, where nobody is named."""
MOST_PROCESSES = 64


@click.command()
@click.option("--address", metavar="HOST:PORT", help="Where to listen.  [default: 127.0.0.1:8080]")
@click.option("--uploads", metavar="FOLDER", type=PLACE,
              help="Private folder for uploads.  [default: beside the registry]")  # fmt: skip
@click.option("--outputs", metavar="FOLDER", type=PLACE,
              help="Private folder for outputs of jobs.  [default: beside the registry]")  # fmt: skip
@click.option(
    "--upload-limit", type=int, metavar="BYTES", help="Most bytes of one upload.  [default: 1 GiB]"
)
@click.option("--tls-cert", metavar="FILE", type=PLACE, help="Certificate, with its chain, in PEM.")
@click.option("--tls-key", metavar="FILE", type=PLACE, help="Private key of the certificate.")
@click.option(
    "--behind-proxy", is_flag=True, help="A proxy on this machine does TLS, and is the only way in."
)
@click.option("--processes", type=int, metavar="N",
              help="Processes that answer, such as one for each core.  [default: 1]")  # fmt: skip
@party_option("PARTY", "As whom a generated key asks; where the registry has keys, it is not used.",
              required=False)  # fmt: skip
@registry_option
@click.pass_context
def serve(
    ctx: click.Context, /, registry: str, party: str | None, **options: str | int | bool | None
) -> int:
    """Serve policies, decisions, data and outputs over HTTP.

    Who asks is told by keys (smalti access) or bearer tokens ([service.tokens] of the settings file). Where
    neither is configured, it listens on the loopback address alone, and prints a key once.
    """
    import logging

    from smalti.errors import not_installed

    try:
        from smalti.service import server
    except ModuleNotFoundError as error:
        raise not_installed("smalti serve", "the web server", str(error.name), "service") from None
    from smalti.policy.decide.names import iri
    from smalti.service.configuration import DEFAULT_ADDRESS, DEFAULT_LIMIT, Configuration, address_of
    from smalti.service.processes import LOG_FORMAT
    from smalti.service.rates import OF_ADDRESS, OF_PARTY

    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT)
    settings = _settings(ctx)
    host, port = address_of(str(options["address"] or settings.address or DEFAULT_ADDRESS))
    configuration = Configuration(
        host=host,
        port=port,
        uploads=beside(options["uploads"] or settings.uploads, registry, "uploads"),
        outputs=beside(options["outputs"] or settings.outputs, registry, "outputs"),
        upload_limit=_limit(options["upload_limit"], settings.upload_limit or DEFAULT_LIMIT),
        roots=tuple((iri(party_of, "roots"), _path(folder)) for party_of, folder in settings.roots),
        tokens=_tokens(settings),
        certificate=_path_or_none(options["tls_cert"] or settings.tls_cert),
        key=_path_or_none(options["tls_key"] or settings.tls_key),
        behind_proxy=bool(options["behind_proxy"] or settings.behind_proxy),
        control_planes=_control_planes(settings),
        rate_of_party=OF_PARTY if settings.rate_of_party is None else settings.rate_of_party,
        rate_of_address=OF_ADDRESS if settings.rate_of_address is None else settings.rate_of_address,
        public_url=settings.public_url,
        processes=_processes(options["processes"], settings.processes),
    )
    server.serve(registry, configuration, iri(party or NOBODY_NAMED, "--as"), _announce)
    return 0


def _announce(announcement: "Announcement") -> None:
    click.echo(f"open {announcement.url}/ (stop it with Ctrl+C)")
    if announcement.key is not None:
        click.echo(f"key of {announcement.party}, for this process alone: {announcement.key}")
        click.echo(f"try: curl -H 'Authorization: Bearer {announcement.key}' {announcement.url}/v1/self")


def _settings(ctx: click.Context) -> "ServiceSettings":
    from smalti.cli.settings import Choice
    from smalti.settings import ServiceSettings

    choice = ctx.find_root().obj
    file = choice.file() if isinstance(choice, Choice) else None
    return ServiceSettings() if file is None else file.settings.service


def beside(place: object, registry: str, what: str) -> "Path":
    """A folder of the service: the one that is stated, or one beside the registry's file."""
    from smalti.errors import UsageError

    if place:
        return _path(str(place))
    if "://" in registry:
        raise UsageError(f"--{what}", f"the registry is no file to keep {what} beside", "a private folder")
    return _path(f"{registry}.{what}")


def _limit(stated: object, default: int) -> int:
    from smalti.errors import UsageError

    if stated is None:
        return default
    if not isinstance(stated, int) or stated < 1:
        raise UsageError("--upload-limit", "it is below 1", "a number of bytes")
    return stated


def _processes(stated: object, configured: int | None) -> int:
    from smalti.errors import UsageError

    number = configured or 1 if stated is None else stated
    if not isinstance(number, int) or not 1 <= number <= MOST_PROCESSES:
        raise UsageError("--processes", "it cannot be so many", f"a number from 1 to {MOST_PROCESSES}")
    return number


def _tokens(settings: "ServiceSettings") -> "TokenIssuer | None":
    from smalti.service.configuration import TokenIssuer

    stated = settings.tokens
    if stated is None:
        return None
    return TokenIssuer(stated.issuer, stated.audience, stated.algorithm, stated.keys)


def _control_planes(settings: "ServiceSettings") -> "tuple[ControlPlane, ...]":
    from smalti.policy.decide.names import iri
    from smalti.service.configuration import ControlPlane

    keys = dict(settings.control_plane_keys)
    return tuple(
        ControlPlane(iri(party, "control-planes"), address, _path_or_none(keys.get(party)))
        for party, address in settings.control_planes
    )


def _path(place: str) -> "Path":
    from pathlib import Path

    return Path(place).absolute()


def _path_or_none(place: object) -> "Path | None":
    return _path(str(place)) if place else None
