"""A policy in words, in its canonical form, and in its canonical layout."""
