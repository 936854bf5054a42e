"""Conclusions of an audit from scores: curves, bounds with a confidence, and identifiability."""
