"""What an audit may conclude from scores: curves, bounds with a confidence, and identifiability."""
