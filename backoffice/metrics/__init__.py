"""What watches the processes: figures for Prometheus at ``/metrics``, and a log line per request.

``requests`` measures each request, ``database`` what it spent on statements, ``figures`` reads what waits in the
database when somebody asks, and ``views`` tells all of it. Without ``BACKOFFICE_METRICS_TOKEN`` and
``BACKOFFICE_ACCESS_LOG`` nothing of it is in the way of a request.
"""
