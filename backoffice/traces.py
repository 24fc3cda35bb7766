"""Traces told to a collector of OpenTelemetry (``OTEL_EXPORTER_OTLP_ENDPOINT``): requests, jobs, and their statements.

What goes out: routes and tasks, the ids of request, shop, app and staff account, status, and the text of statements.
What stays here: bodies, paths, query strings, headers, addresses, and the values that statements were given.

Everything else is the library's own and is set by its variables: ``OTEL_SERVICE_NAME``, ``OTEL_EXPORTER_OTLP_HEADERS``,
``OTEL_TRACES_SAMPLER``. Spans are sent by a thread of the process, begun by the first of them, as processes are forked.
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
from backoffice.logs import redact, whose
from backoffice.metrics.requests import route_of
from backoffice.middleware import is_trusted

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# Statements of pages are a few hundred characters; those of many rows have no end.
STATEMENT_CHARACTERS = 2000
FLUSH_MILLISECONDS = 2000


def traced(get_response: GetResponse) -> GetResponse:
    """A span for each request, in the trace that a trusted proxy began."""

    def layer(request: HttpRequest) -> HttpResponseBase:
        with _span(str(request.method), SpanKind.SERVER, begun=_begun(request)) as span:
            response = get_response(request)
            route = route_of(request)
            span.update_name(f"{request.method} {route}")
            span.set_attributes(
                {
                    "http.request.method": str(request.method),
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                    "backoffice.request_id": getattr(request, "request_id", "-"),
                    **{f"backoffice.{name}": str(value) for name, value in whose(request).items()},
                }
            )
            if response.status_code >= 500:
                span.set_status(StatusCode.ERROR)
        return response

    return layer


@contextmanager
def watch(job: Job) -> Iterator[None]:
    """A span for an attempt at a job."""
    with _span(job.task, SpanKind.CONSUMER) as span:
        span.set_attributes(
            {
                "backoffice.task": job.task,
                "backoffice.request_id": str(job.key),
                "backoffice.shop": str(job.shop_id),
                "backoffice.attempt": job.attempts,
            }
        )
        yield


def flush() -> None:
    """Send what waits, as the process is about to end; for two seconds at most."""
    if _provider.cache_info().currsize:
        _provider().force_flush(FLUSH_MILLISECONDS)


@cache
def _provider() -> TracerProvider:
    os.environ.setdefault("OTEL_SERVICE_NAME", "backoffice")
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _begun(request: HttpRequest) -> Context | None:
    """The trace that the request belongs to already; of others than trusted proxies nobody's word is taken."""
    header = request.META.get("HTTP_TRACEPARENT")
    if not header or not is_trusted(request.META.get("REMOTE_ADDR", "")):
        return None
    return TraceContextTextMapPropagator().extract({"traceparent": header})


@contextmanager
def _span(name: str, kind: SpanKind, *, begun: Context | None = None) -> Iterator[Span]:
    """A span, with those of the statements in it where it is one of the sampled.

    An error's words may be a buyer's, so that its class goes out alone.
    """
    tracer = _provider().get_tracer("backoffice")
    with (
        tracer.start_as_current_span(
            name, context=begun, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span,
        ExitStack() as wrapped,
    ):
        if span.is_recording():
            for connection in connections.all():
                wrapped.enter_context(connection.execute_wrapper(_statement))
        with _errors_told(span):
            yield span


@contextmanager
def _errors_told(span: Span) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", type(error).__qualname__)
        raise


def _statement(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    vendor = context["connection"].vendor
    with (
        _provider()
        .get_tracer("backoffice")
        .start_as_current_span(
            sql.split(None, 1)[0].upper(), kind=SpanKind.CLIENT, record_exception=False, set_status_on_exception=False
        ) as span
    ):
        span.set_attributes({"db.system.name": vendor, "db.query.text": redact(sql[:STATEMENT_CHARACTERS])})
        with _errors_told(span):
            return execute(sql, params, many, context)
