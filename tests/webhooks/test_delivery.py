import json
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.content.domain.blogs import create_blog, update_blog
from apps.core.db import id_sequences
from apps.core.db.id_sequences import RANGE_SIZE
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.demo.webhook_receiver import ReceiverBehavior, WebhookReceiver
from apps.shops.domain import app_installation, app_secrets
from apps.webhooks.domain import delivery_tests, replay, retention, subscriptions
from apps.webhooks.domain.engine import subscription_health
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.domain.engine.retry_policy import RETRY_SECONDS
from apps.webhooks.models import Attempt, Delivery, Health, Payload, Pending, Subscription
from tests.support import factories, services
from tests.support.databases.statistics import collect_statistics
from tests.support.timing import wait_until
from tests.support.webhooks import create_blogs, make_due_again, make_subscription, run_dispatchers, wait_until_settled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allow_loopback")]


URI = "http://127.0.0.1:9/"


def run_deliveries(shop: Shop) -> list[Delivery]:
    with shop_scope(shop):
        return list(Delivery.objects.select_related("event", "payload").order_by("event_id", "subscription_id"))


def get_attempts(shop: Shop) -> list[Attempt]:
    with shop_scope(shop):
        return list(Attempt.objects.order_by("id"))


def get_state(subscription: Subscription) -> str:
    with all_shops_scope():
        return Subscription.objects.values_list("state", flat=True).get(pk=subscription.pk)


