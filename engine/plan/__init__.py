"""Nodes of plans, their JSON and digest, and what plans of all kinds share."""
