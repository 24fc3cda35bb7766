"""Measure the product against minimal servers without a framework and a plain DRF app; see ``benchmarks/README.md``."""
