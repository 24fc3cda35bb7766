"""Metrics for Prometheus at ``/metrics``, and an access log.

``requests`` measures each request, ``database`` the time spent on statements, ``database_gauges`` reads queue lengths
from the database on demand, and ``views`` exposes all of them. Without ``BACKOFFICE_METRICS_TOKEN`` and
``BACKOFFICE_ACCESS_LOG`` requests are not measured.
"""
