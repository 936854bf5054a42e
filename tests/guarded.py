"""A child process that runs commands and tells of every socket, and every read elsewhere.

Run as `python guarded.py FOLDER`, with a list of lists of arguments as JSON on the standard input: only
FOLDER, what is installed, and what the interpreter itself needs may be opened; with `--instead CODE` that
code is run. Answers, as JSON, each command's exit code and what it printed: 77 and the list of violations
when there were any. One process does for all: what it reads only once it reads under the hook, too.
"""

import io
import json
import os
import sys
import sysconfig
import zoneinfo
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

FORBIDDEN = 77
_NETWORK = ("socket.", "urllib.", "http.client.", "ftplib.", "smtplib.", "ssl.")
_PROCESS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")


def allowed_roots(folder: str) -> list[str]:
    """Where files may be opened: the given folder, the installation, and the interpreter."""
    root = Path(__file__).parents[1]
    roots = [
        Path(folder),
        *(root / name for name in ("src", "policy", "engine", "transforms", "studies", "vocab")),
        root / "tests" / "guarded.py",
        *map(Path, {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib")}),
        *map(Path, zoneinfo.TZPATH), Path(os.devnull), Path("/proc/self"), Path("/proc/meminfo"),
        Path("/proc/cpuinfo"), Path("/sys/devices/system/cpu"), Path("/sys/fs/cgroup"),
    ]  # fmt: skip
    return sorted({os.path.realpath(path) for path in roots} | {str(path) for path in roots})


def main() -> None:
    """Run the commands under the hook, one after the other."""
    folder, commands = sys.argv[1], json.load(sys.stdin)
    roots = allowed_roots(folder)
    sys.path[0] = folder  # that of this script, whose folder holds other tests
    violations: list[str] = []

    def is_allowed(path: str) -> bool:
        full = os.path.abspath(path)
        return any(full == root or full.startswith(root + os.sep) for root in roots)

    def hook(event: str, found: tuple[object, ...]) -> None:
        if event.startswith(_NETWORK) or event in _PROCESS or event.startswith(("os.exec", "os.spawn")):
            violations.append(event)
            raise PermissionError(event)
        if event in {"open", "os.listdir", "os.scandir"} and isinstance(found[0], str | bytes):
            path = os.fsdecode(found[0])
            if not is_allowed(path):
                violations.append(f"{event} {path}")
                raise PermissionError(path)

    os.chdir(folder)
    sys.addaudithook(hook)
    ended = [run(arguments, violations) for arguments in commands]
    sys.stdout.write(json.dumps(ended))
    sys.stdout.flush()
    os._exit(0)  # what libraries do at exit is not the command's doing


def run(arguments: list[str], violations: list[str]) -> tuple[int, str]:
    """Run a command, and return its exit code and what it printed."""
    from smalti.cli import main as cli  # noqa: PLC0415 (under the hook)

    violations.clear()
    sys.argv = ["smalti", *arguments]
    code, printed = 0, io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            if arguments[:1] == ["--instead"]:
                exec(arguments[1], {})
            else:
                cli.main()
        except PermissionError:
            pass
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
    return (FORBIDDEN, "\n".join(violations)) if violations else (code, printed.getvalue())


if __name__ == "__main__":
    main()
