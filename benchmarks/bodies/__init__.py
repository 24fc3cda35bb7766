"""Measure the CPU time for the largest body of each writing route: ``python -m benchmarks.bodies``."""