def test_an_event_arrives_signed_with_the_headers_of_the_interface(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver([installation.app.api_secret]) as catcher, run_dispatchers():
        make_subscription(installation, catcher.url, name="mine")
        create_blogs(shop)
        (caught,) = catcher.wait_for(1)
        assert wait_until_settled(shop) == {"done": 1}

    (delivery,) = run_deliveries(shop)
    (attempt,) = get_attempts(shop)
    event = delivery.event
    assert event is not None
    moment = event.created_at.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert caught.verified == {"X-Hmac-Sha256": True, "webhook-signature": True}
    assert json.loads(caught.body) == (event.payload or {})["2026-10"]
    assert {name: value for name, value in caught.headers.items() if name.startswith("X-")} == {
        "X-Platform-Topic": "blogs/create",
        "X-Platform-Hmac-Sha256": caught.get_header("-Hmac-Sha256"),
        "X-Platform-Shop-Domain": shop.domain,
        "X-Platform-API-Version": "2026-10",
        "X-Platform-Webhook-Id": str(delivery.key),
        "X-Platform-Triggered-At": moment,
        "X-Platform-Event-Id": str(event.group),
        "X-Platform-Sequence": str(event.pk),
        "X-Platform-Name": "mine",
    }
    assert caught.headers["webhook-id"] == str(delivery.key)
    assert caught.headers["Content-Type"] == "application/json"
    assert delivery.key == uuid.uuid5(event.key, str(delivery.subscription_id))
    assert (attempt.outcome, attempt.status, attempt.number, attempt.remote_ip) == ("ok", 200, 1, "127.0.0.1")
    assert attempt.total_ms >= (attempt.first_byte_ms or 0) >= (attempt.connect_ms or 0)
    with shop_scope(shop):
        assert not Pending.objects.exists()


def test_filters_and_fields_decide_who_gets_what(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver() as catcher, run_dispatchers():
        make_subscription(installation, f"{catcher.url}all")
        make_subscription(installation, f"{catcher.url}some", filter="title:News*", include_fields=["id", "title"])
        make_subscription(installation, f"{catcher.url}none", filter="title:Other*")
        create_blogs(shop)
        create_blogs(shop, title="Old")
        catcher.wait_for(3)
        assert wait_until_settled(shop) == {"done": 3}

    received = [(request.path, json.loads(request.body)) for request in catcher.requests]
    assert {(path, body["title"]) for path, body in received} == {
        *(("/all", "News 0"), ("/all", "Old 0"), ("/some", "News 0"))
    }
    assert dict(received)["/some"].keys() == {"id", "title"}
    with shop_scope(shop):
        # Two full payloads, one per event, and one payload with selected fields.
        assert Payload.objects.count() == 3


def test_failures_are_tried_again_with_the_same_bytes_under_the_same_id(shop: Shop, installation: Installation) -> None:
    with (
        WebhookReceiver([installation.app.api_secret], behavior=ReceiverBehavior(500, failure_count=2)) as catcher,
        run_dispatchers(),
    ):
        make_subscription(installation, catcher.url)
        create_blogs(shop)
        for count in (1, 2):
            catcher.wait_for(count)
            wait_until(lambda: len(get_attempts(shop)), count.__eq__)
            (waiting,) = run_deliveries(shop)
            planned = RETRY_SECONDS[count - 1]
            remaining_seconds = (waiting.next_at - timezone.now()).total_seconds()
            assert (waiting.state, waiting.error) == ("retry", "status_500")
            assert 0.75 * planned < remaining_seconds < 1.25 * planned
            make_due_again(shop)
        catcher.wait_for(3)
        assert wait_until(lambda: wait_until_settled(shop), {"done": 1}.__eq__)

    assert len({request.body for request in catcher.requests}) == 1
    assert len({request.get_header("-Webhook-Id") for request in catcher.requests}) == 1
    assert all(all(request.verified.values()) for request in catcher.requests)
    outcomes = [(1, 500, "status"), (2, 500, "status"), (3, 200, "ok")]
    assert [(row.number, row.status, row.outcome) for row in get_attempts(shop)] == outcomes


def test_the_schedule_ends_and_the_delivery_is_kept(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(500)) as catcher, run_dispatchers():
        make_subscription(installation, catcher.url)
        create_blogs(shop)
        for count in range(1, 10):
            wait_until(lambda: len(get_attempts(shop)), count.__eq__)
            make_due_again(shop)
        wait_until(lambda: run_deliveries(shop)[0].state, lambda state: state == "dead")

    (dead,) = run_deliveries(shop)
    assert (dead.attempts, dead.error) == (9, "status_500")
    assert dead.finished_at
    assert len(catcher.requests) == 9


def test_410_disables_the_subscription_and_what_comes_later_is_held(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(410)) as catcher, run_dispatchers():
        subscription = make_subscription(installation, catcher.url)
        create_blogs(shop)
        catcher.wait_for(1)
        wait_until(lambda: get_state(subscription), "disabled".__eq__)
        create_blogs(shop)
        wait_until(lambda: wait_until_settled(shop), {"dead": 1, "held": 1}.__eq__)

    with all_shops_scope():
        subscription.refresh_from_db()
    assert subscription.reason == "The endpoint responded with 410 Gone."
    assert len(catcher.requests) == 1


def test_a_receiver_may_say_when_to_come_again(shop: Shop, installation: Installation) -> None:
    message = {"60": (59, 61), "-1": (7, 13), "1e9": (7, 13), "99999999": (13_000, 14_500), "soon": (7, 13)}
    for text, (least, most) in message.items():
        with WebhookReceiver(behavior=ReceiverBehavior(429, {"Retry-After": text})) as catcher, run_dispatchers():
            subscription = make_subscription(installation, f"{catcher.url}")
            create_blogs(shop)
            catcher.wait_for(1)
            row = wait_until(lambda: run_deliveries(shop)[-1], lambda row: row.state == "retry")
            wait_seconds = (row.next_at - row.updated_at).total_seconds()
        assert least - 1 < wait_seconds < most + 1, text
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            subscriptions.delete_subscription(subscription, actor="system", at=timezone.now())


def test_a_redirect_is_a_failure_and_not_followed(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver() as elsewhere, run_dispatchers():
        with WebhookReceiver(behavior=ReceiverBehavior(307, {"Location": elsewhere.url})) as catcher:
            make_subscription(installation, catcher.url)
            create_blogs(shop)
            catcher.wait_for(1)
            wait_until(lambda: run_deliveries(shop)[0].error, "status_307".__eq__)
        assert elsewhere.requests == []


def test_an_address_that_became_private_is_blocked(shop: Shop, installation: Installation, settings: Settings) -> None:
    with WebhookReceiver() as catcher:
        make_subscription(installation, catcher.url)
        settings.OUTGOING_ALLOW = []
        create_blogs(shop)
        with run_dispatchers():
            wait_until(lambda: [row.error for row in run_deliveries(shop)], ["blocked_address"].__eq__)
        assert catcher.requests == []


def test_deleted_subscriptions_receive_nothing(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(500, failure_count=2)) as first, WebhookReceiver() as second:
        moved, ended = (make_subscription(installation, f"{first.url}{name}") for name in "ab")
        with run_dispatchers():
            create_blogs(shop)
            first.wait_for(2)
            wait_until(lambda: [row.state for row in run_deliveries(shop)], ["retry", "retry"].__eq__)
            with shop_scope(Shop.objects.get(pk=shop.pk)):
                subscriptions.update_subscription(moved, {"uri": second.url}, actor="system", at=timezone.now())
                subscriptions.delete_subscription(ended, actor="system", at=timezone.now())
            make_due_again(shop)
            wait_until(lambda: wait_until_settled(shop), {"done": 1, "cancelled": 1}.__eq__)
        assert [request.path for request in first.requests][2:] == ["/a"]
        assert second.requests == []


def test_an_app_that_is_gone_hears_of_that_and_of_nothing_else(shop: Shop, installation: Installation) -> None:
    other = factories.make_installation(shop, scopes=["read_content"])
    with WebhookReceiver() as catcher:
        make_subscription(installation, f"{catcher.url}blogs")
        make_subscription(installation, f"{catcher.url}gone", topic="app/uninstalled")
        make_subscription(other, f"{catcher.url}other", topic="app/uninstalled")
        create_blogs(shop)
        with all_shops_scope():
            new_installation = Installation.objects.select_related("shop").get(pk=installation.pk)
        app_installation.uninstall_app(new_installation, actor="system", at=timezone.now())
        with run_dispatchers():
            catcher.wait_for(1)
            states = wait_until_settled(shop)

    assert [request.path for request in catcher.requests] == ["/gone"]
    # When the blog was created, the app was still installed. At fan-out, the subscription no longer exists.
    assert states == {"done": 1}


def test_a_paused_subscription_holds_and_goes_on(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver() as catcher, run_dispatchers():
        subscription = make_subscription(installation, catcher.url)
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            subscriptions.pause_subscription(subscription, actor="staff:1", at=timezone.now())
        create_blogs(shop)
        wait_until(lambda: wait_until_settled(shop), {"held": 1}.__eq__)
        assert catcher.requests == []
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            subscriptions.resume_subscription(subscription, actor="staff:1", at=timezone.now())
        create_blogs(shop)
        catcher.wait_for(1)
        assert wait_until(lambda: wait_until_settled(shop), {"held": 1, "done": 1}.__eq__)


def test_both_secrets_verify_during_a_rotation(shop: Shop, installation: Installation) -> None:
    app, old = installation.app, installation.app.api_secret
    new = app_secrets.rotate_secret(app, at=timezone.now())
    with WebhookReceiver([old]) as by_old, WebhookReceiver([new]) as by_new:
        make_subscription(installation, by_old.url)
        make_subscription(installation, by_new.url)
        with run_dispatchers():
            create_blogs(shop)
            by_old.wait_for(1)
            by_new.wait_for(1)
            wait_until(lambda: wait_until_settled(shop), {"done": 1, "retry": 1}.__eq__)
        with shop_scope(shop):
            # Another attempt of the first delivery would be one more request.
            Delivery.objects.filter(state="retry").update(next_at=timezone.now() + timedelta(hours=1))
        app_secrets.revoke_old_secrets(app, at=timezone.now())
        with run_dispatchers():
            create_blogs(shop)
            by_old.wait_for(2)
            by_new.wait_for(2)

    both = {"X-Hmac-Sha256": True, "webhook-signature": True}
    assert [request.verified for request in by_old.requests] == [both, dict.fromkeys(both, False)]
    assert [request.verified for request in by_new.requests] == [{**both, "X-Hmac-Sha256": False}, both]


def test_too_large_deliveries_are_dead_letters_and_visible(shop: Shop, installation: Installation) -> None:
    make_subscription(installation, URI)
    create_blogs(shop)
    with shop_scope(shop):
        (row,) = Pending.objects.select_related("event")
        Event.objects.create(
            shop=shop, topic="blogs/create", subject_type="content.blog", subject_id=1, actor="system",
            payload={"2026-10": {"id": 1, "body": "x" * 2_000_000}}, group=uuid.uuid4(), created_at=timezone.now(),
        )  # fmt: skip
        Pending.objects.filter(pk=row.pk).update(event=Event.objects.order_by("-id").first())
    create_deliveries()

    (delivery,) = run_deliveries(shop)
    assert (delivery.state, delivery.error) == ("dead", "payload_too_large")


def test_events_of_one_resource_go_in_order_where_that_is_wanted(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(500)) as catcher:
        make_subscription(installation, catcher.url, topic="blogs/update", ordered=True)
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            first, second = (create_blog({"title": t}, actor="system", at=timezone.now()) for t in ("a", "b"))
            for title in ("a1", "a2", "a3"):
                update_blog(first, {"title": title}, actor="system", at=timezone.now())
            update_blog(second, {"title": "b1"}, actor="system", at=timezone.now())
        with run_dispatchers():
            wait_until(lambda: [row.state for row in run_deliveries(shop)], ["retry", "due", "due", "retry"].__eq__)
            catcher.behavior = ReceiverBehavior()
            make_due_again(shop)
            wait_until(lambda: wait_until_settled(shop), {"done": 4}.__eq__)
    titles = [json.loads(request.body)["title"] for request in catcher.requests]
    assert {*titles[:2]} == {"a1", "b1"}
    assert [title for title in titles[2:] if title.startswith("a")] == ["a1", "a2", "a3"]


def test_missed_deliveries_are_replayed_with_the_same_ids(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver(behavior=ReceiverBehavior(410)) as catcher:
        subscription = make_subscription(installation, catcher.url)
        with run_dispatchers():
            create_blogs(shop)
            wait_until(lambda: get_state(subscription), "disabled".__eq__)
            create_blogs(shop, 3)
            wait_until(lambda: wait_until_settled(shop), {"dead": 1, "held": 3}.__eq__)
        before = {row.pk: row.key for row in run_deliveries(shop)}
        catcher.behavior = ReceiverBehavior()
        at = timezone.now()
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            subscription.refresh_from_db()
            subscriptions.resume_subscription(subscription, actor="staff:1", at=at)
            job = replay.replay_since(subscription, since=at - timedelta(hours=1), actor="staff:1", at=at)
        assert queue.run_job(job.key)
        with run_dispatchers():
            catcher.wait_for(5)
            wait_until(lambda: wait_until_settled(shop), {"done": 4}.__eq__)

    assert {row.pk: row.key for row in run_deliveries(shop)} == before
    headers = {request.get_header("-Webhook-Id"): request.get_header("-Redelivery") for request in catcher.requests[1:]}
    assert headers.keys() == {str(key) for key in before.values()}
    assert sorted(headers.values()) == ["", "", "", "true"]
    job.refresh_from_db()
    assert (job.state, job.progress_done) == ("done", 4)


def test_a_delivery_is_sent_again(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver() as catcher, run_dispatchers():
        make_subscription(installation, catcher.url)
        create_blogs(shop)
        wait_until(lambda: wait_until_settled(shop), {"done": 1}.__eq__)
        (row,) = run_deliveries(shop)
        with shop_scope(shop):
            assert replay.replay_deliveries([row.pk]) == 1
        first, second = catcher.wait_for(2)
        wait_until(lambda: wait_until_settled(shop), {"done": 1}.__eq__)

    assert (first.body, first.get_header("-Webhook-Id")) == (second.body, second.get_header("-Webhook-Id"))
    assert (first.get_header("-Redelivery"), second.get_header("-Redelivery")) == ("", "true")


def test_a_test_goes_out_though_the_subscription_is_paused(shop: Shop, installation: Installation) -> None:
    with WebhookReceiver([installation.app.api_secret]) as catcher, run_dispatchers():
        subscription = make_subscription(installation, catcher.url, filter="title:Never")
        with shop_scope(Shop.objects.get(pk=shop.pk)):
            subscriptions.pause_subscription(subscription, actor="staff:1", at=timezone.now())
            delivery_tests.send_test_delivery(subscription, shop_id=shop.pk, at=timezone.now())
        (caught,) = catcher.wait_for(1)

    assert caught.verified == {"X-Hmac-Sha256": True, "webhook-signature": True}
    assert json.loads(caught.body).keys() >= {"id", "title", "handle"}


def test_a_stored_event_shows_what_a_filter_would_make_of_it(shop: Shop, installation: Installation) -> None:
    subscription = make_subscription(installation, URI)
    create_blogs(shop)
    with shop_scope(shop):
        (event,) = delivery_tests.get_recent_events(subscription, 50)
    tried = {
        text: delivery_tests.dry_run_filter(event, api_version="2026-10", text=text, include_fields=("title",))
        for text in ("", "title:News*", "title:Old*", "title:")
    }

    assert [run.is_match for run in tried.values()] == [True, True, False, None]
    assert tried["title:News*"].payload == {"title": "News 0"}
    assert tried["title:"].error
    assert delivery_tests.dry_run_filter(event, api_version="2025-01").is_match is None


def update_health(subscription: Subscription, shop: Shop, **tally: Any) -> None:
    tallies = {subscription.pk: subscription_health.Tally(shop=shop.pk, **tally)}
    subscription_health.update_health(tallies)


def run_waiting_jobs() -> list[Attrs]:
    with all_shops_scope():
        jobs = list(Job.objects.filter(state="waiting").order_by("pk"))
    for job in jobs:
        assert queue.run_job(job.key)
    return [job.arguments for job in jobs]


def test_the_last_warning_disables(shop: Shop, installation: Installation, mailoutbox: list[EmailMessage]) -> None:
    subscription = make_subscription(installation, URI)
    with all_shops_scope():
        Health.objects.create(subscription=subscription, failing_since=timezone.now() - timedelta(hours=5))
    messages = []
    for _ in range(8):
        update_health(subscription, shop, failures=1, dead=1, error="status_500")
        messages += [arguments["stage"] for arguments in run_waiting_jobs() if "stage" in arguments]
        with all_shops_scope():
            subscription.refresh_from_db()

    assert messages == [50, 75, 100]
    assert (subscription.state, subscription.reason) == ("disabled", subscription_health.FAILING_REASON)
    assert [mail.subject.rsplit(" ", 2)[-1] for mail in mailoutbox] == ["failing", "failing", "disabled"]
    assert "status_500" in mailoutbox[0].body
    assert f"({subscription.topic})" in mailoutbox[0].body
    assert all(f"/webhooks/subscription/{subscription.pk}/change/" in mail.body for mail in mailoutbox)
    # A successful delivery resets the count.
    update_health(subscription, shop, successes=1)
    with all_shops_scope():
        health = Health.objects.get(pk=subscription.pk)
    assert (health.dead_in_a_row, health.warned, health.failing_since) == (0, 0, None)


def test_the_setting_deletes_a_failing_subscription_and_reports_it(
    shop: Shop, installation: Installation, mailoutbox: list[EmailMessage], settings: Settings
) -> None:
    settings.WEBHOOK_DELETE_FAILING = True
    failing, gone = make_subscription(installation, URI), make_subscription(installation, f"{URI}gone")
    with all_shops_scope():
        since = timezone.now() - timedelta(hours=5)
        Health.objects.create(subscription=failing, failing_since=since, dead_in_a_row=7)

    update_health(failing, shop, failures=1, dead=1, error="status_500")
    update_health(gone, shop, failures=1, dead=1, is_gone=True)

    with all_shops_scope():
        failing.refresh_from_db()
        gone.refresh_from_db()
    run_waiting_jobs()
    assert failing.deleted_at is not None
    # If the endpoint asked for removal, the subscription is disabled but not deleted.
    assert (gone.deleted_at, gone.state) == (None, "disabled")
    assert ["was deleted" in mail.body for mail in mailoutbox] == [True, False]


def test_a_configured_subscription_is_only_warned_of(shop: Shop, installation: Installation) -> None:
    values = {"topic": "blogs/create", "uri": URI, "api_version": "2026-10"}
    configured = subscriptions.create_configured_subscription(installation.app, values, at=timezone.now())
    with all_shops_scope():
        since = timezone.now() - timedelta(hours=5)
        Health.objects.create(subscription=configured, failing_since=since, dead_in_a_row=9)

    for tally in ({"error": "timeout"}, {"is_gone": True}):
        update_health(configured, shop, failures=1, dead=1, **tally)

    with all_shops_scope():
        assert Subscription.objects.get(pk=configured.pk).state == "live"
        arguments = [job.arguments for job in Job.objects.filter(task=subscription_health.SEND_WARNING)]
        assert [values["stage"] for values in arguments] == [100]


@pytest.fixture
def deliveries(shop: Shop, installation: Installation) -> list[Delivery]:
    make_subscription(installation, URI)
    create_blogs(shop, 5)
    create_deliveries()
    return run_deliveries(shop)


def add_attempt(delivery: Delivery, number: int, at: datetime, **values: Any) -> None:
    row = Attempt.objects.create(shop_id=delivery.shop_id, delivery=delivery, number=number, outcome="ok", **values)
    Attempt.objects.filter(pk=row.pk).update(created_at=at)


def test_retention_keeps_young_attempts(deliveries: list[Delivery], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_sequences, "BATCH_SIZE", 2)
    now = timezone.now()
    with all_shops_scope():
        for number, days in enumerate((9, 9, 9, 6, 6, 6, 8), start=1):
            add_attempt(deliveries[0], number, now - timedelta(days=days))
        retention.delete_expired_rows(now)
        assert {*Attempt.objects.values_list("number", flat=True)} == {4, 5, 6, 7}
        retention.delete_expired_rows(now + timedelta(days=2))
        assert not Attempt.objects.exists()


def test_retention_finds_what_a_shop_brought_from_another_cell(deliveries: list[Delivery]) -> None:
    now = timezone.now()
    with all_shops_scope():
        for number, (cell, days) in enumerate(((0, 1), (2, 9), (2, 1), (3, 1), (5, 9)), start=1):
            pk = cell * RANGE_SIZE + 2_000_000 + number
            add_attempt(deliveries[0], number, now - timedelta(days=days), pk=pk)
        retention.delete_expired_rows(now)
        assert {*Attempt.objects.values_list("number", flat=True)} == {1, 3, 4}


def test_retention_clears_old_events(shop: Shop, installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_sequences, "BATCH_SIZE", 2)
    now = timezone.now()
    old, young = now - timedelta(days=31), now - timedelta(days=29)
    times = [old, old, old, young, young, young, old]
    common = {"shop": shop, "topic": "x/y", "subject_type": "x", "subject_id": 1, "actor": "system"}
    with all_shops_scope():
        events = [Event(**common, group=uuid.uuid4(), created_at=old) for _ in range(3000)]
        events += [Event(**common, group=uuid.uuid4(), created_at=at, payload={"2026-10": {}}) for at in times]
        rendered = Event.objects.bulk_create(events)[3000:]
        Pending.objects.create(shop=shop, event=rendered[1])
        collect_statistics()
        with CaptureQueriesContext(connection) as queries:
            retention.delete_expired_rows(now)
        holding = {*Event.objects.filter(payload__isnull=False).values_list("pk", flat=True)}
        walk = next(query["sql"] for query in queries if 'FROM "events_event" WHERE' in query["sql"])
        with connection.cursor() as cursor:
            cursor.execute(("EXPLAIN " if services.is_postgres() else "EXPLAIN QUERY PLAN ") + walk)
            text = str(cursor.fetchall())

    # The last old row is found although a whole batch of newer rows comes first.
    assert [row.pk in holding for row in rendered] == [False, True, False, True, True, True, True]
    assert "events_event_rendered" in text, text


def test_retention_takes_what_is_old_and_over(deliveries: list[Delivery]) -> None:
    now = timezone.now()
    ages = {"done": 31, "dead": 31, "cancelled": 29, "due": 400, "retry": 400}
    with all_shops_scope():
        for row, (state, days) in zip(deliveries, ages.items(), strict=True):
            at = now - timedelta(days=days)
            finished = at if state in {"done", "dead", "cancelled"} else None
            Delivery.objects.filter(pk=row.pk).update(state=state, finished_at=finished, created_at=at)
            Payload.objects.filter(pk=row.payload_id).update(created_at=at)
            add_attempt(row, 1, now - timedelta(days=8 if state == "due" else 6))
        retention.delete_expired_rows(now)
        remaining_rows = dict(Delivery.objects.values_list("state", "payload_id"))
        assert remaining_rows.keys() == {"dead", "cancelled", "due", "retry"}
        assert {*Payload.objects.values_list("pk", flat=True)} == {*remaining_rows.values()}
        assert Attempt.objects.count() == 3
        retention.delete_expired_rows(now + timedelta(days=60))
        assert {*Delivery.objects.values_list("state", flat=True)} == {"due", "retry"}
