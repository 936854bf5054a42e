"""Training models, privately where that is asked for: networks, gradients, optimizers, accounting."""
