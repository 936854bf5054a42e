"""What an owner looks at before anything is published: proposed columns, and what a policy would do."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from smalti.api import Choices, sweep, try_out
from smalti.engine.registry.registry import Registry
from smalti.engine.run.profiling import looked_at
from smalti.engine.tables.addresses import data_at
from smalti.engine.tables.sizes import is_larger
from smalti.json.sweeps import sweep_json
from smalti.json.text import Json
from smalti.json.trials import trial_json
from smalti.roles import Roles
from smalti.scaffolding import description_text
from smalti.starting import look

ROWS: Final = 10
"""Rows shown of the data, and of what would be published."""
LOOKED_THROUGH: Final = 64 << 20
"""Bytes of data, unpacked, that are read through while somebody waits."""
SCRATCH: Final = "smalti-preview-"
"""How the names of folders begin that a policy is tried in."""
_WHERE: Final = "data"


@dataclass(frozen=True, slots=True)
class TriedPolicy:
    """A policy that is tried out, whether or not it is in force."""

    document: bytes
    name: str
    """A file name; its ending says how the document is written."""
    issuer: str
    """On whose word it counts."""
    is_draft: bool = False
    """Whether it is tried in the place of what its issuer has in force under its uid."""


def is_looked_through(place: Path) -> bool:
    """Whether data is read through while somebody waits (`LOOKED_THROUGH`).

    Raises:
        OSError: it cannot be read.
    """
    return not is_larger(place, LOOKED_THROUGH)


def proposed_description(place: Path) -> Json:
    """The CSVW description that the values of a table suggest; it holds none of them.

    Args:
        place: of the table; all of it is read.

    Raises:
        SmaltiError: as `smalti.init`.
    """
    document: Json = json.loads(description_text(look(place), Roles()))
    return document


def first_rows(place: Path) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The columns of a table and some of its rows as they are, for whoever owns all of it.

    Raises:
        SmaltiError: as `smalti.init`.
    """
    with looked_at(data_at(str(place), _WHERE)) as table:
        names = tuple(column.name for column in table.profile.columns)
        texts = table.texts(range(len(names)), at_most=ROWS)
        rows = zip(*(column.to_pylist() for column in texts.columns), strict=True)
        return names, tuple(tuple("" if text is None else str(text) for text in row) for row in rows)


def preview(  # noqa: PLR0913 (parts of a request)
    registry: Registry,
    tried: TriedPolicy,
    target: str,
    place: Path,
    *,
    party: str | None,
    purpose: str | None,
    rule: str | None,
    vary: Sequence[str] = (),
) -> Json:
    """What a policy would do to data, for whoever owns all of it: figures, and rows before and after.

    The rows before are the first ones that are read, those after are spread over the result: they are not
    the same people's. Nothing is recorded.

    Args:
        registry: only read.
        tried: the policy.
        target: the IRI that the data is bound to.
        place: of the data.
        party: for whom; None: whom the policy names.
        purpose: of the request; None: the policy's.
        rule: the uid of the permission, where several match.
        vary: numbers to measure risk and loss with in the place of the policy's, as of `smalti.sweep`.

    Raises:
        SmaltiError: as `smalti.try_out` and `smalti.sweep`. Messages may name a file in a folder whose name
            begins with `SCRATCH`.
    """
    with TemporaryDirectory(prefix=SCRATCH) as folder:
        policy = Path(folder) / tried.name
        policy.write_bytes(tried.document)
        asked: Choices = {
            "owner": tried.issuer, "purpose": purpose, "rule": rule, "registry": registry,
            "workspace": folder,
        }  # fmt: skip
        trial = try_out(
            policy, data={target: place}, party=party, rows=ROWS, replace=tried.is_draft, **asked
        )
        document = trial_json(trial)
        if vary and trial.plan is not None:
            swept = sweep(
                policy, data={target: place}, party=party, vary=vary, replace=tried.is_draft, **asked
            )
            document["sweep"] = sweep_json(swept)
    if trial.tried is not None:
        names, rows = first_rows(place)
        document["before"] = {"columns": list(names), "rows": [list(row) for row in rows]}
        document["after"] = {
            "columns": list(trial.tried.header),
            "rows": [list(row) for row in trial.tried.rows],
        }
    return document
