"""Benchmarks of the product, see ``benchmarks/README.md``."""
