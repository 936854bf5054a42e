"""k-anonymity and its kin: compile, execute, first cuts."""
