"""Measure the processor time of the largest body of each writing route: ``python -m benchmarks.bodies``."""
