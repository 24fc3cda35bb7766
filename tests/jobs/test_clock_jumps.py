"""Clocks that jump by an hour, on web servers, workers and the database (F12 in docs/reliability.md).

The tests of each part are next to it: ``test_schedules.py``, ``test_jobs.py``, ``api/test_throttling.py``,
``content/test_script_tags.py``, ``fulfillment/test_pulls.py``, ``refunds/test_refunds.py``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db.models import F
from django.utils import timezone

from apps.content.models import Blog
from apps.core.db.clock import get_database_time
from apps.core.jobs import publishing, queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import AccessToken, App, Installation, Shop, hash_token
from apps.core.tenancy.scope import shop_scope
from apps.shops.domain import app_installation, oauth, tokens
from apps.webhooks.domain import replay
from apps.webhooks.domain.engine import maintenance
from apps.webhooks.models import Delivery, Subscription
from tests.support import factories
from tests.support.api_client import ApiClient, parse_links
from tests.support.webhooks import make_delivery

HOUR = timedelta(hours=1)
# Longer than these tests take on any machine, and shorter than the jump.
SOON = timedelta(minutes=20)
jumps = pytest.mark.parametrize("hours", [-1, 1], ids=["back", "forward"])


@contextmanager
def wrong_clock(hours: int) -> Iterator[None]:
    """Let the machine's clock be wrong. The clock of PostgreSQL stays right."""
    with time_machine.travel(datetime.now().astimezone() + hours * HOUR, tick=True):
        yield


@pytest.fixture
def installation(shop: Shop) -> Installation:
    return factories.make_installation(shop)


# --- Web --------------------------------------------------------------------------------------------------------------


@jumps
def test_an_idempotency_key_works_once_across_a_jump(api: ApiClient, shop: Shop, hours: int) -> None:
    body = {"blog": {"title": "News"}}
    first = api.post("blogs.json", body, idempotency_key="k")

    with wrong_clock(hours):
        again = api.post("blogs.json", body, idempotency_key="k")
    back = api.post("blogs.json", body, idempotency_key="k")

    assert [response.status_code for response in (first, again, back)] == [201] * 3
    assert first.json() == again.json() == back.json()
    with shop_scope(shop):
        assert Blog.objects.count() == 1


@jumps
def test_page_links_and_entity_tags_stay_valid(api: ApiClient, hours: int) -> None:
    # Pages with links have a new ETag every day, so no hour of this test may cross midnight.
    with time_machine.travel(datetime.now(UTC).replace(hour=12), tick=True):
        with wrong_clock(hours):
            for number in range(3):
                api.post("blogs.json", {"blog": {"title": f"Blog {number}"}})
            page = api.get("blogs.json", limit="2")

        assert api.get(parse_links(page)["next"]).json()["blogs"]
        path = "/admin/api/2026-10/blogs.json?limit=2"
        assert api.http.get(path, headers={"If-None-Match": page["ETag"]}).status_code == 304


@jumps
def test_tokens_end_at_most_an_hour_early_or_late(shop: Shop, installation: Installation, hours: int) -> None:
    now = timezone.now()
    lasting = factories.make_token(installation)
    short = tokens.issue_token(installation, actor="system", at=now, expires_at=now + SOON)

    def get_statuses() -> list[int]:
        return [ApiClient(token, installation).get("shop.json").status_code for token in (lasting, short)]

    with wrong_clock(hours):
        jumped = get_statuses()
    assert jumped == [200, 200 if hours < 0 else 401]
    assert get_statuses() == [200, 200]
    with shop_scope(shop):
        AccessToken.objects.filter(digest=hash_token(short)).update(expires_at=now - SOON)
    assert get_statuses() == [200, 401]
    with wrong_clock(hours):
        # A clock that is an hour slow extends a token by this hour, and no further.
        assert get_statuses() == [200, 200 if hours < 0 else 401]
        with shop_scope(shop):
            AccessToken.objects.filter(digest=hash_token(short)).update(expires_at=now - HOUR - SOON)
        assert get_statuses() == [200, 401]


