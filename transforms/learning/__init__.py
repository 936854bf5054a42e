"""Training of models, also with differential privacy: networks, gradients, optimizers, accounting."""
