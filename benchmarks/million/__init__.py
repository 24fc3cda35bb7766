"""One shop of a million among fifty small ones, and a walk over everything that can be read of it.

``make bench-million``, or ``python -m benchmarks.million [--rows 100000]``. Needs PostgreSQL.
"""
