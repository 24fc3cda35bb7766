"""The outermost middleware of a measured web process, which counts, times and logs each request."""

import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import ResolverMatch
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from backoffice.observability.logs import get_actor_ids
from backoffice.observability.metrics import database

logger = logging.getLogger("backoffice.access")

GetResponse = Callable[[HttpRequest], HttpResponseBase]

registry = CollectorRegistry()
_requests = Counter("backoffice_requests", "Handled requests.", ("route", "method", "status"), registry=registry)
_seconds = Histogram(
    "backoffice_request_seconds",
    "Duration of requests, without the wait for a thread.",
    ("route",),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    registry=registry,
)
_database_seconds = Counter(
    "backoffice_request_database_seconds",
    "Time that requests spent waiting for the database.",
    ("route",),
    registry=registry,
)
_exchanges = Counter(
    "backoffice_request_database_exchanges", "Database exchanges of requests.", ("route",), registry=registry
)
_refusals = Counter(
    "backoffice_refusals", "Requests rejected before they reached the application.", ("status",), registry=registry
)
# gunicorn's hooks set the value of each process, and delete the value when the process has ended.
web_processes = Gauge(
    "backoffice_web_processes", "Running web processes.", registry=registry, multiprocess_mode="livesum"
)

# Create all series with the value 0 at the start, so that monitoring notices even the first increase.
for _status in (400, 401, 408, 411, 413, 414, 415, 431, 503):
    _refusals.labels(str(_status))


def count_early_error(status: int) -> None:
    if settings.METRICS_TOKEN:
        _refusals.labels(str(status)).inc()


def measure_requests(get_response: GetResponse) -> GetResponse:
    """Middleware that counts, times and logs each request, as configured."""
    if settings.METRICS_TOKEN:
        database.enable_measuring()

    def layer(request: HttpRequest) -> HttpResponseBase:
        start = time.perf_counter()
        seconds, exchanges = database.database_time.seconds, database.database_time.exchanges
        response = get_response(request)
        duration = time.perf_counter() - start
        route = get_route(request)
        if settings.METRICS_TOKEN:
            _requests.labels(route, request.method, str(response.status_code)).inc()
            _seconds.labels(route).observe(duration)
            _database_seconds.labels(route).inc(database.database_time.seconds - seconds)
            _exchanges.labels(route).inc(database.database_time.exchanges - exchanges)
        if settings.ACCESS_LOG:
            _log(request, response, route, duration)
        return response

    return layer


def get_route(request: HttpRequest) -> str:
    """Return the URL pattern of the request, e.g. ``admin/api/<str:version>/products/<id:id>.json``.

    Metrics use patterns, because paths with IDs would create a series for each ID. The result is ``static`` for static
    files and ``none`` if no pattern matches.
    """
    match: ResolverMatch | None = getattr(request, "resolver_match", None)
    if match is not None:
        return str(match.route)
    return "static" if request.path_info.startswith(settings.STATIC_URL) else "none"


def _log(request: HttpRequest, response: HttpResponseBase, route: str, duration: float) -> None:
    """Log a request as a line or as JSON fields. The query string is omitted, because it may contain personal data."""
    size = response.headers.get("Content-Length", "")
    fields = {
        **get_actor_ids(request),
        "request_id": getattr(request, "request_id", "-"),
        "method": request.method,
        "path": request.path,
        "route": route,
        "status": response.status_code,
        "milliseconds": round(duration * 1000, 1),
        "bytes": int(size) if size.isdigit() else None,
        "address": request.META.get("REMOTE_ADDR", ""),
    }
    logger.info(
        "%(method)s %(path)s %(status)s %(milliseconds)sms %(address)s %(request_id)s", fields, extra={"fields": fields}
    )
