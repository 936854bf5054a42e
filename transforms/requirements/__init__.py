"""Requirements of classes: one module for each, listed in `registry`."""
