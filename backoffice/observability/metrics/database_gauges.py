"""Prometheus gauges that are read from the database on each scrape.

Every web process on every machine reports the same values.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import Error, connection, transaction
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.core.db.postgresql import replica
from apps.core.jobs import metrics as jobs
from apps.core.jobs.worker_processes import get_worker_metrics
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain import metrics as webhooks


class DatabaseGauges(Collector):
    """Collects the gauges. If the database does not respond, ``backoffice_up`` is 0 and other gauges are missing."""

    def collect(self) -> Iterator[Metric]:
        try:
            with all_shops_scope(), transaction.atomic():
                metrics = list(_collect_database_gauges())
        except Error:
            connection.close()
            yield _build_gauge("up", "1 if the database answers.", 0)
            return
        yield _build_gauge("up", "1 if the database answers.", 1)
        if replica.has_replica():
            yield from _collect_replica_gauges()
        yield from metrics


def _collect_database_gauges() -> Iterator[Metric]:
    work = jobs.get_job_metrics()
    help_text = "Waiting and running jobs, and jobs that failed within a day."
    yield _build_gauge("jobs", help_text, work.states, "state")
    yield _build_gauge(
        "jobs_oldest_due_seconds", "Seconds since the oldest due job became due.", work.oldest_due_seconds
    )
    yield _build_gauge("queue_jobs", "Due jobs by queue.", work.queues, "queue")
    processes = get_worker_metrics()
    yield _build_gauge(
        "workers", "Workers that run, and workers that were lost within a day.", processes.workers, "state"
    )
    help_text = "Schedulers that run, and schedulers that were lost within a day."
    yield _build_gauge("schedulers", help_text, processes.schedulers, "state")
    yield _build_gauge("queue_workers", "Running workers that consume a queue.", processes.queues, "queue")
    deliveries = webhooks.collect_webhook_metrics()
    yield _build_gauge("webhook_deliveries", "Unfinished webhook deliveries.", deliveries.states, "state")
    help_text = "Age of the oldest event that is not matched with subscriptions yet."
    yield _build_gauge("webhook_oldest_event_seconds", help_text, deliveries.oldest_event_seconds)
    help_text = "Seconds since the oldest pending delivery became due."
    yield _build_gauge("webhook_oldest_due_seconds", help_text, deliveries.oldest_due_seconds)
    help_text = "Subscriptions disabled after failed deliveries."
    yield _build_gauge("webhook_subscriptions_disabled", help_text, deliveries.disabled_subscriptions)
    help_text = "Disabled subscriptions that were disabled within the last hour."
    yield _build_gauge("webhook_subscriptions_disabled_lately", help_text, deliveries.recently_disabled_subscriptions)
    yield _build_gauge("webhook_runs", "Workers that are delivering webhooks.", deliveries.runs)
    yield _build_gauge("webhook_hosts_paused", "Hosts with an open circuit breaker.", deliveries.paused_hosts)
    help_text = "Delivery attempts of the last five minutes by outcome, at most the latest 5,000."
    yield _build_gauge("webhook_attempts_lately", help_text, deliveries.outcomes, "outcome")
    help_text = "Delivery attempts of the last five minutes that ended after their lease."
    yield _build_gauge("webhook_attempts_fenced_lately", help_text, deliveries.fenced)
    help_text = "Seconds between an event and its first delivery attempt, over the last five minutes."
    yield _build_gauge("webhook_first_attempt_lag_seconds", help_text, deliveries.lags, "quantile")


def _collect_replica_gauges() -> Iterator[Metric]:
    is_up = replica.replica_status.is_available()
    yield _build_gauge("replica_up", "1 if the replica answers and its lag is within the limit.", is_up)
    if (lag := replica.replica_status.lag) is not None and lag != float("inf"):
        yield _build_gauge("replica_lag_seconds", "Upper bound of the replica's lag.", lag)


def _build_gauge(name: str, text: str, value: float | Mapping[Any, float], label: str = "") -> GaugeMetricFamily:
    """Build a gauge with one value, or with a value for each value of a label."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(f"backoffice_{name}", text, value)
    family = GaugeMetricFamily(f"backoffice_{name}", text, labels=(label,))
    for key, number in value.items():
        family.add_metric((str(key),), number)
    return family
