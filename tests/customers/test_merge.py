import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.exceptions import RowDeleted
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import customers, erasure, merge, personal_data
from apps.customers.domain.lookup import BeingErased, get_merged_ids
from apps.customers.domain.merge import MergeInProgress
from apps.customers.domain.merge_rules import MergeRefused
from apps.customers.models import ConsentChange, Customer
from apps.metafields.models import Metafield
from apps.orders.domain import consistency_checks
from apps.orders.models import Order
from tests.support.api_client import ApiClient
from tests.support.databases.lock_order import ROOTS, find_breaches, watch_locks
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.orders import make_order

SIZE = {"namespace": "global", "key": "size", "type": "single_line_text_field"}
COLOUR = {**SIZE, "key": "colour"}


def run_merge(keep: Customer, other: Customer, **choices: str) -> bool:
    return merge.merge_customers(keep, other, choices, actor="staff:17", at=timezone.now())


def create_two_customers(shop: Shop) -> tuple[Customer, Customer]:
    """Create a customer named Anna, and a duplicate with a different spelling of the name and a paid order."""
    keep = make_customer(
        first_name="Anna",
        last_name="Lind",
        email="anna@example.com",
        note="Rings first",
        tags="VIP, old",
        metafields=[{**SIZE, "value": "M"}],
        email_marketing_consent={"state": "unsubscribed"},
    )
    other = make_customer(
        first_name="A.",
        email="Anna.Lind@example.org",
        phone="+14155550123",
        note="Left door",
        tags="vip, new",
        tax_exempt=True,
        metafields=[{**SIZE, "value": "L"}, {**COLOUR, "value": "red"}],
        email_marketing_consent={"state": "subscribed"},
        sms_marketing_consent={"state": "subscribed"},
    )
    make_address(keep)
    make_address(other, address1="STORGATAN  1")
    make_address(other, address1="Kungsgatan 2")
    make_order(shop, email=keep.email, financial_status="paid")
    make_order(shop, email=other.email, financial_status="paid")
    return Customer.objects.get(pk=keep.pk), Customer.objects.get(pk=other.pk)


def test_the_one_who_stays_has_what_both_had(in_shop: Shop, api: ApiClient) -> None:
    keep, other = create_two_customers(in_shop)

    assert run_merge(keep, other)

    row = Customer.objects.get()
    assert (row.pk, row.name, row.email, row.phone) == (keep.pk, "Anna Lind", "anna@example.com", "+14155550123")
    assert (row.note, row.tags, row.tax_exempt) == ("Rings first\n\nLeft door", "new, old, VIP", False)
    assert (row.orders_count, row.total_spent) == (2, Decimal(40))
    assert row.last_order_id == Order.objects.latest("pk").pk
    assert list(consistency_checks.check_customer_columns()) == []
    assert [address.address1 for address in row.addresses.order_by("pk")] == ["Storgatan 1", "Kungsgatan 2"]
    assert row.default_address_id == keep.default_address_id
    values = dict(Metafield.objects.filter(owner_id=keep.pk).values_list("key", "value"))
    assert (values, Metafield.objects.count()) == ({"size": "M", "colour": "red"}, 2)
    # The other email's consent does not apply to this email, but the phone number's consent is preserved.
    assert (row.email_marketing_state, row.sms_marketing_state) == ("unsubscribed", "subscribed")
    assert ConsentChange.objects.filter(customer=row).count() == 4
    assert api.get(f"customers/{other.pk}.json").status_code == 404
    assert api.get(f"customers/{keep.pk}/orders.json").json()["orders"][0]["customer"]["id"] == keep.pk
    matching_customers = api.get("customers/search.json?query=phone:4155550123").json()["customers"]
    assert [customer["id"] for customer in matching_customers] == [keep.pk]


def test_chosen_values_stay_and_consent_and_account_follow_the_email(in_shop: Shop) -> None:
    keep, other = create_two_customers(in_shop)
    Customer.objects.filter(pk=other.pk).update(state="enabled", password="secret", verified_email=True)
    selected = ("name", "email", "tax", "default_address", "metafields")

    run_merge(keep, other, **dict.fromkeys(selected, "other"), note="keep")

    row = Customer.objects.get()
    assert (row.name, row.email, row.email_key) == ("A.", "Anna.Lind@example.org", "anna.lind@example.org")
    assert row.verified_email
    assert (row.note, row.tax_exempt, row.email_marketing_state) == ("Rings first", True, "subscribed")
    assert (row.state, row.password) == ("enabled", "secret")
    # This customer already had the other customer's default address.
    assert str(row.default_address) == "Storgatan 1, 222 22 Lund, Sweden"
    assert set(Metafield.objects.filter(owner_id=keep.pk).values_list("value", flat=True)) == {"L", "red"}


