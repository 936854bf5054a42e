"""The content of a registry, in a terminal."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.respondents import counts_rows
from smalti.engine.registry.access import AccessEntry
from smalti.engine.registry.entries import Asset, StoredHierarchy, StoredPolicy, TargetVersion, TrustedKey
from smalti.engine.tables.secret import ENVIRONMENT
from smalti.json.registry import policy_states
from smalti.show.terminal import LABEL, bullet, fields, file_names, place_of, short

if TYPE_CHECKING:
    from smalti.engine.registry.backup import Backup


def show_keys(out: Console, keys: Iterable[TrustedKey]) -> None:
    """Show each key with its owner and state."""
    for key in keys:
        state = f"trusted since {key.trusted_at:%Y-%m-%d %H:%M}"
        ended = f", revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else ""
        out.print(Text(key.thumbprint, style=LABEL))
        out.print(Text(f"  owner      {key.owner}"))
        out.print(Text(f"  state      {state}{ended}"))


def show_access(out: Console, entries: Iterable[AccessEntry]) -> None:
    """Show each key and each mapped subject with its party and state."""
    for entry in entries:
        ended = "in force" if entry.revoked_at is None else f"revoked {entry.revoked_at:%Y-%m-%d %H:%M}"
        what = "key" if entry.subject is None else f"subject {entry.subject} of {entry.issuer}"
        out.print(Text(entry.handle, style=LABEL))
        fields(out, ("  asks as", f"{entry.party} ({', '.join(sorted(entry.roles))})"))
        fields(out, ("  by", f"{what}{f', {entry.label}' if entry.label else ''}"))
        fields(out, ("  state", ended))


def show_vocabularies(out: Console, stored: Iterable[StoredHierarchy]) -> None:
    """Show each version of each vocabulary with its state."""
    for vocabulary in stored:
        ended = vocabulary.removed_at
        state = "in force" if ended is None else f"ended {ended:%Y-%m-%d %H:%M}"
        out.print(Text(f"{vocabulary.name} version {vocabulary.number}", style=LABEL))
        out.print(Text(f"  added by   {vocabulary.party}"))
        out.print(Text(f"  state      {state}"))


def show_versions(
    out: Console,
    versions: Iterable[TargetVersion],
    ended: Mapping[str, tuple[str, ...]],
    owned: Container[str],
) -> None:
    """Show versions; `ended` maps a run to the reasons for reviewing its version.

    For runs in `owned`, also show the recipient, the folder and the owner's figures.
    """
    for version in versions:
        inputs = ", ".join(
            source.iri if source.version is None else f"{source.iri} version {source.version}"
            for source in version.inputs
        )
        out.print(Text(f"{version.target} version {version.number}", style=LABEL))
        is_owned, purpose = version.run in owned, short(version.purpose)
        several = bool(version.tables)
        names = file_names(version.files, are_tables=several)
        place = place_of(version.path, version.files, are_tables=several) if is_owned else names
        fields(
            out,
            ("  made", f"{version.created_at:%Y-%m-%d %H:%M} UTC from {inputs}"),
            ("  for", f"{version.party}, {purpose}" if is_owned else purpose),
            ("  policy", version.policy_uid),
            ("  file", place),
            ("  version", version.iri),
            *(("  table", table.iri) for table in version.tables),
            *([] if version.whole is None else [("  part of", version.whole)]),
        )
        if version.discarded_at is not None:
            fields(out, ("  state", f"discarded {version.discarded_at:%Y-%m-%d %H:%M}"))
        fields(out, *(("  review", reason) for reason in ended.get(version.run, ())))
        if is_owned and version.whole is None:
            counted = "rows" if counts_rows(version.respondent) else "respondents"
            fields(out, *(("  owner", line) for line in version.report.lines(counted)))


def show_backup(out: Console, backup: "Backup") -> None:
    """Show what a copy of a registry has, and what it lacks."""
    out.print(Text(f"copied to {backup.folder}", style=LABEL))
    fields(out, ("files", ", ".join(backup.files)))
    if not backup.has_secret:
        fields(out, ("not in it", f"the secret, which is in {ENVIRONMENT}: keep it with the copy"))


def show_restored(
    out: Console,
    backup: "Backup",
    registry: str,
    versions: Sequence[TargetVersion],
    missing: Sequence[TargetVersion],
) -> None:
    """Show which copy was put back, and which outputs are not in their place."""
    out.print(Text(f"restored: {registry} as of {backup.taken_at:%Y-%m-%d %H:%M} UTC", style=LABEL))
    fields(out, ("outputs", f"{len(versions)} on record, of which {len(missing)} have lost their folder"))
    for version in missing:
        bullet(out, f"{version.target} version {version.number}: {version.path}")


def show_policies(out: Console, policies: Iterable[StoredPolicy]) -> None:
    """Show stored policies with their state."""
    listed = list(policies)
    for stored, word in zip(listed, policy_states(listed), strict=True):
        state = word if stored.is_in_force else f"{word} {stored.revoked_at:%Y-%m-%d %H:%M}"
        out.print(Text(stored.uid, style=LABEL))
        fields(out, ("  state", state))
        fields(out, ("  issuer", stored.issuer))
        fields(out, ("  about", ", ".join(sorted(stored.targets))))
        fields(out, ("  document", f"{stored.name}, {stored.digest}"))


def show_owners(out: Console, assets: Iterable[tuple[Asset, frozenset[str]]]) -> None:
    """Show assets with their owners."""
    for asset, owners in assets:
        fields(out, (str(asset.kind), f"{asset.iri}  owned by {', '.join(sorted(owners)) or 'nobody'}"))
