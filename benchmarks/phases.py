"""Runs smalti in this process, and prints the wall-clock and CPU seconds of each phase as JSON.

python benchmarks/phases.py POLICY TARGET DATA PARTY PURPOSE OUT REGISTRY
"""

import json
import sys
import time

from smalti import api
from smalti.engine.binding.run_request import Watch


class ClockWatch(Watch):
    """Notes the clocks at each phase: wall clock, and CPU of this process with all its threads."""

    def __init__(self) -> None:
        super().__init__()
        self._starts: list[tuple[str, float, float]] = []

    def phase(self, name: str) -> None:
        super().phase(name)
        self._starts.append((name, time.perf_counter(), time.process_time()))

    def seconds(self) -> dict[str, dict[str, float]]:
        """By clock and phase; the last phase until now."""
        ends = [*self._starts[1:], ("", time.perf_counter(), time.process_time())]
        spent: dict[str, dict[str, float]] = {"wall": {}, "cpu": {}}
        for (name, wall, cpu), (_, wall_end, cpu_end) in zip(self._starts, ends, strict=True):
            spent["wall"][name] = spent["wall"].get(name, 0.0) + wall_end - wall
            spent["cpu"][name] = spent["cpu"].get(name, 0.0) + cpu_end - cpu
        return spent


def main() -> None:
    """Run, and print."""
    policy, target, data, party, purpose, out, registry = sys.argv[1:]
    watch = ClockWatch()
    outcome = api.run(
        policy, data={target: data}, party=party, purpose=purpose, out=out, registry=registry, watch=watch
    )
    if outcome.version is None:
        sys.exit("the run was denied")
    print(json.dumps(watch.seconds()))


if __name__ == "__main__":
    main()
