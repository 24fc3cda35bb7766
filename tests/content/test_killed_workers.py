"""See check U6 in docs/reliability.md."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from apps.content.domain import blob_store, themes
from apps.content.models import Asset, FileContent, Theme
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories
from tests.support.factories.content import LAYOUT, create_zip
from tests.support.servers.live import get_database_url
from tests.support.timing import get_time_limit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("workers"),
    pytest.mark.django_db(transaction=True),
]

MOMENTS = 20
# SQLite's clock is only accurate to the millisecond, so move leases back by a whole second.
SECOND = timedelta(seconds=1)
# A worker that forks a process per job, like Celery. It reads job keys and after how many calls a process kills itself.
# A process that is not killed prints how many functions it called.
WORKER = """
import os, signal, sys, uuid
import django
django.setup()
from apps.core.jobs.queue import run_job

calls = limit = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
    if calls == limit:
        os.kill(os.getpid(), signal.SIGKILL)

for line in sys.stdin:
    key, limit = line.split()[0], int(line.split()[1])
    process = os.fork()
    if not process:
        try:
            sys.setprofile(count)
            run_job(uuid.UUID(key))
            sys.setprofile(None)
            print(calls, flush=True)
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    print("ended", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a directory that this process and the workers share."""
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", tmp_path / "media")}):
        yield tmp_path / "media"


class KillableWorker:
    """A worker with the test's database. Each job has its own process, which can kill itself (``SIGKILL``)."""

    def __init__(self, folder: Path) -> None:
        env = {"DJANGO_SETTINGS_MODULE": "backoffice.settings", "DATABASE_URL": get_database_url()}
        env |= {"BACKOFFICE_DATA_DIR": str(folder.parent), "BACKOFFICE_SECRET_KEY": settings.SECRET_KEY}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=settings.BASE_DIR,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, job: Job, limit: int = 0) -> int | None:
        """Run a job, and kill its process when it has called ``limit`` functions.

        Returns:
            The number of called functions, or None if the process was killed.
        """
        assert self.process.stdin
        self.process.stdin.write(f"{job.key} {limit}\n")
        self.process.stdin.flush()
        line = self._line()
        if line == "ended\n":
            return None
        assert self._line() == "ended\n"
        return int(line)

    def _line(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline()


@pytest.fixture
def worker(folder: Path) -> Iterator[KillableWorker]:
    started = KillableWorker(folder)
    yield started
    started.process.kill()
    started.process.communicate()


def is_complete(theme: Theme, files: dict[str, bytes]) -> bool:
    """Return True if the theme is complete. Otherwise check that no part of the theme is visible."""
    theme.refresh_from_db()
    assets = dict(Asset.objects.filter(theme=theme).values_list("key", "content__size"))
    assert Theme.objects.filter(role="main").count() == 1
    if theme.processing:
        assert (theme.previewable, theme.role, assets) == (False, "unpublished", {})
        return False
    assert (theme.previewable, theme.role) == (True, "main")
    assert assets == {key: len(data) for key, data in files.items()}
    return True


def count_other_connections() -> int:
    """Count the other database connections: a killed process's statement may run until its connection is closed."""
    if connection.vendor != "postgresql":
        return 0
    other_text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(f"{other_text} AND backend_type = 'client backend'")
        (number,) = cursor.fetchone()
    return int(number)


def test_themes_survive_killed_workers(folder: Path, worker: KillableWorker) -> None:
    shop: Shop = factories.make_shop()
    chance = random.Random(20_26)
    calls, midway = 0, 0
    for moment in range(MOMENTS + 1):
        noise = {f"assets/{number}.bin": chance.randbytes(10_000) for number in range(50)}
        files = {LAYOUT: b"<html></html>", **noise}
        with shop_scope(shop):
            Theme.objects.filter(name="Killed", role="unpublished").delete()
            upload = blob_store.store_blob(create_zip(files))
            theme = themes.create_theme(name="Killed", upload=upload, role="main", actor="staff:1", at=timezone.now())
            job = Job.objects.get(task=themes.EXTRACT_TASK, arguments={"theme_id": theme.pk})
        before = count_other_connections()
        # The first run is not killed. The others are killed at equal distances.
        called = worker.run(job, int(calls * moment / (MOMENTS + 1)) if moment else 0)
        assert (called is None) == bool(moment)
        calls = calls or called or 0
        deadline = time.monotonic() + get_time_limit(30)
        while count_other_connections() > before and time.monotonic() < deadline:
            time.sleep(0.01)

        with shop_scope(shop):
            complete = is_complete(theme, files)
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(lease_until=timezone.now() - SECOND)
        assert complete or moment
        if not complete:
            midway += 1
            assert jobs.run_job(job.key)
            with shop_scope(shop):
                assert is_complete(theme, files)
                for asset in Asset.objects.filter(theme=theme).select_related("content")[:20]:
                    assert blob_store.read_blob(asset.content) == files[asset.key]

    with all_shops_scope():
        blob_store.delete_unused_blobs(timezone.now() + blob_store.GRACE_PERIOD + timedelta(minutes=1))
        names = {row.name for row in FileContent.objects.all()}
    assert midway > MOMENTS // 2
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == names
