"""Offers and agreements on the command line and in Python, on the messages of the example."""

import json
import shutil
from pathlib import Path

import pytest
from shell import Ran, smalti

from smalti import PolicyDocument, Registry, SmaltiError, load_policy, offer
from smalti.errors import UsageError
from smalti.policy.model.model import PolicyType
from smalti.policy.read.parse import load, parse
from smalti.vocab.terms import IRI

NEGOTIATION = Path(__file__).parents[1] / "examples" / "negotiation"
OWNER, PARTNER = "http://example.com/party/owner", "http://example.com/party/researcher"
SURVEY = "http://example.com/survey/contraceptive"
OFFER, AGREEMENT = "http://example.com/offer/survey", "urn:uuid:9d3e5b70-7c55-4f0e-8a54-6d2b1c9e3f33"
FACTS = ("--fact", "cx-policy:Membership=active")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(NEGOTIATION, tmp_path / "n")
    return tmp_path / "n"


def add(folder: Path, *arguments: str) -> Ran:
    return smalti("policy", "add", *arguments, "--as", OWNER, cwd=folder)


def template(folder: Path) -> None:
    """The same policy, with its target, its assigner and its assignee left open."""
    document = json.loads((folder / "policy.jsonld").read_text(encoding="utf-8"))
    del document["target"], document["assigner"]
    (folder / "template.json").write_text(json.dumps(document | {"@type": "Set"}), encoding="utf-8")


def decided(folder: Path, *options: str) -> str:
    ran = smalti(
        "decide", "--as", PARTNER, "--action", "anonymize", "--target", SURVEY,
        "--purpose", "statistical", "--format", "json", *options, cwd=folder,
    )  # fmt: skip
    return str(json.loads(ran.out)["effect"])


def test_an_offer_is_written_and_checked(folder: Path) -> None:
    ran = smalti("offer", "policy.jsonld", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert offer(folder / "policy.jsonld") == ran.out
    assert "hospital" in (folder / "policy.jsonld").read_text(encoding="utf-8")
    assert "hospital" not in ran.out
    (folder / "offer.json").write_text(ran.out, encoding="utf-8")
    assert smalti("check", "offer.json", cwd=folder).code == 0


def test_the_recorded_messages_have_the_terms_of_the_offer(folder: Path) -> None:
    """Else the example would show what no connector does."""
    terms = json.loads(offer(folder / "policy.jsonld"))["hasPolicy"][0]
    for name, member in (("request", "offer"), ("agreement", "agreement")):
        message = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))[member]
        for key in ("permission", "prohibition", "profile", "odrl:conflict", "assigner"):
            assert message[key] == terms[key]
    for path in folder.glob("*.json"):
        assert path.name == "transfer.json" or load(path).errors == ()


def test_an_offer_that_cannot_be_written(folder: Path) -> None:
    for arguments, code, said in (
        (("no-file.jsonld",), 2, "cannot be read"),
        (("agreement.json",), 1, "an Agreement is no offer"),
        (("policy.jsonld", "--bind", "colour=http://example.com/red"), 2, "`colour` cannot be bound"),
    ):
        ran = smalti("offer", *arguments, cwd=folder)
        assert (ran.code, ran.out) == (code, ""), ran
        assert said in ran.err


