"""The commands that copy a registry, and put a copy back."""

from pathlib import Path

import click

from smalti.cli.options import PLACE, registry_option


@click.group("registry")
def registry() -> None:
    """Copy a registry with its keys, and put a copy back."""


@registry.command("backup")
@click.argument("folder", metavar="FOLDER", type=PLACE)
@registry_option
def backup(folder: str, registry: str) -> int:
    """Copy the registry, its secret and its keys into a new folder.

    It may be in use meanwhile. Whoever has the folder can test guesses about the data, and knows whom
    pseudonyms stand for: keep it as you keep the registry. Outputs are not in it.
    """
    from smalti.engine.registry.backup import back_up
    from smalti.engine.registry.registry import Registry
    from smalti.show.registry import show_backup
    from smalti.show.terminal import console

    show_backup(console(), back_up(Registry.open(registry), folder))
    return 0


@registry.command("restore")
@click.argument("folder", metavar="FOLDER", type=PLACE)
@click.option(
    "--nothing-released-since",
    is_flag=True,
    help="Your word that no output was published, and no budget charged, after the copy was taken: the"
    " restored registry would know nothing of it.",
)
@registry_option
def restore(folder: str, registry: str, *, nothing_released_since: bool) -> int:
    """Restore a lost registry from a copy; nothing is overwritten."""
    from smalti.engine.registry import backup as backups
    from smalti.engine.registry.registry import Registry
    from smalti.show.registry import show_restored
    from smalti.show.terminal import console

    restored = backups.restore(folder, registry, nothing_released_since=nothing_released_since)
    versions = Registry.open(registry).all_versions()
    kept = [version for version in versions if version.discarded_at is None]
    missing = [version for version in kept if not Path(version.path).is_dir()]
    show_restored(console(), restored, registry, kept, missing)
    return 0
