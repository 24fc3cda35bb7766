"""Measure every read of one shop with a million rows among fifty small shops.

``make bench-million``, or ``python -m benchmarks.million [--rows 100000]``. Needs PostgreSQL.
"""
