"""Experiment 2 of arXiv 2103.02913 on one data set: who is told apart, and what the noise costs."""
