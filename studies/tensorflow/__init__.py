"""Networks that tensorflow-privacy trains privately, to compare and to attack."""
