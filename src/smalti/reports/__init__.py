"""Reports for people: pages that stand alone, and summaries for a terminal."""
