"""What every capability that loses privacy shares: charges, contributions, ceilings."""
