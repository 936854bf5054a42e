"""The commands about what is recorded: policies, owners, keys, vocabularies, targets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smalti.cli.options import format_option, party_option, registry_option

if TYPE_CHECKING:
    from smalti.engine.registry.entries import TargetVersion
    from smalti.engine.registry.registry import Registry
    from smalti.vocab.terms import IRI


class _ListByDefault(click.Group):
    """A group whose first command is meant when none is named: `targets`, `targets IRI`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ListByDefault)
def targets() -> None:
    """List what was recorded; leave out respondents who withdrew.

    Without a command it lists: `smalti targets [IRI]`.
    """


@targets.command("list")
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--affected-by", "policy_uid", metavar="UID",
              help="Only what was made under this policy, and what was made from that.")  # fmt: skip
@party_option(
    "OWNER", "Of what this party owns, show for whom, where, and figures; taken on trust.", required=False
)
@registry_option
@format_option("human", "json", "turtle")
def targets_list(
    target: str | None, policy_uid: str | None, party: str | None, registry: str, shown_as: str
) -> int:
    """List what was recorded, with its versions.

    For whom something was made, and where it is, is shown to its owners alone (--as).
    """
    from smalti.cli.opening import open_registry
    from smalti.errors import UsageError
    from smalti.json.text import as_json
    from smalti.show.registry import show_versions
    from smalti.show.terminal import console
    from smalti.vocab.terms import IRI

    known = open_registry(registry)
    versions = _versions(known, target, policy_uid)
    owned = {one.run for one in versions if party is not None and _owns_inputs(known, IRI(party), one)}
    if party is not None and versions and not owned:
        raise UsageError("--as", f"{party} does not own any of these", "an owner", "leave it out")
    if shown_as == "turtle":
        if target or policy_uid:
            raise UsageError("--format turtle", "it shows the whole registry", "no target", "leave it out")
        from smalti.engine.run.records import export

        click.echo(export(known), nl=False)
    elif shown_as == "json":
        ended = _reviewed(known)
        shown = [_version_json(one, ended.get(one.run), one.run in owned) for one in versions]
        click.echo(as_json(shown), nl=False)
    elif versions:
        show_versions(console(), versions, _reviewed(known), owned)
    else:
        click.echo(f"nothing is recorded in {registry}")
    return 0


def _versions(known: "Registry", target: str | None, policy_uid: str | None) -> "tuple[TargetVersion, ...]":
    from smalti.errors import UsageError
    from smalti.policy.decide.names import iri

    versions = known.versions(iri(target, "IRI")) if target else known.all_versions()
    if target and not versions:
        raise UsageError(target, "the registry knows no such output", "a recorded target", "leave it out")
    if policy_uid is None:
        return versions
    affected = {one.run for one in known.affected_by(iri(policy_uid, "--affected-by"))}
    return tuple(one for one in versions if one.run in affected)


@targets.command("withdraw")
@click.argument("target", metavar="IRI")
@click.option("--from", "file", required=True, metavar="FILE",
              help="One respondent a line, as the respondent column writes it.")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="The respondent column.  [default: as runs on the target counted]")  # fmt: skip
