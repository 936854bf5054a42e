"""The room of data flows: what a control plane had this data plane start, and what became of it.

States are those of Data Plane Signaling. Each change names the states that it starts from, within one
transaction: of two that compete, one is refused. A terminal state is never left.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, insert, select, update

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import to_text, to_time
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._journal import tick, wall_clock
from smalti.engine.registry._shared import Shared
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


class FlowState(StrEnum):
    """What becomes of a data flow."""

    PREPARING = "PREPARING"
    PREPARED = "PREPARED"
    STARTING = "STARTING"
    STARTED = "STARTED"
    SUSPENDED = "SUSPENDED"
    COMPLETED = "COMPLETED"
    TERMINATED = "TERMINATED"

    @property
    def is_over(self) -> bool:
        return self in _OVER


_OVER: Final = frozenset({FlowState.COMPLETED, FlowState.TERMINATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFlow:
    """A data flow that is asked for."""

    key: str
    """Nobody else's."""
    id: str
    """As its control plane calls it."""
    party: IRI
    """Whose control plane it is."""
    counterparty: IRI
    """For whom the output is made."""
    target: IRI
    policy: IRI
    """That the agreement names, or whose rule it names."""
    rule: IRI | None
    callback: str
    """Where the control plane is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFlow(NewFlow):
    """A data flow as it is."""

    state: FlowState
    job: str | None = None
    """That makes the output."""
    out: Path | None = None
    """Where the job publishes, absolute; for the service alone."""
    run: str | None = None
    """Of the version that was made."""
    error: str = ""
    """Why it was terminated by this side; holds no data value."""
    call: str | None = None
    """What the control plane is still to be told; None: nothing."""
    calls: int = 0
    """How often that was tried."""
    changed_at: datetime


_C: Final = db.data_flows.c


@public_methods
@dataclass(frozen=True, slots=True)
class DataFlows:
    """The data flows of a data plane."""

    _shared: Shared

    def add(self, new: NewFlow) -> StoredFlow:
        """Begin a data flow, in the state `PREPARED`.

        Raises:
            UsageError: its control plane has one of that id; nothing was changed.
        """

        def write(connection: Connection, _: None) -> StoredFlow:
            same = (_C.party == new.party, _C.id == new.id)
            if connection.execute(select(_C.key).where(*same)).first() is not None:
                raise UsageError("data flow", "there is one of this id", "an id of its own")
            values = asdict(new) | {"state": FlowState.PREPARED.value, "error": "", "calls": 0}
            connection.execute(insert(db.data_flows).values(values | {"changed_at": tick(connection)}))
            return _to_flow(connection.execute(_of(new.key)).one())

        return self._shared.database.change(unchecked, write)

    def get(self, party: IRI, id: str) -> StoredFlow | None:
        """The data flow of a control plane under an id."""
        return next(iter(self._listed(_C.party == party, _C.id == id)), None)

    def of_output(self, place: Path) -> StoredFlow | None:
        """The data flow whose job published to a folder."""
        return next(iter(self._listed(_C.out == str(place))), None)

    def starting(self) -> tuple[StoredFlow, ...]:
        """Those that wait for their jobs."""
        return self._listed(_C.state == FlowState.STARTING.value)

    def move(
        self,
        key: str,
        before: Collection[FlowState],
        state: FlowState,
        values: Mapping[str, str | None] = MappingProxyType({}),
    ) -> StoredFlow | None:
        """Change the state of a data flow.

        Args:
            key: of it.
            before: the states that it may have.
            state: the one that it then has.
            values: further ones of its fields; `call` begins anew.

        Returns:
            None where it has another state; nothing was changed.
        """
        may = _C.state.in_([each.value for each in before])

        def write(connection: Connection, _: None) -> StoredFlow | None:
            changes: dict[str, Any] = {"state": state.value, "changed_at": tick(connection), **values}
            if "call" in values:
                changes |= {
                    "calls": 0,
                    "call_at": None if values["call"] is None else to_text(wall_clock()),
                }
            changed = update(db.data_flows).where(_C.key == key, may).values(changes)
            row = connection.execute(changed.returning(db.data_flows)).first()
            return None if row is None else _to_flow(row)

        return self._shared.database.change(unchecked, write)

    # --- What control planes are told

    def due(self) -> tuple[StoredFlow, ...]:
        """Those whose control planes are to be told something now."""
        return self._listed(_C.call.is_not(None), _C.call_at <= to_text(wall_clock()))

    def take_call(self, flow: StoredFlow, again: timedelta) -> bool:
        """Take the next try to tell a control plane something; it is due again after a while.

        Returns:
            False where somebody else took it.
        """

        def write(connection: Connection, _: None) -> bool:
            own = (_C.key == flow.key, _C.call == flow.call, _C.calls == flow.calls)
            values = {"calls": flow.calls + 1, "call_at": to_text(wall_clock() + again)}
            return connection.execute(update(db.data_flows).where(*own).values(values)).rowcount == 1

        return self._shared.database.change(unchecked, write)

    def end_call(self, flow: StoredFlow) -> None:
        """Note that a control plane was told, or that nobody tries any more."""

        def write(connection: Connection, _: None) -> None:
            own = (_C.key == flow.key, _C.call == flow.call)
            connection.execute(update(db.data_flows).where(*own).values(call=None, call_at=None))

        self._shared.database.change(unchecked, write)

    # --- What is over

    def sweep(self, before: datetime, needed: Collection[Path], *, removes: bool) -> int:
        """How many were over before a time and are of no use; they are removed if asked for.

        Args:
            before: the time.
            needed: folders that hold an output. A flow says whether the one in its folder may be fetched.
            removes: whether to remove them.
        """
        over = [
            flow.key
            for flow in self._listed(_C.state.in_([state.value for state in _OVER]), _C.call.is_(None))
            if flow.changed_at < before and (flow.out is None or flow.out.parent not in needed)
        ]

        def write(connection: Connection, _: None) -> None:
            for key in over:
                connection.execute(delete(db.data_flows).where(_C.key == key))

        if removes and over:
            self._shared.database.change(unchecked, write)
        return len(over)

    def _listed(self, *conditions: Any) -> tuple[StoredFlow, ...]:
        query = select(db.data_flows).where(*conditions).order_by(_C.changed_at)
        with self._shared.database.reading() as connection:
            return tuple(map(_to_flow, connection.execute(query).all()))


def _of(key: str) -> Any:
    return select(db.data_flows).where(_C.key == key)


def _to_flow(row: Row[tuple[Any, ...]]) -> StoredFlow:
    return StoredFlow(
        key=row.key, id=row.id, party=IRI(row.party), counterparty=IRI(row.counterparty),
        target=IRI(row.target), policy=IRI(row.policy), rule=None if row.rule is None else IRI(row.rule),
        callback=row.callback, state=FlowState(row.state), job=row.job,
        out=None if row.out is None else Path(row.out), run=row.run, error=row.error, call=row.call,
        calls=row.calls, changed_at=to_time(row.changed_at),
    )  # fmt: skip
