import hashlib
import hmac
import json
import uuid
from base64 import b64encode
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pytest_django import Settings

from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.models import Attempt, Delivery
from backoffice.configuration import env
from tests.support import factories, services
from tests.support.databases.proxy import Fault, Proxy
from tests.support.timing import wait_until
from tests.support.types import Json
from tests.support.webhooks import (
    TOPIC,
    create_blogs,
    make_due_again,
    make_subscription,
    run_dispatchers,
    wait_until_settled,
)

# The library has no type annotations.
kombu: Any = import_module("kombu")

pytestmark = pytest.mark.django_db(transaction=True)


class BrokerExchange:
    def __init__(self, channel: Any) -> None:
        self.exchange = kombu.Exchange(
            f"test-{uuid.uuid4().hex}", "topic", channel=channel, durable=False, auto_delete=False
        )
        self.exchange.declare()
        self.queue: Any = None

    def bind(self, key: str) -> None:
        self.queue = kombu.Queue(exchange=self.exchange, routing_key=key, exclusive=True, channel=self.exchange.channel)
        self.queue.declare()

    def take(self) -> Any:
        queue = self.queue
        assert queue is not None
        return wait_until(lambda: queue.get(no_ack=True), bool)


@pytest.fixture
def broker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokerExchange]:
    url = services.require_service("RabbitMQ", services.get_rabbitmq_url())
    with kombu.Connection(url) as connection:
        new_broker = BrokerExchange(connection.channel())
        settings.WEBHOOK_BROKERS = {"warehouse": f"{url}?exchange={new_broker.exchange.name}"}
        yield new_broker
        new_broker.exchange.delete()


def get_attempts(shop: Shop) -> list[Attempt]:
    with shop_scope(shop):
        return list(Attempt.objects.order_by("id"))


def wait_for_outcomes(shop: Shop, count: int = 1) -> dict[str, int]:
    return wait_until(
        lambda: wait_until_settled(shop, seconds=60), lambda states: sum(states.values()) == count, seconds=60
    )


def test_a_message_holds_what_a_request_would(shop: Shop, installation: Installation, broker: BrokerExchange) -> None:
    broker.bind(f"{installation.app_id}.blogs.*")
    make_subscription(installation, "amqp://warehouse/blogs.new", name="mine")
    with run_dispatchers():
        create_blogs(shop)
        message = broker.take()
        assert wait_for_outcomes(shop) == {"done": 1}

    with all_shops_scope():
        delivery = Delivery.objects.select_related("event", "payload").get()
    body = bytes(message.body)
    (attempt,) = get_attempts(shop)
    assert body == bytes(delivery.payload.body)
    assert message.delivery_info["routing_key"] == f"{installation.app_id}.blogs.new"
    assert message.properties["message_id"] == str(delivery.key) == message.headers["X-Platform-Webhook-Id"]
    assert (message.properties["type"], message.properties["delivery_mode"]) == (TOPIC, 2)
    assert message.content_type == "application/json"
    assert message.headers["X-Platform-Shop-Domain"] == shop.domain
    assert message.headers["X-Platform-Name"] == "mine"
    secret = installation.app.api_secret.encode()
    signed = b64encode(hmac.new(secret, body, hashlib.sha256).digest()).decode()
    assert message.headers["X-Platform-Hmac-Sha256"] == signed
    assert (attempt.outcome, attempt.status, attempt.excerpt) == ("ok", None, "")


def test_an_app_publishes_to_no_key_of_another_app(
    shop: Shop, installation: Installation, broker: BrokerExchange
) -> None:
    victim = factories.make_installation(shop, ["read_content"])
    broker.bind(f"{victim.app_id}.#")
    make_subscription(installation, f"amqp://warehouse/{victim.app_id}.blogs.new")

    attempt = fail_one_attempt(shop)

    assert attempt.error == "no queue is bound to the routing key"
    assert broker.queue.get(no_ack=True) is None


def test_refused_messages_are_retried(shop: Shop, installation: Installation, broker: BrokerExchange) -> None:
    make_subscription(installation, "amqp://warehouse/lost")
    with run_dispatchers():
        create_blogs(shop)
        assert wait_for_outcomes(shop) == {"retry": 1}
        broker.bind("#")
        make_due_again(shop)
        message = broker.take()
        assert wait_for_outcomes(shop) == {"done": 1}

    first, second = get_attempts(shop)
    assert (first.outcome, first.error) == ("not_taken", "no queue is bound to the routing key")
    assert second.outcome == "ok"
    with all_shops_scope():
        assert message.properties["message_id"] == str(Delivery.objects.get().key)


