"""``/metrics``, for who knows the token."""

import os

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from backoffice.metrics import figures, requests


def metrics(request: HttpRequest) -> HttpResponse:
    """The figures of all web processes of this machine, and what waits in the database, in Prometheus' text format.

    ``Authorization: Bearer <BACKOFFICE_METRICS_TOKEN>``; 401 without it.

    Raises:
        Http404: The installation has no such token.
    """
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not constant_time_compare(given, settings.METRICS_TOKEN):
        return HttpResponse("A bearer token is needed.\n", "text/plain", 401, headers={"WWW-Authenticate": "Bearer"})
    shared = requests.registry
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    here = CollectorRegistry()
    here.register(figures.Waiting())
    return HttpResponse(generate_latest(shared) + generate_latest(here), CONTENT_TYPE_LATEST)
