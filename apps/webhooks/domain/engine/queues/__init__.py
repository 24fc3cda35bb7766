"""Destinations that are no web servers: message brokers and event buses of the operator's.

What they have in common: the operator names them in the environment, with their credentials, and an app's subscription
holds nothing but a name and a key of its own. So no URI of a subscription is a secret, and none reaches a server that
the operator did not mean. A delivery is done once the other side has said that it keeps it; the bytes, the headers and
the ids are those of HTTP, in every attempt.
"""

from collections.abc import Mapping
from typing import Protocol

from django.conf import settings

from apps.outgoing.wires import Progress
from apps.webhooks.domain.engine.claims import Claim


class Queue(Protocol):
    """One kind of destination."""

    async def put(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        """Hand a delivery over; returns once it is kept.

        Raises:
            FetchFailed: It is not, as far as we know.
        """

    async def close(self) -> None:
        """Hang up."""


def schemes() -> list[str]:
    """What the operator set up: the schemes of URIs that can be subscribed to besides those of the web."""
    return ["amqp"] * bool(settings.WEBHOOK_BROKERS) + ["arn"] * settings.WEBHOOK_EVENTBRIDGE


def open_all() -> dict[str, Queue]:
    """Each kind that was set up, by scheme; call it inside a running loop."""
    found: dict[str, Queue] = {}
    if settings.WEBHOOK_BROKERS:
        from apps.webhooks.domain.engine.queues.brokers import Brokers

        found["amqp"] = Brokers(settings.WEBHOOK_BROKERS)
    if settings.WEBHOOK_EVENTBRIDGE:
        from apps.webhooks.domain.engine.queues.event_buses import EventBuses

        found["arn"] = EventBuses()
    return found
