"""What an owner looks at before anything is published: proposed columns, and what a policy would do."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from smalti.api import try_out
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.engine.run.profiling import looked_at
from smalti.engine.tables.addresses import data_at
from smalti.engine.tables.sizes import is_larger
from smalti.json.text import Json
from smalti.json.trials import trial_json
from smalti.roles import Roles
from smalti.scaffolding import description_text
from smalti.starting import look

ROWS: Final = 10
"""Rows shown of the data, and of what would be published."""
LOOKED_THROUGH: Final = 64 << 20
"""Bytes of data, unpacked, that are read through while somebody waits."""
_WHERE: Final = "data"


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
    stored: StoredPolicy,
    target: str,
    place: Path,
    *,
    party: str | None,
    purpose: str | None,
    rule: str | None,
) -> Json:
    """What a policy would do to data, for whoever owns all of it: figures, and rows before and after.

    The rows before are the first ones that are read, those after are spread over the result: they are not
    the same people's.

    Args:
        registry: only read.
        stored: the policy, on the word of its issuer.
        target: the IRI that the data is bound to.
        place: of the data.
        party: for whom; None: whom the policy names.
        purpose: of the request; None: the policy's.
        rule: the uid of the permission, where several match.

    Raises:
        SmaltiError: as `smalti.try_out`.
    """
    with TemporaryDirectory(prefix="smalti-preview-") as folder:
        policy = Path(folder) / "policy.jsonld"
        policy.write_bytes(stored.document)
        trial = try_out(
            policy, data={target: place}, party=party, owner=str(stored.issuer), purpose=purpose, rule=rule,
            registry=registry, rows=ROWS, workspace=folder,
        )  # fmt: skip
    document = trial_json(trial)
    if trial.tried is not None:
        names, rows = first_rows(place)
        document["before"] = {"columns": list(names), "rows": [list(row) for row in rows]}
        document["after"] = {
            "columns": list(trial.tried.header),
            "rows": [list(row) for row in trial.tried.rows],
        }
    return document
