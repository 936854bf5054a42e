"""A small world for the tests around the registry; also the script of their child processes."""

import hashlib
import json
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from smalti.engine.anonymization.guarantee import ClassGuarantee
from smalti.engine.plan.files import ColumnLoss, Diversity, InputDigest, PublishedFile, Timing
from smalti.engine.plan.plan import OneRowEach, OutputFormat
from smalti.engine.plan.reports import OwnerReport
from smalti.engine.registry import _tables, commit
from smalti.engine.registry.certificate import Certificate
from smalti.engine.registry.entries import Input, NewVersion, OutputColumn
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.registry.registry import Registry
from smalti.errors import PolicyError
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.read.parse import parse
from smalti.transforms.base import Datatype, Guarantee
from smalti.vocab import terms
from smalti.vocab.terms import IRI

OWNER = IRI("http://org/owner")
OTHER = IRI("http://org/other")
USER = IRI("http://org/user")
SOURCE = IRI("http://example.com/Customer")
SECOND = IRI("http://example.com/Branch")
OUTPUT = IRI("http://example/anonCustomer")
CONTENT = b"ZIP,Amount\n100*,5\n"


def read_rule(uid: str, target: str = SOURCE, **more: str) -> dict[str, Any]:
    return {"uid": f"http://example.com/rule/{uid}", "target": target, "action": "odrl:read", **more}


def anonymize_rule(
    uid: str, target: str = SOURCE, output: str = OUTPUT, purpose: str | None = "marketing"
) -> dict[str, Any]:
    def columns(*names: str) -> list[dict[str, str]]:
        return [{"@id": f"{target}/{name}"} for name in names]

    refinements = [
        ("mosaicrown:method", "eq", "k-anonymity"),
        ("mosaicrown:k", "gteq", 10),
        ("mosaicrown:identifier", "isAllOf", columns("CustomerID")),
        ("mosaicrown:quasi-identifier", "isAllOf", columns("ZIP")),
        ("mosaicrown:sensitive", "isAllOf", columns("Amount")),
    ]
    names = ("leftOperand", "operator", "rightOperand")
    rule: dict[str, Any] = {
        "uid": f"http://example.com/rule/{uid}",
        "target": target,
        "action": [
            {
                "rdf:value": {"@id": "odrl:anonymize"},
                "refinement": [dict(zip(names, parts, strict=True)) for parts in refinements],
            }
        ],
        "output": output,
    }
    return rule if purpose is None else {**rule, "purpose": f"mosaicrown:{purpose}"}


def document(
    uid: str,
    *permissions: dict[str, Any],
    prohibitions: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> bytes:
    """A policy document; only what its rules need is in it."""
    found: dict[str, Any] = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "http://localhost:8000/ns/mosaicrown/namespace.jsonld",
        ],
        "@type": "Set",
        "uid": f"http://example.com/policy/{uid}",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/",
        "conflict": "prohibit",
        **more,
    }
    if permissions:
        found["permission"] = list(permissions)
    if prohibitions:
        found["prohibition"] = list(prohibitions)
    return json.dumps(found, indent=1).encode()


def uid(name: str) -> IRI:
    return IRI(f"http://example.com/policy/{name}")


