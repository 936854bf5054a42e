"""The capability of two tables: records as they are, and the sensitive values of their groups."""
