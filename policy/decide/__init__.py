"""From a request and policies to a decision."""
