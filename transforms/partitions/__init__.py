"""Partitions side by side: who and what is in them, and on both sides of cuts."""
