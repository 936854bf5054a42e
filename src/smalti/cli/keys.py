"""The commands about keys: create one, sign policies with it, trust it, list those that are trusted."""

from pathlib import Path

import click

from smalti.cli.files import content_of
from smalti.cli.options import PLACE, format_option, party_option, registry_option


@click.group()
def keys() -> None:
    """Create and trust keys, and sign policies with them."""


@keys.command("new")
@click.option(
    "--private", required=True, metavar="FILE", type=PLACE, help="File for the private key; keep it secret."
)
@click.option("--public", required=True, metavar="FILE", type=PLACE, help="File for the public key.")
def new(private: str, public: str) -> int:
    """Create a key pair (Ed25519); overwrite nothing."""
    from smalti.engine.registry.signatures import new_key

    for file, content in zip((private, public), new_key(), strict=True):
        write_new(file, content)
    click.echo(f"created: {private}, {public}")
    return 0


def write_new(file: str, content: bytes) -> None:
    """Write a new file that its owner alone can read."""
    import os

    from smalti.errors import UsageError

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        raise UsageError(file, "the file cannot be created", "a file that does not exist") from None
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


@keys.command("pseudonym")
@click.argument("name", metavar="NAME")
@registry_option
def pseudonym(name: str, registry: str) -> int:
    """Create the key of pseudonyms that policies call NAME.

    Nothing is overwritten. It is a file beside the registry that its owner alone can read. Whoever has it
    can test guesses; under another key, pseudonyms are others.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.tables.secret import make_pseudonym_key

    click.echo(f"created: {make_pseudonym_key(open_registry(registry).path, name)}")
    return 0


@keys.command("sign")
@click.argument("file", metavar="FILE", type=PLACE)
@click.option(
    "--key", required=True, metavar="FILE", type=PLACE, help="An Ed25519 private key, PEM without password."
)
@click.option("--out", metavar="FILE", type=PLACE, help="File for the signature.  [default: FILE.jws]")
def sign(file: str, key: str, out: str | None) -> int:
    """Sign the bytes of a policy document.

    The signature is a detached JWS, for `policy add --signature` and `run --signature`. Of a short form,
    the bytes of its JSON-LD are signed, which are what is stored.
    """
    from smalti.engine.registry import signatures
    from smalti.errors import UsageError
    from smalti.policy.read.parse import json_ld_document

    document = json_ld_document(content_of(file, "a policy document"), file)
    signature = signatures.sign(document, content_of(key, "a private key"), key)
    place = Path(out or f"{file}.jws")
    try:
        place.write_bytes(signature)
    except OSError:
        raise UsageError(
            str(place), "the signature cannot be written", "a file that can be written"
        ) from None
    click.echo(f"signed: {place}")
    return 0


@keys.command("trust")
@click.argument("key", metavar="FILE", type=PLACE)
@party_option("OWNER", "Whose policies the key signs; an IRI taken on trust.")
@registry_option
def trust(key: str, party: str, registry: str) -> int:
    """Trust a public key to sign for an owner.

    From then on that owner's policies must be signed.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner = iri(party, "--as")
    trusted = open_registry(registry).trust_key(owner, content_of(key, "a public key"), by=owner)
    click.echo(f"trusted for {owner}: {trusted.thumbprint}")
    return 0


@keys.command("distrust")
@click.argument("thumbprint", metavar="THUMBPRINT")
@party_option("OWNER", "Whose key it is; an IRI taken on trust.")
@registry_option
def distrust(thumbprint: str, party: str, registry: str) -> int:
    """Stop trusting a key.

    Policies that it signed only prohibit, until they are signed anew.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner = iri(party, "--as")
    open_registry(registry).revoke_key(owner, thumbprint, by=owner)
    click.echo(f"no longer trusted for {owner}: {thumbprint}")
    return 0


@keys.command("list")
@registry_option
@format_option("human", "json")
def list_(registry: str, shown_as: str) -> int:
    """List the keys that are, or were, trusted to sign policies."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import key_json
    from smalti.json.text import as_json
    from smalti.show.registry import show_keys
    from smalti.show.terminal import console

    listed = open_registry(registry).list_keys()
    if shown_as == "json":
        click.echo(as_json([key_json(key) for key in listed]), nl=False)
    elif listed:
        show_keys(console(), listed)
    else:
        click.echo(f"no key is trusted in {registry}")
    return 0
