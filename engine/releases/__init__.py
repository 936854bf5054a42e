"""Differentially private releases: from a query within a permission to a table of noisy statistics."""
