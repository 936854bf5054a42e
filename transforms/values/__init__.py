"""What the values of a column mean, how they are written, and what generalising them loses."""
