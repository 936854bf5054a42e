"""Imports between rooms only point downwards, and each heavy library has one door."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from generators.architecture import FLOORS, MAY_IMPORT, arrows, dotted_name, imports, upward

from smalti.engine.binding.capability import capability_of
from smalti.engine.plan.kinds import TABLE, Entry, Kind, kind_of, plan_class
from smalti.engine.registry.registry import Registry

ROOT = Path(__file__).parents[1]
SHARED = {"errors"}  # smalti.errors: the one leaf that every room may import
HEAVY = {"duckdb", "pyspark", "sqlalchemy"}


def source_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def every_import(*folders: str) -> Iterator[tuple[str, str]]:
    for path in source_files(*folders):
        for name in imports(path, ROOT):
            yield str(path.relative_to(ROOT)), name


def room_of(name: str) -> str | None:
    """Return the room (or the name in the front door) behind an import of smalti, else None."""
    if name != "smalti" and not name.startswith("smalti."):
        return None
    return [*name.split("."), "<front door>"][1]


def test_rooms_import_only_the_rooms_below_them() -> None:
    wrong = [
        f"{path} imports {name}"
        for room, below in MAY_IMPORT.items()
        for path, name in every_import(room)
        if (found := room_of(name)) is not None and found not in below | SHARED | {room}
    ]
    assert wrong == []


def test_errors_are_a_leaf() -> None:
    path = ROOT / "src" / "smalti" / "errors.py"
    assert [name for name in imports(path, ROOT) if room_of(name)] == []


def test_only_the_spark_backend_imports_pyspark() -> None:
    wrong = {
        path
        for path, name in every_import(*MAY_IMPORT, "src")
        if name.split(".")[0] in {"pyspark", "py4j"} and not path.startswith("engine/backends/spark")
    }
    assert wrong == set()


STORE = {f"smalti.engine.registry.{name}" for name in ("_tables", "_journal", "_migrations", "_database")}
"""What keeps the rows of a registry; what they mean is told above it."""


@pytest.mark.parametrize("module", sorted(STORE))
def test_the_store_of_a_registry_knows_nothing_of_what_it_stores(module: str) -> None:
    """Nor do its migrations, which must mend an old registry as ever, whatever comes to mean what."""
    path = ROOT / f"{module.removeprefix('smalti.').replace('.', '/')}.py"
    known = {name for name in imports(path, ROOT) if room_of(name) is not None}
    assert {name for name in known if name not in STORE and name.rpartition(".")[0] not in STORE} <= {
        "smalti.errors.RegistryError"
    }


def test_each_change_of_a_registry_is_checked_by_the_one_way_to_write() -> None:
    """Only `Database.change` opens a transaction that writes."""
    writing = {
        (str(path.relative_to(ROOT)), node.attr)
        for path in source_files("engine", "src")
        if re.search("writing|_transaction", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in {"writing", "_transaction"}
    }
    assert writing == {
        ("engine/registry/_database.py", "writing"),
        ("engine/registry/_database.py", "_transaction"),
    }


PUBLIC_OF_REGISTRY = 33
"""Methods and properties of `Registry`, for whoever embeds smalti; what the engine asks stands in rooms."""


def test_the_registry_is_a_small_front_of_rooms() -> None:
    rooms = {one.name for one in fields(Registry) if not (one.init or one.name.startswith("_"))}
    assert {"policies", "ownership", "outputs", "ledger", "withdrawals", "jobs"} <= rooms
    public = {name for name in vars(Registry) if not name.startswith("_")}
    assert len(public - {one.name for one in fields(Registry)}) == PUBLIC_OF_REGISTRY


@pytest.mark.parametrize("room", ["vocab", "policy", "transforms", "studies"])
def test_only_the_engine_knows_databases_and_clusters(room: str) -> None:
    wrong = [f"{path} imports {name}" for path, name in every_import(room) if name.split(".")[0] in HEAVY]
    assert wrong == []


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    files = [
        path for path in source_files("engine") if path.relative_to(ROOT).parts[1].startswith("verify")
    ]
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imports(path, ROOT)
        if name.startswith("smalti.transforms")
        and name != "smalti.transforms.base"
        and not name.startswith("smalti.transforms.base.")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from .. import transforms", "smalti.transforms"),
        ("from ..transforms.base import Guarantee", "smalti.transforms.base.Guarantee"),
        ("def f():\n    from smalti import cli", "smalti.cli"),
        ("import smalti.engine as e", "smalti.engine"),
    ],
)
def test_imports_are_found_in_every_form(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "policy" / "model.py"
    path.parent.mkdir()
    path.write_text(text)
    assert imports(path, tmp_path) == (found,)


SERVICE_SEES = {
    "smalti.engine.jobs", "smalti.engine.jobs.requests", "smalti.engine.registry.job_entries",
    "smalti.engine.registry.access", "smalti.engine.registry.bound_data",
    "smalti.engine.registry.data_flows",
    "smalti.engine.registry.entries", "smalti.engine.registry.registry", "smalti.engine.registry.sessions",
    "smalti.engine.registry.commit", "smalti.engine.plan.plan", "smalti.engine.tables.sending",
    "smalti.policy.decide.decision", "smalti.policy.decide.names", "smalti.policy.findings.render",
    "smalti.vocab.terms",
}  # fmt: skip
"""What of the rooms the service names: the registry that it asks, and types of what it passes on."""
WEB = {"starlette", "uvicorn", "joserfc", "prometheus_client", "python_multipart"}


def test_the_service_does_everything_by_the_functions_of_the_command_line() -> None:
    """It imports no kernel, engine, reader or writer: what it does, `smalti.*` does for it."""
    imported = {
        name.rpartition(".")[0]
        for path, name in every_import("src/smalti/service")
        if room_of(name) in {*MAY_IMPORT}
    }
    assert imported == SERVICE_SEES
    elsewhere = {
        path
        for path, name in every_import(*MAY_IMPORT, "src")
        if name.split(".")[0] in WEB or name.startswith("smalti.service")
        if not path.startswith("src/smalti/service/")
    }
    assert elsewhere == {"src/smalti/cli/serve.py"}


def test_operations_are_answered_in_one_way() -> None:
    """Only `handling` sees requests and recognises who asks; operations get what it read."""
    asking = {
        path
        for path, name in every_import("src/smalti/service")
        if name == "starlette.requests.Request" or name.endswith("authentication.Authentication")
    }
    folder = "src/smalti/service"
    assert asking == {
        f"{folder}/{name}.py"
        for name in (
            "application", "bodies", "handling", "opening", "state", "web/handling", "web/receiving",
            "web/sessions", "web/site",
        )
    }  # fmt: skip


def test_pages_are_clients_of_operations() -> None:
    """What a page shows it asks for as any client does: it opens no registry, and decides nothing."""
    machinery = {"handling", "drawings", "page", "receiving", "rendering", "sessions", "site"}
    for path in source_files("src/smalti/service/web"):
        if path.stem in machinery:
            continue
        imported = {name for name in imports(path, ROOT) if name.startswith("smalti.")}
        allowed = (
            "smalti.service.web.", "smalti.service.parties.", "smalti.service.problems.",
            "smalti.service.operations.", "smalti.service.received.", "smalti.service.asking.",
            "smalti.json.text.", "smalti.fluent.new_policy",
        )  # fmt: skip
        assert {name for name in imported if not name.startswith(allowed)} == set(), path


# --- Rooms inside of the engine


GROUND = {"base", "class_models", "plan_fields", "problem", "identifiability", "sensitivity"}
"""Modules of transforms below all of its rooms; documents name the last two."""
BESIDE = {
    "engine": {"arguments"},
    "policy": set(),
    "transforms": {*GROUND, "algorithms", "randomized_response"},
}
"""The modules that stand in no room."""


@pytest.mark.parametrize("package", FLOORS)
def test_each_module_stands_in_a_room(package: str) -> None:
    flat = {path.stem for path in (ROOT / package).glob("*.py")}
    assert flat == {"__init__", *BESIDE[package]}
    assert {path.parent.name for path in (ROOT / package).rglob("*/__init__.py")} == FLOORS[package].keys()


@pytest.mark.parametrize("package", FLOORS)
def test_rooms_import_downwards(package: str) -> None:
    found = arrows(ROOT, package)
    assert len(found) >= len(FLOORS[package]) - 1, "imports are found"
    assert upward(found, package) == set()


def test_the_ground_of_transforms_imports_no_room() -> None:
    wrong = {
        (name, imported)
        for name in GROUND
        for imported in imports(ROOT / "transforms" / f"{name}.py", ROOT)
        if re.match(r"smalti\.transforms\.(\w+)", imported) and imported.split(".")[2] not in GROUND
    }
    assert wrong == set()


@pytest.mark.parametrize(
    ("documented", "room"),
    [
        ("smalti.transforms.noise", "smalti.transforms.noise.samplers"),
        ("smalti.transforms.randomized_response", "smalti.transforms.noise.randomized_response"),
    ],
)
def test_documented_names_have_all_that_is_public(documented: str, room: str) -> None:
    """They are for users: no module of ours imports anything by them."""
    names, there = import_module(documented), import_module(room)
    made = {name for name, value in vars(there).items() if getattr(value, "__module__", "") == room}
    defined = {name for name in made.union(there.__annotations__) if not name.startswith("_")}
    assert set(names.__all__) == defined
    assert all(getattr(names, name) is getattr(there, name) for name in defined)
    using = {
        path
        for path, name in every_import("engine", "transforms", "studies", "src")
        if name.startswith(f"{documented}.") and name.removeprefix(f"{documented}.") in defined
    }
    assert using == set()


def test_the_trainer_of_tensorflow_has_its_first_documented_name() -> None:
    first = import_module("smalti.transforms.membership.tensorflow_trainer")
    there = import_module("smalti.studies.tensorflow.trainer")
    assert first.TensorFlowTrainer is there.TensorFlowTrainer
    with pytest.raises(AttributeError):
        _ = first.Trainer


KINDS = {entry.room.rpartition(".")[2] for entry in TABLE}


def test_no_capability_knows_another() -> None:
    wrong = {(room, other) for room, other in arrows(ROOT, "engine") if {room, other} <= KINDS}
    assert wrong == set()


QUERIES = {"engine/run/case_files.py", "engine/arguments.py"}
"""What takes the query of a release, which a request may hold."""


def rooms_named(path: Path) -> Iterator[str]:
    """What of the rooms of capabilities a file names: in imports, and in texts that name a module."""
    for name in imports(path, ROOT):
        yield from re.findall(r"^smalti\.engine\.(\w+)", name)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"smalti\.engine\.(\w+)", node.value)


def test_only_the_table_names_the_rooms_of_capabilities() -> None:
    """The driver, and what asks over all kinds, finds them by the table."""
    wrong = {
        (str(path.relative_to(ROOT)), room)
        for path in source_files("policy", "transforms", "studies", "engine")
        if path.relative_to(ROOT).parts[1] not in KINDS
        for room in KINDS.intersection(rooms_named(path))
    }
    named = {path for path, _ in wrong} - {"engine/plan/kinds.py"}
    assert named == QUERIES, wrong
    assert {room for path, room in wrong if path in QUERIES} == {"releases"}
    assert {room for path, room in wrong if path not in QUERIES} == KINDS


WORDS = {"ANONYMIZE", "TRAIN", "DIFFERENTIAL_PRIVACY", "LOCAL_DIFFERENTIAL_PRIVACY"}
VALUES = {*map(str, Kind), *(entry.action for entry in TABLE), *(entry.method for entry in TABLE)} - {None}
CLASSES = re.compile(r"(\w*(Plan|Guarantee|Report|Check))$")
ASKING = ast.Compare | ast.MatchValue | ast.IfExp | ast.Dict | ast.Set | ast.List | ast.Tuple
"""What chooses by a value, or holds values to choose by."""


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def chosen_by(node: ast.AST) -> Iterator[str]:
    """What of kinds, actions, methods, plans, guarantees, reports and checks a piece of code chooses by."""
    if isinstance(node, ASKING):
        yield from WORDS.intersection(names_in(node))
    if isinstance(node, ast.Compare | ast.MatchValue):
        parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.value]
        yield from (one.value for one in parts if isinstance(one, ast.Constant) and one.value in VALUES)
        yield from filter(CLASSES.match, (one.id for one in parts if isinstance(one, ast.Name)))
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Kind":
        yield from {f"Kind.{kind.name}" for kind in Kind if kind.name == node.attr}
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"isinstance", "issubclass"}:
        yield from (name for one in node.args[1:] for name in filter(CLASSES.match, names_in(one)))
    if isinstance(node, ast.MatchClass):
        yield from filter(CLASSES.match, names_in(node.cls))


def asked_how(node: ast.AST) -> Iterator[str]:
    """Which way of a permission a piece of code looks for; `Permission.how` tells, and the table whose."""
    if isinstance(node, ast.Compare) and any(isinstance(one, ast.Constant) for one in node.comparators):
        yield from {"training", "anonymization"}.intersection(
            one.attr for one in [node.left] if isinstance(one, ast.Attribute)
        )


def dispatches(tree: ast.AST, *, of_policies: bool = False) -> set[tuple[int, str]]:
    """The lines that choose by a kind, with what they choose by."""
    return {
        (getattr(node, "lineno", getattr(getattr(node, "cls", None), "lineno", 0)), found)
        for node in ast.walk(tree)
        for found in (*chosen_by(node), *(() if of_policies else asked_how(node)))
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("isinstance(made, ReleasePlan)", {"ReleasePlan"}),
        ("isinstance(made, int | Plan)", {"Plan"}),
        ("issubclass(made, Plan)", {"Plan"}),
        ("type(made) is plan.Plan or type(made) is ReleasePlan", {"ReleasePlan"}),
        ("match g:\n    case LocalGuarantee():\n        pass", {"LocalGuarantee"}),
        ("isinstance(check, PublishedCheck)", {"PublishedCheck"}),
        ("isinstance(made, Planned)", set()),
        ("action == TRAIN", {"TRAIN"}),
        ("way.method in {terms.DIFFERENTIAL_PRIVACY}", {"DIFFERENTIAL_PRIVACY"}),
        ("_CHARGED = frozenset({LOCAL_DIFFERENTIAL_PRIVACY})", {"LOCAL_DIFFERENTIAL_PRIVACY"}),
        ("_VIEWS = {ANONYMIZE: 1}", {"ANONYMIZE"}),
        ("terms.TRAIN if is_model else None", {"TRAIN"}),
        ("match a:\n    case terms.TRAIN:\n        pass", {"TRAIN"}),
        ("plan.kind is Kind.RELEASE", {"Kind.RELEASE"}),
        ("_VIEWS = {Kind.TRAINING: 1}", {"Kind.TRAINING"}),
        ('plan.kind == "release"', {"release"}),
        ('match kind:\n    case "perturbation":\n        pass', {"perturbation"}),
        ("permission.training is not None", {"training"}),
        ("Request(party, ANONYMIZE)", set()),
        ("Kind.ACTION", set()),
    ],
)
def test_dispatch_is_found(text: str, found: set[str]) -> None:
    assert {name for _, name in dispatches(ast.parse(text))} == found


DISPATCHES = {
    "engine/registry/implicit_rule.py": (3, "which duties a decision looks into"),
    "policy/decide/tally.py": (2, "which duties a decision leaves to a plan"),
    "policy/decide/reasons.py": (1, "remedies to anonymize"),
    "policy/decide/column_uses.py": (1, "statistics choose among the columns that a rule names"),
    "policy/read/combinations.py": (4, "which words of the language stand together"),
    "policy/decide/index.py": (1, "who may read what is anonymized so, may anonymize it"),
    "policy/lint/overlaps.py": (2, "likewise"),
    "policy/decide/prepared.py": (6, "likewise, and remedies"),
    "policy/model/model.py": (2, "`how`, which the table is asked with"),
    "policy/read/reading_conditions.py": (1, "where columns may stand in the language"),
    "policy/read/rules.py": (6, "which refinements of the language an action has"),
    "policy/lint/shutting_out.py": (1, "the neighbouring relation of reports is fixed"),
    "policy/read/unimplemented.py": (1, "remedies to anonymize"),
    "src/smalti/estimating.py": (2, "`smalti estimate` is about perturbed records alone"),
}
"""Lines that choose by a kind outside of the table and the capabilities: how many, and why. Only fewer."""


def is_of_one_kind(path: str) -> bool:
    """Whether a file is the table, or of one capability: a room, a plan, what the terminal shows."""
    views = {f"src/smalti/show/{kind}.py" for kind in Kind}
    plans = {"engine/plan/kinds.py", "engine/plan/plan.py", "engine/plan/bucketization.py"}
    return path in views | plans or path.split("/")[1] in KINDS


def test_only_the_table_and_capabilities_choose_by_a_kind() -> None:
    found = {
        str(path.relative_to(ROOT)): dispatches(
            ast.parse(path.read_text(encoding="utf-8")), of_policies=path.is_relative_to(ROOT / "policy")
        )
        for path in source_files("policy", "transforms", "studies", "engine", "src")
    }
    outside = {
        path: {line for line, _ in sites}
        for path, sites in found.items()
        if sites and not is_of_one_kind(path)
    }
    named = {path: count for path, (count, _) in DISPATCHES.items()}
    assert {path: len(lines) for path, lines in outside.items()} == named, outside


def test_the_terminal_shows_the_output_of_each_kind() -> None:
    for kind in Kind:
        assert callable(import_module(f"smalti.show.{kind}").show)


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: entry.kind)
def test_the_table_holds_for_each_capability(entry: Entry) -> None:
    assert capability_of(entry.kind).kind is plan_class(entry.kind).kind is entry.kind
    assert kind_of(entry.action, entry.method, entry.algorithm) is entry.kind


def test_the_map_names_files_that_are_there() -> None:
    named = re.findall(
        r"`([a-z_]+/[A-Za-z0-9_./-]+)`", (ROOT / "docs" / "architecture.md").read_text("utf-8")
    )
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_names_each_room() -> None:
    rooms = re.findall(r"`([a-z]+)/`", (ROOT / "docs" / "architecture.md").read_text("utf-8"))
    assert set().union(*FLOORS.values()) <= set(rooms)


# --- Files


def imported_files() -> dict[str, set[str]]:
    """The modules that each module imports, packages among them."""
    files = {
        ".".join(dotted_name(path, ROOT)).removesuffix(".__init__"): path
        for path in source_files(*MAY_IMPORT, "src")
    }
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for imported in imports(path, ROOT):
            other = imported if imported in files else imported.rpartition(".")[0]
            if other in files and other != name:
                found[name].add(other)
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = imported_files()
    assert sum(map(len, graph.values())) > 1000, "imports are found"
    TopologicalSorter(graph).prepare()  # raises CycleError, which names one
    graph["smalti.errors"].add(next(name for name, others in graph.items() if "smalti.errors" in others))
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
