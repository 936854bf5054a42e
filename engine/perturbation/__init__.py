"""Local differential privacy: one row for each respondent, with each value randomised by itself."""
