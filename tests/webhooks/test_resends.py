"""Apps and staff resend single deliveries and send test deliveries, and workers are notified at once."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.jobs import publishing, queue
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain import replay, subscriptions
from apps.webhooks.domain.engine import fan_out
from apps.webhooks.domain.engine.dispatcher import notify
from apps.webhooks.models import Attempt, Delivery, Payload, Subscription
from tests.support.api_client import ApiClient, ClientWith, get_errors
from tests.support.graphql_client import get_data
from tests.support.types import JsonObject
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("allow_loopback")]
URI = "http://127.0.0.1:9/"
RESEND = """
mutation ($id: ID!) {
  webhookDeliveryResend(id: $id) {
    webhookDelivery { id state redelivery nextAttemptAt attempts { number status } }
    userErrors { field message }
  }
}
"""
SEND_TEST = """
mutation ($id: ID!) {
  webhookSubscriptionTest(id: $id) { webhookDelivery { id kind topic state } userErrors { field message } }
}
"""
READ = "query ($id: ID!) { node(id: $id) { ... on WebhookDelivery { state apiVersion { handle } } } }"


def make_delivery(shop: Shop, state: str = "done", **values: Any) -> Delivery:
    create_blogs(shop)
    fan_out.create_deliveries()
    with shop_scope(shop):
        rows = Delivery.objects.filter(state="due")
        delivery = rows.get()
        rows.update(**{"state": state, "attempts": 1, "finished_at": timezone.now(), **values})
        Attempt.objects.create(shop=shop, delivery=delivery, number=1, outcome="ok", status=204)
        delivery.refresh_from_db()
    return delivery


def update_subscriptions(**values: Any) -> None:
    with all_shops_scope():
        Subscription.objects.update(**values)


def resend(api: ApiClient, delivery: Delivery) -> Any:
    return api.post(f"webhooks/{delivery.subscription_id}/deliveries/{delivery.pk}/resend.json")


def send_test(api: ApiClient, subscription: Subscription) -> Any:
    return api.post(f"webhooks/{subscription.pk}/test.json")


def get_global_id(row: Delivery | Subscription) -> str:
    kind = "WebhookDelivery" if isinstance(row, Delivery) else "WebhookSubscription"
    return f"gid://platform/{kind}/{row.pk}"


def resend_over_graphql(api: ApiClient, delivery: Delivery) -> JsonObject:
    return get_data(api, RESEND, {"id": get_global_id(delivery)})["webhookDeliveryResend"]


def get_bodies(shop: Shop) -> list[bytes]:
    with shop_scope(shop):
        return [bytes(body) for body in Payload.objects.order_by("-pk").values_list("body", flat=True)]


@pytest.mark.parametrize("state", ["done", "dead", "held", "cancelled", "retry"])
def test_an_app_resends_a_delivery_to_the_current_address(api: ApiClient, shop: Shop, state: str) -> None:
    subscription = make_subscription(api.installation, URI)
    delivery = make_delivery(shop, state, next_at=timezone.now() + timedelta(hours=1))
    update_subscriptions(uri=f"{URI}moved")

    response = resend(api, delivery)

    assert response.status_code == 202
    shown = response.json()["delivery"]
    assert shown == api.get(f"webhooks/{subscription.pk}/deliveries/{delivery.pk}.json").json()["delivery"]
    assert (shown["id"], shown["webhook_id"], shown["state"]) == (delivery.pk, str(delivery.key), "retry")
    assert shown["redelivery"] is (state != "retry")
    with shop_scope(shop):
        delivery = Delivery.objects.select_related("endpoint").get()
    assert delivery.endpoint.uri == f"{URI}moved"
    assert delivery.next_at <= timezone.now()


def test_an_app_resends_a_delivery_over_graphql(api: ApiClient, shop: Shop) -> None:
    make_subscription(api.installation, URI)
    delivery = make_delivery(shop)

    resent = resend_over_graphql(api, delivery)
    node = get_data(api, READ, {"id": get_global_id(delivery)})["node"]
    update_subscriptions(state="paused")
    refused = resend_over_graphql(api, delivery)

    shown = resent["webhookDelivery"]
    assert resent["userErrors"] == []
    assert (shown["state"], shown["redelivery"]) == ("RETRY", True)
    assert shown["nextAttemptAt"]
    assert shown["attempts"] == [{"number": 1, "status": 204}]
    assert node == {"state": "RETRY", "apiVersion": {"handle": "2026-10"}}
    assert refused["webhookDelivery"] is None
    message = "The subscription is paused. Resume it before you replay its deliveries."
    assert refused["userErrors"] == [{"field": ["id"], "message": message}]


def test_a_delivery_that_is_due_stays_due(api: ApiClient, shop: Shop) -> None:
    make_subscription(api.installation, URI)
    delivery = make_delivery(shop, "due", finished_at=None)

    response = resend(api, delivery)

    assert (response.status_code, response.json()["delivery"]["state"]) == (202, "due")


NO_PAYLOAD = "The payload was too large, has expired, or was erased, so it can't be sent again."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda: Payload.objects.all().delete(), NO_PAYLOAD, id="expired"),
        pytest.param(lambda: Payload.objects.update(body=b""), NO_PAYLOAD, id="erased"),
        pytest.param(
            lambda: Delivery.objects.update(state="leased"), "The delivery is being sent right now.", id="in progress"
        ),
        pytest.param(
            lambda: Subscription.objects.update(state="disabled"),
            "The subscription is disabled. Resume it before you replay its deliveries.",
            id="disabled",
        ),
    ],
)
def test_a_delivery_that_cannot_be_sent_is_refused(
    api: ApiClient, shop: Shop, change: Callable[[], object], message: str
) -> None:
    make_subscription(api.installation, URI)
    delivery = make_delivery(shop)
    with all_shops_scope():
        change()
        before = Delivery.objects.values().get()

    response = resend(api, delivery)

    assert response.status_code == 422
    assert get_errors(response) == {"base": [message]}
    with all_shops_scope():
        assert Delivery.objects.values().get() == before


@pytest.mark.parametrize("state", ["live", "paused", "disabled"])
def test_an_app_sends_a_test_delivery(api: ApiClient, shop: Shop, state: str) -> None:
    subscription = make_subscription(api.installation, URI, filter="title:Never", include_fields=["title"])
    create_blogs(shop, title="Latest")
    update_subscriptions(state=state)

    response = send_test(api, subscription)
    sent = get_data(api, SEND_TEST, {"id": get_global_id(subscription)})["webhookSubscriptionTest"]

    assert response.status_code == 202
    shown = response.json()["delivery"]
    assert shown == api.get(f"webhooks/{subscription.pk}/deliveries/{shown['id']}.json").json()["delivery"]
    assert (shown["kind"], shown["state"], shown["topic"]) == ("test", "due", "blogs/create")
    assert get_bodies(shop) == [b'{"title":"Latest 0"}'] * 2
    assert sent["userErrors"] == []
    assert sent["webhookDelivery"]["id"] != f"gid://platform/WebhookDelivery/{shown['id']}"
    assert (sent["webhookDelivery"]["kind"], sent["webhookDelivery"]["state"]) == ("test", "DUE")


def test_a_test_delivery_contains_no_event_of_another_app(api: ApiClient, shop: Shop, client_with: ClientWith) -> None:
    topic = "app/scopes_update"
    own = make_subscription(api.installation, URI, topic=topic)
    other = client_with("read_content", name="Other").installation
    make_subscription(other, f"{URI}other", topic=topic)
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        for installation in (api.installation, other):
            record_event(topic, installation, actor="system", at=timezone.now())
        event = Event.objects.get(topic=topic, subject_id=api.installation.pk)

    send_test(api, own)

    assert [json.loads(body) for body in get_bodies(shop)] == [(event.payload or {})["2026-10"]]


def test_an_app_without_the_scope_of_the_topic_sends_nothing(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    delivery = make_delivery(shop)
    with all_shops_scope():
        Installation.objects.filter(pk=api.installation.pk).update(scopes=["read_products"])

    assert resend(api, delivery).status_code == 403
    assert send_test(api, subscription).status_code == 403
    with shop_scope(shop):
        assert list(Delivery.objects.values_list("state", flat=True)) == ["done"]


def test_other_apps_and_shops_resend_and_test_nothing(
    api: ApiClient, other_shop_api: ApiClient, client_with: ClientWith, shop: Shop
) -> None:
    subscription = make_subscription(api.installation, URI)
    delivery = make_delivery(shop)
    other_subscription = make_subscription(api.installation, f"{URI}other")
    missing = [{"field": ["id"], "message": "Webhook delivery does not exist"}]

    for stranger in (other_shop_api, client_with("read_content", name="Other")):
        assert [resend(stranger, delivery).status_code, send_test(stranger, subscription).status_code] == [404, 404]
        assert resend_over_graphql(stranger, delivery)["userErrors"] == missing
        tested = get_data(stranger, SEND_TEST, {"id": get_global_id(subscription)})["webhookSubscriptionTest"]
        assert [error["message"] for error in tested["userErrors"]] == ["Webhook subscription does not exist"]
        assert get_data(stranger, READ, {"id": get_global_id(delivery)})["node"] is None
    path = f"webhooks/{other_subscription.pk}/deliveries/{delivery.pk}/resend.json"
    assert api.post(path).status_code == 404
    with shop_scope(shop):
        assert list(Delivery.objects.values_list("state", flat=True)) == ["done"]


def test_a_replay_is_spread_over_time_across_batches(
    shop: Shop, installation: Installation, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(replay, "_BATCH", 3)
    settings.WEBHOOK_REPLAYS_PER_SECOND = 2
    subscription = make_subscription(installation, URI)
    for _ in range(8):
        make_delivery(shop, "dead")

    with shop_scope(shop):
        replay_all(subscription)
        moments = list(Delivery.objects.order_by("event_id").values_list("next_at", flat=True))

    assert [(moment - moments[0]).total_seconds() for moment in moments] == [number / 2 for number in range(8)]


# --- notifications ---------------------------------------------------------------------------------------------------


def resume(subscription: Subscription) -> None:
    subscriptions.resume_subscription(subscription, actor="staff:1", at=timezone.now())


def replay_all(subscription: Subscription) -> None:
    job = replay.replay_dead_letters(subscription, actor="staff:1", at=timezone.now())
    assert queue.run_job(job.key)


def replay_one(subscription: Subscription) -> None:
    deliveries = Delivery.objects.filter(subscription=subscription).values_list("pk", flat=True)
    assert replay.replay_deliveries(list(deliveries)) == 1


@pytest.mark.parametrize("action", [resume, replay_all, replay_one])
def test_a_replay_and_a_resume_notify_workers_after_the_commit(
    shop: Shop,
    installation: Installation,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
    action: Callable[[Subscription], None],
) -> None:
    messages: list[str] = []
    subscription = make_subscription(installation, URI)
    make_delivery(shop, "dead")
    if action is resume:
        update_subscriptions(state="paused")
    monkeypatch.setattr(publishing, "send_task", lambda name, **options: messages.append(name))
    monkeypatch.setattr(notify, "_covered_until", 0.0)

    with django_capture_on_commit_callbacks(execute=True), shop_scope(shop):
        action(subscription)
        assert notify.DELIVER not in messages

    assert messages.count(notify.DELIVER) == 1
