"""What waits in the database, read when somebody asks; alike in every web process and on every machine."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import Error, connection, transaction
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from apps.ground import replica
from apps.ground.tenancy import every_shop
from apps.jobs.domain import figures as jobs
from apps.webhooks.domain import figures as webhooks
from backoffice.server import supervisor


class Waiting(Collector):
    """Gauges of work that waits and of processes that serve.

    ``backoffice_up`` is 0 where the database does not answer; then nothing that is in it is told.
    """

    def collect(self) -> Iterator[Metric]:
        """Ask for all of them."""
        if (board := supervisor.board) is not None:
            yield GaugeMetricFamily("backoffice_web_processes", "Web processes that serve.", board.serving())
        try:
            with every_shop(), transaction.atomic():
                found = list(_stored())
        except Error:
            connection.close()
            yield GaugeMetricFamily("backoffice_up", "Whether the database answers.", 0)
            return
        yield GaugeMetricFamily("backoffice_up", "Whether the database answers.", 1)
        if replica.is_there():
            yield from _replica()
        yield from found


def _stored() -> Iterator[Metric]:
    work = jobs.figures()
    yield _by("state", "backoffice_jobs", "Jobs that wait, run, or failed within a day.", work.states)
    yield GaugeMetricFamily(
        "backoffice_jobs_oldest_due_seconds", "How long the oldest due job has waited.", work.oldest_due_seconds
    )
    deliveries = webhooks.figures()
    yield _by("state", "backoffice_webhook_deliveries", "Deliveries that are not done.", deliveries.states)
    yield GaugeMetricFamily(
        "backoffice_webhook_oldest_event_seconds",
        "How long the oldest event that somebody listens to has waited for its deliveries to be made.",
        deliveries.oldest_event_seconds,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_oldest_due_seconds",
        "How long the delivery that should have gone out first has waited.",
        deliveries.oldest_due_seconds,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_subscriptions_disabled",
        "Subscriptions that the engine switched off, as their deliveries failed.",
        deliveries.disabled_subscriptions,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_hosts_paused",
        "Servers that are left alone for a while, as they did not answer.",
        deliveries.paused_hosts,
    )
    yield _by(
        "outcome",
        "backoffice_webhook_attempts_lately",
        "Attempts of the last five minutes, the newest 5,000 at most, by how they ended.",
        deliveries.outcomes,
    )
    yield GaugeMetricFamily(
        "backoffice_webhook_attempts_fenced_lately",
        "Of these attempts those that ended after their lease had.",
        deliveries.fenced,
    )
    yield _by(
        "quantile",
        "backoffice_webhook_first_attempt_lag_seconds",
        "From what happened to the first attempt to tell of it, of the attempts of the last five minutes.",
        deliveries.lags,
    )


def _replica() -> Iterator[Metric]:
    is_read = replica.standing.answers()
    yield GaugeMetricFamily(
        "backoffice_replica_up", "Whether the replica answers and lags no longer than it may.", is_read
    )
    if (lag := replica.standing.lag) is not None and lag != float("inf"):
        yield GaugeMetricFamily("backoffice_replica_lag_seconds", "By how much the replica lags at most.", lag)


def _by(label: str, name: str, text: str, values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for key, number in values.items():
        family.add_metric((str(key),), number)
    return family
