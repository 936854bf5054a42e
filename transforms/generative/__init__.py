"""Attacks on generative models: what samples, or a model itself, say of its training (D5.2, 4.4)."""
