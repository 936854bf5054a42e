"""A provider's connector: it negotiates by messages of the Dataspace Protocol, and asks smalti."""

import json
import tempfile
from pathlib import Path

import smalti

HERE = Path(__file__).parent
MESSAGES, TABLE = HERE / "negotiation", HERE / "data" / "contraceptive.csv"
OWNER, PARTNER = "http://example.com/party/owner", "http://example.com/party/researcher"
SURVEY, PUBLISHED = "http://example.com/survey/contraceptive", "http://example.com/survey/published"
MEMBER = "cx-policy:Membership=active"


class Connector:
    """Whoever calls this has authenticated the party and checked its credentials: both are on trust."""

    def __init__(self, home: Path) -> None:
        self.home, self.registry = home, smalti.Registry.open(home / "registry.sqlite")
        self.agreements: dict[str, smalti.PolicyDocument] = {}

    def catalogue(self) -> dict:
        return json.loads(smalti.offer(MESSAGES / "policy.jsonld"))

    def agree(self, message: str) -> str:
        """Put an agreement in force that says no more than the offer; other ones raise an error."""
        asked = {"registry": self.registry, "issuer": OWNER, "as_agreement": MESSAGES / message}
        agreement = smalti.load_policy(MESSAGES / "policy.jsonld", **asked)
        (stored,) = self.registry.add_policy(agreement.document, message, smalti.IRI(OWNER))
        self.agreements[stored.uid] = agreement
        return stored.uid

    def transfer(self, message: str, party: str, *facts: str) -> dict:
        """Answer a request for the data of an agreement: with an address, or with the reasons why not."""
        request = json.loads((MESSAGES / message).read_text(encoding="utf-8"))
        agreement, out = self.agreements[request["agreementId"]], self.home / "published"
        asked = {"party": party, "purpose": "statistical", "facts": facts, "registry": self.registry}
        decision = smalti.decide(action="anonymize", target=SURVEY, **asked)  # by what is in force now
        if decision and not self.registry.versions(smalti.IRI(PUBLISHED)):
            decision = smalti.run(agreement, data={SURVEY: TABLE}, owner=OWNER, out=out, **asked).decision
        if decision:
            decision = smalti.decide(action="read", target=PUBLISHED, **asked)
        if not decision:
            reasons = [reason.text for reason in decision.reasons]
            return {"@type": "TransferTerminationMessage", "reason": reasons}
        place = self.registry.versions(smalti.IRI(PUBLISHED))[-1].path
        return {"@type": "TransferStartMessage", "dataAddress": {"endpoint": place.as_uri()}}


with tempfile.TemporaryDirectory() as folder:
    connector = Connector(Path(folder))
    print("offer of", connector.catalogue()["@id"], "by", connector.catalogue()["hasPolicy"][0]["assigner"])
    try:
        connector.agree("wider-agreement.json")
    except smalti.SmaltiError as error:
        print(f"refused: {error.problem}")
    agreed = connector.agree("agreement.json")
    print("in force:", agreed)
    for facts in ((), (MEMBER,)):
        answer = connector.transfer("transfer.json", PARTNER, *facts)
        said = answer["reason"][1] if "reason" in answer else answer["dataAddress"]["endpoint"]
        print(*facts or ["no facts"], answer["@type"], said, sep=", ")
    connector.registry.revoke_policy(smalti.IRI(agreed), smalti.IRI(OWNER))
    print("revoked:", connector.transfer("transfer.json", PARTNER, MEMBER)["@type"])
