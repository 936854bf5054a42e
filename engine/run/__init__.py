"""The way of a run, and what is asked over all kinds of plans."""
