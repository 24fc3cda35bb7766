"""Measure the webhook engine and compare it with a minimal sender in the same run."""
