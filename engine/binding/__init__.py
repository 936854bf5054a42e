"""From a permission and data to columns, rows and people that a plan can name."""
