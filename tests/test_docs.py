"""The documentation runs: every command, every output that is shown, every block of Python."""

import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from wording import CLAIMS

from smalti.cli.main import main

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
    if path.is_file()
)
ON_SPARK = ROOT / "docs" / "how-to" / "spark.md"

BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="(?P<file>[\w.-]+)"')
SHOWN = re.compile(r"^ *print\(.*\)  # (?P<text>.*)$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<to>[^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- Reading documents ------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    file: str | None
    """Where the block's text goes, for a block with a title."""
    text: str


@dataclass
class Command:
    text: str
    shown: list[str] = field(default_factory=list)


def blocks(document: Path) -> Iterator[Block]:
    content = document.read_text(encoding="utf-8")
    for match in BLOCK.finditer(content):
        language = match["info"].partition(" ")[0]
        title = TITLE.search(match["info"])
        line = content.count("\n", 0, match.start()) + 1
        yield Block(document, line, language, title["file"] if title else None, match["text"])


def commands(block: Block) -> list[Command]:
    r"""Lines with `$ ` are commands, `> ` goes on with one, all others are what it prints."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:]))
        elif line.startswith("> "):
            found[-1].text += "\n" + line[2:]
        else:
            found[-1].shown.append(line)
    return found


def pattern(shown: list[str]) -> str:
    """Lines as a regular expression: `...` alone is any number of lines, and any text inside one."""
    lines = [
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown
    ]
    return "".join(lines)


def without_ends(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


# --- Running them -----------------------------------------------------------------------------

Runner = Callable[[str, Path], tuple[int, str]]
"""From a command and the folder that it runs in to its exit code, and what it printed."""


def in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": tools, "HOME": str(folder)}
    environment.pop("SMALTI_SECRET", None)
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


def in_this_process(command: str, folder: Path) -> tuple[int, str]:
    """A `smalti` command, without a process of its own and with the Spark session that is there."""
    words = shlex.split(command.replace("\\\n", ""))
    words, file = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
    if words[0] != "smalti" or {"|", ">"} & set(words):
        return in_a_shell(command, folder)
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        (folder / file).open("w", encoding="utf-8") if file else nullcontext(printed) as answer,
        redirect_stdout(answer),
        redirect_stderr(printed),
    ):
        patch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as left:
            main()
    assert isinstance(left.value.code, int)
    return left.value.code, printed.getvalue()


def run_document(document: Path, folder: Path, run: Runner) -> None:
    names: dict[str, Any] = {}
    for block in blocks(document):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            run_commands(block, folder, run)
        elif block.language == "python":
            run_python(block, names)


def run_commands(block: Block, folder: Path, run: Runner) -> None:
    found, code = commands(block), 0
    for i, command in enumerate(found):
        where = f"{name(block.document)}:{block.line}: {command.text}"
        if command.text == "echo $?":
            assert command.shown == [str(code)], where
            continue
        code, printed = run(command.text, folder)
        is_shown = i + 1 < len(found) and found[i + 1].text == "echo $?"
        assert is_shown or code == 0, f"{where}\n{printed}"
        if command.shown:
            printed = without_ends(printed)
            assert re.fullmatch(pattern(command.shown), printed), f"{where}\n{printed}"


def run_python(block: Block, names: dict[str, Any]) -> None:
    """What a `print` shows stands behind it as a comment."""
    code = compile("\n" * block.line + block.text, str(block.document), "exec")
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code, names)
    expected = pattern([match["text"] for match in SHOWN.finditer(block.text)])
    assert re.fullmatch(expected, without_ends(printed.getvalue())), f"{name(block.document)}:{block.line}"


def left_out(folder: str, names: list[str]) -> set[str]:
    """Only what belongs to the examples: not what somebody who follows the README leaves there."""
    kept = {"policies", "data", "negotiation"} | {name for name in names if name.endswith(".py")}
    return set(names) - kept if Path(folder).name == "examples" else {"__pycache__"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `examples/`, where every command of the documentation runs."""
    place = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", place, ignore=left_out)
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    return place


def with_code(folder: Path) -> list[Path]:
    return [
        path
        for path in DOCUMENTS
        if folder in path.parents and {"console", "python"} & {block.language for block in blocks(path)}
    ]


def test_readme_runs(folder: Path) -> None:
    """That a shell finds the installed command, the tests of the demo hold."""
    run_document(ROOT / "README.md", folder, in_this_process)


TRAINS = {"synthetic-data.md", "audit-a-model.md", "compare-central-and-local.md"}
"""Pages whose commands train many models: slow."""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, id=name(path), marks=[pytest.mark.slow] if path.name in TRAINS else [])
        for path in with_code(ROOT / "docs")
        if path != ON_SPARK
    ],
)
def test_document_runs(document: Path, folder: Path) -> None:
    run_document(document, folder, in_this_process)


def test_document_about_spark_runs(folder: Path, spark: Any) -> None:
    run_document(ON_SPARK, folder, in_this_process)


def test_all_documents_with_code_are_run() -> None:
    assert set(with_code(ROOT)) == {ROOT / "README.md", *with_code(ROOT / "docs")}


# --- The examples -----------------------------------------------------------------------------


def test_governance_layer(folder: Path) -> None:
    script = folder / "governance.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 40
    code, printed = in_a_shell("python governance.py", folder)
    assert code == 0, printed
    assert re.search(r"^marketing: permit\b", printed, re.MULTILINE)
    assert re.search(r"^statistical: deny\b", printed, re.MULTILINE)
    assert "enough rows" in printed


