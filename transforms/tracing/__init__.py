"""Attacks on released counts, sums and means: tracing of people, and reconstruction of values."""
