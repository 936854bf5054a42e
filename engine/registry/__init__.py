"""What is known and who may say so: store, owners, policies, ledger, versions, decisions."""
