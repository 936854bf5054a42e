"""`python -m smalti`."""

from smalti.cli import main

if __name__ == "__main__":
    main()
