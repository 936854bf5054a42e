"""The settings file: what it gives, who may have written it, and what it refuses."""

import json
import os
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from shell import CUSTOMER, OWNER, POLICIES, USER, small_policy, small_table, smalti

from smalti.cli import settings as cli_settings
from smalti.cli import startup
from smalti.cli.job_requests import request_from
from smalti.cli.main import cli
from smalti.cli.options import PARTIES
from smalti.engine.jobs.requests import Audit, JobKind
from smalti.errors import SmaltiError
from smalti.settings import Settings, read_settings
from smalti.settings_text import _is_private

ROOT = Path(__file__).parents[1]
DAILY = f'party = "{USER}"\nowner = "{OWNER}"\nregistry = "shop.sqlite"\noutputs = "published"\n'
BOUND = f'[data]\n"{CUSTOMER}" = "table.csv"\n'


def write(folder: Path, text: str, name: str = "smalti.toml") -> Path:
    place = folder / name
    place.write_text(text, encoding="utf-8")
    place.chmod(0o644)
    return place


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(SmaltiError) as refused:
        read_settings(str(write(folder, text)))
    assert refused.value.exit_code == 2
    return str(refused.value).replace(f"{folder}/", "")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A policy, a table and a settings file."""
    small_policy(tmp_path)
    small_table(tmp_path).rename(tmp_path / "table.csv")
    (tmp_path / "published").mkdir()
    write(tmp_path, DAILY + BOUND)
    return tmp_path


# --- What it gives


def test_a_daily_command_is_short_and_says_what_the_file_gave(world: Path) -> None:
    ran = smalti("run", "policy.jsonld", "--purpose", "marketing", "--format", "json", cwd=world)
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0] == (
        f"settings: smalti.toml gives --out published/policy-1, --data {CUSTOMER}=table.csv,"
        f" --owner {OWNER}, --as {USER}, --registry shop.sqlite"
    )
    assert ran.json["decision"]["effect"] == "permit"
    again = smalti("run", "policy.jsonld", "--purpose", "marketing", "--dry-run", cwd=world)
    assert "--out published/policy-2," in again.err
    assert {path.name for path in world.iterdir()} >= {"shop.sqlite", "published"}
    assert not (world / "smalti.sqlite").exists()


def test_the_command_line_comes_before_the_file(world: Path) -> None:
    other = "http://example.com/party/other"
    asked = ("decide", "--action", "read", "--target", CUSTOMER, "--as", other)
    ran = smalti(*asked, "--registry", "x.sqlite", cwd=world)
    assert (ran.code, ran.err) == (1, ""), "nothing is announced that does not count"
    ran = smalti(*asked, cwd=world)
    assert ran.err == "settings: smalti.toml gives --registry shop.sqlite\n"


def test_what_only_an_owner_does_is_done_as_the_owner(world: Path) -> None:
    added = smalti("policy", "add", POLICIES / "analyst-read.jsonld", cwd=world)
    assert added.err == f"settings: smalti.toml gives --as {OWNER}, --registry shop.sqlite\n"
    assert added.code == 0
    write(world, f'party = "{USER}"\n')
    assert f"--as {USER}" in smalti("policy", "revoke", "urn:x", cwd=world).err, "their own owner"


def test_listings_show_what_an_owner_may_see_only_when_asked(world: Path) -> None:
    assert "--as" not in smalti("targets", cwd=world).err


def test_of_several_bindings_the_policy_names_one(world: Path) -> None:
    write(world, DAILY + BOUND + '"http://example.com/other" = "other.csv"\n')
    assert smalti("plan", "policy.jsonld", "--purpose", "marketing", cwd=world).code == 0
    write(world, DAILY + '[data]\n"urn:a:1" = "a.csv"\n"urn:b:1" = "b.csv"\n')
    refused = smalti("plan", "policy.jsonld", "--purpose", "marketing", cwd=world)
    assert refused.code == 2
    assert "no target of the policy is bound by the settings file (urn:a:1, urn:b:1)" in refused.err
    assert "Give --data IRI=PATH" in refused.err


def test_a_named_file_counts_and_its_paths_are_relative_to_it(world: Path, tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    text = DAILY.replace("shop.sqlite", "../shop.sqlite") + '[data]\n"urn:a:1" = "s3://bucket/a.csv"\n'
    named = str(write(tmp_path / "conf", text, "daily.toml"))
    file = read_settings(named)
    assert file is not None
    assert file.settings.registry == f"{tmp_path}/conf/../shop.sqlite"
    assert file.settings.outputs == f"{tmp_path}/conf/published"
    assert file.settings.data == (("urn:a:1", "s3://bucket/a.csv"),)
    shown = smalti("--settings", "conf/daily.toml", "policy", "list", cwd=world)
    assert shown.err == "settings: conf/daily.toml gives --registry conf/../shop.sqlite\n"


def test_the_environment_names_a_file_and_no_settings_means_none(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALTI_SETTINGS", "none.toml")
    refused = smalti("targets", cwd=world)
    assert refused.code == 2
    assert refused.message.startswith("none.toml (--settings, SMALTI_SETTINGS): the file cannot be read")
    assert smalti("--no-settings", "targets", cwd=world).err == ""


def test_folders_above_the_working_folder_are_not_searched(world: Path) -> None:
    (world / "below").mkdir()
    assert smalti("targets", cwd=world / "below").err == ""


def test_a_broken_file_hinders_neither_help_nor_commands_that_take_nothing_from_it(world: Path) -> None:
    write(world, "registry = x")
    for words in (["--version"], ["run", "--help"], ["check", "policy.jsonld"]):
        assert smalti(*words, cwd=world).code == 0
    assert smalti("targets", cwd=world).message.startswith("smalti.toml, line 1, column 12: it is not TOML")


def test_an_audit_in_the_background_gets_the_values_of_its_start(world: Path) -> None:
    context = click.Context(cli, obj=cli_settings.Choice(None, is_off=False))
    with pytest.MonkeyPatch.context() as patch, context:
        patch.chdir(world)
        words = ("policy.jsonld", "--as", "urn:party:me")
        request, registry = request_from(JobKind.AUDIT, words, None, named="smalti run")
    assert request == Audit(
        policy=str(world / "policy.jsonld"), target=CUSTOMER, data=str(world / "table.csv"),
        party="urn:party:me", owner=OWNER, out=str(world / "published" / "policy-1"),
    )  # fmt: skip
    assert registry == "shop.sqlite"


def test_settings_of_spark_count_with_spark_alone_which_needs_pandas() -> None:
    settings = Settings.model_validate(
        {"advanced": {"engine": "spark", "master": "local[2]", "conf": {"spark.ui.enabled": "false"}}}
    )
    for opts, values in (
        ({}, ["spark", "local[2]", ("spark.ui.enabled=false",)]),
        ({"engine": "local"}, ["spark", None, None]),
    ):
        names = ("engine", "master", "conf")
        assert [cli_settings._value(name, settings, opts) for name in names] == values
    assert cli_settings._shown("conf", "spark.x=hidden") == "spark.x"
    assert cli_settings._shown("data", "urn:a:1=s3://bucket/hidden") == "urn:a:1=..."


def test_spark_in_the_file_lets_pandas_in(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(startup, "let_pandas_in", lambda: called.append(True))
    write(world, DAILY + BOUND + '[advanced]\nengine = "spark"\n')
    smalti("run", "none.jsonld", "--out", "x", cwd=world)
    assert called == [True]


# --- Who may have written it


def test_others_must_not_be_able_to_write_it(world: Path) -> None:
    (world / "smalti.toml").chmod(0o646)
    refused = smalti("targets", cwd=world)
    assert refused.code == 2
    assert refused.message == (
        "smalti.toml: others can write it; expected a file of your own that nobody else can write. Run"
        " `chmod go-w smalti.toml`, or name it with --settings smalti.toml if you trust it, or use"
        " --no-settings\n"
    )
    assert smalti("--settings", "smalti.toml", "targets", cwd=world).code == 0


def test_a_file_that_nobody_named_runs_no_programs_and_asks_no_other_machine(world: Path) -> None:
    """It belongs to the user, and may still have come with the files of a stranger."""
    write(
        world, DAILY + '[advanced]\nmaster = "local[2]"\n[advanced.conf]\n"spark.executor.memory" = "8g"\n'
    )
    assert smalti("targets", cwd=world).code == 0
    hostile = '[advanced]\nmaster = "spark://h:7077"\n[advanced.conf]\n"spark.plugins" = "x.Y"\n'
    write(world, DAILY + hostile)
    refused = smalti("targets", cwd=world)
    assert refused.code == 2
    assert "`advanced.conf.spark.plugins` counts only in a file that you name" in refused.err
    assert "`advanced.master` counts only in a file that you name" in refused.err
    assert not any(value in refused.err for value in ("x.Y", "h:7077"))
    assert smalti("--settings", "smalti.toml", "targets", cwd=world).code == 0


def test_a_group_may_write_it_only_where_it_is_the_users_own(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world / "smalti.toml").chmod(0o664)
    monkeypatch.setattr("smalti.settings_text._is_private", lambda group: False)
    assert "others can write it" in smalti("targets", cwd=world).err
    monkeypatch.setattr("smalti.settings_text._is_private", lambda group: True)
    assert smalti("targets", cwd=world).code == 0
    monkeypatch.undo()
    assert not _is_private(2**31 - 7), "a group that does not exist"


@pytest.mark.parametrize("kind", ["another's", "link", "pipe", "folder", "long"])
def test_what_may_be_a_strangers_is_refused(
    world: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    place = world / "smalti.toml"
    if kind == "another's":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        os.chown(place, 4321, -1) if os.getuid() == 0 else None
    else:
        place.unlink()
        elsewhere = write(world, DAILY, "elsewhere.toml")
        {
            "link": lambda: place.symlink_to(elsewhere),
            "pipe": lambda: os.mkfifo(place),
            "folder": place.mkdir,
            "long": lambda: write(world, "#" * 70_000),
        }[kind]()
    refused = smalti("targets", cwd=world)
    assert refused.code == 2
    assert refused.message.startswith("smalti.toml: it ")
    assert "a file of your own that nobody else can write" in refused.message
    assert smalti("--no-settings", "targets", cwd=world).code == 0


# --- What it refuses


def test_every_problem_is_said_at_once_with_its_line_and_a_way_out(tmp_path: Path) -> None:
    text = """as = "x"
