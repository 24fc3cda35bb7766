"""Create the benchmark's database, shops with subscriptions, and events, and run workers."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from benchmarks.delivery.receivers import Receivers

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(tempfile.mkdtemp(prefix="webhooks-"))
NAME = f"backoffice_webhooks_{os.getpid()}"
SERVER = os.environ.get("DATABASE_URL", "")


def create_database(*, here: bool) -> None:
    """Create and migrate a separate database for the benchmark, or use the migrated database of ``DATABASE_URL``."""
    os.environ.update(
        BACKOFFICE_DATA_DIR=str(FOLDER / "data"),
        DJANGO_SETTINGS_MODULE="backoffice.settings",
        BACKOFFICE_LOG_LEVEL="ERROR",
        BACKOFFICE_OUTGOING_ALLOW="127.0.0.1",
        BACKOFFICE_WEBHOOK_DEBOUNCE_SECONDS="0",
    )
    if SERVER and not here:
        with psycopg.connect(SERVER, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {NAME}")
        parts = urlsplit(SERVER)
        os.environ["DATABASE_URL"] = urlunsplit(parts._replace(path=f"/{NAME}"))
    import django

    django.setup()
    from django.core.management import call_command

    if not here:
        call_command("migrate", verbosity=0)


def drop_database(*, here: bool) -> None:
    from django.db import connections

    connections.close_all()
    if SERVER and not here:
        with psycopg.connect(SERVER, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)")
    shutil.rmtree(FOLDER, ignore_errors=True)


def create_shop_with_subscriptions(
    number: int, uris: list[str], *, scopes: tuple[str, ...] = ("read_content",), **values: Any
) -> Any:
    """Create a shop with an app that has a subscription for each address, by default to the topic ``blogs/create``."""
    from django.utils import timezone

    from apps.core.tenancy.scope import shop_scope
    from apps.shops.domain import app_installation
    from apps.shops.domain.shop_creation import create_shop
    from apps.webhooks.domain import subscriptions

    by: dict[str, Any] = {"actor": "system", "at": timezone.now()}
    shop = create_shop(domain=f"s{number}.example", name=f"S{number}", email="o@bench.example", **by)
    app = app_installation.create_app(name=f"App {number}")
    installation = app_installation.install_app(app, shop, scopes=[*scopes], **by)
    with shop_scope(shop):
        for uri in uris:
            expected = {"topic": "blogs/create", "uri": uri, "api_version": "2026-10", **values}
            subscriptions.create_subscription(installation, expected, **by)
    return shop


def fill_events(shop: Any, count: int) -> None:
    """Insert events that wait for fan-out, with payloads of two kilobytes."""
    import uuid6
    from django.utils import timezone

    from apps.core.events.models import Event
    from apps.core.tenancy.scope import shop_scope
    from apps.webhooks.models import Pending

    payload = {"id": 1, "title": "News", "handle": "news", "tags": "a, b", "commentable": "no", "text": "x" * 1900}
    now = timezone.now()
    with shop_scope(shop):
        for start in range(0, count, 2000):
            events = Event.objects.bulk_create(
                [
                    Event(
                        shop=shop, topic="blogs/create", subject_type="content.blog", subject_id=start + index,
                        actor="system", changes={}, payload={"2026-10": payload}, group=uuid6.uuid7(), created_at=now,
                    )
                    for index in range(min(2000, count - start))
                ]
            )  # fmt: skip
            Pending.objects.bulk_create([Pending(shop=shop, event=event) for event in events])


def fan_out_all() -> int:
    from apps.webhooks.domain.engine.fan_out import create_deliveries

    count = 0
    while (deliveries := create_deliveries()).events:
        count += deliveries.deliveries
    return count


@contextmanager
def run_workers(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run Celery workers with one process each, and a scheduler in the first worker, within the block."""
    from apps.webhooks.domain.engine.dispatcher import notify

    command = [sys.executable, "-m", "backoffice.entrypoints.worker", "-Q", "webhooks", "--concurrency", "1"]
    environment = {**os.environ, "BACKOFFICE_WEBHOOK_RUNS": str(count)}
    running = [
        subprocess.Popen([*command, *names, *scheduler], cwd=ROOT, env=environment)
        for names, scheduler in ((["-n", f"{number}@%h"], ["-B"] if number == 0 else []) for number in range(count))
    ]
    try:
        for _ in running:
            notify.send_message()
        yield running
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait()


def get_processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of a worker and its processes."""
    return sum(_get_processor_seconds(pid) for pid in _get_processes(process))


def _get_processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _get_processes(process: subprocess.Popen[bytes]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [process.pid, *map(int, children)]


def get_memory_mb(process: subprocess.Popen[bytes]) -> float:
    """Return the peak memory of the largest process of a worker in megabytes."""
    return max(_get_memory_mb(pid) for pid in _get_processes(process))


def _get_memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def warm_up(receivers: Receivers, shop: Any) -> None:
    """Wait until the workers have sent a first delivery, and delete this delivery."""
    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.domain.engine.dispatcher import notify
    from apps.webhooks.models import Delivery

    fill_events(shop, 1)
    notify.send_message()
    wait_for_arrivals(receivers, 1)
    receivers.ask("take")
    time.sleep(1)
    with all_shops_scope():
        Delivery.objects.filter(shop=shop).delete()


def wait_for_arrivals(receivers: Receivers, count: int, seconds: float = 120.0) -> None:
    until = time.time() + seconds
    while receivers.ask("count") < count:
        if time.time() > until:
            raise SystemExit(f"Only {receivers.ask('count')} of {count} requests arrived.")
        time.sleep(0.02)


def get_rate(arrived: list[tuple[float, str]]) -> float:
    moments = sorted(moment for moment, _ in arrived)
    return (len(moments) - 1) / (moments[-1] - moments[0])


def get_percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def delete_deliveries() -> None:
    """Delete subscriptions and pending events, and cancel all unfinished deliveries."""
    from apps.core.tenancy.scope import all_shops_scope
    from apps.webhooks.models import Delivery, Pending, Subscription

    with all_shops_scope():
        Pending.objects.all().delete()
        Delivery.objects.filter(state__in=("due", "retry", "leased")).update(state="cancelled")
        Subscription.objects.update(deleted_at="2026-01-01T00:00:00Z")
