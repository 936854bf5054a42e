"""What programs and notebooks that embed smalti rely on: names, logs, HTML, a registry for trying."""

import gc
import logging
import os
import stat
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from shell import CUSTOMER, HEADER, OWNER, USER, small_policy, small_rows, small_table, smalti

import smalti as api
from smalti.engine.registry.registry import Registry
from smalti.errors import SmaltiError
from smalti.policy.findings.html import table

MARK = "wombat"


def run(
    folder: Path, out: str = "out", *, party: str = USER, data: Path | None = None, **choices: object
) -> api.Outcome:
    options = {"registry": folder / "smalti.sqlite", "owner": OWNER, **choices}
    return api.run(
        small_policy(folder), data={CUSTOMER: data or small_table(folder)}, party=party,
        purpose="marketing", out=folder / out, **options,  # type: ignore[arg-type]
    )  # fmt: skip


def marked(folder: Path) -> Path:
    """A table whose every value is marked, but for ages."""
    rows = [
        [f"{MARK}-{who}", age, f"{MARK}-{city}", f"{MARK}-{ill}", MARK]
        for who, age, city, ill in small_rows()
    ]
    return small_table(folder, rows, header=(*HEADER, "<script>"))


def test_the_names_that_embedding_programs_use() -> None:
    assert api.__version__ == version("smalti")
    for name in ("Choices", "Watch", "__version__", "read_published"):
        assert name in api.__all__
        assert getattr(api, name)
        assert name in dir(api)
    assert "purpose" in api.Choices.__annotations__
    assert issubclass(api.SmaltiError, Exception)


def test_a_watch_of_ones_own_is_told_of_each_phase(tmp_path: Path) -> None:
    class Told(api.Watch):
        phases: list[str]

        def phase(self, name: str) -> None:
            self.phases = [*getattr(self, "phases", []), name]
            super().phase(name)

    watch = Told()
    run(tmp_path, watch=watch)
    assert watch.phases[0] == "decide"
    assert watch.phases[-1] == "register"


# --- Logs


def test_a_run_logs_its_phases_and_sizes_and_no_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="smalti")
    outcome = run(tmp_path, data=marked(tmp_path))
    assert outcome.version is not None
    names = {record.name for record in caplog.records}
    assert names
    assert all(name.partition(".")[0] == "smalti" for name in names)
    assert "phase decide begins" in caplog.messages
    assert any(message.startswith("phase register begins") for message in caplog.messages)
    assert any(message.startswith("phase decide ended after 0.") for message in caplog.messages)
    (size,) = (file.size for file in outcome.version.files)
    assert caplog.messages[-1].endswith(f"permit, 1 files, {size} bytes, {len(outcome.warnings)} warnings")
    assert MARK not in caplog.text


def test_denials_and_refusals_are_logged_without_a_value(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="smalti")
    run(tmp_path, party="http://example.com/stranger")
    assert caplog.messages[-1].endswith(": deny")
    rows = [[f"{MARK}-{n}", "30", f"{MARK}-city", f"{MARK}-same"] for n in range(6)]
    with pytest.raises(SmaltiError):
        run(tmp_path, data=small_table(tmp_path, rows))
    assert caplog.messages[-1] == "run refused: GuaranteeError"
    assert MARK not in caplog.text


def test_nothing_is_printed_where_nobody_listens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path)
    assert capsys.readouterr() == ("", "")
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("smalti").handlers)


# --- Notebooks


def test_what_notebooks_show_is_escaped_and_has_no_data_value(tmp_path: Path) -> None:
    data = marked(tmp_path)
    planned = api.plan(small_policy(tmp_path), data={CUSTOMER: data}, party=USER, owner=OWNER,
                       purpose="marketing", registry=tmp_path / "smalti.sqlite")  # fmt: skip
    outcome = run(tmp_path, data=data)
    denied = run(tmp_path, "b", party="http://example.com/stranger")
    assert planned.plan is not None
    for shown in (
        planned._repr_html_(), planned.plan._repr_html_(), outcome._repr_html_(), denied._repr_html_(),
        outcome.decision._repr_html_(),
    ):  # fmt: skip
        assert MARK not in shown
        assert len(shown) < 20_000
        assert "<script" not in shown
    assert "&lt;script&gt;" in planned._repr_html_(), "a column's name"
    assert "deny" in denied.decision._repr_html_()
    assert "generalised to ranges" in planned._repr_html_()
    assert "target" in outcome._repr_html_()


