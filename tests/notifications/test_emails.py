from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.core.mail import EmailMessage
from django.utils import timezone
from pytest_django import Settings

from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Membership, Shop, User
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.notifications.domain import batches
from apps.notifications.domain.notification_kinds import kinds
from apps.notifications.domain.recording import FAILED_WEBHOOK, LOW_STOCK, NEW_ORDER
from apps.notifications.models import Notification
from apps.staff.domain import memberships
from tests.support import factories
from tests.support.databases.races import run_concurrently, run_unguarded
from tests.support.factories.inventory import make_item
from tests.support.factories.orders import make_order
from tests.support.notifications import choose, run_email_jobs
from tests.support.periodic import run_periodic_tasks
from tests.support.webhooks import make_subscription

MINUTE = timedelta(minutes=1)
REASON = "You get this email because you chose it under “My notifications”."
Outbox = list[EmailMessage]


@pytest.fixture
def user(shop: Shop) -> User:
    user = factories.make_member(shop, "orders", email="ada@example.com")
    choose(user, shop, new_order="panel email")
    return user


def send(shop: Shop, at: datetime | None = None) -> int:
    """Run the periodic task and the jobs of one shop. Return the number of emails that were due."""
    run_periodic_tasks(Every.MINUTE, at)
    return run_email_jobs(shop)


def notify(shop: Shop, kind: str, *subject_ids: int) -> None:
    with shop_scope(shop):
        Notification.objects.bulk_create(
            [Notification(shop=shop, kind=kind, subject_id=pk, actor="app:1") for pk in subject_ids]
        )


def test_an_email_lists_the_new_orders(shop: Shop, user: User, mailoutbox: Outbox, settings: Settings) -> None:
    colleague = factories.make_member(shop, "orders")
    choose(colleague, shop, new_order="panel sound browser")
    settings.BASE_URL = "https://panel.example"
    first, second = make_order(shop), make_order(shop)

    assert send(shop) == 1

    (email,) = mailoutbox
    page = f"https://panel.example/s/{shop.handle}/admin/"
    assert (email.to, email.subject) == (["ada@example.com"], f"2 new orders – {shop.name}")
    assert email.from_email == shop.email
    assert email.body.strip().splitlines() == [
        f"2 new orders in the shop {shop.name}",
        "",
        first.name,
        f"{page}orders/order/{first.pk}/change/",
        second.name,
        f"{page}orders/order/{second.pk}/change/",
        "",
        f"Open the list: {page}orders/order/",
        "",
        f"{REASON} Change or turn it off: {page}notifications/",
    ]
    assert send(shop) == 0


