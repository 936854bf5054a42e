"""The main job on real input: a policy in, a registered and re-measured output with its certificate out."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from smalti.cli.main import cli

HERE = Path(os.path.relpath(Path(__file__).parent))
POLICIES, DATA = HERE / "policies", HERE / "data"
WORK = Path("demo-output")
REGISTRY = WORK / "smalti.sqlite"
MARK = WORK / "README"
OWNER = "http://example.com/party/owner"


def smalti(*arguments: object) -> int:
    """Show a command and its answer; exactly what a shell would."""
    words = [*map(str, arguments), "--registry", str(REGISTRY)]
    print(f"\n$ smalti {shlex.join(words)}", flush=True)
    return int(cli.main(words, standalone_mode=False) or 0)


def show(title: str, path: Path, count: int) -> None:
    """Show the first rows of a file."""
    print(f"{title} ({path})")
    for line in path.read_text().splitlines()[: count + 1]:
        print(f"  {line}")


def main() -> None:
    """Run the policies, ask for decisions, and say what to try next."""
    if WORK.exists() and not MARK.exists():
        sys.exit(f"{WORK} holds something else than an earlier demo: move it away, then try again")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    MARK.write_text("made by examples/demo.py, which removes this folder when it runs again\n")
    customers = WORK / "customers.csv"
    generator = [sys.executable, DATA / "transactions.py", "--customers", "1000", "--seed", "7"]
    subprocess.run([*generator, "--out", customers], check=True, stdout=subprocess.DEVNULL)  # noqa: S603

    show("1. Generated customer transactions, several for each customer", customers, 1)
    smalti(
        "run", POLICIES / "fig-2.6-canonical.jsonld", "--data", f"http://example.com/Customer={customers}",
        "--as", "http://org/user", "--owner", OWNER, "--purpose", "marketing",
        "--out", WORK / "customers-out",
    )  # fmt: skip
    show("The first row of its output", WORK / "customers-out" / "anonCustomer.csv", 1)

    print(
        "\n2. Who may read the output? Whoever may read its input, for a purpose of the policy behind it",
        end="",
    )
    smalti("policy", "add", POLICIES / "analyst-read.jsonld", "--as", OWNER)
    question = ("decide", "--as", "http://example.com/party/analyst", "--action", "read")
    smalti(*question, "--target", "http://example/anonCustomer", "--purpose", "marketing")
    smalti(*question, "--target", "http://example/anonCustomer", "--purpose", "statistical")

    print("\n3. Real microdata: a survey of 1,473 women, with the contraceptive method they use", end="")
    smalti(
        "run", POLICIES / "contraceptive.jsonld",
        "--data", f"http://example.com/survey/contraceptive={DATA / 'contraceptive.csv'}",
        "--as", "http://example.com/party/researcher", "--owner", OWNER, "--purpose", "statistical",
        "--out", WORK / "survey-out",
    )  # fmt: skip

    command = Path(sys.executable).with_name("smalti")
    tool = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    print(f"""Next:
  {tool} targets --as {OWNER} --registry {REGISTRY}
  {tool} verify {WORK}/customers-out --data {customers} --registry {REGISTRY}
  {tool} check examples/policies/fig-2.6.jsonld""")


if __name__ == "__main__":
    main()
