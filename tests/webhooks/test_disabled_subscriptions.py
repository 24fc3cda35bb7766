"""Apps see that a subscription is disabled, resume it, and replay the deliveries that were lost."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain import replay, subscriptions
from apps.webhooks.domain.engine import claims, fan_out, results, subscription_health
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind
from apps.webhooks.domain.engine.results import DeliveryResult
from apps.webhooks.models import Delivery, Health, Subscription
from tests.support.api_client import ApiClient, ClientWith, get_errors, parse_links
from tests.support.graphql_client import get_data
from tests.support.types import JsonObject
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("allow_loopback")]
URI = "http://127.0.0.1:9/"
STATE = "state stateReason stateChangedAt"
READ = f"query ($id: ID!) {{ webhookSubscription(id: $id) {{ {STATE} }} }}"
CREATE = """
mutation ($uri: String!) {
  webhookSubscriptionCreate(topic: BLOGS_CREATE, webhookSubscription: {uri: $uri}) { userErrors { field message } }
}
"""
UPDATE = f"""
mutation ($id: ID!, $uri: String!) {{
  webhookSubscriptionUpdate(id: $id, webhookSubscription: {{uri: $uri}}) {{ webhookSubscription {{ {STATE} }} }}
}}
"""
REPLAY = """
mutation ($id: ID!, $since: DateTime!, $until: DateTime) {
  webhookSubscriptionReplay(id: $id, since: $since, until: $until) {
    deliveryCount webhookSubscription { id } userErrors { field message }
  }
}
"""


def get_global_id(subscription: Subscription) -> str:
    return f"gid://platform/WebhookSubscription/{subscription.pk}"


def disable(subscription: Subscription) -> None:
    with shop_scope(Shop.objects.get(pk=subscription.shop_id or 0)):
        subscriptions.disable_subscription(
            subscription, reason=subscription_health.GONE_REASON, at=timezone.now() - timedelta(hours=1)
        )


def make_deliveries(shop: Shop, count: int, state: str, *, hours_ago: int = 1) -> None:
    create_blogs(shop, count)
    fan_out.create_deliveries()
    then = timezone.now() - timedelta(hours=hours_ago)
    with shop_scope(shop):
        Delivery.objects.filter(state="due").update(
            state=state, triggered_at=then, finished_at=None if state == "held" else then
        )


def run_replays(shop: Shop) -> None:
    with shop_scope(shop):
        keys = list(Job.objects.filter(task=replay.REPLAY_JOB, finished_at=None).values_list("key", flat=True))
    for key in keys:
        queue.run_job(key)


def count_states(shop: Shop) -> dict[str, int]:
    with shop_scope(shop):
        states = list(Delivery.objects.values_list("state", flat=True))
    return {state: states.count(state) for state in sorted({*states})}


def put_address(api: ApiClient, subscription: Subscription, address: str = URI) -> JsonObject:
    body = {"webhook": {"id": subscription.pk, "address": address}}
    response = api.put(f"webhooks/{subscription.pk}.json", body)
    assert response.status_code == 200, response.content
    return response.json()["webhook"]


def ask_replay(api: ApiClient, subscription: Subscription, **span: Any) -> Any:
    return api.post(f"webhooks/{subscription.pk}/replay.json", {"replay": span})


def build_time(**ago: int) -> str:
    return (timezone.now() - timedelta(**ago)).isoformat()


def test_apps_see_the_state_of_a_subscription(api: ApiClient) -> None:
    subscription = make_subscription(api.installation, URI)
    path = f"webhooks/{subscription.pk}.json"
    live = api.get(path)

    disable(subscription)
    disabled = api.http.get(api.path(path), headers={"If-None-Match": live["ETag"]}).json()["webhook"]
    node = get_data(api, READ, {"id": get_global_id(subscription)})["webhookSubscription"]

    names = ("state", "state_reason", "state_changed_at")
    assert [live.json()["webhook"][name] for name in names] == ["live", None, None]
    assert (disabled["state"], disabled["state_reason"]) == ("disabled", "The endpoint responded with 410 Gone.")
    assert (node["state"], node["stateReason"]) == ("DISABLED", disabled["state_reason"])
    moments = [datetime.fromisoformat(text) for text in (disabled["state_changed_at"], node["stateChangedAt"])]
    assert abs(moments[0] - moments[1]) < timedelta(seconds=1)


def test_a_second_subscription_gets_a_hint_to_the_disabled_one(api: ApiClient) -> None:
    subscription = make_subscription(api.installation, URI)
    body = {"webhook": {"address": URI, "topic": subscription.topic}}
    live_errors = get_errors(api.post("webhooks.json", body))
    disable(subscription)

    errors = get_errors(api.post("webhooks.json", body))
    user_errors = get_data(api, CREATE, {"uri": URI})["webhookSubscriptionCreate"]["userErrors"]

    taken = "for this topic has already been taken"
    hint = f"belongs to subscription {subscription.pk}, which is disabled; to resume it, update it with this address"
    assert live_errors == {"address": [taken]}
    assert errors == {"address": [taken, hint]}
    assert [error["message"] for error in user_errors] == [f"Address {taken}", f"Address {hint}"]


@pytest.mark.parametrize("interface", ["rest", "graphql"])
def test_an_update_with_the_same_address_resumes(api: ApiClient, shop: Shop, interface: str) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 2, "dead")
    make_deliveries(shop, 3, "held")
    now = timezone.now()
    Health.objects.create(subscription=subscription, failing_since=now, dead_in_a_row=8, warned=100)
    disable(subscription)

    for _ in range(2):
        if interface == "rest":
            state = put_address(api, subscription)["state"]
        else:
            changed = get_data(api, UPDATE, {"id": get_global_id(subscription), "uri": URI})
            state = changed["webhookSubscriptionUpdate"]["webhookSubscription"]["state"].lower()
        assert state == "live"
    run_replays(shop)

    health = Health.objects.get()
    assert (health.failing_since, health.dead_in_a_row, health.warned) == (None, 0, 0)
    assert count_states(shop) == {"dead": 2, "retry": 3}


def test_an_update_without_address_resumes_nothing(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    disable(subscription)
    path = f"webhooks/{subscription.pk}.json"
    unchanged = api.put(path, {"webhook": {"fields": ["id"]}}).json()["webhook"]["state"]
    with shop_scope(Shop.objects.get(pk=shop.pk)):
        subscriptions.pause_subscription(subscription, actor="system", at=timezone.now())

    assert unchanged == "disabled"
    assert put_address(api, subscription)["state"] == "paused"


def test_held_deliveries_are_sent_to_the_new_address(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 1, "held")
    disable(subscription)

    put_address(api, subscription, f"{URI}moved")
    run_replays(shop)

    with shop_scope(shop):
        assert Delivery.objects.get().endpoint.uri == f"{URI}moved"


def test_an_app_replays_the_deliveries_of_a_time_span(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 2, "dead", hours_ago=30)
    make_deliveries(shop, 3, "dead", hours_ago=2)
    make_deliveries(shop, 4, "held", hours_ago=2)
    make_deliveries(shop, 1, "done", hours_ago=2)

    response = ask_replay(api, subscription, since=build_time(hours=24), until=build_time(hours=1))
    run_replays(shop)

    assert response.status_code == 202
    assert response.json()["replay"]["deliveries"] == 7
    assert {*response.json()["replay"]} == {"since", "until", "deliveries"}
    assert count_states(shop) == {"dead": 2, "done": 1, "retry": 7}


def test_an_app_replays_over_graphql(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 2, "dead")
    variables = {"id": get_global_id(subscription), "since": build_time(days=1)}

    replayed = get_data(api, REPLAY, variables)["webhookSubscriptionReplay"]
    refused = get_data(api, REPLAY, {**variables, "until": build_time(days=2)})["webhookSubscriptionReplay"]
    run_replays(shop)

    assert replayed == {"deliveryCount": 2, "webhookSubscription": {"id": variables["id"]}, "userErrors": []}
    assert refused["userErrors"] == [{"field": ["until"], "message": "Until must be after since"}]
    assert count_states(shop) == {"retry": 2}


def test_a_replay_needs_a_valid_time_span_and_a_live_subscription(api: ApiClient) -> None:
    subscription = make_subscription(api.installation, URI)
    tomorrow, yesterday = build_time(days=-1), build_time(days=1)

    errors = [
        get_errors(ask_replay(api, subscription, **span))
        for span in (
            {},
            {"since": "soon"},
            {"since": tomorrow},
            {"since": build_time(days=91)},
            {"since": yesterday, "until": tomorrow},
            {"since": yesterday, "until": build_time(days=2)},
        )
    ]
    disable(subscription)
    disabled = get_errors(ask_replay(api, subscription, since=yesterday))

    assert [[*error] for error in errors] == [["since"]] * 4 + [["until"]] * 2
    assert errors[3] == {"since": ["cannot be more than 90 days ago"]}
    assert disabled == {"base": ["The subscription is disabled. Resume it before you replay its deliveries."]}
    with all_shops_scope():
        assert not Job.objects.filter(task=replay.REPLAY_JOB).exists()


def test_an_app_without_the_scope_of_the_topic_resumes_and_replays_nothing(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 1, "dead")
    with all_shops_scope():
        Installation.objects.filter(pk=api.installation.pk).update(scopes=["read_products"])

    replayed = ask_replay(api, subscription, since=build_time(days=1))
    disable(subscription)
    updated = api.put(f"webhooks/{subscription.pk}.json", {"webhook": {"address": URI}})

    assert (replayed.status_code, updated.status_code) == (403, 403)
    run_replays(shop)
    assert count_states(shop) == {"dead": 1}


def test_an_app_lists_the_deliveries_of_a_subscription(api: ApiClient, shop: Shop) -> None:
    subscription = make_subscription(api.installation, URI)
    create_blogs(shop, 5)
    fan_out.create_deliveries()
    with shop_scope(shop):
        endpoint = Delivery.objects.values_list("endpoint_id", flat=True)[0]
    first, second, *_ = claims.claim_deliveries({endpoint: 2}, AttemptKind.DUE)
    results.write_results(
        [
            DeliveryResult(first, "done", outcome="ok", status=204, total_ms=12),
            DeliveryResult(second, "retry", delay=3600, error="status_500", outcome="status", status=500),
        ]
    )
    path = f"webhooks/{subscription.pk}/deliveries.json"

    page = api.get(path, limit=3)
    rest = api.http.get(parse_links(page)["next"])
    (delivered,) = api.get(path, state="done").json()["deliveries"]
    (retried,) = api.get(path, state="retry").json()["deliveries"]
    one = api.get(f"webhooks/{subscription.pk}/deliveries/{first.pk}.json").json()["delivery"]

    ids = [row["id"] for row in page.json()["deliveries"] + rest.json()["deliveries"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 5
    assert delivered == one
    assert (delivered["id"], delivered["webhook_id"], delivered["next_attempt_at"]) == (first.pk, str(first.key), None)
    assert [(attempt["number"], attempt["status"], attempt["error"]) for attempt in delivered["attempts"]] == [
        (1, 204, None)
    ]
    assert (retried["state"], retried["error"]) == ("retry", "status_500")
    assert datetime.fromisoformat(retried["next_attempt_at"]) > timezone.now()
    assert api.get(path, state="lost").status_code == 400


def test_other_apps_and_shops_see_and_replay_nothing(
    api: ApiClient, other_shop_api: ApiClient, client_with: ClientWith, shop: Shop
) -> None:
    subscription = make_subscription(api.installation, URI)
    make_deliveries(shop, 1, "dead")
    with shop_scope(shop):
        delivery = Delivery.objects.get().pk
    other_subscription = make_subscription(other_shop_api.installation, URI)

    for stranger in (other_shop_api, client_with("read_content", name="Other")):
        paths = [f"webhooks/{subscription.pk}/deliveries{end}.json" for end in ("", f"/{delivery}")]
        assert [stranger.get(path).status_code for path in paths] == [404, 404]
        assert ask_replay(stranger, subscription, since=build_time(days=1)).status_code == 404
    assert other_shop_api.get(f"webhooks/{other_subscription.pk}/deliveries/{delivery}.json").status_code == 404
    run_replays(shop)
    assert count_states(shop) == {"dead": 1}


@pytest.mark.parametrize("contact", ["dev@app.example", ""])
def test_the_developer_gets_an_email_when_a_subscription_is_disabled(
    api: ApiClient, shop: Shop, contact: str, django_capture_on_commit_callbacks: Any
) -> None:
    subscription = make_subscription(api.installation, URI)
    App.objects.filter(pk=subscription.app_id).update(contact_email=contact)

    with django_capture_on_commit_callbacks(execute=True):
        subscription_health.update_health(
            {subscription.pk: subscription_health.Tally(failures=1, shop=shop.pk, is_gone=True)}
        )
    with shop_scope(shop):
        keys = list(
            Job.objects.filter(finished_at=None, task__startswith="webhooks.send_").values_list("key", flat=True)
        )
    for key in keys:
        queue.run_job(key)

    emails = {email.to[0]: email for email in mail.outbox}
    assert emails.keys() == {shop.email, contact} - {""}
    if contact:
        assert emails[contact].subject.endswith(f"webhook {subscription.topic} disabled for {shop.name}")
        assert f"PUT /admin/api/VERSION/webhooks/{subscription.pk}.json" in str(emails[contact].body)
        assert "410 Gone" in str(emails[contact].body)
