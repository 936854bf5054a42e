"""PyLD's default loader is not imported with it, and is still there for others."""

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import json, sys
from smalti.policy.document._pyld import import_jsonld
jsonld = import_jsonld()
assert jsonld is import_jsonld()
before = [name for name in ("requests", "aiohttp") if name in sys.modules]
loader = jsonld.get_document_loader()
try:
    loader("http://127.0.0.1:9/context.jsonld", {})
except jsonld.JsonLdError:
    pass
print(json.dumps([before, "requests" in sys.modules, jsonld.get_document_loader() is not loader]))
"""
MADE = """
class RequestException(Exception): ...
class Session:
    def get(self, *_, **__): raise RequestException
get = Session().get
"""


@pytest.mark.parametrize("is_installed", [True, False])
def test_no_http_library_is_imported_before_it_is_asked_for(tmp_path: Path, is_installed: bool) -> None:
    (tmp_path / "requests.py").write_text(MADE if is_installed else "raise ImportError")
    (tmp_path / "aiohttp.py").write_text("raise ImportError")
    ran = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, f"[[], {str(is_installed).lower()}, true]\n"), ran.stderr
