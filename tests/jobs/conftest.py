"""Fixtures and factories for job tests."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.core.jobs import publishing
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope


@pytest.fixture
def notified_jobs(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """Return a list that collects the job key of each message to Celery."""
    keys: list[uuid.UUID] = []
    monkeypatch.setattr(publishing, "send_task", lambda name, *, task_id, **_: keys.append(uuid.UUID(task_id)))
    return keys


def make_waiting_jobs(shop: Shop, count: int, **values: object) -> list[uuid.UUID]:
    """Create jobs that have been due for a while and were not sent, and return their keys."""
    since = timezone.now() - timedelta(minutes=5)
    jobs = [Job(shop=shop, **{"task": "test.task", "due_at": since, **values}) for _ in range(count)]
    with shop_scope(shop):
        return [job.key for job in Job.objects.bulk_create(jobs)]
