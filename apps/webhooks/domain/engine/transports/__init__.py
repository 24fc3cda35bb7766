"""Transports other than HTTP: message brokers and event buses that the operator configures.

The operator names the brokers and buses in the environment, with their credentials. The URI of a subscription contains
only such a name and a key. A URI is therefore never a secret and cannot lead to a server that the operator did not
choose. A delivery succeeds when the broker or bus confirms that it stored the message. Bytes, headers and IDs are the
same as over HTTP, in every attempt.
"""

from collections.abc import Mapping
from typing import Protocol

from django.conf import settings

from apps.outgoing.http1_connection import Progress
from apps.webhooks.domain.engine.claims import Claim


class Transport(Protocol):
    """A way to send deliveries to one kind of endpoint."""

    async def send(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        """Send a delivery, and return when the broker or bus has stored the message.

        Raises:
            HttpRequestFailed: The delivery was not confirmed.
        """

    async def close(self) -> None:
        """Close all connections."""


def get_enabled_schemes() -> list[str]:
    """Return the URI schemes that the settings enable in addition to ``https``."""
    return ["amqp"] * bool(settings.WEBHOOK_BROKERS) + ["arn"] * settings.WEBHOOK_EVENTBRIDGE


def open_transports() -> dict[str, Transport]:
    """Create the configured transports by scheme. Must be called in a running event loop."""
    transports: dict[str, Transport] = {}
    if settings.WEBHOOK_BROKERS:
        from apps.webhooks.domain.engine.transports.amqp import AmqpTransport

        transports["amqp"] = AmqpTransport(settings.WEBHOOK_BROKERS)
    if settings.WEBHOOK_EVENTBRIDGE:
        from apps.webhooks.domain.engine.transports.eventbridge import EventBridgeTransport

        transports["arn"] = EventBridgeTransport()
    return transports
