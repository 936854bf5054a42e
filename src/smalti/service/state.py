"""What all requests share."""

from dataclasses import dataclass, field
from pathlib import Path

from smalti.engine.registry.registry import Registry
from smalti.service.authentication import Authentication
from smalti.service.configuration import Configuration
from smalti.service.line import Line
from smalti.service.looks import Looks
from smalti.service.measurements import Measurements
from smalti.service.rates import Rates
from smalti.service.streams import Streams
from smalti.service.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Service:
    """A running service; for several threads."""

    registry: Registry
    configuration: Configuration
    authentication: Authentication
    uploads: Uploads
    outputs: Path
    """A private folder, in which each job has its own."""
    measurements: Measurements
    rates: Rates
    line: Line
    looks: Looks = field(default_factory=Looks)
    streams: Streams = field(default_factory=Streams)