@pytest.mark.parametrize("from_registry", [False, True])
def test_an_agreement_is_put_in_force(folder: Path, from_registry: bool) -> None:
    file = "policy.jsonld"
    if from_registry:
        assert add(folder, file).code == 0
        (folder / file).unlink()
        file = OFFER
    ran = add(folder, file, "--as-agreement", "agreement.json")
    assert (ran.code, ran.out, ran.err) == (0, f"in force: {AGREEMENT}\n", "")
    assert decided(folder) == "deny"
    assert decided(folder, *FACTS) == "permit"
    assert decided(folder, *FACTS, "--time", "2045-01-10T10:00:01Z") == "deny", "20 years after the date"
    assert smalti("policy", "revoke", AGREEMENT, "--as", OWNER, cwd=folder).code == 0
    assert decided(folder, *FACTS) != "permit"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("policy.jsonld", "--as-agreement", "wider-agreement.json"), 1, "purpose is statistical"),
        (("policy.jsonld", "--as-agreement", "request.json"), 1, "this is no agreement"),
        (("policy.jsonld", "--as-agreement", "transfer.json"), 1, "error"),
        (("policy.jsonld", "--as-agreement", "no-file.json"), 2, "cannot be read"),
        (("no-file.jsonld", "--as-agreement", "agreement.json"), 2, "cannot be read"),
        (("http://example.com/offer/none", "--as-agreement", "agreement.json"), 2, "neither a file nor"),
        (
            (OFFER, "--as-agreement", "agreement.json", "--bind", f"target={SURVEY}"),
            2,
            "base=IRI alone",
        ),
        (
            ("template.json", "--as-agreement", "agreement.json", "--bind", "target=http://example.com/x"),
            1,
            f"the target of the agreement, `{SURVEY}`, is not the offered one",
        ),
    ],
)
def test_nothing_is_put_in_force_by_what_is_refused(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    template(folder)
    ran = add(folder, *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert not smalti("policy", "list", "--format", "json", cwd=folder).out.strip("[]\n")


def test_an_agreement_ends_nothing_by_its_uid(folder: Path) -> None:
    """The other side chooses it: here, that of a prohibition of the owner."""
    prohibition = {
        "@context": "http://www.w3.org/ns/odrl.jsonld",
        "@type": "Set",
        "uid": AGREEMENT,
        "prohibition": [{"action": "use", "target": SURVEY, "assigner": OWNER}],
    }
    (folder / "no.jsonld").write_text(json.dumps(prohibition), encoding="utf-8")
    assert add(folder, "no.jsonld").code == 0
    message = ("policy.jsonld", "--as-agreement", "agreement.json")
    for options in ((), ("--replace",)):
        ran = add(folder, *message, *options)
        assert (ran.code, ran.out) == (2, "")
        assert "gree under another uid" in ran.err
        assert "add --replace" not in ran.err
        assert decided(folder, *FACTS) == "deny"
    agreement = load_policy(folder / "policy.jsonld", as_agreement=folder / "agreement.json")
    registry = Registry.open(folder / "smalti.sqlite")
    with pytest.raises(UsageError, match="and would end it"):
        registry.add_policy(agreement.document, "agreement.json", IRI(OWNER), replaces=True)
    registry.close()


def test_a_template_is_offered_for_what_is_bound(folder: Path) -> None:
    template(folder)
    message = ("--as-agreement", "agreement.json")
    assert add(folder, "template.json", *message, "--bind", f"target={SURVEY} assigner={OWNER}").code == 0
    refused = add(folder, "template.json", *message, "--bind", f"assignee={OWNER}")
    assert (refused.code, refused.out) == (1, "")
    assert f"`{PARTNER}`, is not the offered one" in refused.err
    assert add(folder, "template.json", *message).code == 0


@pytest.mark.parametrize("offer", ["policy.jsonld", OFFER])
def test_an_agreement_runs_as_it_was_put_in_force(folder: Path, offer: str) -> None:
    assert add(folder, "policy.jsonld").code == 0
    message = ("--as-agreement", "agreement.json")
    assert add(folder, "policy.jsonld", *message).code == 0
    data = NEGOTIATION.parent / "data" / "contraceptive.csv"
    asked = ("--data", f"{SURVEY}={data}", "--as", PARTNER, "--owner", OWNER, "--purpose", "statistical")
    assert smalti("run", offer, *asked, *message, "--out", "out", cwd=folder).code == 1, "no facts"
    ran = smalti("run", offer, *asked, *message, *FACTS, "--out", "out", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    listed = json.loads(smalti("policy", "list", "--format", "json", cwd=folder).out)
    assert {entry["uid"] for entry in listed} == {AGREEMENT, OFFER}, "nothing else came in force"
    assert smalti("policy", "revoke", AGREEMENT, "--as", OWNER, cwd=folder).code == 0
    assert smalti("run", offer, *asked, *message, *FACTS, "--out", "again", cwd=folder).code == 1


def test_a_policy_of_somebody_else_is_no_offer(folder: Path) -> None:
    assert add(folder, "policy.jsonld").code == 0
    arguments = ("policy", "add", OFFER, "--as-agreement", "agreement.json", "--as", PARTNER)
    assert "neither a file nor the uid" in smalti(*arguments, cwd=folder).err


def test_an_agreement_is_loaded_in_python(folder: Path) -> None:
    def loaded(**options: object) -> PolicyDocument:
        return load_policy(folder / "policy.jsonld", as_agreement=folder / "agreement.json", **options)  # type: ignore[arg-type]

    document = loaded()
    assert document.policy.type is PolicyType.AGREEMENT
    assert document.policy.uid == AGREEMENT
    assert document.name.endswith("agreement.json")
    assert parse(document.document, "a.jsonld").policies == (document.policy,)
    registry = Registry.open(folder / "r.sqlite")
    assert loaded(registry=registry, issuer=OWNER).document == document.document
    registry.add_policy((folder / "policy.jsonld").read_bytes(), "policy.jsonld", IRI(OWNER))
    path = folder / "agreement.json"
    again = load_policy(OFFER, as_agreement=path, registry=registry, issuer=OWNER)
    assert again.document == document.document
    with pytest.raises(SmaltiError):
        load_policy(OFFER, as_agreement=path, registry=registry)
    with pytest.raises(SmaltiError, match="purpose is statistical"):
        load_policy(OFFER, as_agreement=folder / "wider-agreement.json", registry=registry, issuer=OWNER)
    registry.close()
