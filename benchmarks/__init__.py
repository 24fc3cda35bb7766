"""Measures the product against floors without a framework and against a plain DRF app; see ``benchmarks/README.md``."""
