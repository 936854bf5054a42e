"""From a decision to data."""

if __name__ != "smalti.engine":
    raise ImportError("import smalti.engine, not engine")
