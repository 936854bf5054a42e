"""What is installed, what is missing, and the command that installs it."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from smalti.engine.backends.needs import INSTALL_JAVA, OLDEST_JAVA
from smalti.errors import install_line

_PARTS = (
    ("core", ("pyld", "rdflib", "pydantic", "jsonschema", "duckdb", "pyarrow", "numpy", "sqlalchemy")),
    ("extra spark", ("pyspark", "pandas")),
    ("extra privacy", ("opendp",)),
    ("extra images", ("pillow",)),
    (
        "extra audit",
        (
            "jax",
            "dp-accounting",
            "scikit-learn",
            "scipy",
            "matplotlib",
            "jinja2",
            "safetensors",
            "skops",
            "onnxruntime",
        ),
    ),
    ("extra signatures", ("cryptography",)),
    ("extra postgresql", ("psycopg",)),
    ("extra service", ("starlette", "uvicorn", "joserfc", "prometheus-client")),
)


@dataclass(frozen=True, slots=True)
class Check:
    """The state of one component."""

    name: str
    is_there: bool
    found: str
    """A version, or the problem."""
    needed_for: str
    mend: str = ""
    """The command that installs what is missing."""


def examine(registry: Path) -> tuple[Check, ...]:
    """Examine this machine; change nothing."""
    packages = [_package(name, part) for part, names in _PARTS for name in names]
    return (_python(), *packages, _java(), _place(registry))


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", sys.version_info >= (3, 11), version, "core", "install Python 3.11 or newer")


def _package(name: str, part: str) -> Check:
    mend = install_line(part.removeprefix("extra ") if part.startswith("extra ") else None, name)
    try:
        return Check(name, True, importlib.metadata.version(name), part, mend)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, "not installed", part, mend)


def _java() -> Check:
    mend = INSTALL_JAVA
    name, purpose = f"java {OLDEST_JAVA}+", "extra spark"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        return Check(name, False, "not installed", purpose, mend)
    try:
        answer = subprocess.run(  # noqa: S603 (found on the path by its name)
            [java, "-version"], capture_output=True, text=True, check=False, timeout=30
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return Check(name, False, "does not start", purpose, mend)
    version = re.search(r'version "(\d+)([^"]*)"', answer)
    if version is None:
        return Check(name, False, "reports no version", purpose, mend)
    return Check(name, int(version[1]) >= OLDEST_JAVA, version[1] + version[2], purpose, mend)


def _place(registry: Path) -> Check:
    folder = registry.absolute().parent
    is_writable = os.access(registry if registry.exists() else folder, os.W_OK)
    state = "present" if registry.exists() else "none yet; the first run creates it"
    if not is_writable:
        state = "not writable"
    return Check(f"registry {registry}", is_writable, state, "core", "name another one with --registry")
