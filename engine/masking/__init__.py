"""Single techniques: masked rows, which promise no privacy model."""
