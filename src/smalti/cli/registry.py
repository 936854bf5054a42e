"""The commands about the registry: policies, owners, targets."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from smalti.cli import keys as cli_keys
from smalti.cli.files import content_of
from smalti.cli.layout import former
from smalti.cli.options import (
    PLACE,
    agreement_option,
    bind_option,
    format_option,
    party_option,
    registry_option,
)

if TYPE_CHECKING:
    from smalti.engine.registry.registry import Registry
    from smalti.policy.model.model import Policy
    from smalti.vocab.terms import IRI


class _ListByDefault(click.Group):
    """A group whose first command is meant when none is named: `targets`, `targets IRI`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ListByDefault)
def targets() -> None:
    """List recorded outputs; withdraw respondents.

    Without a command, `smalti targets [IRI]` lists outputs.
    """


@targets.command("list")
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--affected-by", "policy_uid", metavar="UID",
              help="Only outputs made under this policy, and outputs derived from them.")  # fmt: skip
@party_option(
    "OWNER",
    "Show recipients, folders and figures of what this party owns; taken on trust.",
    required=False,
    setting=None,
)
@registry_option
@format_option("human", "json", "turtle")
def targets_list(
    target: str | None, policy_uid: str | None, party: str | None, registry: str, shown_as: str
) -> int:
    """List recorded outputs with their versions.

    The recipient and the folder of an output are shown only to its owners (--as).
    """
    from smalti.cli.opening import open_registry
    from smalti.errors import UsageError
    from smalti.json.text import as_json
    from smalti.listing import (
        owned_version_json,
        owns_inputs,
        public_version_json,
        review_reasons,
        versions_of,
    )
    from smalti.policy.decide.names import iri
    from smalti.show.registry import show_versions
    from smalti.show.terminal import console

    opened, by = open_registry(registry), None if party is None else iri(party, "--as")
    versions = versions_of(opened, target, policy_uid)
    owned = {version.run for version in versions if by is not None and owns_inputs(opened, by, version)}
    if party is not None and versions and not owned:
        raise UsageError("--as", f"{party} does not own any of these", "an owner", "leave it out")
    if shown_as == "turtle":
        if target or policy_uid:
            raise UsageError("--format turtle", "it exports everything", "no target", "leave it out")
        from smalti.engine.run.records import export

        click.echo(export(opened), nl=False)
    elif shown_as == "json":
        reasons = review_reasons(opened)
        shown = [
            owned_version_json(version, reasons.get(version.run))
            if version.run in owned
            else public_version_json(version, reasons.get(version.run))
            for version in versions
        ]
        click.echo(as_json(shown), nl=False)
    elif versions:
        show_versions(console(), versions, review_reasons(opened), owned)
    else:
        click.echo(f"nothing is recorded in {registry}")
    return 0


@targets.command("withdraw")
@click.argument("target", metavar="IRI")
@click.option("--from", "file", required=True, metavar="FILE", type=PLACE,
              help="A file with one respondent per line, as written in the respondent column.")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="The respondent column.  [default: the one that runs on the target used]")  # fmt: skip
@party_option("OWNER", "An owner of the target; an IRI taken on trust.")
@registry_option
def targets_withdraw(target: str, file: str, column: str | None, party: str, registry: str) -> int:
    """Leave respondents out of every later run on a target.

    They are left out of runs on what is made from it, too.
    """
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    respondents = _lines(file)
    opened, by = open_registry(registry), iri(party, "--as")
    count = opened.withdraw(iri(target, "IRI"), respondents, by=by, column=column)
    listed = "1 respondent is" if count == 1 else f"{count} respondents are"
    click.echo(f"{listed} left out of every later run on {target}; earlier outputs do not change")
    return 0


@targets.command("discard")
@click.argument("version", metavar="IRI")
@party_option("OWNER", "The owner of the output; an IRI taken on trust.")
@registry_option
def targets_discard(version: str, party: str, registry: str) -> int:
    """Say that nobody has a version, and remove it.

    IRI is that of a version, or of an output with one. Each run is held together with all earlier releases
    about the same respondents, but not with those that were discarded. Its folder is removed; that nobody
    has a copy is the owner's word.
    """
    from smalti.cli.opening import open_registry
    from smalti.engine.registry.discarding import discard
    from smalti.policy.decide.names import iri

    discarded, is_removed = discard(open_registry(registry), iri(version, "IRI"), iri(party, "--as"))
    click.echo(f"discarded: {discarded.target} version {discarded.number}")
    if not is_removed:
        click.echo(f"not removed: {discarded.path} is not that version, or cannot be removed", err=True)
    return 0


def _lines(file: str) -> list[str]:
    """The lines of a text, without their ends; a line is never shown in a message."""
    import sys

    from smalti.errors import UsageError

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UsageError(file, "the file cannot be read", "UTF-8 text, one respondent per line") from None
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    if not lines:
        raise UsageError(file, "it lists no respondents", "UTF-8 text, one respondent per line")
    return lines


@click.group()
def policy() -> None:
    """Put policies in force, list and revoke them; manage owners."""


for _name, _command in (
    ("new-key", cli_keys.new), ("sign", cli_keys.sign), ("trust", cli_keys.trust),
    ("distrust", cli_keys.distrust), ("keys", cli_keys.list_),
):  # fmt: skip
    policy.add_command(former(_command, _name, f"smalti keys {_command.name}"))


