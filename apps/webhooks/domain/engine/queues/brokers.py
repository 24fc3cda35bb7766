"""Deliveries as messages of AMQP 0-9-1, such as RabbitMQ takes.

``amqp://NAME/KEY`` is published to the exchange of the broker that the operator calls so, under the routing key
``APP.KEY``: an app's messages never look like another's. They are persistent and confirmed by the broker, and must
reach a queue at that moment: one that nobody reads would be gone, so it counts as a failure and is tried again.
"""

import asyncio
import time
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.connection import Connection, make_url
from aio_pika.exceptions import AMQPError, DeliveryError, PublishError
from django.utils.translation import gettext_noop

from apps.outgoing.asynchronous import TOTAL_SECONDS
from apps.outgoing.errors import NotTaken, TimedOut, Unreachable
from apps.outgoing.wires import Progress
from apps.webhooks.domain.engine.claims import Claim


class Brokers:
    """The operator's brokers, each with one connection that is made at its first message, and again where it broke."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        """By name: ``amqp://USER:PASSWORD@HOST/VHOST?exchange=NAME``."""
        self._brokers = {name: _Broker(address) for name, address in addresses.items()}

    async def put(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        """As ``Queue.put``."""
        name, _, key = claim.uri.removeprefix("amqp://").partition("/")
        broker = self._brokers.get(name)
        if broker is None:
            raise Unreachable(gettext_noop("no broker of this name is set up"))
        message = aio_pika.Message(
            claim.body,
            content_type=headers["Content-Type"],
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=str(claim.key),
            timestamp=int(time.time()),
            type=claim.topic,
            headers={name: value for name, value in headers.items() if name != "Content-Type"},
        )
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                await broker.publish(message, f"{claim.app}.{key}", progress)
        except TimeoutError:
            # What is said on it after this belongs to another message.
            await broker.close()
            raise TimedOut from None
        finally:
            progress.ended = progress.now()

    async def close(self) -> None:
        """Hang up."""
        for broker in self._brokers.values():
            await broker.close()


class _Broker:
    """One broker, and the exchange that its address names."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        options = parse_qsl(parts.query)
        self._exchange_name = dict(options)["exchange"]
        rest = urlencode([(name, value) for name, value in options if name != "exchange"])
        self._address = urlunsplit(parts._replace(query=rest))
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._exchange: AbstractExchange | None = None
        self._opening = asyncio.Lock()

    async def publish(self, message: aio_pika.Message, key: str, progress: Progress) -> None:
        try:
            exchange = await self._open()
            progress.connected = progress.now()
            await exchange.publish(message, key, mandatory=True)
        except DeliveryError as error:
            # Returned, for there is no queue; or refused, for its queue is full.
            returned = isinstance(error, PublishError)
            raise NotTaken(
                gettext_noop("no queue is bound to its routing key")
                if returned
                else gettext_noop("the broker refused it")
            ) from error
        except (AMQPError, OSError, RuntimeError) as error:
            await self.close()
            raise Unreachable(_words(error)) from error
        progress.answered = progress.now()

    async def close(self) -> None:
        connection, self._connection, self._channel, self._exchange = self._connection, None, None, None
        if connection is not None:
            await connection.close()

    async def _open(self) -> AbstractExchange:
        """The exchange, which must be there: it is the operator's to declare."""
        async with self._opening:
            channel = self._channel
            if self._exchange is None or channel is None or channel.is_closed:
                await self.close()
                # Known before it is made, so that it is closed where making it fails.
                connection = self._connection = Connection(make_url(self._address))
                await connection.connect()
                self._channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
                self._exchange = await self._channel.get_exchange(self._exchange_name)
            return self._exchange


def _words(error: BaseException) -> str:
    """Why, without addresses from inside."""
    name = type(error).__name__
    return {
        "ChannelNotFoundEntity": gettext_noop("the broker has no such exchange"),
        "ChannelAccessRefused": gettext_noop("the broker does not let us write to the exchange"),
        "ProbableAuthenticationError": gettext_noop("the broker does not know us"),
    }.get(name, gettext_noop("connection failed"))
