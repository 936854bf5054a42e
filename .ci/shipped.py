"""Checks that a wheel holds each file of the packages once, and nothing else.

Usage: shipped.py WHEEL

The wheel is made from the list of packages and the mapping in pyproject.toml, while mypy and editors read
the folders. What is missing in one of them is found here.
"""

import sys
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "smalti": ROOT / "src" / "smalti",
    **{f"smalti/{room}": ROOT / room for room in ("engine", "policy", "studies", "transforms", "vocab")},
}


def expected() -> set[str]:
    """Return the names in the wheel of all files in the folders of the packages."""
    return {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*")  # does not follow the links to the rooms
        if path.is_file() and "__pycache__" not in path.parts
    }


def main() -> None:
    """Compare, and name each difference."""
    with ZipFile(sys.argv[1]) as wheel:
        counted = Counter(name for name in wheel.namelist() if ".dist-info/" not in name)
    wanted = expected() - FOLDERS.keys()  # a link that git has checked out as a file is none of them
    wrong = [
        *(f"not in the wheel: {name}" for name in sorted(wanted - counted.keys())),
        *(f"in the wheel, and not in the packages: {name}" for name in sorted(counted.keys() - wanted)),
        *(f"in the wheel {times} times: {name}" for name, times in counted.items() if times > 1),
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"the wheel holds each of {len(wanted)} files once")


if __name__ == "__main__":
    main()
