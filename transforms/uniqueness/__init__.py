"""What tells people apart: combinations of values, the risks that follow, and what a sample says."""
