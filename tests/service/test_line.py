"""Short work in turn: in order, for whoever waits, logged before it is told; nobody else waits for it."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from service_world import READER, World, make_world
from shell import CUSTOMER

from smalti.engine.registry.access import Role
from smalti.errors import RegistryError
from smalti.service.line import Line
from smalti.vocab.terms import IRI

ASKED = {"action": "read", "targets": [CUSTOMER]}
EVALUATED = {
    "subject": {"type": "user", "id": READER}, "action": {"name": "read"},
    "resource": {"type": "table", "id": CUSTOMER},
}  # fmt: skip
SHORT = (("/v1/decisions", ASKED), ("/access/v1/evaluation", EVALUATED))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("line"))


def test_work_is_done_in_order_and_its_end_is_for_whoever_waits() -> None:
    line, done = Line(), []

    def work(number: int) -> int:
        done.append((number, threading.current_thread().name))
        if number % 7 == 3:
            raise ValueError(number)
        return number

    async def all_at_once() -> list[int | BaseException]:
        works = [line.done(lambda number=number: work(number)) for number in range(100)]
        return await asyncio.gather(*works, return_exceptions=True)

    for _ in range(2):  # of two event loops
        done.clear()
        ends = asyncio.run(all_at_once())
        assert [number for number, _ in done] == list(range(100))
        assert len({thread for _, thread in done}) == 1
        errors = [end.args[0] for end in ends if isinstance(end, ValueError)]
        assert errors == [number for number in range(100) if number % 7 == 3]
        assert [end for end in ends if isinstance(end, int)] == [n for n in range(100) if n % 7 != 3]


def test_what_cannot_be_logged_is_told_to_nobody() -> None:
    """Each of the pieces that are logged together fails, and later ones are done again."""
    sizes: list[int] = []
    is_full = True

    @contextmanager
    def together() -> Iterator[None]:
        before = len(done)
        yield
        sizes.append(len(done) - before)
        if is_full:
            raise RegistryError("log", "it is full", "free space", "")

    done: list[int] = []
    line = Line(together)

    async def all_at_once() -> list[BaseException | None]:
        works = [line.done(lambda number=number: done.append(number)) for number in range(50)]
        return await asyncio.gather(*works, return_exceptions=True)

    ends = asyncio.run(all_at_once())
    assert {type(end) for end in ends} == {RegistryError}
    assert sum(sizes) == len(done) == 50
    assert 1 < max(sizes) <= 16
    is_full = False
    assert asyncio.run(all_at_once()) == [None] * 50


def test_the_thread_ends_with_the_line() -> None:
    before = set(threading.enumerate())
    line = Line()

    def work(held: Line = line) -> Line:  # as a request holds its service
        return held

    assert asyncio.run(line.done(work)) is line
    (thread,) = [each for each in threading.enumerate() if each.name == "line" and each not in before]
    del line, work
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize(("path", "document"), SHORT, ids=["decide", "evaluate"])
def test_decisions_are_answered_once_they_are_logged(
    world: World, path: str, document: dict[str, object]
) -> None:
    """Many at once: each answer finds its line; and where there can be no line, there is no answer."""
    log = world.registry.decision_log
    assert log is not None

    def asked(_: int) -> tuple[int, int]:
        before = len(log.path.read_bytes().splitlines()) if log.path.is_file() else 0
        status = world.ask("POST", path, READER, json=document).status_code
        return status, (len(log.path.read_bytes().splitlines()) if log.path.is_file() else 0) - before

    with ThreadPoolExecutor(8) as pool:
        first = world.ask("POST", path, READER, json=document)
        assert first.status_code == 200
        lines = len(log.path.read_bytes().splitlines())
        answers = list(pool.map(asked, range(24)))
        assert {status for status, _ in answers} == {200}
        assert min(more for _, more in answers) >= 1
        assert len(log.path.read_bytes().splitlines()) == lines + 24
        kept = log.path.rename(log.path.with_suffix(".kept"))
        log.path.mkdir()
        try:
            refused = list(pool.map(asked, range(8)))
        finally:
            log.path.rmdir()
            kept.rename(log.path)
    assert {status for status, _ in refused} == {503}
    assert world.ask("POST", path, READER, json=document).status_code == 200


def test_a_revoked_key_counts_no_more_between_decisions_that_are_made_together(world: World) -> None:
    """The key is looked at in the line: one that was revoked while its request waited is not in force."""
    key, entry = world.registry.access.add_key(IRI(READER), [Role.PARTY])
    begun, revoked = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert revoked.wait(10)

    def asked() -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return world.client.post("/v1/decisions", headers=headers, json=ASKED).status_code

    assert asked() == 200
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(asyncio.run, world.service.line.done(hold))
        assert begun.wait(10)
        waiting = pool.submit(asked)
        try:
            # Nobody else waits for what holds up the line.
            assert world.get("/v1/self", READER).status_code == 200
            assert not waiting.done()
            world.registry.access.revoke(entry.handle)
        finally:
            revoked.set()
        held.result()
        assert waiting.result() == 401
