"""From nodes to policies, vocabularies and findings."""