@policy.command("add")
@click.argument("file", metavar="FILE", type=PLACE)
@click.option("--signature", metavar="FILE", type=PLACE,
              help="A detached signature; required once a key is trusted for the owner.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace the policies in force under the same uids.")
@agreement_option
@bind_option
@party_option("OWNER", "Who issues it; an IRI taken on trust.")
@registry_option
@format_option("human", "json")
def policy_add(  # noqa: PLR0913, PLR0917 (its options)
    file: str,
    signature: str | None,
    replace: bool,
    agreement: str | None,
    bound: tuple[str, ...],
    party: str,
    registry: str,
    shown_as: str,
) -> int:
    """Put the policies of a document in force. The issuer becomes the owner of each new target.

    With --as-agreement, the agreement is put in force that two connectors made of the document. It replaces
    nothing: its uid may be the other side's choice.

    Warns of a policy that permits nothing, since its rules contradict each other, of rules in force about
    the same people that shut each other out of their budget, of rules that need columns which other
    policies in force prohibit, of permissions and obligations that prohibitions of other policies in force
    contradict, and of prohibitions on an IRI below a table that names none of its columns.
    """
    from smalti.cli.opening import open_registry
    from smalti.json.registry import policy_json
    from smalti.json.text import as_json
    from smalti.policy.decide.names import iri
    from smalti.show.terminal import console, show_warnings
    from smalti.submitting import submit_policies

    if agreement is not None and replace:
        raise _replacing_agreement()
    signed = None if signature is None else content_of(signature, "a detached signature")
    opened, issuer = open_registry(registry), iri(party, "--as")
    document = _to_add(file, agreement, bound, opened, issuer)
    added = submit_policies(opened, document, agreement or file, issuer, signature=signed, replaces=replace)
    if shown_as == "json":
        in_force = [policy_json(stored, "in force") for stored in added.policies]
        click.echo(as_json({"policies": in_force, "warnings": list(added.warnings)}), nl=False)
        return 0
    for stored in added.policies:
        click.echo(f"in force: {stored.uid}")
    show_warnings(console(), added.warnings)
    return 0


def _replacing_agreement() -> Exception:
    from smalti.errors import UsageError

    problem = "the other side may have chosen the uid of the agreement, and with it what would end"
    return UsageError("--replace", problem, "--as-agreement without --replace", "agree under another uid")


def _to_add(
    file: str, agreement: str | None, bound: tuple[str, ...], opened: "Registry", issuer: "IRI"
) -> bytes:
    """The document to put in force: as it is bound, or as two connectors agreed on it."""
    from smalti.binding import binding_of, pairs
    from smalti.policy.say.bind import bound_document

    binding, words = binding_of(pairs(bound)), opened.hierarchies.counting_for(issuer, None)

    def stored(uid: "IRI") -> "Policy | None":
        return opened.policies.in_force(uid, issuer, None)

    if agreement is None:
        return bound_document(content_of(file, "a policy document"), file, binding, stored, words)
    from smalti.agreeing import agreed_document

    return agreed_document(file, agreement, binding, stored, words)


@policy.command("list")
@registry_option
@format_option("human", "json")
def policy_list(registry: str, shown_as: str) -> int:
    """List all policies, including replaced and revoked ones."""
    from smalti.cli.opening import open_registry
    from smalti.json.registry import policy_json, policy_states
    from smalti.json.text import as_json
    from smalti.show.registry import show_policies
    from smalti.show.terminal import console

    stored = open_registry(registry).list_policies()
    if shown_as == "json":
        states = zip(stored, policy_states(stored), strict=True)
        click.echo(as_json([policy_json(*state) for state in states]), nl=False)
    elif stored:
        show_policies(console(), stored)
    else:
        click.echo(f"no policy is stored in {registry}")
    return 0


@policy.command("revoke")
@click.argument("uid", metavar="UID")
@party_option("OWNER", "Its issuer or an owner; on trust.")
@registry_option
def policy_revoke(uid: str, party: str, registry: str) -> int:
    """Revoke a policy, and with it what it implied."""
    from smalti.cli.opening import open_registry
    from smalti.policy.decide.names import iri

    for stored in open_registry(registry).revoke_policy(iri(uid, "UID"), iri(party, "--as")):
        click.echo(f"revoked: {stored.uid}")
    return 0


@policy.command("owners")
@click.argument("target", required=False, metavar="[IRI]")
@click.option("--add", "new", metavar="PARTY", help="A party to add to the owners of a source.")
@click.option("--remove", "old", metavar="PARTY", help="A party to remove from the owners of a source.")
@party_option("OWNER", "An owner of the source; an IRI taken on trust.", required=False)
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

    opened = open_registry(registry)
    if (new or old) and not (target and party):
        raise UsageError("policy owners", "--add and --remove need a target and --as OWNER")
    if target and party:
        place, by = iri(target, "IRI"), iri(party, "--as")
        if new:
            opened.add_owner(place, iri(new, "--add"), by=by)
        if old:
            opened.remove_owner(place, iri(old, "--remove"), by=by)
    shown = [asset for asset in opened.assets() if target in (None, asset.iri)]
    show_owners(console(), [(asset, opened.owners(asset.iri)) for asset in shown])
    return 0
