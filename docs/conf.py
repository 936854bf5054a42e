"""The documentation site, made by Sphinx from `docs/` and the pages at the root of the repository."""

import os
import re
from importlib import metadata
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

_DOCS = Path(__file__).parent
_ROOT = _DOCS.parent
_LINK = re.compile(r"\]\((?P<to>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_CONTRACT = re.compile(r"^Contract:$", re.MULTILINE)
_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/RESULTS.md": "measurements.md",
    "examples/data/README.md": "survey.md",
}
"""Pages of the repository outside `docs/`, and the pages of the site that include them."""

project = "smalti"
release = metadata.version("smalti")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.mermaid"]
html_theme = "furo"
html_title = f"smalti {release}"
html_copy_source = False
exclude_patterns = ["_build"]
nitpicky = False
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False
python_use_unqualified_type_names = True


def setup(app: Sphinx) -> None:
    """Links work where the repository is read; turn those that lead out of `docs/` towards the site."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before the sections are read
    app.connect("include-read", _included)


def _read(app: Sphinx, page: str, text: list[str]) -> None:
    source = Path(app.srcdir, page).parent
    text[0] = _turned(text[0], source, source)


def _included(app: Sphinx, path: Path, page: str, text: list[str]) -> None:
    text[0] = _turned(text[0], (_DOCS / path).resolve().parent, Path(app.srcdir, page).parent)


def _docstring(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Write code as reStructuredText has it, and a contract as it is laid out."""
    text = _CODE.sub(r"``\1``", "\n".join(lines))
    lines[:] = _CONTRACT.sub("Contract::\n", text).split("\n")


def _turned(text: str, source: Path, page: Path) -> str:
    """A text of one folder for a page of another one."""

    def turned(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(source / match["to"]))
        if not path.exists():
            return match[0]
        if path.is_relative_to(_ROOT):
            path = _DOCS / _PAGES.get(path.relative_to(_ROOT).as_posix(), path)
        return f"]({os.path.relpath(path, page)}{match['anchor'] or ''})"

    return _LINK.sub(turned, text)