@party_option("OWNER", "An owner of the target; an IRI taken on trust.")
@registry_option
def targets_withdraw(target: str, file: str, column: str | None, party: str, registry: str) -> int:
    """Leave respondents out of every later run on a target, and of what is made from it."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    respondents = _lines(file)
    known, by = open_registry(registry), iri(party, "--as")
    count = known.withdraw(iri(target, "IRI"), respondents, by=by, column=column)
    listed = "1 respondent is" if count == 1 else f"{count} respondents are"
    click.echo(f"{listed} left out of every later run on {target}; outputs made before are as they were")
    return 0


def _lines(file: str) -> list[str]:
    """The lines of a text, without their ends; a line is never shown in a message."""
    import sys

    from smalti.errors import UsageError

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UsageError(file, "the file cannot be read", "UTF-8 text, one respondent a line") from None
    found = [line for line in text.splitlines() if line]
    if not found:
        raise UsageError(file, "it lists nobody", "UTF-8 text, one respondent a line")
    return found


def _owns_inputs(known: "Registry", party: "IRI", version: "TargetVersion") -> bool:
    return all(party in known.full_owners(given.iri) for given in version.inputs)


def _reviewed(known: "Registry") -> dict[str, tuple[str, ...]]:
    """By run, why a version is to be looked at again."""
    from smalti.engine.registry.review import reviews

    return {one.version.run: one.reasons for one in reviews(known)}


def _version_json(
    version: "TargetVersion", reasons: tuple[str, ...] | None, is_owned: bool
) -> dict[str, Any]:
    from smalti.json.registry import listed_json, version_json
    from smalti.json.runs import report_json

    review = {"forReview": reasons is not None, "reviewReasons": list(reasons or ())}
    if not is_owned:
        return listed_json(version) | review
    return version_json(version) | review | {"ownerReport": report_json(version.report)}


@click.group()
def policy() -> None:
    """Put policies in force, list them, end them; say who owns what."""


@policy.command("add")
@click.argument("file", metavar="FILE")
@click.option("--signature", metavar="FILE",
              help="A detached signature; needed once a key is trusted for the owner.")  # fmt: skip
@click.option("--replace", is_flag=True, help="End what is in force under the same uids, at once.")
@party_option("OWNER", "Who issues it; an IRI taken on trust.")
@registry_option
@format_option("human", "json")
def policy_add(
    file: str, signature: str | None, replace: bool, party: str, registry: str, shown_as: str
) -> int:
    """Put the policies of a document in force. Of a target not known yet, the issuer becomes the owner.

    Warns of rules in force about the same people that shut each other out of their budget, of rules that
    need columns which other policies in force forbid, and of prohibitions on what lies below a table and
    names no column of it.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.binding.prohibitions_below import forbidden_below_with
    from smalti.engine.losses.shut_out import shut_out_with
    from smalti.engine.registry.met_columns import columns_met_with
    from smalti.json.registry import policy_json
    from smalti.json.text import as_json
    from smalti.policy.decide.names import iri
    from smalti.show.terminal import console, show_warnings

    document = _content(file, "a policy document")
    signed = None if signature is None else _content(signature, "a detached signature")
    known, issuer = open_registry(registry), iri(party, "--as")
    added = known.add_policy(document, file, issuer, signature=signed, replaces=replace)
    warnings = (
        *shut_out_with(known, added),
        *columns_met_with(known, added),
        *forbidden_below_with(known, added),
    )
    if shown_as == "json":
        in_force = [policy_json(stored, "in force") for stored in added]
        click.echo(as_json({"policies": in_force, "warnings": list(warnings)}), nl=False)
        return 0
    for stored in added:
        click.echo(f"in force: {stored.uid}")
    show_warnings(console(), warnings)
    return 0


def _content(file: str, expected: str) -> bytes:
    from smalti.errors import UsageError

    try:
        return Path(file).read_bytes()
    except OSError:
        raise UsageError(file, "the file cannot be read", expected, "check the path") from None


@policy.command("new-key")
@click.option("--private", required=True, metavar="FILE", help="Where the private key goes; keep it yours.")
@click.option("--public", required=True, metavar="FILE", help="Where the public key goes.")
def policy_new_key(private: str, public: str) -> int:
    """Make a key that signs policies (Ed25519); nothing is overwritten."""
    from smalti.engine.registry.signatures import new_key

    for file, content in zip((private, public), new_key(), strict=True):
        _write_new(file, content)
    click.echo(f"made: {private}, {public}")
    return 0


def _write_new(file: str, content: bytes) -> None:
    """A new file that its owner alone can read."""
    import os

    from smalti.errors import UsageError

    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        raise UsageError(file, "the file cannot be made", "a file that does not exist") from None
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


@policy.command("sign")
@click.argument("file", metavar="FILE")
@click.option("--key", required=True, metavar="FILE", help="An Ed25519 private key, PEM without password.")
@click.option("--out", metavar="FILE", help="Where the signature goes.  [default: FILE.jws]")
def policy_sign(file: str, key: str, out: str | None) -> int:
    """Sign the bytes of a document: a detached JWS, to be given with `policy add --signature`."""
    from smalti.engine.registry.signatures import sign
    from smalti.errors import UsageError

    signature = sign(_content(file, "a policy document"), _content(key, "a private key"), key)
    place = Path(out or f"{file}.jws")
    try:
        place.write_bytes(signature)
    except OSError:
        raise UsageError(
            str(place), "the signature cannot be written", "a file that can be written"
        ) from None
    click.echo(f"signed: {place}")
    return 0


@policy.command("trust")
@click.argument("key", metavar="FILE")
@party_option("OWNER", "Whose policies the key signs; an IRI taken on trust.")
@registry_option
def policy_trust(key: str, party: str, registry: str) -> int:
    """Trust a public key to sign for an owner, whose policies must be signed from then on."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner = iri(party, "--as")
    trusted = open_registry(registry).trust_key(owner, _content(key, "a public key"), by=owner)
    click.echo(f"trusted for {owner}: {trusted.thumbprint}")
    return 0


@policy.command("distrust")
@click.argument("thumbprint", metavar="THUMBPRINT")
@party_option("OWNER", "Whose key it is; an IRI taken on trust.")
@registry_option
def policy_distrust(thumbprint: str, party: str, registry: str) -> int:
    """Trust a key no longer: what it signed may prohibit only, until it is signed anew."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    owner = iri(party, "--as")
    open_registry(registry).revoke_key(owner, thumbprint, by=owner)
    click.echo(f"trusted no longer for {owner}: {thumbprint}")
    return 0


