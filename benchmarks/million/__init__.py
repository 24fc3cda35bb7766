"""Measure every read in a shop with a million rows that shares the database with fifty small shops.

Run ``make bench-million`` or ``python -m benchmarks.million [--rows 100000]``. The benchmark needs PostgreSQL.
"""