def test_a_long_email_says_how_many_more(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    names = [make_order(shop).name for _ in range(12)]
    send(shop)

    (email,) = mailoutbox
    assert [name in email.body.splitlines() for name in names] == [True] * 10 + [False] * 2
    assert "and 2 more" in email.body


def test_an_email_is_in_the_language_of_the_member(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    User.objects.filter(pk=user.pk).update(language="de")
    make_order(shop)
    send(shop)

    assert mailoutbox[0].subject == f"1 neue Bestellung – {shop.name}"
    assert "Sie erhalten diese E-Mail" in mailoutbox[0].body


def test_emails_of_a_kind_are_five_minutes_apart(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    now, sent = timezone.now(), []
    for minute in range(7):
        make_order(shop)
        sent.append(send(shop, now + minute * MINUTE))

    assert sent == [1, 0, 0, 0, 0, 1, 0]
    assert [email.subject.partition(" –")[0] for email in mailoutbox] == ["1 new order", "5 new orders"]


def test_a_wrong_clock_does_not_stop_emails(shop: Shop, user: User) -> None:
    make_order(shop)
    assert send(shop, timezone.now() + timedelta(days=365)) == 1
    make_order(shop)

    assert send(shop) == 1


def test_each_kind_has_its_own_email(shop: Shop, mailoutbox: Outbox) -> None:
    owner = factories.make_member(shop, owner=True)
    choose(owner, shop, new_order="email", low_stock="email", failed_webhook="email")
    item = make_item(shop, sku="CUP-7")
    subscription = make_subscription(factories.make_installation(shop), "https://hooks.example/in")
    make_order(shop)
    # An item that became low twice is one item.
    notify(shop, LOW_STOCK, item.pk, item.pk)
    notify(shop, FAILED_WEBHOOK, subscription.pk)

    assert send(shop) == 3

    bodies = {email.subject.partition(" –")[0]: email.body for email in mailoutbox}
    assert set(bodies) == {"1 new order", "1 item low in stock", "1 failing webhook"}
    assert "CUP-7" in bodies["1 item low in stock"]
    assert "inventory/inventoryitem/?stock=low" in bodies["1 item low in stock"]
    assert "https://hooks.example/in" in bodies["1 failing webhook"]
    assert f"/admin/webhooks/subscription/{subscription.pk}/change/" in bodies["1 failing webhook"]


def test_a_deleted_webhook_is_named_without_a_link(shop: Shop, mailoutbox: Outbox) -> None:
    owner = factories.make_member(shop, owner=True)
    choose(owner, shop, failed_webhook="email")
    subscription = make_subscription(factories.make_installation(shop), "https://hooks.example/in")
    notify(shop, FAILED_WEBHOOK, subscription.pk)
    with all_shops_scope():
        type(subscription).objects.filter(pk=subscription.pk).update(deleted_at=timezone.now())

    send(shop)

    assert "https://hooks.example/in" in mailoutbox[0].body
    assert f"subscription/{subscription.pk}/" not in mailoutbox[0].body


def test_deleted_objects_are_only_counted(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    order = make_order(shop)
    notify(shop, NEW_ORDER, order.pk + 1)
    send(shop)

    assert mailoutbox[0].subject.startswith("2 new orders")
    assert order.name in mailoutbox[0].body
    assert "and 1 more" in mailoutbox[0].body


def remove(user: User, shop: Shop) -> None:
    owner = factories.make_member(shop, owner=True)
    member = Membership.objects.get(user=user)
    memberships.remove_member(member, by=owner, at=timezone.now())


def restrict(user: User, shop: Shop) -> None:
    Membership.objects.filter(user=user).update(permissions=["products"])


def deactivate(user: User, shop: Shop) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def unsubscribe(user: User, shop: Shop) -> None:
    choose(user, shop, new_order="panel")


@pytest.mark.parametrize("lose", [remove, restrict, deactivate, unsubscribe], ids=lambda lose: lose.__name__)
def test_a_member_without_access_gets_no_email(
    shop: Shop, user: User, mailoutbox: Outbox, lose: Callable[[User, Shop], None]
) -> None:
    make_order(shop)
    run_periodic_tasks(Every.MINUTE)
    # The job is already waiting when the member loses access.
    with shop_scope(shop):
        lose(user, shop)

    assert run_email_jobs(shop) == 1
    with shop_scope(shop):
        assert [job.state for job in Job.rows().filter(task=batches.SEND_TASK)] == ["done"]
    assert mailoutbox == []


def test_own_orders_cause_no_email(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    make_order(shop, actor=f"staff:{user.pk}")
    send(shop)

    assert mailoutbox == []


def test_shops_do_not_mix(shop: Shop, other_shop: Shop, user: User, mailoutbox: Outbox) -> None:
    foreign = factories.make_member(other_shop, "orders", email="eve@example.com")
    choose(foreign, other_shop, new_order="email")
    make_order(shop)
    assert (send(shop), run_email_jobs(other_shop)) == (1, 0)
    with shop_scope(other_shop):
        batch = Notification.objects.create(
            shop=other_shop, kind=NEW_ORDER, subject_id=1, actor="app:1", batched_at=timezone.now()
        ).batched_at
        assert batch is not None
        member = Membership.objects.get(user=foreign)
    # The job of another shop finds neither the member nor the notification.
    with shop_scope(shop):
        assert batches.find_digest(member.pk, NEW_ORDER, batch) is None

    assert [email.to for email in mailoutbox] == [["ada@example.com"]]


def test_copies_and_read_only_shops_send_nothing(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    make_order(shop)
    Shop.objects.filter(pk=shop.pk).update(copied_from="original.example")
    assert send(shop) == 0
    with shop_scope(shop):
        assert not Notification.objects.filter(batched_at=None).exists()

    make_order(shop)
    Shop.objects.filter(pk=shop.pk).update(copied_from="", read_only_at=timezone.now())
    run_periodic_tasks(Every.MINUTE, timezone.now() + 6 * MINUTE)
    with shop_scope(shop):
        assert Notification.objects.filter(batched_at=None).count() == 1
    Shop.objects.filter(pk=shop.pk).update(read_only_at=None)
    assert send(shop, timezone.now() + 6 * MINUTE) == 1


def test_a_batch_that_fails_is_started_again(
    shop: Shop, user: User, monkeypatch: pytest.MonkeyPatch, mailoutbox: Outbox
) -> None:
    make_order(shop)

    def die(*_args: object, **_values: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(queue, "enqueue_many", die)
        with pytest.raises(SystemExit):
            run_periodic_tasks(Every.MINUTE)
    with all_shops_scope():
        assert Notification.objects.filter(batched_at=None).count() == 1
    with shop_scope(shop):
        assert batches.enqueue_batch(kinds[NEW_ORDER], at=timezone.now()) == 1
    run_email_jobs(shop)

    assert len(mailoutbox) == 1


def test_a_repeated_job_sends_the_same_batch(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    make_order(shop)
    send(shop)
    make_order(shop)
    with shop_scope(shop):
        job = Job.rows().get(task=batches.SEND_TASK)
        # The worker died after sending, so another worker runs the job again.
        Job.rows().update(state="waiting", attempts=0)
    assert queue.run_job(job.key)

    assert [email.subject for email in mailoutbox] == [f"1 new order – {shop.name}"] * 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_runs_without_the_condition_send_two_emails")
def test_two_runs_start_one_batch(shop: Shop, user: User) -> None:
    make_order(shop)
    now = timezone.now()
    started = run_concurrently(shop, *[lambda: batches.enqueue_batch(kinds[NEW_ORDER], at=now)] * 4, expected_errors=())

    assert sorted(started) == [0, 0, 0, 1]
    with shop_scope(shop):
        assert Job.rows().filter(task=batches.SEND_TASK).count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_runs_without_the_condition_send_two_emails(shop: Shop, user: User) -> None:
    make_order(shop)
    now = timezone.now()

    def start() -> int:
        return batches.enqueue_batch(kinds[NEW_ORDER], at=now)

    run_unguarded(shop, start, start, conditions={"notifications_notification": ["batched_at"]})

    with shop_scope(shop):
        assert Job.rows().filter(task=batches.SEND_TASK).count() == 2


def test_the_other_languages_do_not_leak_into_jobs(shop: Shop, user: User, mailoutbox: Outbox) -> None:
    german = factories.make_member(shop, "orders", email="emil@example.com", language="de")
    choose(german, shop, new_order="email")
    make_order(shop)
    send(shop)

    assert {email.to[0]: email.subject.partition(" –")[0] for email in mailoutbox} == {
        "ada@example.com": "1 new order",
        "emil@example.com": "1 neue Bestellung",
    }
