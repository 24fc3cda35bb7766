"""The notifications of workers by the broker."""

import uuid

from django.conf import settings
from django.utils.module_loading import import_string

from apps.core.jobs.broker_circuit_breaker import BrokerCircuitBreaker
from apps.core.jobs.queue import notifiers


def _notify_workers(*keys: uuid.UUID) -> None:
    # Import Celery late. The import takes half a second and would delay the first response of a web process.
    import_string(settings.JOB_TASK).apply_async(args=tuple(map(str, keys)), ignore_result=True)


notifiers.register("broker", BrokerCircuitBreaker(_notify_workers))
