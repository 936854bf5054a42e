"""`python -m smalti`, and the command `smalti`: a process, from its first line to its last."""

import sys
from typing import NoReturn

_INTERRUPTED = 3


def main() -> NoReturn:
    """Run the command line, and end the process; an interrupt at any time ends it with exit code 3.

    One that comes once the command has ended, while the process is on its way out, changes nothing.
    """
    code: object = _INTERRUPTED
    try:
        from smalti.cli.interrupts import begin  # noqa: PLC0415 (what is interrupted here is caught)

        begin()
        from smalti.cli.main import main as command  # noqa: PLC0415 (likewise)

        command()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        from smalti.cli.interrupts import MESSAGE  # noqa: PLC0415 (it may be its import that was interrupted)

        sys.stderr.write(f"error: {MESSAGE}\n")
    from smalti.cli.interrupts import settle  # noqa: PLC0415

    settle()
    sys.exit(code)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
