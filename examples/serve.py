"""The service with the example data: an owner's table and policies, an output, and a key for each party."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import smalti
from smalti.engine.registry.access import Role
from smalti.engine.registry.registry import Registry
from smalti.policy.decide.names import iri

HERE = Path(os.path.relpath(Path(__file__).parent))
WORK = Path("serve-output")
MARK = WORK / "README"
ADDRESS = "127.0.0.1:8080"
CUSTOMER = "http://example.com/Customer"
OWNER, USER = "http://example.com/party/owner", "http://org/user"
ANALYST = "http://example.com/party/analyst"


def main() -> None:
    """Fill a registry, print how to ask, and serve until Ctrl+C, with a worker beside."""
    if WORK.exists() and not MARK.exists():
        sys.exit(f"{WORK} holds something else than an earlier example: move it away, then try again")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(mode=0o700)
    MARK.write_text("made by examples/serve.py, which removes this folder when it runs again\n")
    customers, root = WORK / "customers.csv", WORK
    generator = [sys.executable, HERE / "data" / "transactions.py", "--customers", "1000", "--seed", "7"]
    subprocess.run([*generator, "--out", customers], check=True, stdout=subprocess.DEVNULL)  # noqa: S603

    registry = Registry.open(WORK / "smalti.sqlite")
    for policy in ("fig-2.6-canonical.jsonld", "analyst-read.jsonld"):
        registry.add_policy((HERE / "policies" / policy).read_bytes(), policy, iri(OWNER, "owner"))
    registry.bindings.bind(
        iri(CUSTOMER, "target"),
        iri(OWNER, "owner"),
        customers.absolute(),
        customers.name,
        is_uploaded=False,
    )
    outcome = smalti.run(
        HERE / "policies" / "fig-2.6-canonical.jsonld", data={CUSTOMER: customers}, party=USER, owner=OWNER,
        purpose="marketing", out=root / "published", registry=registry,
    )  # fmt: skip
    if outcome.version is None:
        sys.exit(f"the run was not permitted: {outcome.decision.effect}")
    parties = {OWNER: Role.PARTY, USER: Role.PARTY, ANALYST: Role.PARTY,
               "http://example.com/party/regulator": Role.AUDITOR}  # fmt: skip
    keys = {
        party: registry.access.add_key(iri(party, "party"), [role])[0] for party, role in parties.items()
    }
    registry.close()

    print(f"open http://{ADDRESS}/ in a browser, and sign in with one of these keys")
    print("(one for each party; they are in the registry of this example alone):")
    for party, key in keys.items():
        print(f"  {party}\n    {key}")
    file = f"/v1/versions/{outcome.version.run}/files/{outcome.version.files[0].name}"
    ask = "curl -s -H 'Authorization: Bearer"
    print(f"what was published:  {ask} {keys[OWNER]}' http://{ADDRESS}/v1/versions")
    print(
        f"an analyst's copy:   {ask} {keys[ANALYST]}' 'http://{ADDRESS}{file}?purpose=marketing'",
        flush=True,
    )
    smalti_command, place = [sys.executable, "-m", "smalti"], ["--registry", str(WORK / "smalti.sqlite")]
    worker = subprocess.Popen([*smalti_command, "worker", *place])  # noqa: S603
    try:
        subprocess.run([*smalti_command, "serve", *place, "--address", ADDRESS], check=True)  # noqa: S603
    finally:
        worker.terminate()
        worker.wait()


if __name__ == "__main__":
    main()
