"""Transports other than HTTP: message brokers and event buses that the operator configures.

The operator configures the names and credentials of brokers and buses in environment variables. A subscription URI
contains only the name and a key, so it is not secret and cannot refer to a server that the operator did not choose. A
delivery succeeds when the broker or bus confirms that it stored the message. Bytes, headers and IDs are the same as
over HTTP, and the same in every attempt.
"""

from collections.abc import Mapping
from typing import Protocol

from django.conf import settings

from apps.core.http.async_client import Progress
from apps.webhooks.domain.engine.claims import Claim


class Transport(Protocol):
    """A way to send deliveries to one kind of endpoint."""

    async def send(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        """Send a delivery, and return when it is stored. Raise ``HttpRequestFailed`` if this is not confirmed."""

    async def close(self) -> None:
        """Close all connections."""


def open_transports() -> dict[str, Transport]:
    """Create the configured transports, keyed by scheme. Call this function in a running event loop."""
    transports: dict[str, Transport] = {}
    if settings.WEBHOOK_BROKERS:
        from apps.webhooks.domain.engine.transports.amqp import AmqpTransport

        transports["amqp"] = AmqpTransport(settings.WEBHOOK_BROKERS)
    if settings.WEBHOOK_EVENTBRIDGE:
        from apps.webhooks.domain.engine.transports.eventbridge import EventBridgeTransport

        transports["arn"] = EventBridgeTransport()
    return transports