partty = "http://org/user"
owner = "no iri"
cut_threshold = 3
purpose = "marketing"
[data]
"urn:a:1" = "a=b.csv"
[advanced]
fragmens = 2
fragments = "two"
party = "urn:a:1"
zzz = 1
[advanced.conf]
"a=b" = "c"
"""
    told = refusal(tmp_path, text).splitlines()
    for line in (
        "smalti.toml:1: `as` is not a setting. Write `party`",
        "smalti.toml:2: `partty` is not a setting. Did you mean `party`?",
        "smalti.toml:4: `cut_threshold` is not a setting. Write it below `[advanced]`",
        "smalti.toml:5: `purpose` is not a setting. A purpose is stated with each request (--purpose)",
        "smalti.toml:9: `advanced.fragmens` is not a setting. Did you mean `fragments`?",
        "smalti.toml:10: `advanced.fragments` cannot have this value; expected a whole number from 1",
        "smalti.toml:11: `advanced.party` is not a setting. Write it above all tables",
        "smalti.toml:14: `advanced.conf.a=b`: Spark has no setting of this name; expected a name"
        " without `=`",
        "smalti.toml:7: `data.urn:a:1`: this path cannot be bound; expected a path without `=`",
    ):
        assert line in told
    assert any(line.startswith("smalti.toml:3: `owner`: `no iri` is not an absolute IRI") for line in told)
    assert any("known are engine" in line.casefold() for line in told)
    assert len(told) == 11


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ('registry = "postgresql://me:hidden@host/db"', "set PGPASSWORD"),
        ('registry = "postgresql://me:hid/den@host/db"', "set PGPASSWORD"),
        ('registry = "postgresql://host/db?password=hidden"', "set PGPASSWORD"),
        ('[data]\n"urn:a:1" = "s3://key:hidden@bucket/a.csv"', "the store's own tools"),
        ('[data]\n"urn:a:1" = "s3://bucket/a.csv?access_key=hidden"', "the store's own tools"),
        ('[advanced.conf]\n"spark.hadoop.fs.s3a.secret.key" = "hidden"', "give it with --conf"),
        ('[advanced.conf]\n"spark.x" = "jdbc://me:hidden@host"', "give it with --conf"),
    ],
)
def test_secrets_are_refused_and_not_repeated(tmp_path: Path, text: str, way_out: str) -> None:
    told = refusal(tmp_path, text)
    assert "a secret stands here" in told
    assert way_out in told
    assert "hidden" not in told


def test_addresses_without_secrets_are_taken(tmp_path: Path) -> None:
    text = 'registry = "postgresql://me@host:5432/db"\n[data]\n"http://h:8080/a@b" = "s3://bucket/a.csv?region=x"\n'
    file = read_settings(str(write(tmp_path, text)))
    assert file is not None
    assert file.settings.registry == "postgresql://me@host:5432/db"
    assert "is relative to no file" in refusal(tmp_path, 'registry = "sqlite:///x.sqlite"')


@pytest.mark.parametrize("text", ["[", "a = 'x", "registry = 1\nregistry = 2", "\0", "a" * 70_000])
def test_what_is_not_toml_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    assert re.match(r"smalti\.toml, .*: it is not TOML; expected lines such as", refusal(tmp_path, text))
    write(tmp_path, "").write_bytes(b"\xff")
    with pytest.raises(SmaltiError, match="not TOML in UTF-8"):
        read_settings(str(tmp_path / "smalti.toml"))


# --- Explained and completed


def test_as_and_owner_are_explained_in_one_sentence_wherever_both_appear(tmp_path: Path) -> None:
    for command in ("run", "plan"):
        assert PARTIES in " ".join(smalti(command, "--help", cwd=tmp_path).out.split())
    sentence = PARTIES.replace("--as", "`--as`").replace("--owner", "`--owner`")
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/how-to/*.md")):
        text = page.read_text(encoding="utf-8")
        if "--as " in text and "--owner " in text:
            assert sentence in " ".join(text.split()), page.name


def test_completion_names_commands_options_and_files_and_reads_no_settings(world: Path) -> None:
    write(world, "broken")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world)
        complete = BashComplete(cli, {}, "smalti", "_SMALTI_COMPLETE")

        def offered(*words: str) -> set[str]:
            return {item.value for item in complete.get_completions(list(words[:-1]), words[-1])}

        assert offered("ke") == {"keys"}
        assert offered("policy", "") == {"add", "list", "owners", "revoke"}
        assert "--engine" in offered("run", "--e")
        for words in (["run", "po"], ["check", "po"], ["run", "policy.jsonld", "--out", "p"]):
            (item,) = complete.get_completions(words[:-1], words[-1])
            assert item.type == "file"
    assert json.loads(smalti("--no-settings", "targets", "--format", "json", cwd=world).out) == []
