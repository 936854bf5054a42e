"""Policies as frozen values."""
