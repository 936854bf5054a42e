"""What a generalisation costs, and the risk that it leaves; figures for the owner."""
