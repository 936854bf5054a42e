"""Central and local differential privacy, compared by membership inference (MOSAICrOWN D5.2, 4.3)."""
