"""Templates: policies whose target and parties are bound from outside; unbound, they grant nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import smalti as cli

import smalti
from smalti.errors import PolicyError, UsageError
from smalti.policy.model.binding import NOTHING_BOUND, UNBOUND, Binding, unbound
from smalti.policy.model.iris import iri_problem
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.read.parse import ParsedDocument, parse, require
from smalti.policy.say.bind import bound_document
from smalti.vocab.terms import IRI

ODRL = "http://www.w3.org/ns/odrl.jsonld"
T, OWNER, ANN = "http://example.com/T", "http://example.com/party/owner", "http://example.com/party/ann"
ALL = Binding(IRI(T), IRI(OWNER), IRI(ANN), IRI("http://example.com/"))
BIND = {"target": T, "assigner": OWNER, "assignee": ANN}


def template(**more: Any) -> dict[str, Any]:
    return {"@context": ODRL, "@type": "Set", "uid": "urn:x:p", "permission": [{"action": "read"}], **more}


def read(document: dict[str, Any], binding: Binding = NOTHING_BOUND) -> ParsedDocument:
    return parse(json.dumps(document).encode(), "p.json", binding=binding)


def left_open(document: dict[str, Any]) -> tuple[str, ...]:
    parsed = read(document)
    assert parsed.errors == ()
    if not parsed.templates:
        return ()
    assert parsed.policies == ()
    assert "P520" in {finding.code for finding in parsed.diagnostics}
    return unbound(parsed.templates[0])


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        (template(), ("target", "assigner", "assignee")),
        (template(assigner=OWNER), ("target", "assignee")),
        (template(permission=[{"action": "read", "target": T}]), ()),
        (template(target=T), ()),
        (template(target="T"), ("base",)),
        (template(uid="my-policy"), ("target", "assigner", "assignee", "base")),
        (template(target=T, assigner="provider"), ("base",)),
        (template(**{"@type": "Offer", "target": T}), ("assigner",)),
        (template(**{"@type": "Agreement", "target": T}), ("assigner", "assignee")),
        (template(permission=[], prohibition=[{"action": "read"}]), ("target", "assigner", "assignee")),
        (
            template(permission=[{"action": "read", "target": f"{T}2"}, {"action": "use"}]),
            ("target", "assigner", "assignee"),
        ),
    ],
)
def test_what_must_be_bound(document: dict[str, Any], parts: tuple[str, ...]) -> None:
    assert left_open(document) == parts
    (bound,) = read(document, _binding(parts)).policies
    assert unbound(bound) == ()
    assert UNBOUND not in repr(bound)


def test_in_turtle_the_rule_is_named_that_leaves_a_part_open() -> None:
    text = """@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
    <urn:x:p> a odrl:Set ; odrl:permission [ odrl:action odrl:read ] ."""
    (warning,) = (each for each in parse(text.encode(), "p.ttl").diagnostics if each.code == "P520")
    assert warning.where.node == "<urn:x:p> permission"


def _binding(parts: tuple[str, ...]) -> Binding:
    return Binding(**{part: getattr(ALL, part) for part in parts})


@pytest.mark.parametrize("part", ["target", "assigner", "assignee"])
def test_a_part_that_is_left_open_keeps_it_a_template(part: str) -> None:
    binding = Binding(**{other: IRI(iri) for other, iri in BIND.items() if other != part})
    parsed = read(template(), binding)
    assert parsed.policies == ()
    with pytest.raises(PolicyError, match=f"leaves open: {part}"):
        require(parsed)


def test_the_digest_of_the_meaning_covers_the_binding() -> None:
    first, second = (
        read(template(), Binding(IRI(target), IRI(OWNER), IRI(ANN))).policies[0] for target in (T, f"{T}2")
    )
    assert meaning_digest(first) != meaning_digest(second)
    assert meaning_digest(first) == meaning_digest(
        read(template(permission=[{"action": "read", **BIND}])).policies[0]
    )


@pytest.mark.parametrize(
    "change", [{"target": f"{T}x"}, {"assigner": f"{OWNER}x"}, {"assignee": f"{ANN}x"}], ids=str
)
def test_a_binding_changes_nothing_that_the_document_says(change: dict[str, str]) -> None:
    parsed = read(template(**change), ALL)
    assert [finding.code for finding in parsed.errors] == ["P340"]


@pytest.mark.parametrize(
    "written", [f"{UNBOUND}target", "smalti-unresolved://policy/document/x", f"{UNBOUND}base:x"]
)
def test_no_document_binds_by_a_placeholder(written: str) -> None:
    parsed = read(template(target=written))
    assert parsed.policies == ()
    with pytest.raises(PolicyError):
        require(parsed)


@pytest.mark.parametrize("name", ["target", "assigner", "base:x", "anything", ""])
@pytest.mark.parametrize("part", ["target", "assigner", "assignee", "uid"])
def test_placeholders_are_kept_from_documents(part: str, name: str) -> None:
    parsed = read(template(**({"target": T} | {part: f"{UNBOUND}{name}"})))
    assert {finding.code for finding in parsed.errors} == {"P343"}
    parsed = read(template(target={"@type": "AssetCollection", "source": f"{UNBOUND}{name}"}))
    assert {finding.code for finding in parsed.errors} == {"P343"}


@pytest.mark.parametrize("part", ["target", "assignee"])
def test_a_binding_is_held_against_the_source_of_a_collection(part: str) -> None:
    kind = "AssetCollection" if part == "target" else "PartyCollection"
    for source, errors in ((BIND[part], []), (f"{BIND[part]}x", ["P340"])):
        parsed = read(template(**{part: {"@type": kind, "source": source}}), ALL)
        assert [finding.code for finding in parsed.errors] == errors


def test_a_child_of_a_template_is_none_that_grants() -> None:
    child = {**template(uid="urn:x:c", inheritFrom="urn:x:p"), "permission": []}
    both = [template(), child]
    parsed = parse(json.dumps(both).encode(), "p.json")
    assert parsed.policies == ()


PARTS = st.sampled_from(["target", "assigner", "assignee"])


@given(own=st.sets(PARTS), shared=st.sets(PARTS), bound=st.sets(PARTS), rules=st.integers(1, 3))
def test_what_is_bound_reads_again_as_it_was(
    own: set[str], shared: set[str], bound: set[str], rules: int
) -> None:
    """Each part of each rule stands in it, on the policy, or is bound; the canonical document has all."""
    said = {part: BIND[part] for part in own}
    document = template(permission=[{"action": "read", **said} for _ in range(rules)])
    document |= {part: BIND[part] for part in shared}
    binding = Binding(**{part: IRI(BIND[part]) for part in bound})
    text = json.dumps(document).encode()
    parsed = parse(text, "p", binding=binding)
    assert parsed.errors == ()
    complete = "target" in own | shared or own | shared | bound == set(BIND)
    assert bool(parsed.policies) == complete
    if complete:
        again = parse(bound_document(text, "p", binding), "p").policies
        assert list(map(meaning_digest, again)) == list(map(meaning_digest, parsed.policies))


# --- Names of several parts, as connectors give to offers

IDS = {
    "1:document:13dce0f1": "http://example.com/1:document:13dce0f1",
    "MQ==:ZG9j:Mzc=": "http://example.com/MQ==:ZG9j:Mzc=",
    "4%:a/b:c": "http://example.com/4%25:a%2Fb:c",
    # in base64: contract, document, and a UUID; what stands before the first colon could be a scheme
    "Y29udHJhY3Q=:ZG9j:OGQ1YjFmM2EtNmM0Mi00ZTVhLTljM2QtN2YxZTJiNmE0YzAx":
        "http://example.com/Y29udHJhY3Q=:ZG9j:OGQ1YjFmM2EtNmM0Mi00ZTVhLTljM2QtN2YxZTJiNmE0YzAx",
    "Y29udHJhY3Rz:ZG9j:OGQ1YjFmM2EtNmM0Mi00ZTVhLTljM2QtN2YxZTJiNmE0YzAx":
        "http://example.com/Y29udHJhY3Rz:ZG9j:OGQ1YjFmM2EtNmM0Mi00ZTVhLTljM2QtN2YxZTJiNmE0YzAx",
}  # fmt: skip


@pytest.mark.parametrize("written", IDS)
@pytest.mark.parametrize("key", ["uid", "@id"])
def test_names_of_several_parts_need_a_base(written: str, key: str) -> None:
    document = {key: written, **{k: v for k, v in template(target=T).items() if k != "uid"}}
    assert left_open(document) == ("base",)
    (policy,) = read(document, _binding(("base",))).policies
    assert policy.uid == IDS[written]
    again = parse(bound_document(json.dumps(document).encode(), "p", _binding(("base",))), "p")
    assert again.errors == ()


@pytest.mark.parametrize(
    "base", ["http://example.com/?offer=", "http://example.com/#", "urn:example:", "did:web:example.com:"]
)
@pytest.mark.parametrize("written", IDS)
def test_with_any_base_they_are_spelled_as_smalti_accepts(base: str, written: str) -> None:
    parsed = read(template(target=written, uid=written), Binding(base=IRI(base)))
    assert parsed.errors == ()
    (policy,) = parsed.policies
    assert policy.uid.startswith(base)
    assert iri_problem(policy.uid) == ""


@pytest.mark.parametrize("written", ["ex:document:1", "contract:doc:offer", "http:x", "1:a b:c", "1::c"])
def test_what_may_be_meant_as_an_iri_is_no_such_name(written: str) -> None:
    assert {finding.code for finding in read(template(target=T, uid=written)).errors} & {"P211", "P212"}


# --- Commands


def test_the_advice_to_bind_can_be_followed(folder: Path) -> None:
    advice = cli("check", "b.jsonld", cwd=folder).out.split("help: bind them: ")[1].splitlines()[0]
    assert advice.count("--bind ") == len(BIND) + 1
    bound = cli("check", "b.jsonld", *advice.replace("=IRI", "=http://example.com/x/").split(), cwd=folder)
    assert "template" not in bound.out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.jsonld").write_text(json.dumps(template()))
    (tmp_path / "b.jsonld").write_text(json.dumps(template(uid="my-policy")))
    return tmp_path


def test_check_accepts_a_template_and_says_what_it_needs(folder: Path) -> None:
    ran = cli("check", "t.jsonld", cwd=folder)
    assert ran.code == 0
    assert "a valid template; bind its target, assigner, assignee" in ran.out
    assert UNBOUND not in ran.out
    ran = cli("check", "t.jsonld", "--bind", " ".join(f"{p}={iri}" for p, iri in BIND.items()), cwd=folder)
    assert ran.code == 0
    assert "P520" not in ran.out
    assert "valid: http://example.com/party/ann may read" in ran.out


def test_only_a_bound_template_comes_in_force(folder: Path) -> None:
    add = ("policy", "add", "b.jsonld", "--as", OWNER)
    refused = cli(*add, cwd=folder)
    assert refused.code == 1
    assert "leaves open: target, assigner, assignee, base" in refused.message
    bound = [f"--bind={part}={iri}" for part, iri in BIND.items()]
    done = cli(*add, *bound, "--bind", "base=http://example.com/policy/", cwd=folder)
    assert done.out == "in force: http://example.com/policy/my-policy\n"
    for party, effect in ((ANN, "permit"), (OWNER, "deny")):
        asked = cli("decide", "--as", party, "--action", "read", "--target", T, cwd=folder)
        assert asked.out.startswith(effect)


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ({"targets": T}, "cannot be bound"),
        ({"target": "T"}, "not an absolute IRI"),
        ({"base": "here"}, "not an absolute IRI"),
        ({"base": "http://example.com"}, "would run into"),
        ({"base": "http://example.com/t?"}, "would run into"),
        ({"base": "http://example.com/t"}, "would run into"),
        ({"base": f"{UNBOUND}base:"}, "not bound"),
        ({"target": f"{UNBOUND}target"}, "not bound"),
        ({"assigner": "urn:smalti:Unbound:x"}, "not bound"),
    ],
)
def test_what_cannot_be_bound_is_refused(folder: Path, bind: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        smalti.load_policy(folder / "t.jsonld", bind=bind)


def test_the_api_binds(folder: Path) -> None:
    with pytest.raises(PolicyError, match="template"):
        smalti.load_policy(folder / "t.jsonld")
    document = smalti.load_policy(folder / "t.jsonld", bind=BIND)
    (permission,) = document.policy.permissions
    assert [target.iri for target in permission.targets] == [T]
    assert parse(document.document, "again").policies == (document.policy,)


TEMPLATES = Path(__file__).parent / "templates"
LEFT_OPEN = {
    "agreement-obligation-without-assignee": ("assignee",),
    "agreement-without-assigner": ("assigner",),
    "offer-without-assigner": ("assigner",),
    "target-missing": ("target", "assigner"),
    "target-relative": ("base",),
    "uid-relative": ("base",),
}


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_documents_that_leave_something_open(name: str) -> None:
    parsed = parse((TEMPLATES / f"{name}.jsonld").read_bytes(), name)
    assert parsed.errors == ()
    assert parsed.policies == ()
    assert [unbound(template) for template in parsed.templates] == [LEFT_OPEN[name]]
    assert "P520" in {finding.code for finding in parsed.diagnostics}


def test_every_document_of_a_template_is_in_the_table() -> None:
    assert {path.stem for path in TEMPLATES.iterdir()} == {*LEFT_OPEN}
