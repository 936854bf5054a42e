"""The commands that copy a registry, and put a copy back."""

from pathlib import Path

import click

from smalti.cli.options import PLACE, registry_option


@click.group("registry")
def registry() -> None:
    """Copy a registry with its keys, restore and tidy it."""


@registry.command("tidy")
@click.option("--uploads", metavar="FOLDER", type=PLACE,
              help="The service's folder of uploads.  [default: beside the registry]")  # fmt: skip
@click.option("--outputs", metavar="FOLDER", type=PLACE,
              help="The service's folder of outputs of jobs.  [default: beside the registry]")  # fmt: skip
@click.option("--jobs", "private", metavar="FOLDER", type=PLACE,
              help="Private folders of workers' jobs.  [default: beside the registry]")  # fmt: skip
@click.option("--older-than", metavar="DAYS", type=float, default=30.0, show_default=True,
              help="What was changed since stays.")  # fmt: skip
@click.option("--remove", is_flag=True, help="Remove it; otherwise it is only shown.")
@registry_option
def tidy(
    registry: str,
    uploads: str | None,
    outputs: str | None,
    private: str | None,
    older_than: float,
    *,
    remove: bool,
) -> int:
    """Show what the service keeps and nothing needs, or remove it.

    Uploads that no target is bound to, folders of ended jobs without an output, a report or a checkpoint
    (such a job of the service cannot be tried again), data flows, sessions and remembered answers that are
    over. Outputs and certificates stay.
    """
    from datetime import timedelta

    from smalti.cli.serve import beside
    from smalti.engine.jobs.folders import folder_beside
    from smalti.engine.registry.registry import Registry
    from smalti.tidying import Places
    from smalti.tidying import tidy as tidied

    opened = Registry.open(registry)
    places = Places(
        uploads=beside(uploads, registry, "uploads"),
        outputs=beside(outputs, registry, "outputs"),
        private=folder_beside(opened).absolute() if private is None else Path(private).absolute(),
    )
    result = tidied(opened, places, timedelta(days=older_than), removes=remove)
    for what, folders in (("upload", result.uploads), ("job", result.jobs)):
        for folder in folders:
            click.echo(f"{what} {folder}")
    for folder in result.vanished:
        click.echo(f"vanished {folder}: somebody else removed it meanwhile")
    verb = "removed" if result.was_removed else "would be removed (--remove does it)"
    click.echo(
        f"{len(result.uploads)} uploads and {len(result.jobs)} folders of jobs ({result.size} bytes), "
        f"{result.flows} data flows, {result.sessions} sessions, {result.answers} answers: {verb}"
    )
    return 0


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
