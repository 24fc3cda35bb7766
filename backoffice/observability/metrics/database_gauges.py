"""Prometheus gauges that are read from the database on each scrape.

Every web process on every machine reports the same values.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import Error, connection, transaction
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.core.db import replica
from apps.core.jobs import metrics as jobs
from apps.core.tenancy.scope import all_shops_scope
from apps.webhooks.domain import metrics as webhooks
from backoffice.server import supervisor


class DatabaseGauges(Collector):
    """Prometheus collector for gauges of queued work and running processes.

    If the database does not respond, ``backoffice_up`` is 0 and the other gauges are missing.
    """

    def collect(self) -> Iterator[Metric]:
        """Yield all gauges."""
        if (board := supervisor.board) is not None:
            yield GaugeMetricFamily("backoffice_web_processes", "Running web processes.", board.serving())
        try:
            with all_shops_scope(), transaction.atomic():
                metrics = list(_collect_database_gauges())
        except Error:
            connection.close()
            yield GaugeMetricFamily("backoffice_up", "1 if the database answers.", 0)
            return
        yield GaugeMetricFamily("backoffice_up", "1 if the database answers.", 1)
        if replica.has_replica():
            yield from _collect_replica_gauges()
        yield from metrics


def _collect_database_gauges() -> Iterator[Metric]:
    work = jobs.get_job_metrics()
    yield _build_gauge(
        "state", "backoffice_jobs", "Waiting and running jobs, and jobs that failed within a day.", work.states
    )
    yield GaugeMetricFamily(
        "backoffice_jobs_oldest_due_seconds", "Seconds since the oldest due job became due.", work.oldest_due_seconds
    )
    deliveries = webhooks.collect_webhook_metrics()
    yield _build_gauge("state", "backoffice_webhook_deliveries", "Unfinished webhook deliveries.", deliveries.states)
    yield GaugeMetricFamily(
        "backoffice_webhook_oldest_event_seconds",
        "Age of the oldest event that is not matched with subscriptions yet.",
        deliveries.oldest_event_seconds,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_oldest_due_seconds",
        "Seconds since the oldest pending delivery became due.",
        deliveries.oldest_due_seconds,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_subscriptions_disabled",
        "Subscriptions disabled after failed deliveries.",
        deliveries.disabled_subscriptions,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_hosts_paused",
        "Hosts with an open circuit breaker.",
        deliveries.paused_hosts,
    )
    yield _build_gauge(
        "outcome",
        "backoffice_webhook_attempts_lately",
        "Delivery attempts of the last five minutes by outcome, at most the latest 5,000.",
        deliveries.outcomes,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_attempts_fenced_lately",
        "Delivery attempts of the last five minutes that ended after their lease.",
        deliveries.fenced,
    )
    yield _build_gauge(
        "quantile",
        "backoffice_webhook_first_attempt_lag_seconds",
        "Seconds between an event and its first delivery attempt, over the last five minutes.",
        deliveries.lags,
    )


def _collect_replica_gauges() -> Iterator[Metric]:
    is_up = replica.replica_status.is_available()
    yield GaugeMetricFamily("backoffice_replica_up", "1 if the replica answers and its lag is within the limit.", is_up)
    if (lag := replica.replica_status.lag) is not None and lag != float("inf"):
        yield GaugeMetricFamily("backoffice_replica_lag_seconds", "Upper bound of the replica's lag.", lag)


def _build_gauge(label: str, name: str, text: str, values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for key, number in values.items():
        family.add_metric((str(key),), number)
    return family
