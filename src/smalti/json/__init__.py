"""What programs read: the JSON forms of what the API returns; their keys are stable."""
