"""Kinds of jobs, as the command line has them."""

from typing import Final

COMMANDS: Final = {
    "run": "smalti run",
    "audit": "smalti run",
    "sweep": "smalti sweep",
    "assess": "smalti assess",
    "check": "smalti check",
    "study": "smalti audit model",
    "compare": "smalti audit compare",
    "release-audit": "smalti audit release",
    "generative-audit": "smalti audit generative",
    "identifiability": "smalti audit identifiability",
    "identifiability-sample": "smalti audit identifiability",
}
"""By kind, the command whose arguments a job of it takes."""
