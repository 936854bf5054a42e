"""Times decisions end to end: whose word counts, the index in memory, and the line in the decision log.

    python benchmarks/registry_decisions.py --rules 10000 100000

Each stored document holds 100 rules about targets of its own, for parties in groups 5 deep. The floor is
what every decision needs at the least: one query whether the registry was changed, and one appended line.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from results import RegistryRow

from smalti.engine.registry.authority import decide
from smalti.engine.registry.registry import Registry
from smalti.policy.decide.decision import Request
from smalti.vocab.terms import IRI, READ

OWNER = IRI("http://bench.example/owner")
RULES_EACH = 100
DEPTH = 5
DOCUMENT = """{{"@context": [
  "http://www.w3.org/ns/odrl.jsonld", "http://localhost:8000/ns/mosaicrown/namespace.jsonld"
],
"@type": "Set", "uid": "http://bench.example/policy/{name}",
"profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
"conflict": "prohibit", "permission": [{rules}]}}"""
RULE = """{{"uid": "http://bench.example/rule/{name}", "target": "http://bench.example/data/{name}",
"assignee": "http://bench.example/group/{group}/0", "action": "odrl:read"}}"""


def main() -> None:
    """Print one line for each number of rules."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rules", type=int, nargs="+", default=[10_000])
    parser.add_argument("--registry", help="address of an empty database; a file when not given")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each")
    arguments = parser.parse_args()
    for rules in arguments.rules:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(arguments.registry or str(Path(folder) / "registry.sqlite"), rules)
        print(json.dumps(asdict(row)) if arguments.json else row.line(), flush=True)


def measure(place: str, rules: int) -> RegistryRow:
    """Store that many rules, and decide: at first, again, and after another document was stored."""
    registry = Registry.open(place)
    registry.add_hierarchy(groups(), "groups", OWNER)
    adding = timed(lambda: fill(registry, rules))
    fresh = Registry.open(place)
    opening = timed(lambda: fresh.snapshot().__enter__())
    fresh = Registry.open(place)
    decide(fresh, request(0))
    step = max(1, rules // 300)
    cold = [timed(lambda n=n: decide(fresh, request(n))) for n in range(step, rules, step)]
    warm = [timed(lambda n=n: decide(fresh, request(n))) for n in range(0, rules, step)]
    followed = []
    for number in range(10):
        fill(registry, RULES_EACH, f"more{number}-")
        followed.append(timed(lambda: decide(fresh, request(0))))
    floor = [timed(lambda: least(fresh)) for _ in range(200)]
    cold_median, warm_median, followed_median, floor_median = (
        statistics.median(some) for some in (cold, warm, followed, floor)
    )
    return RegistryRow(
        rules=rules,
        adding=adding,
        opening=opening,
        cold=cold_median,
        warm=warm_median,
        followed=followed_median,
        floor=floor_median,
    )


def fill(registry: Registry, rules: int, prefix: str = "") -> None:
    """Store rules, 100 in one document."""
    for start in range(0, rules, RULES_EACH):
        some = [RULE.format(name=f"{prefix}{n}", group=n % 50) for n in range(start, start + RULES_EACH)]
        document = DOCUMENT.format(name=f"{prefix}{start}", rules=",\n".join(some))
        registry.add_policy(document.encode(), f"{prefix}{start}", OWNER)


def groups() -> bytes:
    """50 groups, 5 deep, with one party in each innermost one."""
    lines = ["@prefix odrl: <http://www.w3.org/ns/odrl/2/> ."]
    for group in range(50):
        base = f"http://bench.example/group/{group}"
        lines += [f"<{base}/{n + 1}> a odrl:Party ; odrl:partOf <{base}/{n}> ." for n in range(DEPTH - 1)]
        lines.append(
            f"<http://bench.example/party/{group}> a odrl:Party ; odrl:partOf <{base}/{DEPTH - 1}> ."
        )
    return "\n".join(lines).encode()


def request(number: int) -> Request:
    """One that the rule of that number permits."""
    party = IRI(f"http://bench.example/party/{number % 50}")
    return Request(party=party, action=READ, targets=(IRI(f"http://bench.example/data/{number}"),))


def least(registry: Registry) -> None:
    """What no decision does without."""
    registry._database.revision()
    assert registry.decision_log is not None
    registry.decision_log._append(b"x" * 700 + b"\n")


def timed(call: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
