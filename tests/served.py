"""A service of a test's world on a socket, for browsers: in a thread of this process."""

import contextlib
import threading
from collections.abc import Iterator

import uvicorn
from service_world import World

from smalti.service.application import application


@contextlib.contextmanager
def served(world: World) -> Iterator[str]:
    """The address of a world's service, which answers until the block ends."""
    configuration = uvicorn.Config(
        application(world.service), host="127.0.0.1", port=0, log_config=None, access_log=False,
        lifespan="off", ws="none",
    )  # fmt: skip
    server = uvicorn.Server(configuration)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server has ended"
    ((listener,),) = (one.sockets for one in server.servers)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
