"""From a document to a decision."""

if __name__ != "smalti.policy":
    raise ImportError("import smalti.policy, not policy")