def get_payload(event: Event) -> Any:
    assert event.payload is not None
    return event.payload["2026-10"]


def test_apps_and_the_audit_log_receive_both_customers(in_shop: Shop, subscribed_app: None) -> None:
    keep, other = create_two_customers(in_shop)
    last = Event.objects.latest("pk").pk

    run_merge(keep, other)

    events = Event.objects.filter(pk__gt=last).order_by("pk")
    topics = [event.topic for event in events if event.topic.startswith(("customers/", "orders/"))]
    # Moving the orders changes the totals of both customers.
    assert sorted(topics[:-4]) == ["customers/purchasing_summary"] * 2 + ["customers/update"] * 2
    expected = ["orders/updated", "customers/delete", "customers/merge", "customers/update"]
    assert topics[-4:] == expected
    merged = events.get(topic="customers/merge")
    assert (merged.subject_id, merged.actor) == (keep.pk, "staff:17")
    assert merged.changes == {"merged_customer_id": [other.pk, keep.pk]}
    payload = get_payload(merged)
    assert payload["admin_graphql_api_customer_kept_id"].endswith(f"/Customer/{keep.pk}")
    assert payload["admin_graphql_api_customer_deleted_id"].endswith(f"/Customer/{other.pk}")
    assert (payload["status"], payload["errors"]) == ("completed", [])
    assert events.get(topic="customers/delete").changes == {"merged_into_id": [None, keep.pk]}
    assert get_payload(events.filter(topic="customers/update").latest("pk"))["orders_count"] == 2
    assert get_payload(events.get(topic="orders/updated"))["customer"]["id"] == keep.pk
    assert "anna" not in repr([event.changes for event in events]).lower()


def test_an_erasure_includes_events_of_merged_customers(in_shop: Shop, subscribed_app: None) -> None:
    first, second, third = make_customer(email="old@example.com"), make_customer(), make_customer()
    run_merge(second, first)
    run_merge(third, second)
    assert sorted(get_merged_ids(third.pk)) == [first.pk, second.pk]
    assert "old@example.com" in repr(list(Event.objects.values_list("payload", flat=True)))

    personal_data.redact_customer(third, actor="staff:17", at=timezone.now())

    assert "old@example.com" not in repr(list(Event.objects.values_list("payload", flat=True)))


def test_merging_again_changes_nothing(in_shop: Shop) -> None:
    keep, other = create_two_customers(in_shop)
    run_merge(keep, other)
    events = Event.objects.count()

    assert run_merge(keep, other)

    assert Event.objects.count() == events
    with pytest.raises(RowDeleted):
        run_merge(other, keep)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"note": "all"}, "note must be one of both, keep, other"),
        ({"email": "both"}, "email must be one of keep, other"),
        ({"orders": "keep"}, "orders is not a merge field"),
    ],
)
def test_choices_that_there_are_not_are_refused(in_shop: Shop, choices: dict[str, str], message: str) -> None:
    keep, other = make_customer(), make_customer()

    with pytest.raises(MergeRefused) as error:
        run_merge(keep, other, **choices)

    assert error.value.sentence == message


def test_customers_that_cannot_be_merged_are_refused_and_unchanged(in_shop: Shop) -> None:
    keep, other = make_customer(note="a" * 3000), make_customer(note="b" * 3000)
    make_order(in_shop, email=other.email)
    deleted = make_customer()
    customers.delete_customer(Customer.objects.get(pk=deleted.pk), actor="staff:17", at=timezone.now())
    events = Event.objects.count()

    with pytest.raises(MergeRefused, match="5000"):
        run_merge(keep, other)
    with pytest.raises(MergeRefused, match="two different customers"):
        run_merge(keep, keep)
    with pytest.raises(RowDeleted):
        run_merge(keep, deleted)
    Customer.objects.filter(pk=other.pk).update(erasing_at=timezone.now())
    with pytest.raises(BeingErased):
        run_merge(keep, other)
    Customer.objects.filter(pk=other.pk).update(erasing_at=None, redacted_at=timezone.now())
    with pytest.raises(MergeRefused, match="was erased"):
        run_merge(other, keep)

    assert (Order.objects.get().customer_id, Event.objects.count()) == (other.pk, events)


