"""The AMQP 0-9-1 transport, e.g. for RabbitMQ.

A delivery to ``amqp://NAME/KEY`` is published to the exchange of the broker ``NAME``. The routing key is
``APP.KEY``, so that an app cannot imitate messages of another app. Messages are persistent and confirmed by the broker.
A message that the broker cannot route to a queue would be lost, so it counts as a failure and is retried.
"""

import asyncio
import time
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.connection import Connection, make_url
from aio_pika.exceptions import AMQPError, DeliveryError, PublishError

from apps.core.http.async_client import TOTAL_SECONDS, Progress
from apps.core.http.errors import CONNECTION_FAILED, MessageRejected, TimedOut, Unreachable
from apps.webhooks.domain.engine.claims import Claim
from apps.webhooks.models import deliveries


class AmqpTransport:
    """A transport with one connection per broker, opened on first use and reopened after a failure."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        """Create the transport. ``addresses`` maps names to ``amqp://USER:PASSWORD@HOST/VHOST?exchange=NAME``."""
        self._brokers = {name: _Broker(address) for name, address in addresses.items()}

    async def send(self, claim: Claim, headers: Mapping[str, str], progress: Progress) -> None:
        name, _, key = claim.uri.removeprefix("amqp://").partition("/")
        broker = self._brokers.get(name)
        if broker is None:
            raise Unreachable(deliveries.NO_BROKER)
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
            # Drop the channel, because a late reply on it would be mistaken for the reply to another message.
            await broker.close()
            raise TimedOut from None
        finally:
            progress.ended = progress.now()

    async def close(self) -> None:
        for broker in self._brokers.values():
            await broker.close()


class _Broker:
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
            # The broker returned the message because no queue is bound, or rejected it because the queue is full.
            returned = isinstance(error, PublishError)
            raise MessageRejected(deliveries.NO_QUEUE if returned else deliveries.REJECTED) from error
        except (AMQPError, OSError, RuntimeError, StopAsyncIteration) as error:
            # aiormq raises StopAsyncIteration if the broker closes a connection that is being opened.
            await self.close()
            raise Unreachable(_describe_error(error)) from error
        progress.answered = progress.now()

    async def close(self) -> None:
        connection, self._connection, self._channel, self._exchange = self._connection, None, None, None
        if connection is not None:
            await connection.close()

    async def _open(self) -> AbstractExchange:
        """Connect and return the exchange, which the operator must have declared."""
        async with self._opening:
            channel = self._channel
            if self._exchange is None or channel is None or channel.is_closed:
                await self.close()
                # Assign before connecting, so that a failed connection is closed too.
                connection = self._connection = Connection(make_url(self._address))
                await connection.connect()
                self._channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
                self._exchange = await self._channel.get_exchange(self._exchange_name)
            return self._exchange


def _describe_error(error: BaseException) -> str:
    """Describe an error without internal addresses."""
    name = type(error).__name__
    return {
        "ChannelNotFoundEntity": deliveries.NO_EXCHANGE,
        "ChannelAccessRefused": deliveries.NO_ACCESS,
        "ProbableAuthenticationError": deliveries.NOT_AUTHENTICATED,
    }.get(name, CONNECTION_FAILED)
