"""A small governance layer: owners publish policies, requesters ask for data, auditors look again."""

import tempfile
from pathlib import Path

from data import transactions

import smalti


class Market:
    """Whoever calls this has authenticated the party: smalti takes each IRI on trust."""

    def __init__(self, home: Path) -> None:
        self.home, self.registry = home, smalti.Registry.open(home / "registry.sqlite")
        self.offers: dict[str, tuple[Path, dict[str, Path], str]] = {}

    def publish(self, owner: str, dataset: str, policy: Path, data: Path) -> None:
        self.registry.add_policy(policy.read_bytes(), policy.name, smalti.IRI(owner))
        self.offers[dataset] = policy, {dataset: data}, owner

    def ask(self, party: str, dataset: str, purpose: str, out: str) -> smalti.Outcome:
        (policy, data, owner), place = self.offers[dataset], self.home / out
        asked = {"data": data, "party": party, "owner": owner, "purpose": purpose}
        return smalti.run(policy, **asked, out=place, registry=self.registry)

    def audit(self, output: str) -> smalti.Recheck:
        return smalti.verify(output, registry=self.registry)


with tempfile.TemporaryDirectory() as folder:
    market, policies = Market(Path(folder)), Path(__file__).parent / "policies"
    customer, table = "http://example.com/Customer", Path(folder, "customers.csv")
    transactions.write(table, customers=300, seed=7)
    market.publish("http://example.com/party/owner", customer, policies / "fig-2.6-canonical.jsonld", table)
    for purpose in ("marketing", "statistical"):
        decision = market.ask("http://org/user", customer, purpose, f"for-{purpose}").decision
        print(f"{purpose}: {decision.effect}, because {decision.reasons[0].text}")
    print("audit:", *market.audit("http://example/anonCustomer").check.recounted, sep="\n  ")
