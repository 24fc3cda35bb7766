"""The outermost layer of a web process that is watched: it counts and times each request, and logs it."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import ResolverMatch
from prometheus_client import CollectorRegistry, Counter, Histogram

from backoffice.logs import whose
from backoffice.metrics import database

logger = logging.getLogger("backoffice.access")

GetResponse = Callable[[HttpRequest], HttpResponseBase]

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

registry = CollectorRegistry()
_requests = Counter(
    "backoffice_requests", "Requests that were answered.", ("route", "method", "status"), registry=registry
)
_seconds = Histogram(
    "backoffice_request_seconds",
    "From the first line of code to the answer, without waiting for a thread.",
    ("route",),
    buckets=SECONDS,
    registry=registry,
)
_database_seconds = Counter(
    "backoffice_request_database_seconds",
    "What requests spent waiting for the database.",
    ("route",),
    registry=registry,
)
_exchanges = Counter(
    "backoffice_request_database_exchanges", "Their exchanges with the database.", ("route",), registry=registry
)
_refusals = Counter(
    "backoffice_refusals", "Requests that were refused before the application saw them.", ("status",), registry=registry
)


# Told from the beginning, so that what watches sees the first one.
for _status in (400, 408, 411, 413, 414, 415, 431, 503):
    _refusals.labels(str(_status))


def refused(status: int) -> None:
    """Count a request that was refused at the server's door."""
    if settings.METRICS_TOKEN:
        _refusals.labels(str(status)).inc()


def observed(get_response: GetResponse) -> GetResponse:
    """Count, time and log the requests, as far as the settings ask for it."""
    if settings.METRICS_TOKEN:
        database.measure()

    def layer(request: HttpRequest) -> HttpResponseBase:
        began, seconds, exchanges = time.perf_counter(), database.spent.seconds, database.spent.exchanges
        response = get_response(request)
        took = time.perf_counter() - began
        route = route_of(request)
        if settings.METRICS_TOKEN:
            _requests.labels(route, request.method, str(response.status_code)).inc()
            _seconds.labels(route).observe(took)
            _database_seconds.labels(route).inc(database.spent.seconds - seconds)
            _exchanges.labels(route).inc(database.spent.exchanges - exchanges)
        if settings.ACCESS_LOG:
            _log(request, response, route, took)
        return response

    return layer


def route_of(request: HttpRequest) -> str:
    """The pattern that answered, e.g. ``admin/api/<str:version>/products/<id:id>.json``, so that ids are no series.

    ``static`` for files of the panel, ``none`` where no pattern matched.
    """
    match: ResolverMatch | None = getattr(request, "resolver_match", None)
    if match is not None:
        return str(match.route)
    return "static" if request.path_info.startswith(settings.STATIC_URL) else "none"


def _log(request: HttpRequest, response: HttpResponseBase, route: str, took: float) -> None:
    """A line for people, each value by name for what collects logs; query strings hold words of buyers: none."""
    size = response.headers.get("Content-Length", "")
    fields = {
        **whose(request),
        "request_id": getattr(request, "request_id", "-"),
        "method": request.method,
        "path": request.path,
        "route": route,
        "status": response.status_code,
        "milliseconds": round(took * 1000, 1),
        "bytes": int(size) if size.isdigit() else None,
        "address": request.META.get("REMOTE_ADDR", ""),
    }
    logger.info(
        "%(method)s %(path)s %(status)s %(milliseconds)sms %(address)s %(request_id)s", fields, extra={"fields": fields}
    )
