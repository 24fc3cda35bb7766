"""Measure 49 shops while another shop causes a high load: ``python -m benchmarks.noisy_neighbor [--jobs 2000]``.

In the first part, one shop enqueues many jobs, and then each of the other shops enqueues one job. Two workers handle
the messages in order. In the second part, 64 clients of one shop send requests that take 0.2 seconds, and one
client of each of the other shops sends short requests, to one process with four threads. Both parts run with and
without fair scheduling. The command needs a separate migrated database.
"""

import argparse
import http.client
import io
import os
import statistics
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import django

from backoffice.server.adapter import Adapter, Hooks
from backoffice.server.wsgi import Environ
from benchmarks import servers
from benchmarks.scale import scale
from tests.support.servers.ports import find_free_port

SHOPS = scale(50, least=5)
JOB_SECONDS = 0.005
SLOW_SECONDS = 0.2
CALLERS = scale(64)
THREADS = 4
WHOSE = "HTTP_X_WHOSE"


class HeaderFairness(Hooks):
    """Server hooks for fair scheduling that take the shop from a request header."""

    def owner(self, environ: Environ) -> Hashable:
        return environ.get(WHOSE)


def application(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [])
    time.sleep(SLOW_SECONDS if environ["PATH_INFO"] == "/slow" else 0.001)
    return [b"done"]


def build(kind: str) -> Adapter:
    """Return the ASGI application with or without fair scheduling."""
    return Adapter(application, HeaderFairness() if kind == "fair" else Hooks(), threads=THREADS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
    django.setup()
    print(f"| wait of the {SHOPS - 1} other shops | p50 | p99 |\n|---|---|---|")
    for name, turns in (("with fair scheduling", True), ("without fair scheduling", False)):
        print_waits(f"job, after {options.jobs:,} jobs of one shop, {name}", measure_jobs(options.jobs, turns=turns))
    for name, kind in (("with fair scheduling", "fair"), ("without fair scheduling", "plain")):
        print_waits(f"request, with {CALLERS} slow clients, {name}", measure_requests(options.seconds, kind))


def print_waits(what: str, seconds: list[float]) -> None:
    parts = statistics.quantiles(seconds, n=100)
    print(f"| {what} | {parts[49] * 1000:,.0f} ms | {parts[98] * 1000:,.0f} ms |", flush=True)


def measure_jobs(count: int, *, turns: bool) -> list[float]:
    """Return how many seconds each of the other shops waited for its job to finish."""
    from django.conf import settings
    from django.db import connection

    from apps.core.jobs import queue

    limit = settings.MAX_JOBS_PER_SHOP
    settings.MAX_JOBS_PER_SHOP = limit if turns else count + 1
    messages, shops, ended = enqueue_jobs(count)

    def work() -> None:
        while len(ended) < len(shops) or messages:
            try:
                queue.handle_message(messages.popleft())
            except IndexError:
                time.sleep(JOB_SECONDS / 10)
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(2)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    settings.MAX_JOBS_PER_SHOP = limit
    return [ended[shop] - began for shop in shops[1:]]


def enqueue_jobs(count: int) -> tuple[deque[uuid.UUID], list[int], dict[int, float]]:
    """Create shops with jobs.

    Returns:
        The keys of the sent jobs, to which further sent jobs are added, the shop ids, and a dictionary that receives
        the time at which each shop's first job ends.
    """
    from django.core.management import call_command

    from apps.core.jobs import job_tasks, publishing, queue
    from apps.core.jobs.models import Job
    from apps.core.tenancy.models import Shop
    from apps.core.tenancy.scope import shop_scope

    prefix = f"noisy-{time.time_ns()}"
    for number in range(SHOPS):
        call_command("create_shop", f"{prefix}-{number}.example", stdout=io.StringIO())
    shops = list(Shop.objects.filter(domain__startswith=prefix).order_by("pk"))
    messages: deque[uuid.UUID] = deque()
    ended: dict[int, float] = {}

    def nap(job: Job, **_: Any) -> None:
        time.sleep(JOB_SECONDS)
        ended.setdefault(job.shop_id, time.monotonic())

    def send(name: str, *, task_id: str = "", **_: Any) -> None:
        if name == prefix:
            messages.append(uuid.UUID(task_id))

    job_tasks.job_task(prefix, title="Nap")(nap)
    publishing.send_task = send
    for shop, number in zip(shops, [count, *[1] * (SHOPS - 1)], strict=True):
        with shop_scope(shop):
            for _ in range(number):
                queue.enqueue(prefix)
    return messages, [shop.pk for shop in shops], ended


def measure_requests(seconds: float, kind: str) -> list[float]:
    """Return the response times of the other shops, in seconds."""
    port = find_free_port()
    command = servers.run_gunicorn(f"benchmarks.noisy_neighbor:build({kind!r})")
    with servers.run_server("noisy", command, port, {"WEB_PROCESSES": "1"}, "/", ""):
        durations: list[float] = []
        until = time.monotonic() + seconds
        callers = [
            threading.Thread(target=send_requests, args=(port, "one", "/slow", until, [])) for _ in range(CALLERS)
        ]
        callers += [
            threading.Thread(target=send_requests, args=(port, f"other {number}", "/", until, durations, 1))
            for number in range(SHOPS - 1)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        return durations


def send_requests(port: int, whose: str, path: str, until: float, durations: list[float], pause: float = 0) -> None:
    """Send requests in a loop. After one second of warm-up, record the duration of responses with status 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    noted_from = time.monotonic() + min(1, (until - time.monotonic()) / 3)
    while (began := time.monotonic()) < until:
        connection.request("GET", path, headers={"X-Whose": whose})
        response = connection.getresponse()
        response.read()
        if response.status == 200 and began > noted_from:
            durations.append(time.monotonic() - began)
        time.sleep(pause or (0 if response.status == 200 else 0.5))


if __name__ == "__main__":
    main()
