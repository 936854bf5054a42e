"""The commands about who may ask the service: API keys, and subjects of tokens."""

import click

from smalti.cli.options import format_option, party_option, registry_option

_role_option = click.option(
    "--role", "roles", multiple=True,
    type=click.Choice(["party", "auditor", "operator", "gateway", "control-plane"]),
    help="What for; several times.  [default: party]",
)  # fmt: skip
_label_option = click.option("--label", default="", metavar="TEXT", help="A note for people.")


@click.group()
def access() -> None:
    """Say who may ask the service, and as whom.

    Whoever may run these commands on a registry is trusted. Who owns a target follows from the registry: it
    is no role.
    """


@access.command("new-key")
@party_option("PARTY", "As whom the key asks.")
@_role_option
@_label_option
@registry_option
def new_key(party: str, roles: tuple[str, ...], label: str, registry: str) -> int:
    """Create an API key, and print it once.

    The registry keeps a digest of it.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.registry.access import Role
    from smalti.policy.decide.names import iri

    held = frozenset(map(Role, roles or ("party",)))
    key, entry = open_registry(registry).access.add_key(iri(party, "--as"), held, label)
    click.echo(f"created {entry.handle} for {entry.party}; it is shown this once:", err=True)
    click.echo(key)
    return 0


@access.command("map-subject")
@click.argument("issuer", metavar="ISSUER")
@click.argument("subject", metavar="SUBJECT")
@party_option("PARTY", "As whom the subject asks.")
@_role_option
@_label_option
@registry_option
def map_subject(
    issuer: str, subject: str, party: str, roles: tuple[str, ...], label: str, registry: str
) -> int:
    """Map the subject of an issuer's tokens to a party.

    Both are written as tokens state them (`iss` and `sub`).
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.registry.access import Role
    from smalti.policy.decide.names import iri

    held = frozenset(map(Role, roles or ("party",)))
    entry = open_registry(registry).access.map_subject(issuer, subject, iri(party, "--as"), held, label)
    click.echo(f"mapped {entry.handle}: {subject} of {issuer} asks as {entry.party}")
    return 0


@access.command("revoke")
@click.argument("handle", metavar="HANDLE")
@registry_option
def revoke(handle: str, registry: str) -> int:
    """End a key or a mapping.

    The next request is refused.
    """
    from smalti.cli.opening import open_registry

    entry = open_registry(registry).access.revoke(handle)
    click.echo(f"revoked: {entry.handle} of {entry.party}")
    return 0


@access.command("list")
@registry_option
@format_option("human", "json")
def list_(registry: str, shown_as: str) -> int:
    """List keys and mappings, also revoked ones."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import access_json
    from smalti.json.text import as_json
    from smalti.show.registry import show_access
    from smalti.show.terminal import console

    listed = open_registry(registry).access.listed()
    if shown_as == "json":
        click.echo(as_json([access_json(entry) for entry in listed]), nl=False)
    elif listed:
        show_access(console(), listed)
    else:
        click.echo(f"nobody may ask in {registry}")
    return 0
