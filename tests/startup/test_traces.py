import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from backoffice.observability.tracing import SENT_ATTRIBUTES
from tests.support import factories
from tests.support.servers.live import WORKER, LiveServer, get_database_url
from tests.support.servers.telemetry import run_telemetry_server
from tests.support.timing import wait_until
from tests.support.types import JsonObject

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Collector(list[Any]):
    def __init__(self) -> None:
        self.text = ""

    def wait_for(self, name: str) -> Any:
        return wait_until(lambda: [span for span in list(self) if span.name.endswith(name)], bool, seconds=30)[0]


def get_attributes(span: Any) -> JsonObject:
    return {attribute.key: attribute.value.int_value or attribute.value.string_value for attribute in span.attributes}


@pytest.fixture
def collector() -> Iterator[tuple[str, Collector]]:
    spans = Collector()

    def take(body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        spans.text += str(request)
        spans.extend(span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans)

    with run_telemetry_server(take) as port:
        yield f"http://127.0.0.1:{port}", spans


@pytest.fixture
def traced_server(transactional_db: None, collector: tuple[str, Collector], tmp_path: Path) -> Iterator[LiveServer]:
    started = LiveServer(
        get_database_url(),
        tmp_path,
        # Workers of other tests must not take the messages.
        BROKER_URL="filesystem://",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector[0],
        OTEL_BSP_SCHEDULE_DELAY="500",
        BACKOFFICE_TRUSTED_PROXIES="127.0.0.2",
    )
    started.wait()
    yield started
    started.stop()


def send_request(server: LiveServer, path: str, token: str, *, source: str = "127.0.0.1", body: object = None) -> None:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30, source_address=(source, 0))
    own = {"X-Shopify-Access-Token": token, "traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    headers = {**own, "Content-Type": "application/json"}
    client.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
    response = client.getresponse()
    assert response.status in {200, 201}, response.read()
    client.close()


@pytest.mark.slow
def test_traces_contain_no_personal_data(traced_server: LiveServer, collector: tuple[str, Collector]) -> None:
    shop = factories.make_shop()
    installation = factories.make_installation(shop)
    token = factories.make_token(installation)
    _, spans = collector
    traced_server.start("celery", *WORKER)

    send_request(traced_server, "/admin/api/2026-10/customers/search.json?query=ann@example.com", token)
    send_request(traced_server, "/admin/api/2026-10/shop.json", token, source="127.0.0.2")
    order = {"line_items": [{"title": "Mug of a customer", "price": "1"}]}
    send_request(traced_server, "/admin/api/2026-10/orders.json", token, body={"order": order})

    search, proxied = spans.wait_for("customers/search.json"), spans.wait_for("/shop.json")
    job = spans.wait_for("fulfillment.route_order")
    facts = get_attributes(search)
    assert search.name == "GET " + facts["http.route"]
    assert (facts["http.request.method"], facts["http.response.status_code"]) == ("GET", 200)
    assert (facts["backoffice.shop"], facts["backoffice.app"]) == (str(shop.pk), str(installation.app_id))
    queries = [span for span in list(spans) if span.parent_span_id == search.span_id]
    statements = [get_attributes(span)["db.query.text"] for span in queries]
    assert [text for text in statements if text.startswith("SELECT") and "customers_customer" in text]
    assert [span for span in list(spans) if span.parent_span_id == job.span_id]
    assert get_attributes(job)["backoffice.shop"] == str(shop.pk)
    # Only a trusted proxy may set the parent of a trace.
    assert proxied.trace_id.hex() == TRACE != search.trace_id.hex()
    secrets = ("ann@example.com", token, "Mug of a customer", "127.0.0.")
    assert not [secret for secret in secrets if secret in spans.text]
    attributes = {attribute.key for span in list(spans) for attribute in span.attributes}
    assert {name for name in attributes if not name.startswith("backoffice.")} == SENT_ATTRIBUTES
    assert not [span for span in list(spans) if span.events or span.status.message]


@pytest.mark.slow
def test_pending_spans_are_sent_at_the_end(
    transactional_db: None, collector: tuple[str, Collector], tmp_path: Path
) -> None:
    token = factories.make_token(factories.make_installation(factories.make_shop()))
    server = LiveServer(
        get_database_url(), tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector[0], OTEL_BSP_SCHEDULE_DELAY="600000"
    )
    try:
        server.wait()
        send_request(server, "/admin/api/2026-10/shop.json", token)
        before = len(collector[1])
    finally:
        server.stop()

    assert before == 0
    assert [span for span in collector[1] if span.name.endswith("/shop.json")]


def test_tracing_without_its_packages_does_not_start(tmp_path: Path) -> None:
    # Simulate an environment without OpenTelemetry.
    code = (
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'opentelemetry' else find(name, *rest)\n"
        "from backoffice.entrypoints.serve import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env={
            **os.environ,
            "BACKOFFICE_DATA_DIR": str(tmp_path),
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stderr == (
        "Backoffice cannot start: OTEL_EXPORTER_OTLP_ENDPOINT needs the OpenTelemetry packages. "
        "Install them with: uv sync --extra otel\n"
    )
