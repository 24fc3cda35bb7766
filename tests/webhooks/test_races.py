"""Races of replays, and of app secrets that are replaced while webhooks are delivered."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import App, Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.demo.webhook_receiver import WebhookReceiver, verify_signatures
from apps.shops.domain import app_secrets
from apps.webhooks.domain import replay
from apps.webhooks.models import Attempt, Delivery, Subscription
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.types import JsonObject
from tests.support.webhooks import create_blogs, make_delivery, make_subscription, run_dispatchers, wait_until_settled

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allow_loopback")]

ROUNDS = 20


@pytest.mark.postgres
@pytest.mark.race(control="test_a_delivery_is_replayed_twice_without_the_lock")
def test_two_replays_at_once_send_a_delivery_once(shop: Shop, installation: Installation) -> None:
    api = ApiClient(factories.make_token(installation), installation)
    with WebhookReceiver([installation.app.api_secret]) as catcher:
        subscription = make_subscription(installation, catcher.url)
        delivery = make_delivery(installation, subscription)
        path = f"webhooks/{subscription.pk}/deliveries/{delivery.pk}/resend.json"
        with shop_scope(shop):
            for _ in range(ROUNDS):
                Delivery.objects.update(state="done", attempts=1, finished_at=timezone.now())
                responses = run_concurrently(shop, *[partial(api.post, path)] * 3)
                assert [response.status_code for response in responses] == [202] * 3
                row = Delivery.objects.get()
                assert (row.state, row.attempts, row.redelivery) == ("retry", 0, True)
        with run_dispatchers(count=2):
            catcher.wait_for(1)
            assert wait_until_settled(shop) == {"done": 1}

    assert len(catcher.requests) == 1


def start_replays(shop: Shop, subscription: Subscription) -> list[Callable[[], bool]]:
    """Enqueue two replays of all dead deliveries, and return the functions that run them."""
    with shop_scope(shop):
        for _ in range(2):
            replay.replay_dead_letters(subscription, actor="system", at=timezone.now())
        jobs = Job.objects.filter(task=replay.REPLAY_JOB, state="waiting").order_by("pk")
        return [partial(queue.run_job, job.key) for job in jobs]


@pytest.mark.postgres
@pytest.mark.race(no_guard="a batch skips locked rows and reads the state of the others under their lock")
def test_two_replay_jobs_at_once_plan_each_delivery_once(shop: Shop, installation: Installation) -> None:
    subscription = make_subscription(installation, "https://app.example/hooks")
    for _ in range(5):
        make_delivery(installation, subscription)

    for _ in range(ROUNDS):
        with shop_scope(shop):
            Delivery.objects.update(state="dead", finished_at=timezone.now())
        assert run_concurrently(shop, *start_replays(shop, subscription)) == [True, True]

        with shop_scope(shop):
            jobs = Job.objects.filter(task=replay.REPLAY_JOB).order_by("-pk")[:2]
            assert sum(job.progress_done for job in jobs) == 5
            assert set(Delivery.objects.values_list("state", "attempts")) == {("retry", 0)}


def replay_and_send(delivery: Delivery) -> None:
    replay.replay_deliveries([delivery.pk])
    Delivery.objects.filter(pk=delivery.pk).update(state="leased", attempts=1)


@pytest.mark.postgres
@pytest.mark.race(control="test_a_delivery_is_replayed_twice_without_the_lock")
@pytest.mark.parametrize("values", [{"state": "done", "attempts": 1}, {"state": "held", "attempts": 0}], ids=str)
def test_a_replay_leaves_a_delivery_that_another_replay_sends(
    shop: Shop, installation: Installation, values: JsonObject
) -> None:
    delivery = make_delivery(installation, **values)

    again = partial(replay.replay_deliveries, [delivery.pk])
    count = run_while_uncommitted(shop, partial(replay_and_send, delivery), again)

    with shop_scope(shop):
        assert (count, Delivery.objects.get().state) == (0, "leased")


@pytest.mark.postgres
def test_a_delivery_is_replayed_twice_without_the_lock(shop: Shop, installation: Installation) -> None:
    """Show what goes wrong without the lock: the second replay resets a delivery that is being sent."""
    delivery = make_delivery(installation, state="held", attempts=0)

    again = partial(replay.replay_deliveries, [delivery.pk])
    count = run_unguarded(shop, partial(replay_and_send, delivery), again, locks={Delivery._meta.db_table})

    with shop_scope(shop):
        assert (count, Delivery.objects.get().state) == (1, "retry")
    with shop_scope(shop):
        assert Delivery.objects.get().state == "retry"


# --- Replacing the secret under load ----------------------------------------------------------------------------------


def test_every_webhook_verifies_while_the_secret_is_replaced(shop: Shop, installation: Installation) -> None:
    """Check that an app that knows only the first secret verifies every webhook of a series of replacements."""
    app = App.objects.get(pk=installation.app_id)
    first = app.api_secret
    secrets = [first]

    with WebhookReceiver([first]) as catcher, run_dispatchers(count=2):
        make_subscription(installation, catcher.url)
        for number in range(4):
            create_blogs(shop, 10, title=f"Round {number}")
            # The grace period of the first secret lasts longer than this test.
            secrets.append(app_secrets.rotate_secret(app, at=timezone.now()))
        catcher.wait_for(40)
        assert wait_until_settled(shop, seconds=60) == {"done": 40}
        caught = list(catcher.requests)

    assert len(caught) == 40
    assert {tuple(request.verified.items()) for request in caught} == {
        (("X-Hmac-Sha256", True), ("webhook-signature", True))
    }
    with shop_scope(shop):
        assert not Attempt.objects.exclude(outcome="ok").exists()
    assert app_secrets.get_valid_secrets(app, timezone.now()) == secrets


def test_a_webhook_after_the_rotation_verifies_with_old_and_new_secret(shop: Shop, installation: Installation) -> None:
    app = App.objects.get(pk=installation.app_id)
    old, new = app.api_secret, app_secrets.rotate_secret(app, at=timezone.now())

    # Without secrets, the receiver accepts every request.
    with WebhookReceiver() as catcher, run_dispatchers(count=2):
        make_subscription(installation, catcher.url)
        create_blogs(shop, 20)
        caught = list(catcher.wait_for(20))
        assert wait_until_settled(shop, seconds=60) == {"done": 20}

    results = [[verify_signatures(item.headers, item.body, [secret]) for item in caught] for secret in (old, new)]
    # ``X-…-Hmac-Sha256`` contains a single signature: that of the old secret.
    assert results[0] == [{"X-Hmac-Sha256": True, "webhook-signature": True}] * 20
    assert results[1] == [{"X-Hmac-Sha256": False, "webhook-signature": True}] * 20


@pytest.mark.parametrize("how", ["revoked", "no grace period"])
def test_a_revoked_secret_no_longer_signs(shop: Shop, installation: Installation, how: str) -> None:
    app = App.objects.get(pk=installation.app_id)
    new = app_secrets.rotate_secret(app, at=timezone.now()) if how == "revoked" else ""

    with WebhookReceiver([]) as catcher:
        make_subscription(installation, catcher.url)
        with run_dispatchers():
            create_blogs(shop)
            catcher.wait_for(1)
            assert wait_until_settled(shop) == {"done": 1}
        if how == "revoked":
            app_secrets.revoke_old_secrets(app, at=timezone.now())
        else:
            new = app_secrets.rotate_secret(app, grace=timedelta(0), at=timezone.now())
        catcher.secrets = [new]
        # A new dispatcher has no secrets in its cache.
        with run_dispatchers():
            create_blogs(shop)
            catcher.wait_for(2)
            assert wait_until_settled(shop) == {"done": 2}

    assert catcher.requests[-1].verified == {"X-Hmac-Sha256": True, "webhook-signature": True}
