import json
import logging
import re
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from backoffice.observability import logs
from backoffice.observability.metrics import database_gauges
from tests.support import factories
from tests.support.servers.live import LiveServer, get_database_url

TOKEN = "a-token-of-operators"
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}
REQUEST_ID = "0af7651916cd43dd8448eb211c80319c"
SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
SAMPLES = Path(settings.BASE_DIR, "docs", "samples")


class MonitoredServer(LiveServer):
    def spawn(self, module: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.data_dir / "log").open("ab") as log:
            command = [sys.executable, "-m", module, *arguments]
            return subprocess.Popen(command, cwd=settings.BASE_DIR, env=self.env, stderr=log)

    def log(self) -> str:
        return (self.data_dir / "log").read_text()


def fetch_metrics(server: MonitoredServer) -> str:
    request = Request(f"{server.url}/metrics", headers=AUTHORIZATION)
    with urlopen(request, timeout=30) as response:
        return str(response.read().decode())


def get_value(metrics: str, name: str, *labels: str) -> float:
    return sum(
        float(number)
        for series, series_labels, number in SERIES.findall(metrics)
        if series == name and all(label in series_labels for label in labels)
    )


@pytest.fixture
def monitored_server(transactional_db: None, tmp_path: Path) -> Any:
    started = MonitoredServer(
        get_database_url(),
        tmp_path,
        WEB_PROCESSES="2",
        BACKOFFICE_METRICS_TOKEN=TOKEN,
        BACKOFFICE_ACCESS_LOG="on",
        BACKOFFICE_LOG_FORMAT="json",
        BACKOFFICE_TRUSTED_PROXIES="127.0.0.1",
    )
    started.wait()
    yield started
    started.stop()


def send_request(server: MonitoredServer, path: str, **headers: str) -> dict[str, str]:
    with urlopen(Request(f"{server.url}{path}", headers=headers), timeout=30) as response:
        response.read()
        return dict(response.headers)


@pytest.mark.slow
def test_metrics_add_up_over_the_processes(monitored_server: MonitoredServer, shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(shop))
    for _ in range(20):
        headers = {"X-Shopify-Access-Token": token, "X-Request-Id": REQUEST_ID}
        answered = send_request(monitored_server, "/admin/api/2026-10/shop.json?name=Ann", **headers)
    send_request(monitored_server, "/accounts/login/")
    with shop_scope(shop):
        Job.objects.create(shop=shop, task="none")

    metrics = fetch_metrics(monitored_server)

    route = 'route="admin/api/<str:version>/shop.json"'
    assert answered["X-Request-Id"] == REQUEST_ID
    assert get_value(metrics, "backoffice_requests_total", route, 'status="200"', 'method="GET"') == 20
    assert get_value(metrics, "backoffice_request_seconds_count", route) == 20
    assert 0 < get_value(metrics, "backoffice_request_database_seconds_total", route) < 20
    assert get_value(metrics, "backoffice_request_database_exchanges_total", route) >= 20
    assert get_value(metrics, "backoffice_requests_total", 'route="accounts/login/"') == 1
    assert get_value(metrics, "backoffice_web_processes") == 2
    assert get_value(metrics, "backoffice_up") == 1
    assert get_value(metrics, "backoffice_jobs", 'state="due"') == 1
    assert get_value(metrics, "backoffice_queue_jobs", 'queue="default"') == 1
    assert get_value(metrics, "backoffice_queue_jobs", 'queue="bulk"') == 0
    monitored_server.stop()
    lines = [json.loads(line) for line in monitored_server.log().splitlines() if line.startswith("{")]
    ours = [line for line in lines if line["logger"] == "backoffice.access" and line["path"].endswith("/shop.json")]
    assert len(ours) == 20
    assert {(line["request_id"], line["shop"], line["status"], line["method"]) for line in ours} == {
        (REQUEST_ID, shop.pk, 200, "GET")
    }
    assert all(line["app"] and line["milliseconds"] > 0 and line["bytes"] > 0 for line in ours)
    assert token not in monitored_server.log()
    assert "Ann" not in monitored_server.log()


