"""Groups of records whose sensitive values are published apart from them."""
