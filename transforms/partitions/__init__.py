"""Partitions side by side: their respondents and values, and those on both sides of cuts."""