# The library does not await one of its coroutines if a connection ends while it is being opened.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_broken_connections_reconnect(
    shop: Shop, installation: Installation, broker: BrokerExchange, settings: Settings
) -> None:
    broker.bind("#")
    address = settings.WEBHOOK_BROKERS["warehouse"]
    with Proxy(5672).running() as proxy:
        settings.WEBHOOK_BROKERS = {"warehouse": address.replace(":5672/", f":{proxy.port}/")}
        make_subscription(installation, "amqp://warehouse/all")
        with run_dispatchers():
            create_blogs(shop)
            broker.take()
            assert wait_for_outcomes(shop) == {"done": 1}  # The message can be read before the broker has confirmed it.
            proxy.suffer(Fault.RESET)
            create_blogs(shop)
            assert wait_for_outcomes(shop, 2) == {"done": 1, "retry": 1}
            proxy.heal()
            make_due_again(shop)
            broker.take()
            assert wait_for_outcomes(shop, 2) == {"done": 2}

    assert [attempt.outcome for attempt in get_attempts(shop)] == ["ok", "unreachable", "ok"]


def fail_one_attempt(shop: Shop) -> Attempt:
    with run_dispatchers():
        create_blogs(shop)
        assert wait_for_outcomes(shop) == {"retry": 1}
    (attempt,) = get_attempts(shop)
    return attempt


def test_an_exchange_that_is_not_there_is_named(shop: Shop, installation: Installation, broker: BrokerExchange) -> None:
    broker.exchange.delete()
    make_subscription(installation, "amqp://warehouse/all")

    attempt = fail_one_attempt(shop)

    assert (attempt.outcome, attempt.error) == ("unreachable", "the exchange does not exist on the broker")


def test_a_removed_configuration_is_reported(
    shop: Shop, installation: Installation, broker: BrokerExchange, settings: Settings
) -> None:
    make_subscription(installation, "amqp://warehouse/all")
    settings.WEBHOOK_BROKERS = {}

    assert fail_one_attempt(shop).error == "this type of endpoint is no longer configured"


NO_ADDRESS = "is not a valid AMQP address. Address should be amqp://broker/routing-key"
WRONG = {
    "amqp://elsewhere/orders": "refers to a broker that is not configured: elsewhere",
    **dict.fromkeys(("amqp://warehouse", "amqp://me:pw@warehouse/orders", "amqp://warehouse/a b"), NO_ADDRESS),
    "amqps://warehouse/orders": "protocol amqps:// is not supported",
}


def test_unknown_brokers_are_refused(shop: Shop, installation: Installation, broker: BrokerExchange) -> None:
    for uri, message in WRONG.items():
        with pytest.raises(SubscriptionRefused) as error:
            make_subscription(installation, uri)
        assert error.value.errors["uri"] == [message], uri


def test_brokers_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    first_text = "one=amqp://me:pw@mq.example/store?exchange=hooks"
    two = "two=amqps://mq.example:5671/?exchange=other&heartbeat=10"
    monkeypatch.setenv("BROKERS", f"{first_text}, {two}")

    assert env.get_brokers("BROKERS") == dict(pair.split("=", 1) for pair in (first_text, two))


class EventBusQueue:
    def __init__(self, session: Any, endpoint: str, app_id: int) -> None:
        def client(name: str) -> Any:
            return session.client(name, region_name="eu-west-1", endpoint_url=endpoint)

        self.source = f"aws.partner/backoffice/{app_id}/mine"
        self.arn = f"arn:aws:events:eu-west-1::event-source/{self.source}"
        events, self._queues = client("events"), client("sqs")
        events.create_partner_event_source(Name=self.source, Account="123456789012")
        self._url = self._queues.create_queue(QueueName="mine")["QueueUrl"]
        arn = self._queues.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])
        pattern = json.dumps({"source": [self.source]})
        events.put_rule(Name="all", EventPattern=pattern)
        target = {"Id": "1", "Arn": arn["Attributes"]["QueueArn"]}
        events.put_targets(Rule="all", Targets=[target])

    def take(self) -> Json:
        results = wait_until(lambda: self._queues.receive_message(QueueUrl=self._url).get("Messages"), bool)
        return json.loads(results[0]["Body"])


@pytest.fixture
def bus(installation: Installation, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventBusQueue]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    settings.WEBHOOK_EVENTBRIDGE = True
    yield EventBusQueue(boto3.session.Session(), f"http://{host}:{port}", installation.app_id)
    server.stop()


def test_an_event_bus_gets_payload_and_headers(shop: Shop, installation: Installation, bus: EventBusQueue) -> None:
    make_subscription(installation, bus.arn)
    with run_dispatchers():
        create_blogs(shop)
        event = bus.take()
        assert wait_for_outcomes(shop) == {"done": 1}

    with all_shops_scope():
        delivery = Delivery.objects.select_related("payload").get()
    assert event["source"] == bus.source
    assert event["detail-type"] == TOPIC
    assert event["detail"]["payload"] == json.loads(bytes(delivery.payload.body))
    assert event["detail"]["metadata"]["X-Platform-Webhook-Id"] == str(delivery.key)
    assert event["detail"]["metadata"]["X-Platform-Topic"] == TOPIC


def test_an_event_bus_that_is_away_is_tried_again(
    shop: Shop, installation: Installation, bus: EventBusQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    make_subscription(installation, bus.arn)

    attempt = fail_one_attempt(shop)

    assert (attempt.outcome, attempt.error) == ("unreachable", "EndpointConnectionError")