@jumps
def test_an_authorization_code_works_once_across_a_jump(shop: Shop, hours: int) -> None:
    app = app_installation.create_app(name="a", distribution="public", redirect_urls=["https://app.example/"])
    user = factories.make_member(shop, "applications")
    code = approve(app, user.pk, shop)

    def exchange() -> str:
        try:
            return oauth.exchange_code(app, code, at=timezone.now()).token
        except oauth.OAuthError as error:
            return error.code

    with wrong_clock(hours):
        jumped = exchange()
    results = [jumped, exchange()]

    assert sum(result.startswith("bko_") for result in results) == 1
    assert results.count("invalid_grant") == 1


def approve(app: App, user_id: int, shop: Shop) -> str:
    with shop_scope(shop):
        request = oauth.AuthorizationRequest(app, shop, "https://app.example/", ("read_products",), "", False)
        url = oauth.approve_request(request, user_id=user_id, at=timezone.now())
    return url.partition("code=")[2].partition("&")[0]


# --- Webhooks: a web server or a worker with a wrong clock delays no delivery -----------------------------------------


def get_wait(delivery: Delivery) -> timedelta:
    stored: datetime = Delivery.objects.values_list("next_at", flat=True).get(pk=delivery.pk)
    return stored - get_database_time()


@pytest.mark.postgres
@jumps
def test_deliveries_that_staff_and_apps_send_are_due_at_once(
    shop: Shop, installation: Installation, hours: int
) -> None:
    delivery = make_delivery(installation, state="dead")
    api = ApiClient(factories.make_token(installation), installation)

    with shop_scope(shop), wrong_clock(hours):
        replayed = replay.replay_deliveries([delivery.pk])
        test = api.post(f"webhooks/{delivery.subscription_id}/test.json")
        newest = Delivery.objects.latest("pk")

    assert (replayed, test.status_code) == (1, 202)
    with shop_scope(shop):
        assert newest.pk != delivery.pk
        assert [abs(get_wait(row)) < SOON for row in (delivery, newest)] == [True, True]


@pytest.mark.postgres
@jumps
def test_a_replay_by_a_worker_with_a_wrong_clock_is_on_time(shop: Shop, installation: Installation, hours: int) -> None:
    delivery = make_delivery(installation, state="dead")
    with shop_scope(shop), wrong_clock(hours):
        subscription = Subscription.objects.get()
        job = replay.replay_dead_letters(subscription, actor="system", at=timezone.now())
        assert queue.run_job(job.key)

    with shop_scope(shop):
        delivery.refresh_from_db()
        assert delivery.state == "retry"
        assert abs(get_wait(delivery)) < SOON


@pytest.mark.postgres
@jumps
def test_the_pause_of_a_host_is_as_long_for_other_workers(db: None, hours: int) -> None:
    with wrong_clock(hours):
        maintenance.share_breaker_state("dead.example", trips=2, pause=600, error="timed out")

    ((trips, pause),) = maintenance.get_open_breakers().values()

    assert trips == 2
    assert 0 < pause <= 600


# --- Jobs -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def failing_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(job: Job) -> None:
        raise OSError("no answer")

    monkeypatch.setitem(queue.tasks, "test.task", queue.Task(fail))


@pytest.mark.postgres
@jumps
def test_a_retry_of_a_worker_with_a_wrong_clock_is_on_time(shop: Shop, failing_task: None, hours: int) -> None:
    with shop_scope(shop):
        job = queue.enqueue("test.task")
        with wrong_clock(hours):
            assert queue.run_job(job.key)
        job.refresh_from_db()

        assert (job.state, job.attempts) == ("waiting", 1)
        assert timedelta() <= job.due_at - get_database_time() < SOON


@jumps
def test_a_jump_of_the_database_loses_and_doubles_no_job(shop: Shop, hours: int) -> None:
    """Move the stored times instead of the database's clock. The job's worker is gone."""
    runs: list[int] = []
    with pytest.MonkeyPatch.context() as patch, shop_scope(shop):
        patch.setitem(queue.tasks, "test.task", queue.Task(lambda job: runs.append(job.pk)))
        job = queue.enqueue("test.task")
        stored = Job.objects.filter(pk=job.pk)
        stored.update(due_at=F("due_at") - hours * HOUR)

        queue.run_job(job.key)
        # If the clock was set back, the job becomes due once the clock is right again.
        stored.filter(state="waiting").update(due_at=F("due_at") + hours * HOUR)
        queue.run_job(job.key)
        queue.run_job(job.key)

        job.refresh_from_db()
        assert (runs, job.state, publishing.send_due_jobs()) == ([job.pk], "done", 0)
