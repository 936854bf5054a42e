"""Attacks on models that are not about membership."""
