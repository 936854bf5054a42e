"""JSON for programs: the forms of what the API returns; their keys are stable."""