def test_a_merge_continues_after_a_kill(in_shop: Shop, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.JOB_LEASE_SECONDS = 3600
    monkeypatch.setattr(merge, "BATCH_SIZE", 2)
    keep, other = create_two_customers(in_shop)
    for _ in range(4):
        make_order(in_shop, email=other.email, financial_status="paid")
    late: list[Any] = [RuntimeError("The worker is gone"), lambda: make_order(in_shop, email=other.email)]
    report = queue.report_progress

    def interrupted(job: Job, *, completed: int, total: int) -> None:
        report(job, completed=completed, total=total)
        assert list(consistency_checks.check_customer_columns()) == []
        if late:
            next_one = late.pop(0)
            if isinstance(next_one, Exception):
                raise next_one
            next_one()

    monkeypatch.setattr(queue, "report_progress", interrupted)

    assert not run_merge(keep, other, email="other")
    job = Job.objects.get(task=merge.MERGE_TASK)
    for first, another in ((keep, other), (other, keep)):
        with pytest.raises(MergeInProgress):
            run_merge(first, another)
    assert queue.run_job(job.key)
    job.refresh_from_db()
    assert (job.state, Order.objects.filter(customer=keep).count()) == (Job.State.WAITING, 3)
    Job.objects.filter(pk=job.pk).update(due_at=Now())
    assert queue.run_job(job.key)

    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")
    row = Customer.objects.get()
    assert (row.orders_count, row.email) == (7, "Anna.Lind@example.org")
    assert list(consistency_checks.check_customer_columns()) == []
    topics = list(Event.objects.values_list("topic", flat=True))
    assert (topics.count("customers/merge"), topics.count("customers/delete")) == (1, 1)


def test_a_batch_reads_behind_the_one_before(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "BATCH_SIZE", 2)
    keep, other = create_two_customers(in_shop)
    for _ in range(5):
        make_order(in_shop, email=other.email)
    ids = list(Order.objects.filter(customer=other).order_by("pk").values_list("pk", flat=True))
    assert not run_merge(keep, other)

    with CaptureQueriesContext(connection) as statements:
        assert queue.run_job(Job.objects.get(task=merge.MERGE_TASK).key)

    behind = [re.search(r'"orders_order"."id" > (\d+)', statement["sql"]) for statement in statements]
    assert [int(match[1]) for match in behind if match] == [0, ids[1], ids[3], ids[5]]
    assert Order.objects.filter(customer=keep).count() == 1 + len(ids)


def test_a_merge_stops_if_a_customer_is_erased_concurrently(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "BATCH_SIZE", 0)
    keep, other = create_two_customers(in_shop)
    run_merge(keep, other)
    monkeypatch.setattr(merge, "BATCH_SIZE", 250)
    erasure.erase_customer(keep, actor="staff:17", at=timezone.now())
    job = Job.objects.get(task=merge.MERGE_TASK)

    assert queue.run_job(job.key)

    job.refresh_from_db()
    assert (job.state, Order.objects.filter(customer=other).count()) == (Job.State.FAILED, 1)
    assert "was erased" in job.error


@pytest.mark.postgres
def test_a_merge_locks_in_order(in_shop: Shop) -> None:
    keep, other = create_two_customers(in_shop)
    with watch_locks(ROOTS) as watch:
        run_merge(other, keep, metafields="other")
    assert find_breaches(watch) == []


def build_works(shop: Shop) -> tuple[Callable[[], Order], Callable[[], bool]]:
    """Return functions that create an order of a duplicate customer, and that merge the duplicate."""
    with shop_scope(shop):
        keep, other = create_two_customers(shop)
    order = partial(make_order, shop, customer={"id": other.pk}, email="new@example.com")
    return order, partial(run_merge, keep, other)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_an_order_is_missing_from_the_totals_without_the_lock")
def test_an_order_created_during_the_merge_is_moved_too(shop: Shop) -> None:
    run_while_uncommitted(shop, *build_works(shop))

    with shop_scope(shop):
        row = Customer.objects.get()
        assert (row.orders_count, Order.objects.filter(customer=row).count()) == (3, 3)
        assert list(consistency_checks.check_customer_columns()) == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_order_is_missing_from_the_totals_without_the_lock(shop: Shop) -> None:
    """Show what goes wrong without the lock: an order that is created during the merge is not moved."""
    with pytest.raises(IntegrityError):
        run_unguarded(shop, *build_works(shop), locks={"customers_customer", "orders_order"})


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_an_order_is_missing_from_the_totals_without_the_lock")
def test_one_of_two_concurrent_merges_is_done(shop: Shop) -> None:
    with shop_scope(shop):
        keep, other = create_two_customers(shop)

    pairs = ((keep, other), (other, keep), (keep, other))
    results = run_concurrently(shop, *(partial(run_merge, *pair) for pair in pairs))

    assert {type(result) for result in results} == {bool, RowDeleted}
    with shop_scope(shop):
        assert Customer.objects.get().orders_count == 2
        assert Event.objects.filter(topic="customers/merge").count() == 1
        assert list(consistency_checks.check_customer_columns()) == []
