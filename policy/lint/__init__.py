"""Warnings about valid policies, alone or with a description of their data."""
