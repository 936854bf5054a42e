"""The commands about vocabularies: add, trust, distrust, list, remove."""

from pathlib import Path

import click

from smalti.cli.files import content_of
from smalti.cli.options import PLACE, format_option, party_option, registry_option


@click.group()
def vocabulary() -> None:
    """Manage groups, purposes, profiles and operands of this market.

    A decision about a target uses only the vocabularies of its owners, and of authorities that they trust.
    """


@vocabulary.command("add")
@click.argument("file", metavar="FILE", type=PLACE)
@click.option(
    "--name", metavar="NAME", help="The name under which it is stored.  [default: the file's name]"
)
@party_option("PARTY", "Who adds it; of assets, only an owner may. An IRI taken on trust.")
@registry_option
def vocabulary_add(file: str, name: str | None, party: str, registry: str) -> int:
    """Put a vocabulary (Turtle or JSON-LD) in force.

    It replaces the previous one of that name.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    document, by = content_of(file, "a vocabulary in Turtle or JSON-LD"), iri(party, "--as")
    stored = open_registry(registry).add_hierarchy(document, name or Path(file).name, by)
    click.echo(f"in force: {stored.name}, version {stored.number}")
    return 0


@vocabulary.command("trust")
@click.argument("authority", metavar="PARTY")
@party_option("PARTY", "For whose targets the vocabularies count; an IRI taken on trust.")
@registry_option
def vocabulary_trust(authority: str, party: str, registry: str) -> int:
    """Trust the vocabularies of a party for what you own.

    That party may be the market's operator.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner, trusted = iri(party, "--as"), iri(authority, "the party")
    open_registry(registry).trust_authority(owner, trusted, by=owner)
    click.echo(f"trusted: the vocabularies of {trusted} count for what {owner} owns")
    return 0


@vocabulary.command("distrust")
@click.argument("authority", metavar="PARTY")
@party_option("PARTY", "Who trusted that party; an IRI taken on trust.")
@registry_option
def vocabulary_distrust(authority: str, party: str, registry: str) -> int:
    """Stop trusting the vocabularies of a party."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner, trusted = iri(party, "--as"), iri(authority, "the party")
    open_registry(registry).distrust_authority(owner, trusted, by=owner)
    click.echo(f"no longer trusted: {trusted}")
    return 0


@vocabulary.command("list")
@registry_option
@format_option("human", "json")
def vocabulary_list(registry: str, shown_as: str) -> int:
    """List the vocabularies that are, or were, in force."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import vocabulary_json
    from smalti.json.text import as_json
    from smalti.show.registry import show_vocabularies
    from smalti.show.terminal import console

    stored = open_registry(registry).list_hierarchies()
    if shown_as == "json":
        click.echo(as_json([vocabulary_json(vocabulary) for vocabulary in stored]), nl=False)
    elif stored:
        show_vocabularies(console(), stored)
    else:
        click.echo(f"no vocabulary is stored in {registry}")
    return 0


@vocabulary.command("remove")
@click.argument("name", metavar="NAME")
@party_option("PARTY", "Who added it; an IRI taken on trust.")
@registry_option
def vocabulary_remove(name: str, party: str, registry: str) -> int:
    """Take a vocabulary out of force."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    open_registry(registry).remove_hierarchy(name, iri(party, "--as"))
    click.echo(f"removed: {name}")
    return 0
