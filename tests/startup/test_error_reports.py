import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from backoffice.observability import heartbeat
from tests.support.servers.telemetry import run_telemetry_server
from tests.support.timing import wait_until

FAILS = """
import django
django.setup()
import logging
from django.test import RequestFactory
from apps.core.events.context import request_id
from backoffice.observability.logs import current_request
current_request.set(RequestFactory().post("/admin/api/x.json?email=ann@example.com", {"note": "of ann"}))
request_id.set("0af7651916cd")
buyer = "ann@example.com"
try:
    raise ValueError("token=bko_abcdefghijkl")
except ValueError:
    logging.getLogger("apps").exception("It failed")
import sentry_sdk
sentry_sdk.flush(10)
"""


@pytest.fixture
def sentry() -> Iterator[tuple[str, list[str]]]:
    bodies: list[str] = []

    with run_telemetry_server(lambda body: bodies.append(body.decode())) as port:
        yield f"http://key@127.0.0.1:{port}/1", bodies


def build_environment(folder: Path, **env: str) -> dict[str, str]:
    own = {"BACKOFFICE_DATA_DIR": str(folder), "TMPDIR": str(folder), "DJANGO_SETTINGS_MODULE": "backoffice.settings"}
    return {**os.environ, **own, **env}


def run_code(code: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(("-c", code) if "\n" in code else ("-m", *code.split()))],
        cwd=settings.BASE_DIR,
        env=build_environment(folder, **env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_error_report_has_no_personal_data(sentry: tuple[str, list[str]], tmp_path: Path) -> None:
    address, bodies = sentry

    ended = run_code(FAILS, tmp_path, SENTRY_DSN=address)

    assert ended.returncode == 0, ended.stderr
    (event,) = [json.loads(line) for body in bodies for line in body.splitlines() if '"exception"' in line]
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"]) == ("ValueError", "token=[redacted]")
    assert error["stacktrace"]["frames"][-1]["lineno"] > 0
    assert event["tags"]["request_id"] == "0af7651916cd"
    assert not [secret for secret in ("ann@", "of ann", "abcdefghijkl") if secret in json.dumps(event)]


REFUSES = """
import django
django.setup()
from django.test import Client
assert Client().get("/accounts/login/", headers={"Host": "a b"}).status_code == 400
"""


@pytest.mark.parametrize("form", ["line", "json"])
def test_a_refused_host_is_one_line_in_the_log(tmp_path: Path, form: str) -> None:
    ended = run_code(REFUSES, tmp_path, BACKOFFICE_LOG_FORMAT=form)

    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("Invalid HTTP_HOST header") == 1
    assert "Traceback" not in ended.stderr


def test_processes_without_a_port_write_heartbeats(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "backoffice.entrypoints.scheduler"]
    before = run_code("backoffice.observability.heartbeat scheduler", tmp_path)
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=build_environment(tmp_path))
    try:
        wait_until(lambda: list(tmp_path.glob("backoffice-*-scheduler.alive")), bool, seconds=60)
        during = run_code("backoffice.observability.heartbeat scheduler", tmp_path)
    finally:
        process.terminate()
        process.wait(30)
    (beat,) = tmp_path.glob("backoffice-*-scheduler.alive")
    old = beat.stat().st_mtime - heartbeat.MAX_SILENCE_SECONDS - 1
    os.utime(beat, (old, old))
    after = run_code("backoffice.observability.heartbeat scheduler", tmp_path)
    web = run_code("backoffice.observability.heartbeat web", tmp_path, PORT="1")

    assert (before.returncode, during.returncode, after.returncode) == (1, 0, 1)
    assert after.stderr == "No heartbeat of a scheduler process for 60 seconds.\n"
    assert (web.returncode, web.stderr) == (1, "The web server does not answer on port 1.\n")
    assert run_code("backoffice.observability.heartbeat nobody", tmp_path).returncode == 1
