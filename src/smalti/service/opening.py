"""Opens a service on a registry: everything that its requests share."""

import os

from smalti.engine.registry.registry import Registry
from smalti.service.authentication import Authentication, PassingKey
from smalti.service.configuration import Configuration, check_configuration
from smalti.service.line import Line
from smalti.service.looks import MOST, Looks
from smalti.service.measurements import SHARED, Measurements
from smalti.service.rates import rates_of
from smalti.service.state import Service
from smalti.service.tokens import Tokens
from smalti.service.uploads import Uploads, make_private


def open_service(registry: Registry, configuration: Configuration, passing: PassingKey | None) -> Service:
    """A service on an open registry, ready for requests.

    Raises:
        UsageError: it may not be started so, or a folder or file of the configuration cannot be used.
        BackendError: the keys of the issuer of tokens cannot be fetched.
        RegistryError: the registry cannot be read.
    """
    has_entries = passing is not None or any(entry.is_in_force for entry in registry.access.listed())
    check_configuration(configuration, has_entries=has_entries, registry=registry.path)
    uploads = Uploads(configuration.uploads, configuration.upload_limit)
    uploads.prepare()
    make_private(configuration.outputs, "--outputs")
    tokens = None if configuration.tokens is None else Tokens(configuration.tokens)
    apart = registry if registry.path is None else Registry.open(registry.path, log_decisions=False)
    authentication = Authentication(apart, tokens, passing)
    processes = configuration.processes
    rates = rates_of(configuration.rate_of_party, configuration.rate_of_address, processes)
    measurements = Measurements(os.environ.get(SHARED) if processes > 1 else None)
    looks = Looks(max(1, MOST // processes))
    log = registry.decision_log
    line = Line() if log is None else Line(log.together)
    return Service(
        registry, configuration, authentication, uploads, configuration.outputs, measurements, rates, line,
        looks,
    )  # fmt: skip
