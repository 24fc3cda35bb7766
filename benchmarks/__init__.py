"""Benchmarks for the product. See ``benchmarks/README.md``."""
