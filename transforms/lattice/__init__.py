"""Full-domain generalisation: one level of each quasi-identifier's hierarchy for the whole table."""
