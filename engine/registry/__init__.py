"""The registry: store, owners, policies, ledger, versions, decisions."""
