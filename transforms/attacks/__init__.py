"""Attacks on models that are not about membership, and attacks on classes of published rows."""