def everything(registry: Registry) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table; for comparing a registry with itself."""
    with registry._database.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(table.select()).all()), key=repr)
            for table in _tables.metadata.sorted_tables
        }


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


PLAN = json.dumps({"format": 2, "kind": "anonymization", "steps": []})
"""As much of one as a registry reads."""
SOURCE_POLICY = document("anon", anonymize_rule("anon"))


def report() -> OwnerReport:
    return OwnerReport(
        engine="local",
        inputs=(InputDigest("customers.csv", "hmac-sha256:" + "0" * 64),),
        rows_in=432100987,
        rows_out=432100987,
        respondents=123400987,
        classes=77,
        k=13,
        diversity=(Diversity("Amount", 9),),
        losses=(ColumnLoss("ZIP", 0.123456),),
        loss=0.123456,
        timings=(Timing("read", 0.5),),
    )


def files(content: bytes = CONTENT) -> tuple[PublishedFile, ...]:
    return (PublishedFile("data.csv", digest(content), len(content), "text/csv"),)


def certificate(version: IRI, record: dict[str, Any]) -> Certificate:
    return Certificate(
        version=version,
        output=record["target"],
        issued=record["created_at"],
        guarantee=ClassGuarantee(Guarantee("l-diversity", 10, 3), ("ZIP",), sensitive=("Amount",)),
        respondent=record["respondent"],
        inputs=tuple(given.iri for given in record["inputs"]),
        policy_uid=record["policy_uid"],
        policy_digest=record["policy_digest"],
        rule_uid=record["rule_uid"],
        plan_digest=record["plan_digest"],
        files=record["files"],
    )


def alone(text: bytes) -> str | None:
    """What a policy means that inherits from nothing."""
    found = parse(text, "anon.jsonld").policies
    return meaning_digest(found[0]) if found else None


def new_version(version: IRI, **changes: Any) -> NewVersion:
    """What a run of the source policy asks to be recorded."""
    text = changes.pop("document", SOURCE_POLICY)
    record: dict[str, Any] = {
        "target": OUTPUT,
        "format": OutputFormat.CSV,
        "output_digest": digest(CONTENT),
        "files": files(),
        "plan": PLAN,
        "plan_digest": digest(PLAN.encode()),
        "policy_digest": digest(text),
        "policy_uid": uid("anon"),
        "rule_uid": IRI("http://example.com/rule/anon"),
        "rule_purposes": frozenset({terms.MARKETING}),
        "party": USER,
        "purpose": terms.MARKETING,
        "inputs": (Input(SOURCE),),
        "columns": (OutputColumn("ZIP", IRI(f"{OUTPUT}/ZIP"), Datatype.STRING),),
        "respondent": OneRowEach(is_declared=True),
        "created_at": datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC),
        "document": text,
        "document_name": "anon.jsonld",
        "issuer": OWNER,
        "bound_by": OWNER,
        "policy_meaning": alone(text),
        **changes,
    }
    text = certificate(version, record).to_json()
    return NewVersion(**record, certificate=text, report=report())


def run(registry: Registry, out: Path, content: bytes = CONTENT, **changes: Any) -> Any:
    """Stage one file, publish and record it."""
    with commit.staging(registry, out) as stage:
        (stage.output / "data.csv").write_bytes(content)
        stage.link.write_bytes(b"private")
        (stage.spill / "scratch").write_bytes(b"private")
        changes.setdefault("policy_meaning", meaning(registry, **changes))
        return commit.publish(registry, stage, new_version(stage.version, **changes))


def keep_secret(registry: Registry) -> None:
    """Make the registry's secret before anything is recorded, as each run does."""
    load_secret(registry.path)


def meaning(registry: Registry, **changes: Any) -> str | None:
    """What the policy of a run means in its issuer's name."""
    text, issuer = changes.get("document", SOURCE_POLICY), changes.get("issuer", OWNER)
    policy = changes.get("policy_uid", uid("anon"))
    try:
        found = registry.policies.read_as(text, "anon.jsonld", policy, issuer)
    except PolicyError:
        return None
    return None if found is None else meaning_digest(found)


# --- As a script


def _kill_at(point: str) -> None:
    """Make this process kill itself at `module.name:before|after[:nth]`."""
    path, when, nth = (point + ":1").split(":")[:3]
    owner, name = path.rsplit(".", 1)
    module: Any = {"commit": commit, "Intents": Intents, "os": os}[owner]
    real, calls = getattr(module, name), []

    def wrapped(*arguments: Any, **more: Any) -> Any:
        calls.append(name)
        is_now = len(calls) == int(nth)
        if is_now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **more)
        if is_now and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(module, name, wrapped)


def main(command: str, folder: Path, argument: str) -> None:
    registry = Registry.open(folder / "r.sqlite")
    match command:
        case "kill":
            _kill_at(argument)
            run(registry, folder / "out")
        case "add":
            name, count = argument.split(":")
            for number in range(int(count)):
                run(registry, folder / f"out-{name}-{number}")
        case "hold":
            with commit.staging(registry, folder / "held"):
                print("staged", flush=True)
                sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
