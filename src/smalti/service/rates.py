"""How many requests a party, or an address of which nobody is recognised, may send: a bucket for each.

Buckets are in the memory of one process, and of a bounded number (`MOST`): those that were not used for the
longest time are forgotten, which can only let a request pass. Kept of each is one number, the time at which
it is full again (the generic cell rate algorithm: ITU-T I.371, Annex A.1, "virtual scheduling").
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from smalti.service.problems import RefusedError

OF_PARTY: Final = 100.0
"""Requests of a party each second, where nothing is configured."""
OF_ADDRESS: Final = 10.0
"""Requests of an address each second, of which nobody is recognised, or that are for anybody."""
MOST: Final = 10_000
_AT_ONCE: Final = 10.0
"""Seconds whose requests may come at once."""
_LEAST_AT_ONCE: Final = 100.0
"""Requests that may come at once, whatever the rate."""
_NETWORK: Final = 64
"""Bits of an address of version 6 that one subscriber has."""


@dataclass(slots=True)
class Buckets:
    """A bucket for each name; for several threads."""

    each_second: float
    """By which a bucket fills up; 0: nothing is limited."""
    clock: Callable[[], float] = time.monotonic
    most: int = MOST
    least_at_once: float = _LEAST_AT_ONCE
    _full_at: OrderedDict[str, float] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def take(self, name: str, count: int = 1) -> float:
        """Take so many requests out of a bucket, all of them or none.

        Returns:
            0, where it had as many; otherwise the seconds after which it will.
        """
        if not self.each_second:
            return 0.0
        size = max(self.least_at_once, _AT_ONCE * self.each_second) / self.each_second
        with self._lock:
            now = self.clock()
            full_at = max(now, self._full_at.pop(name, now)) + count / self.each_second
            wait = full_at - now - size
            self._full_at[name] = full_at if wait <= 0 else full_at - count / self.each_second
            while len(self._full_at) > self.most:
                self._full_at.popitem(last=False)
        return max(0.0, wait)


@dataclass(frozen=True, slots=True)
class Rates:
    """The limits of a service."""

    parties: Buckets
    addresses: Buckets
    """Apart, so that addresses crowd no party out."""

    def admit_party(self, party: str, count: int = 1) -> None:
        """Count requests of a party that was recognised.

        Raises:
            RefusedError: there are too many.
        """
        _check(self.parties.take(party, count))

    def admit_address(self, address: str) -> None:
        """Count a request that is nobody's.

        Raises:
            RefusedError: there are too many.
        """
        _check(self.addresses.take(subscriber(address)))


def rates_of(of_party: float, of_address: float, processes: int = 1) -> Rates:
    """The limits of one of several processes, each of which has its part of them.

    Args:
        of_party: requests each second, of all processes; 0: no limit.
        of_address: likewise.
        processes: how many share the limits; connections stay with the process that took them.
    """
    at_once = _LEAST_AT_ONCE / processes
    return Rates(
        Buckets(of_party / processes, least_at_once=at_once),
        Buckets(of_address / processes, least_at_once=at_once),
    )


def subscriber(address: str) -> str:
    """What an address is counted by: of version 6, the network that one subscriber has.

    >>> subscriber("192.0.2.7"), subscriber("::ffff:192.0.2.7"), subscriber("2001:db8:1:2:3::4")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::/64')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _NETWORK), strict=False))
    return str(parsed)


def _check(wait: float) -> None:
    if wait:
        raise RefusedError(
            429, "too-many-requests", "wait as long as `Retry-After` says",
            headers={"Retry-After": str(math.ceil(wait))},
        )  # fmt: skip
