"""What a class must meet: one module for each requirement, listed in `registry`."""
