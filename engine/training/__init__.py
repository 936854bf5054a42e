"""Audits as duties: training and attacks as steps of a plan, and the certificate of a model."""
