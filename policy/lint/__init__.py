"""What a valid policy probably does not mean, alone or beside data."""
