"""Send OpenTelemetry traces of requests, jobs and SQL statements (``OTEL_EXPORTER_OTLP_ENDPOINT``).

A trace contains the route or task, the IDs of request, shop, app and staff member, the status, and the text of SQL
statements. It does not contain bodies, paths, query strings, headers, IP addresses or statement parameters.

The OpenTelemetry library reads additional variables, such as ``OTEL_SERVICE_NAME``, ``OTEL_EXPORTER_OTLP_HEADERS`` and
``OTEL_TRACES_SAMPLER``. A thread sends the spans. The thread starts with the first span of a process, because threads
do not survive a fork.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponseBase
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from apps.jobs.models import Job
from backoffice.logs import get_actor_ids, redact_secrets
from backoffice.metrics.requests import get_route
from backoffice.middleware import is_trusted_proxy

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# Longer statements are truncated to this many characters. Only bulk statements are that long.
STATEMENT_CHARACTERS = 2000
FLUSH_MILLISECONDS = 2000


def trace_requests(get_response: GetResponse) -> GetResponse:
    """Middleware that records a span for each request. If a trusted proxy started a trace, the span is added to it."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        with _record_span(str(request.method), SpanKind.SERVER, parent=_extract_trace(request)) as span:
            response = get_response(request)
            route = get_route(request)
            span.update_name(f"{request.method} {route}")
            span.set_attributes(
                {
                    "http.request.method": str(request.method),
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                    "backoffice.request_id": getattr(request, "request_id", "-"),
                    **{f"backoffice.{name}": str(value) for name, value in get_actor_ids(request).items()},
                }
            )
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response

    return layer


@contextmanager
def trace_job(job: Job) -> Iterator[None]:
    """Record a span for one attempt to run a job."""
    with _record_span(job.task, SpanKind.CONSUMER) as span:
        span.set_attributes(
            {
                "backoffice.task": job.task,
                "backoffice.request_id": str(job.key),
                "backoffice.shop": str(job.shop_id),
                "backoffice.attempt": job.attempts,
            }
        )
        yield


def flush_traces() -> None:
    """Send pending spans before the process ends. This takes at most two seconds."""
    if _get_provider.cache_info().currsize:
        _get_provider().force_flush(FLUSH_MILLISECONDS)


@cache
def _get_provider() -> TracerProvider:
    os.environ.setdefault("OTEL_SERVICE_NAME", "backoffice")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _extract_trace(request: HttpRequest) -> Context | None:
    """Return the trace that a trusted proxy started, or None. Headers from other clients are ignored."""
    header = request.META.get("HTTP_TRACEPARENT")
    if not header or not is_trusted_proxy(request.META.get("REMOTE_ADDR", "")):
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": header})


@contextmanager
def _record_span(name: str, kind: SpanKind, *, parent: Context | None = None) -> Iterator[Span]:
    """Record a span and, if the trace is sampled, spans for its SQL statements.

    Only the class of an error is sent, because error messages may contain personal data.
    """
    tracer = _get_provider().get_tracer("backoffice")
    with (
        tracer.start_as_current_span(
            name, context=parent, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span,
        ExitStack() as wrapped,
    ):
        if span.is_recording():
            for connection in connections.all():
                wrapped.enter_context(connection.execute_wrapper(_record_statement))
        with _record_errors(span):
            yield span


@contextmanager
def _record_errors(span: Span) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", type(error).__qualname__)
        raise


def _record_statement(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    vendor = context["connection"].vendor
    with (
        _get_provider()
        .get_tracer("backoffice")
        .start_as_current_span(
            sql.split(None, 1)[0].upper(), kind=SpanKind.CLIENT, record_exception=False, set_status_on_exception=False
        ) as span
    ):
        span.set_attributes({"db.system.name": vendor, "db.query.text": redact_secrets(sql[:STATEMENT_CHARACTERS])})
        with _record_errors(span):
            return execute(sql, params, many, context)
