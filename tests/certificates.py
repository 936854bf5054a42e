"""Certificates that say something else than they should, and registries that hold them; shared by tests."""

import copy
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import smalti
from smalti.engine.losses.charging import loss_to_charge
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.errors import GuaranteeError


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from leaves(one, (*path, key))
    else:
        yield path


def fields(document: Any) -> dict[str, list[tuple[str | int, ...]]]:
    """The leaves of a certificate by the names of their fields; those of the context are its own affair."""
    found: dict[str, list[tuple[str | int, ...]]] = {}
    for path in leaves({key: value for key, value in document.items() if key != "@context"}):
        found.setdefault("/".join("*" if isinstance(one, int) else one for one in path), []).append(path)
    return found


def other(value: Any) -> list[Any]:
    """Values that claim something else: of numbers less, a little and much."""
    if isinstance(value, str) and value.replace(".", "").isdigit() and len(value) < 30:
        return [format(float(value) * 0.999, "f"), "0"] if float(value) else ["0.001"]
    if isinstance(value, str):
        return [value[:-1] + ("0" if value[-1] != "0" else "1"), value + "0"]
    return [value - 1, value + 1] if isinstance(value, int) else [value * (1 - 1e-6), 0.0]


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> str:
    made = copy.deepcopy(document)
    at(made, path[:-1])[path[-1]] = value
    return json.dumps(made)


@contextmanager
def instead(folder: Path, name: str, **values: str) -> Iterator[None]:
    """Another certificate or plan, in the registry, too, where nobody can write who only has the output."""
    place = folder / name / "certificate.jsonld"
    before = {"certificate": place.read_text(), "plan": recorded(folder, name)}
    try:
        record(folder, name, **values)
        place.write_text(values.get("certificate", before["certificate"]))
        yield
    finally:
        place.write_text(before["certificate"])
        record(folder, name, **before)


def recorded(folder: Path, name: str) -> str:
    """The plan, as the registry has it."""
    with closing(sqlite3.connect(_registry(folder))) as connection:
        ((found,),) = connection.execute("SELECT plan FROM versions WHERE path LIKE ?", (f"%/{name}",))
        return str(found)


def record(folder: Path, name: str, **values: str) -> None:
    with closing(sqlite3.connect(_registry(folder))) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        for column, value in values.items():
            words = f"UPDATE versions SET {column} = ? WHERE path LIKE ?"
            assert connection.execute(words, (value, f"%/{name}")).rowcount == 1


def undercharge(folder: Path, name: str, made: AnyPlan, target: str) -> None:
    """Forge the last run in its plan, its charge and its certificate alike: it adds up as another plan."""
    place, lost, digest = folder / name / "certificate.jsonld", loss_to_charge(made), plan_digest(made)
    with closing(sqlite3.connect(_registry(folder))) as connection, connection:
        ((before,),) = connection.execute("SELECT plan_digest FROM charges ORDER BY id DESC LIMIT 1")
        connection.execute(
            "UPDATE charges SET pure = ?, mu_squared = ?, selection_delta = ?, plan_digest = ?"
            " WHERE id = (SELECT max(id) FROM charges)",
            (str(lost.loss.pure), str(lost.loss.mu_squared), str(lost.selection_delta), digest),
        )
    with closing(smalti.Registry.open(_registry(folder))) as opened:
        account = opened.ledger.budget(smalti.IRI(target)).account
    text = place.read_text().replace(before.rpartition(":")[2], digest.rpartition(":")[2])
    document = json.loads(text)
    told = document["guarantee"]["composition"]
    told |= {"posteriorBelief": account.belief, "membershipAdvantage": account.advantage}
    forged = json.dumps(document)
    record(folder, name, plan=plan_to_json(made), plan_digest=digest, certificate=forged)
    place.write_text(forged)


def is_found(folder: Path, name: str, known: smalti.Registry) -> bool:
    """Whether verification tells that something is wrong."""
    try:
        smalti.verify(folder / name, registry=known)
    except GuaranteeError:
        return True
    return False


def _registry(folder: Path) -> Path:
    return next(path for path in map(folder.joinpath, ("r.sqlite", "registry.sqlite")) if path.exists())
