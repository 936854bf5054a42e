"""The short form of policies: words, typed content, and the JSON-LD document that it stands for."""