def test_connector(folder: Path) -> None:
    script = folder / "connector.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 65
    code, printed = in_a_shell("python connector.py", folder)
    assert code == 0, printed
    offer, refused, in_force, without_facts, with_facts, revoked = printed.splitlines()
    assert offer == "offer of http://example.com/survey/contraceptive by http://example.com/party/owner"
    assert refused.startswith("refused: the agreement leaves out an offered constraint")
    assert in_force.startswith("in force: urn:uuid:")
    assert re.match(r"no facts, TransferTerminationMessage, .* states no `Membership`", without_facts)
    assert re.match(r"cx-policy:Membership=active, TransferStartMessage, file://\S+/published", with_facts)
    assert revoked == "revoked: TransferTerminationMessage"


@dataclass(frozen=True)
class Demo:
    folder: Path
    """Where it ran; its name is short, for paths are printed."""
    printed: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    place = tmp_path_factory.mktemp("demo")
    shutil.copytree(ROOT / "examples", place / "examples", ignore=left_out)
    code, printed = in_a_shell("python examples/demo.py", place)
    assert code == 0, printed
    return Demo(place, printed)


def test_demo_shows_what_it_should_and_its_next_commands_run(demo: Demo) -> None:
    assert len(demo.printed.splitlines()) <= 110, "two screens"
    for wanted in (
        r"^promise .*l-diversity",  # what the policy asked
        r"^CustomerID +dropped",
        r"^ZIP +generalised",
        r"^Amount +kept",
        r"^Branch +dropped",
        r"achieved k = \d+",
        r"achieved l \(least over the classes\): \w+ \d+",
        r"information lost \(global certainty penalty\): [\d.]+%",
        r"^not covered ",
        r"^output +\S",
        r"^certificate +\S[^:]*\(unsigned\)",
        r"^target +http\S+ version 1, recorded in ",
        r"^permit: \S+ may read ",
        r"^deny: \S+ may not read .*\n  - ",  # with a reason
    ):
        assert re.search(wanted, demo.printed, re.MULTILINE), wanted
    following = re.findall(r"^  (.*smalti .*)$", demo.printed.partition("\nNext:\n")[2], re.MULTILINE)
    assert len(following) == 3
    for command in following:
        code, printed = in_a_shell(command, demo.folder)
        assert code == 0, f"{command}\n{printed}"


def test_demo_shows_rows_of_generated_data_only(demo: Demo) -> None:
    survey = (ROOT / "examples" / "data" / "contraceptive.csv").read_text(encoding="utf-8").splitlines()
    assert not [row for row in survey[1:] if row in demo.printed]


# --- The words, links and tables --------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_no_claim_that_nobody_can_keep(document: Path) -> None:
    text = " ".join(document.read_text(encoding="utf-8").split())
    wrong = [s for s in re.split(r"(?<=[.!?]) ", text) if CLAIMS.search(s) and "never" not in s.lower()]
    assert wrong == []


def anchors(document: Path) -> set[str]:
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links_lead_somewhere(document: Path) -> None:
    wrong = []
    for match in LINK.finditer(BLOCK.sub("", document.read_text(encoding="utf-8"))):
        place, _, anchor = match["to"].partition("#")
        if "://" in place:
            continue
        target = (document.parent / place).resolve() if place else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(match["to"])
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_blocks_of_json_are_json(document: Path) -> None:
    for block in blocks(document):
        if block.language in {"json", "jsonld"}:
            json.loads(block.text)


def test_every_target_of_make_that_is_named_is_there() -> None:
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(r"(?:^ *|`)make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= there, name(document)


def test_generated_pages_are_up_to_date() -> None:
    for page, made in runpy.run_path(str(ROOT / "tools" / "generate.py"))["PAGES"].items():
        written = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert written == made(), f"run `python tools/generate.py`: {page} is out of date"


def test_pages_that_messages_name_are_there() -> None:
    sources = [
        path
        for room in ("src", "studies", "engine", "policy", "transforms")
        for path in (ROOT / room).rglob("*.py")
    ]
    named = {
        page for path in sources for page in re.findall(r"\bdocs/[\w./-]+\.md", path.read_text("utf-8"))
    }
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == []


# --- The runner itself ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        (["a ... c"], "a b c\n", True),
        (["a", "...", "z"], "a\nb\nc\nz\n", True),
        (["a", "...", "z"], "a\nz\n", True),
        (["a"], "a\nb\n", False),
        (["[17..34]"], "[17xx34]\n", False),
    ],
)
def test_pattern(shown: list[str], printed: str, fits: bool) -> None:
    assert bool(re.fullmatch(pattern(shown), printed)) is fits


def test_the_door_shows_the_policy_of_the_examples_and_figures_that_were_measured() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "policies" / "visits.yaml").read_text(encoding="utf-8") in readme
    measured = (ROOT / "docs" / "how-to" / "learn-from-published.md").read_text(encoding="utf-8")
    figures = re.findall(r"(0\.\d{3})\s+(?:on\s+the\s+original|at\s+k = (\d+))", readme)
    assert len(figures) == 3
    for figure, k in figures:
        row = f"k = {k}" if k else "original"
        assert f"| {row} | {figure} |" in measured
