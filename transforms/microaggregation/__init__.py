"""Microaggregation: groups of near rows, each published as a figure of the group."""
