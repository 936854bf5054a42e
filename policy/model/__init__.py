"""What a policy says, as frozen values."""
