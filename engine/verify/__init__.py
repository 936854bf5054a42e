"""The independent verifier: it shares no code with what it checks."""
