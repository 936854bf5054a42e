"""Studies of methods on generated or public data; nothing in them is certified, released or registered."""

if __name__ != "smalti.studies":
    raise ImportError("import smalti.studies, not studies")
