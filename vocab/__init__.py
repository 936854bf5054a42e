"""The words: IRIs, contexts, profile. No behaviour."""

if __name__ != "smalti.vocab":
    raise ImportError("import smalti.vocab, not vocab")
