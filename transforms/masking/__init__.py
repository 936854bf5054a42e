"""Single techniques that change one column, or choose respondents; none of them is a privacy model."""
