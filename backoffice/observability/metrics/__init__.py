"""Metrics for Prometheus at ``/metrics``, and an access log.

``requests`` measures each request, ``database`` measures the time spent on SQL statements, ``database_gauges`` reads
queue lengths from the database on each scrape, and ``views`` serves all metrics. Without ``BACKOFFICE_METRICS_TOKEN``
and ``BACKOFFICE_ACCESS_LOG``, requests are not measured.
"""
