"""Opens a registry for a command."""

from pathlib import Path

import click

from smalti.engine.registry.commit import recover, sweep
from smalti.engine.registry.registry import Registry


def open_registry(place: str) -> Registry:
    """The registry, after what a killed run left has been ended; closed when the command ends."""
    registry = Registry.open(place)
    if (context := click.get_current_context(silent=True)) is not None:
        context.call_on_close(registry.close)
    recover(registry)
    sweep(Path.cwd())
    return registry
