"""Spark on clusters of this machine, and what happens when parts of them die: each run is a process."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from shell import CUSTOMER, MARKETING, OWNER, ROOT, USER, small_policy, small_table

import smalti

pytestmark = [pytest.mark.spark, pytest.mark.slow]
JOB = Path(__file__).with_name("spark_job.py")
LOCAL_CLUSTER = "local-cluster[2,1,1024]"
SMALL = ["spark.executor.memory=1g", "spark.ui.enabled=false"]


def prepared(folder: Path) -> Path:
    folder.mkdir()
    random = np.random.default_rng(3)
    small_table(folder, [
        [f"p{i}", str(a), ("Rome", "Oslo", "Bern", "Nice")[c], ("flu", "gout", "asthma", "cold")[x]]
        for i, (a, c, x) in enumerate(zip(
            random.integers(18, 90, 600).tolist(), random.integers(0, 4, 600).tolist(),
            random.integers(0, 4, 600).tolist(), strict=True,
        ))
    ])  # fmt: skip
    small_policy(folder)
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = prepared(tmp_path_factory.mktemp("spark") / "here")
    smalti.run(
        folder / "policy.jsonld", data={CUSTOMER: folder / "people.csv"}, party=USER, owner=OWNER,
        purpose=MARKETING, out=folder / "out", registry=folder / "r.sqlite", cut_threshold=8,
    )  # fmt: skip
    return (folder / "out" / "anonCustomer.csv").read_bytes()


def job(command: list[str | Path], **environment: str) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True, text=True, check=False, timeout=400,
        env=os.environ | {"PYTHONPATH": paths, "SPARK_LOCAL_IP": "127.0.0.1"} | environment,
    )  # fmt: skip


@pytest.mark.parametrize("fault", ["none", "kernel", "part", "executor"])
def test_tasks_and_executors_of_spark_that_die_change_nothing(
    tmp_path: Path, expected: bytes, fault: str
) -> None:
    folder = prepared(tmp_path / "there")
    done = job([JOB, folder, "4", fault, LOCAL_CLUSTER, *SMALL])
    assert done.returncode == 0, done.stdout
    assert (folder / "died").exists() == (fault != "none")
    assert (folder / "out" / "anonCustomer.csv").read_bytes() == expected


def test_a_task_that_dies_while_it_writes_parts_changes_nothing(tmp_path: Path, expected: bytes) -> None:
    folder = prepared(tmp_path / "there")
    done = job([JOB, folder, "4", "parts", LOCAL_CLUSTER, *SMALL])
    assert done.returncode == 0, done.stdout
    assert (folder / "died").exists()
    parts = [path.read_bytes() for path in sorted((folder / "out").glob("anonCustomer-*.csv"))]
    header = expected.splitlines(keepends=True)[0]
    assert len(parts) > 1
    assert all(part.startswith(header) for part in parts)
    assert header + b"".join(part.removeprefix(header) for part in parts) == expected


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and a worker of Spark's own, on this machine; they are ended by their ids."""
    import pyspark  # noqa: PLC0415

    start = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    url = f"spark://127.0.0.1:{port}"
    servers = (
        ("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0"),
        ("worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "2", "--memory", "2g",
         "--work-dir", str(folder), url),
    )  # fmt: skip
    running = [
        subprocess.Popen(
            [start, f"org.apache.spark.deploy.{name}", *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        )
        for name, *more in servers
    ]  # fmt: skip
    try:
        yield url
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(60)


def test_a_standalone_cluster_of_spark_gives_the_same_output(tmp_path: Path, expected: bytes) -> None:
    folder = prepared(tmp_path / "there")
    with cluster(tmp_path / "workers") as url:
        done = job([JOB, folder, "4", "none", url, "spark.driver.host=127.0.0.1", *SMALL])
    assert done.returncode == 0, done.stdout
    assert (folder / "out" / "anonCustomer.csv").read_bytes() == expected
    assert [log for log in (tmp_path / "workers").rglob("stderr") if "gout" in log.read_text()] == []


def test_spark_submit_runs_a_script_that_uses_the_library(tmp_path: Path, expected: bytes) -> None:
    import pyspark  # noqa: PLC0415

    folder = prepared(tmp_path / "there")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    arguments = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", JOB, folder, "4", "none"]
    done = job(
        ["-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", submit, *arguments],
        PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert (folder / "out" / "anonCustomer.csv").read_bytes() == expected


def test_plan_and_verify_on_a_cluster_of_spark_work_in_a_folder_that_is_named(
    tmp_path: Path, expected: bytes
) -> None:
    folder = prepared(tmp_path / "there")
    (tmp_path / "shared").mkdir()
    request = ["--data", f"{CUSTOMER}={folder / 'people.csv'}", "--as", USER, "--owner", OWNER]
    on_cluster = ["--engine", "spark", "--master", LOCAL_CLUSTER, "--workspace", tmp_path / "shared"]
    on_cluster += [word for setting in SMALL for word in ("--conf", setting)]
    registry = ["--registry", folder / "r.sqlite"]
    made = smalti.run(
        folder / "policy.jsonld", data={CUSTOMER: folder / "people.csv"}, party=USER, owner=OWNER,
        purpose=MARKETING, out=folder / "out", registry=folder / "r.sqlite", cut_threshold=8,
    )  # fmt: skip
    assert made.version is not None
    for command in (
        ["plan", folder / "policy.jsonld", *request, "--purpose", MARKETING],
        ["verify", folder / "out", "--data", folder / "people.csv"],
    ):
        done = job(["-m", "smalti", *command, *on_cluster, *registry])
        assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert (folder / "out" / "anonCustomer.csv").read_bytes() == expected


def test_a_master_that_spark_does_not_know_is_named(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "there")
    done = job([JOB, folder, "4", "none", "nowhere://127.0.0.1:1", *SMALL])
    assert done.returncode == 3
    assert "--master nowhere://127.0.0.1:1" in done.stdout
    assert "a master and settings that Spark accepts" in done.stdout
    assert not (folder / "out").exists()


def test_a_full_disk_under_spark_ends_the_run_without_a_target(tmp_path: Path) -> None:
    """A small file system of its own holds the folder of the output."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", disk], check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        folder = prepared(disk / "there")
        local = f"spark.local.dir={tmp_path}"
        done = job([JOB, folder, "4", "none", "local[2]", "spark.ui.enabled=false", local])
        assert done.returncode == 3
        assert not (folder / "out").exists()
    finally:
        subprocess.run(["umount", disk], check=True)
