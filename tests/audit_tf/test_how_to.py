"""The example of the how-to page runs, and prints what stands behind it."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "tensorflow-privacy.md"


def test_the_example_runs() -> None:
    (block,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block, str(PAGE), "exec"), {})
    assert printed.getvalue().splitlines() == re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