def get_series_names(text: str) -> set[str]:
    return {re.sub("_bucket$", "", name) for name in re.findall(r"\bbackoffice_\w+", text)}


@pytest.mark.slow
def test_the_sample_dashboard_uses_existing_metrics(monitored_server: MonitoredServer, shop: Shop) -> None:
    send_request(monitored_server, "/accounts/login/")
    metrics = fetch_metrics(monitored_server)
    there = {name for name, _, _ in SERIES.findall(metrics)} | set(re.findall(r"^# TYPE (\w+) ", metrics, re.MULTILINE))
    # These metrics are only exported if the installation has a replica (see ``faults/test_replica.py``).
    there |= {"backoffice_replica_up", "backoffice_replica_lag_seconds"}
    dashboard = json.loads((SAMPLES / "grafana.json").read_text())
    expressions = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ()))

    assert len(get_series_names(expressions)) > 8
    assert get_series_names(expressions) - there == set()


@pytest.mark.django_db
def test_metrics_need_the_token(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    switched_off = client.get("/metrics").status_code
    settings.METRICS_TOKEN = TOKEN

    asked: list[dict[str, str]] = [{}, {"Authorization": "Bearer wrong"}, AUTHORIZATION]
    statuses = [client.get("/metrics", headers=headers).status_code for headers in asked]
    assert (switched_off, statuses) == (404, [401, 401, 200])


@pytest.mark.django_db
def test_an_unavailable_database_is_a_metric(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("no connection")

    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(database_gauges, "_collect_database_gauges", away)
    monkeypatch.setattr(connection, "close", lambda: None)
    response = client.get("/metrics", headers=AUTHORIZATION)

    text = response.content.decode()
    assert (response.status_code, "backoffice_up 0.0" in text, "backoffice_jobs" in text) == (200, True, False)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "request_id", "is_accepted"),
    [
        ("10.0.0.1", "trace-0af7651916cd", True),
        ("10.0.0.1", "a" * 37, False),
        ("10.0.0.1", "short", False),
        ("10.0.0.1", 'x"} evil {"', False),
        ("203.0.113.9", "trace-0af7651916cd", False),
    ],
)
def test_an_id_is_taken_from_proxies_that_are_trusted(
    client: Client, settings: Settings, peer: str, request_id: str, is_accepted: bool
) -> None:
    settings.TRUSTED_PROXIES = (ip_network("10.0.0.0/8"),)

    response = client.get("/healthz", headers={"X-Request-Id": request_id}, REMOTE_ADDR=peer)

    assert (response.headers["X-Request-Id"] == request_id) is is_accepted


def test_lines_are_objects_without_secrets() -> None:
    record = logging.LogRecord("x", logging.ERROR, "", 1, "token=%s", ("bko_abcdefghijkl",), None)
    try:
        raise ValueError("password=hunter2")
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)

    line = json.loads(logs.JsonFormatter().format(record))

    assert (line["level"], line["request_id"], "ValueError" in line["error"]) == ("ERROR", "-", True)
    assert not [secret for secret in ("abcdefghijkl", "hunter2") if secret in json.dumps(line)]


@pytest.mark.django_db
def test_lines_of_a_job_name_it_and_its_shop(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[Attrs] = []

    def work(job: Job, **_: object) -> None:
        record = logging.LogRecord("x", logging.INFO, "", 1, "working", (), None)
        lines.append(json.loads(logs.JsonFormatter().format(record)))

    monkeypatch.setitem(queue.tasks, "test.watched", queue.Task(work))
    with shop_scope(shop):
        job = queue.enqueue("test.watched")

    assert queue.run_job(job.key)
    assert [(line["request_id"], line["shop"]) for line in lines] == [(str(job.key), shop.pk)]
