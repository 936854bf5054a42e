"""The operations of the service, by subject."""
