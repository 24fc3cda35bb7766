"""The processor time of the largest body that each writing route takes: ``python -m benchmarks.bodies``."""
