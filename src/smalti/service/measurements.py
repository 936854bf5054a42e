"""Counts and durations of requests for Prometheus: by operation and status, with no name, IRI or value.

Several processes of one service write theirs into files of one folder (`SHARED` in the environment, which
prometheus_client reads when it is imported), and each shows the sums of all.
"""

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
_BOUNDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""


class Measurements:
    """The measurements of one process, or of all that share a folder."""

    def __init__(self, shared: str | None = None) -> None:
        """Begin to count.

        Args:
            shared: the folder of all processes of the service; None: this is the only one.
        """
        self._shared = shared
        self._collected = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "smalti_requests", "Requests by operation and status.", ["operation", "status"],
            registry=self._collected,
        )  # fmt: skip
        self._seconds = Histogram(
            "smalti_request_seconds", "Seconds from a request to its answer.", ["operation"],
            buckets=_BOUNDS, registry=self._collected,
        )  # fmt: skip
        self._received = Counter(
            "smalti_uploaded_bytes", "Bytes of uploads that were kept.", registry=self._collected
        )

    def answered(self, operation: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def received(self, size: int) -> None:
        """An upload was kept."""
        self._received.inc(size)

    def text(self) -> bytes:
        """All of them, in Prometheus' form."""
        if self._shared is None:
            return generate_latest(self._collected)
        summed = CollectorRegistry(auto_describe=False)
        collect: Callable[..., object] = MultiProcessCollector
        collect(summed, self._shared)
        return generate_latest(summed)
