"""The ``/metrics`` endpoint, protected by a token."""

import os

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from backoffice.observability.metrics import database_gauges, requests


def metrics_view(request: HttpRequest) -> HttpResponse:
    """Return the metrics of this machine's web processes and the database gauges in the Prometheus text format."""
    if not settings.METRICS_TOKEN:
        raise Http404
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not constant_time_compare(token, settings.METRICS_TOKEN):
        return HttpResponse("Bearer token required.\n", "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})
    shared = requests.registry
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    local = CollectorRegistry()
    local.register(database_gauges.DatabaseGauges())
    return HttpResponse(generate_latest(shared) + generate_latest(local), CONTENT_TYPE_LATEST)
