"""Times decisions over an index of stored policies: microseconds for one, and the time to make the index.

    python benchmarks/decisions.py --rules 10000 100000

Parties, assets and purposes stand in hierarchies five deep; each rule is about random ones. The floor is
the same number of lookups of requests in a dictionary: what a cache of all answers would cost.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import pairwise
from random import Random

from results import DecisionRow

from smalti.policy.decide.decision import Request
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies, Vocabulary
from smalti.policy.decide.hierarchy import Relations
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import (
    Asset,
    Comparison,
    ConflictStrategy,
    Day,
    Named,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
)
from smalti.vocab.purposes import BROADER
from smalti.vocab.terms import IRI, ODRL, ODRL_PURPOSE, READ, USE

DEPTH = 5
RULES_OF_A_POLICY = 10
REQUESTS = 2000
PURPOSES = sorted(BROADER)
DATE_TIME = IRI(ODRL + "dateTime")


def tree(kind: str, size: int) -> list[list[IRI]]:
    """Names in levels, from the root down, of about the size; the last level is the largest."""
    widths = [max(1, round(size ** (level / (DEPTH - 1)))) for level in range(DEPTH)]
    return [
        [IRI(f"http://example.com/{kind}/{level}/{number}") for number in range(width)]
        for level, width in enumerate(widths)
    ]


def below(levels: list[list[IRI]], random: Random) -> Relations:
    """Each name under a random one of the level above."""
    pairs = [(name, random.choice(above)) for above, names in pairwise(levels) for name in names]
    return Relations(tuple(pairs))


def pick(levels: list[list[IRI]], random: Random) -> IRI:
    """A name, mostly of the lowest levels."""
    level = min(random.choices(range(DEPTH), weights=[1, 3, 10, 100, 1000])[0], DEPTH - 1)
    return random.choice(levels[level])


def policies(count: int, parties: list[list[IRI]], assets: list[list[IRI]], random: Random) -> list[Policy]:
    """Policies with so many rules, one in ten of them a prohibition."""
    rules = []
    for number in range(count // RULES_OF_A_POLICY):
        permissions, prohibitions = [], []
        for rule in range(RULES_OF_A_POLICY):
            constraints = [
                Comparison(ODRL_PURPOSE, Operator.IS_A, (Named(random.choice(PURPOSES)),)),
            ]
            if random.random() < 0.3:
                constraints.append(
                    Comparison(DATE_TIME, Operator.LTEQ, (Day(datetime(2030, 1, 1).date()),))
                )
            common = {
                "uid": IRI(f"urn:bench:{number}:{rule}"),
                "targets": (Asset(pick(assets, random)),),
                "assignees": (Party(pick(parties, random)),),
                "constraints": tuple(constraints),
            }
            if rule == 0:
                prohibitions.append(Prohibition(action=USE, **common))
            else:
                permissions.append(Permission(action=READ, **common))
        rules.append(
            Policy(
                uid=IRI(f"urn:bench:{number}"),
                document_digest=f"sha256:{number}",
                conflict=ConflictStrategy.PROHIBIT,
                permissions=tuple(permissions),
                prohibitions=tuple(prohibitions),
            )
        )
    return rules


def requests(stored: list[Policy], random: Random) -> list[Request]:
    """Requests of which about half meet the parts of a stored permission."""
    results = []
    now = datetime(2026, 5, 1, tzinfo=UTC)
    for _ in range(REQUESTS):
        rule = random.choice(random.choice(stored).permissions)
        limit = rule.constraints[0]
        assert isinstance(limit, Comparison)
        purpose = limit.values[0]
        assert isinstance(purpose, Named)
        asked = Request(
            party=rule.assignees[0].iri,
            action=READ,
            targets=(rule.targets[0].iri,),
            purpose=purpose.iri,
            time=now,
        )
        if random.random() < 0.5:
            asked = replace(asked, purpose=random.choice(PURPOSES))
        results.append(asked)
    return results


def seconds(work: list[Request], of: Callable[[Request], object]) -> float:
    """Wall-clock seconds of one pass, the best of three after one that warms up."""
    times = []
    for _ in range(4):
        start = time.perf_counter()
        for request in work:
            of(request)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def measure(count: int) -> DecisionRow:
    """Make that many rules, index them, and time requests that are permitted and refused."""
    random = Random(7)
    parties, assets = tree("party", count // 20), tree("asset", count // 5)
    vocabulary = Vocabulary(parties=below(parties, random), assets=below(assets, random))
    hierarchies: Hierarchies = STANDARD.with_(vocabulary)
    stored = policies(count, parties, assets, random)

    start = time.perf_counter()
    index = PolicyIndex(hierarchies, stored)
    built = time.perf_counter() - start
    asked = requests(stored, random)
    granted = [request for request in asked if index.authorize(request).is_permitted]
    refused = [request for request in asked if not index.authorize(request).is_permitted]
    return DecisionRow(
        rules=count,
        built=built,
        permitted=seconds(granted, index.authorize) / len(granted),
        permitted_floor=seconds(granted, dict.fromkeys(granted).get) / len(granted),
        refused=seconds(refused, index.authorize) / len(refused),
        refused_floor=seconds(refused, dict.fromkeys(refused).get) / len(refused),
    )


def main() -> None:
    """Print one line for each number of rules."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rules", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--json", action="store_true", help="one line of JSON for each")
    arguments = parser.parse_args()
    for count in arguments.rules:
        row = measure(count)
        print(json.dumps(asdict(row)) if arguments.json else row.line(), flush=True)


if __name__ == "__main__":
    main()