def test_plans_and_trials_are_one_line_and_hold_no_row(tmp_path: Path) -> None:
    data = marked(tmp_path)
    planned = api.plan(small_policy(tmp_path), data={CUSTOMER: data}, party=USER, owner=OWNER,
                       purpose="marketing", registry=tmp_path / "smalti.sqlite")  # fmt: skip
    trial = api.try_out(small_policy(tmp_path), data={CUSTOMER: data}, purpose="marketing")
    assert trial.tried is not None
    assert any(".." in cell for row in trial.tried.rows for cell in row)
    assert repr(planned).startswith("<Planned: permit, anonymization of ")
    assert repr(trial).startswith("<Trial: permit, anonymization of ")
    assert repr(trial).endswith(f", achieved k = {trial.tried.report.k}>")
    for text in (repr(planned), repr(trial), trial._repr_html_()):
        assert MARK not in text
        assert ".." not in text, "a row has ranges"
    assert max(len(repr(planned)), len(repr(trial))) < 200
    assert "achieved k" in trial._repr_html_()


def test_owners_figures_are_shown_to_owners_alone(tmp_path: Path) -> None:
    owned = run(tmp_path)
    assert "achieved k" in owned._repr_html_()
    assert smalti("policy", "add", "policy.jsonld", "--as", OWNER, cwd=tmp_path).code == 0
    other = run(tmp_path, "again", owner=None)
    assert other.version is not None
    assert "achieved k" not in other._repr_html_()
    assert "owner&#x27;s view" in owned._repr_html_()
    assert "owner&#x27;s view" not in other._repr_html_()


def test_long_tables_are_cut() -> None:
    shown = table((f"row {n}", "x") for n in range(100))
    assert "row 29" in shown
    assert "row 30" not in shown
    assert "70 more" in shown


@pytest.mark.parametrize("text", ["<b>", '"', "&", "'"])
def test_all_texts_are_escaped(text: str) -> None:
    assert f">{text}<" not in table([(text, text)], text)


# --- A registry for trying


@pytest.mark.parametrize(
    "opened", [Registry.memory, lambda: Registry.open(":memory:")], ids=["own", "open"]
)
def test_a_registry_in_memory_works_as_any_other_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[[], Registry]
) -> None:
    monkeypatch.chdir(tmp_path)
    registry = opened()
    assert registry.path is not None
    folder = registry.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    first, second = run(tmp_path, "a", registry=registry), run(tmp_path, "b", registry=registry)
    assert first.version is not None
    assert second.version is not None
    assert (first.version.number, second.version.number) == (1, 2)
    assert api.verify(tmp_path / "b", registry=registry).version is not None
    assert not list(tmp_path.glob("*memory*"))
    del registry
    gc.collect()
    assert not folder.exists()


def test_two_registries_in_memory_know_nothing_of_each_other(tmp_path: Path) -> None:
    registry, other = Registry.memory(), Registry.memory()
    run(tmp_path, registry=registry)
    assert api.verify(tmp_path / "out", registry=other).version is None


def test_a_forked_child_leaves_the_registry_of_its_parent(tmp_path: Path) -> None:
    registry = Registry.memory()
    run(tmp_path, registry=registry)
    assert registry.path is not None
    child = os.fork()
    if child == 0:
        try:
            del registry
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert registry.path.exists()


def test_a_registry_in_memory_of_one_call_is_gone_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    assert run(tmp_path, registry=":memory:").version is not None
    gc.collect()
    assert list((tmp_path / "tmp").iterdir()) == []