@policy.command("keys")
@registry_option
@format_option("human", "json")
def policy_keys(registry: str, shown_as: str) -> int:
    """List the keys that are, or were, trusted to sign policies."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import key_json
    from smalti.json.text import as_json
    from smalti.show.registry import show_keys
    from smalti.show.terminal import console

    keys = open_registry(registry).list_keys()
    if shown_as == "json":
        click.echo(as_json([key_json(one) for one in keys]), nl=False)
    elif keys:
        show_keys(console(), keys)
    else:
        click.echo(f"no key is trusted in {registry}")
    return 0


@policy.command("list")
@registry_option
@format_option("human", "json")
def policy_list(registry: str, shown_as: str) -> int:
    """List the policies that were put in force, also those that were replaced or revoked."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import policy_json
    from smalti.json.text import as_json
    from smalti.show.registry import policy_states, show_policies
    from smalti.show.terminal import console

    stored = open_registry(registry).list_policies()
    if shown_as == "json":
        states = zip(stored, policy_states(stored), strict=True)
        click.echo(as_json([policy_json(*one) for one in states]), nl=False)
    elif stored:
        show_policies(console(), stored)
    else:
        click.echo(f"no policy is stored in {registry}")
    return 0


@policy.command("revoke")
@click.argument("uid", metavar="UID")
@click.option("--as", "party", required=True, metavar="OWNER", help="Its issuer, or an owner; on trust.")
@registry_option
def policy_revoke(uid: str, party: str, registry: str) -> int:
    """End a policy, and with it what was implied by it."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    for stored in open_registry(registry).revoke_policy(iri(uid, "UID"), iri(party, "--as")):
        click.echo(f"revoked: {stored.uid}")
    return 0


@policy.command("owners")
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--add", "new", metavar="PARTY", help="Make somebody an owner of a source.")
@click.option("--remove", "old", metavar="PARTY", help="Take ownership of a source away.")
@click.option("--as", "party", metavar="OWNER", help="The owner who says so; an IRI taken on trust.")
@registry_option
def policy_owners(
    target: str | None, new: str | None, old: str | None, party: str | None, registry: str
) -> int:
    """Show who owns what, or change the owners of a source."""
    from smalti.cli.opening import open_registry
    from smalti.errors import UsageError
    from smalti.policy.decide.names import iri
    from smalti.show.registry import show_owners
    from smalti.show.terminal import console

    known = open_registry(registry)
    if (new or old) and not (target and party):
        raise UsageError("policy owners", "--add and --remove need a target and --as OWNER")
    if target and party:
        place, by = iri(target, "IRI"), iri(party, "--as")
        if new:
            known.add_owner(place, iri(new, "--add"), by=by)
        if old:
            known.remove_owner(place, iri(old, "--remove"), by=by)
    shown = [one for one in known.assets() if target in (None, one.iri)]
    show_owners(console(), [(one, known.owners(one.iri)) for one in shown])
    return 0


@click.group()
def vocabulary() -> None:
    """Say what includes what in this data market: groups, collections, purposes, actions.

    For decisions about a target only the vocabularies of its owners count, and of authorities that they
    trust.
    """


@vocabulary.command("add")
@click.argument("file", metavar="FILE")
@click.option(
    "--name", metavar="NAME", help="Under which it is stored and replaced.  [default: the file's name]"
)
@party_option("PARTY", "Who says so; of assets, only an owner may. An IRI taken on trust.")
@registry_option
def vocabulary_add(file: str, name: str | None, party: str, registry: str) -> int:
    """Put a vocabulary (Turtle) in force, in place of the former one of that name."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    document, by = _content(file, "a vocabulary in Turtle"), iri(party, "--as")
    stored = open_registry(registry).add_hierarchy(document, name or Path(file).name, by)
    click.echo(f"in force: {stored.name}, version {stored.number}")
    return 0


@vocabulary.command("trust")
@click.argument("authority", metavar="PARTY")
@party_option("PARTY", "For whose targets the vocabularies count; an IRI taken on trust.")
@registry_option
def vocabulary_trust(authority: str, party: str, registry: str) -> int:
    """Let the vocabularies of a party, such as the market's operator, count for what you own."""
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
    """Let them count no longer."""
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
        click.echo(as_json([vocabulary_json(one) for one in stored]), nl=False)
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
