"""Send OpenTelemetry traces of requests, jobs and SQL statements (``OTEL_EXPORTER_OTLP_ENDPOINT``).

The instrumentation packages of OpenTelemetry record requests and SQL statements. ``RedactingExporter`` decides what is
sent: the route or task, the IDs of request, shop, app and staff member, the status, and the text of SQL statements.
Bodies, paths, query strings, headers, IP addresses, error messages and statement parameters are never sent.

Outgoing requests are not instrumented, because the packages would add headers to requests to other servers. Celery
messages are not instrumented, because the span of a job already contains its task and its attempts.

The OpenTelemetry library reads additional variables, such as ``OTEL_SERVICE_NAME``, ``OTEL_EXPORTER_OTLP_HEADERS`` and
``OTEL_TRACES_SAMPLER``. A thread sends the spans. The thread starts with the first span of a process, because threads
do not survive a fork.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.db import connection
from django.http import HttpRequest, HttpResponseBase
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.propagate import set_global_textmap
from opentelemetry.propagators.textmap import Getter, default_getter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import SpanKind, Status, get_current_span, get_tracer, set_tracer_provider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from apps.core.jobs.models import Job
from backoffice.middleware import is_trusted_proxy
from backoffice.observability.logs import get_actor_ids, redact_secrets
from backoffice.observability.metrics.requests import get_route

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# Longer statements are truncated to this many characters. Only bulk statements are that long.
STATEMENT_CHARACTERS = 2000
FLUSH_MILLISECONDS = 2000
# The attributes that are sent, besides attributes that begin with ``backoffice.``.
SENT_ATTRIBUTES = frozenset(
    {"db.query.text", "db.system.name", "http.request.method", "http.response.status_code", "http.route"}
)


class RedactingExporter(OTLPSpanExporter):
    """Sends spans with a fixed set of attributes, without error messages, and no SQL outside requests and jobs."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return super().export([_redact(span) for span in spans if span.parent or span.kind is not SpanKind.CLIENT])


def _redact(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of a span that contains no personal data and no secrets."""
    attributes = {
        name: redact_secrets(value[:STATEMENT_CHARACTERS]) if isinstance(value, str) else value
        for name, value in (span.attributes or {}).items()
        if name in SENT_ATTRIBUTES or name.startswith("backoffice.")
    }
    for event in span.events:
        attributes["error.type"] = (event.attributes or {}).get("exception.type", event.name)
    return ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        attributes,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class TrustedProxyPropagator(TraceContextTextMapPropagator):
    """Continues a trace that a trusted proxy started. Headers from other clients are ignored."""

    def extract(self, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter) -> Context:
        if not is_trusted_proxy(carrier.get("REMOTE_ADDR", "")):
            return context or Context()
        return super().extract(carrier, context, getter)


def trace_application(application: WSGIApplication) -> WSGIApplication:
    """Wrap the WSGI application so that each request records a span. ``describe_request`` adds the attributes."""
    instrument_database()
    set_global_textmap(TrustedProxyPropagator())
    # The default name of a span would contain the path.
    traced = OpenTelemetryMiddleware(application, lambda span, environ: span.update_name(environ["REQUEST_METHOD"]))

    def start(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        _get_provider()
        return traced(environ, start_response)

    return start


def describe_request(get_response: GetResponse) -> GetResponse:
    """Middleware that adds the route and the IDs of request, shop, app and staff member to the request's span."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        route = get_route(request)
        span = get_current_span()
        span.update_name(f"{request.method} {route}")
        span.set_attributes(
            {
                "http.route": route,
                "backoffice.request_id": getattr(request, "request_id", "-"),
                **{f"backoffice.{name}": str(value) for name, value in get_actor_ids(request).items()},
            }
        )
        return response

    return layer


@contextmanager
def trace_job(job: Job) -> Iterator[None]:
    _get_provider()
    attributes: dict[str, str | int] = {
        "backoffice.task": job.task,
        "backoffice.request_id": str(job.key),
        "backoffice.shop": str(job.shop_id),
        "backoffice.attempt": job.attempts,
    }
    with get_tracer("backoffice").start_as_current_span(job.task, kind=SpanKind.CONSUMER, attributes=attributes):
        yield


def instrument_database() -> None:
    """Record a span for each SQL statement on connections that are opened from now on."""
    # Use the stable attribute names of OpenTelemetry, which ``SENT_ATTRIBUTES`` lists.
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http,database"
    (PsycopgInstrumentor() if connection.vendor == "postgresql" else SQLite3Instrumentor()).instrument()


def flush_traces() -> None:
    """Send pending spans before the process ends. This takes at most two seconds."""
    if _get_provider.cache_info().currsize:
        _get_provider().force_flush(FLUSH_MILLISECONDS)


@cache
def _get_provider() -> TracerProvider:
    os.environ.setdefault("OTEL_SERVICE_NAME", "backoffice")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(RedactingExporter()))
    set_tracer_provider(provider)
    return provider
