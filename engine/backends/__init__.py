"""Where a plan runs; the algorithm is elsewhere, once."""
