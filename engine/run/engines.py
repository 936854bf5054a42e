"""The engines that a run can use, by name."""

from collections.abc import Mapping
from enum import StrEnum

from smalti.engine.backends.base import Backend
from smalti.errors import UsageError


class EngineName(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


def make_backend(
    name: EngineName,
    *,
    fragments: int | None = None,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Backend:
    """The engine of that name; Spark is imported only when asked for.

    Args:
        name: which.
        fragments: the most kernels among which tuples are divided; None: the engine's own choice.
        master: of Spark.
        settings: of Spark.

    Raises:
        UsageError: something of this is not for that engine, or a setting cannot be made.
    """
    if fragments is not None and fragments < 1:
        raise UsageError("--fragments", "must be at least 1")
    if name is EngineName.LOCAL:
        from smalti.engine.backends.local import LocalBackend  # noqa: PLC0415

        if master is not None or settings:
            raise UsageError(
                "--master and --conf",
                "they apply to Spark only",
                "neither of them",
                "or say --engine spark",
            )
        return LocalBackend(fragments)
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    return SparkBackend(None, fragments, master=master, settings=settings)
