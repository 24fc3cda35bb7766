"""Measure the webhook engine's throughput against a minimal sender in the same run."""
