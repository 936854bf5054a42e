"""The words of policies and certificates: IRIs, contexts, profile. No behaviour."""

if __name__ != "smalti.vocab":
    raise ImportError("import smalti.vocab, not vocab")
