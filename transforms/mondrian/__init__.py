"""Mondrian: algorithms that make classes, and the transforms that ask for them."""
