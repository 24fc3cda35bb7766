"""The audit trail: one row for each change, by whatever way it comes, and rows that nobody changes or deletes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.events.domain import guarding
from apps.events.models import Event
from apps.exchange.domain import imports, running
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.customers.factories import make_customer
from tests.panel.conftest import PanelWith
from tests.panel.test_customers import CHANGE, form_of

CHANGES: dict[str, dict[str, Any]] = {
    "id": {"key": "00000000-0000-0000-0000-000000000001"},
    "actor": {"actor": "staff:99"},
    "topic": {"topic": "customers/delete"},
    "subject": {"subject_id": 7},
    "label": {"subject_label": "another"},
    "message": {"message": ""},
    "when": {"created_at": timezone.now()},
    "request": {"request_id": ""},
    "another payload": {"payload": {"2026-07": {}}},
    "other changes": {"changes": {"note": ["a", "c"]}},
    "another address": {"address": "198.51.100.9"},
    "another shop": {"shop_id": 0},
}


@pytest.fixture
def event(in_shop: Shop) -> Event:
    """A row with something in each column."""
    made: Event = Event.objects.create(
        shop=in_shop,
        topic="customers/update",
        subject_type="customers.customer",
        subject_id=5,
        subject_label="Customer 5",
        actor="staff:1",
        message="Said so",
        changes={"note": ["a", "b"]},
        payload={"2026-07": {"id": 5}},
        group="00000000-0000-0000-0000-000000000000",
        request_id="r",
        address="198.51.100.8",
        created_at=timezone.now(),
    )
    return made


def refused(write: Callable[[], object]) -> bool:
    """Whether the database refuses a write, in the trail's words."""
    try:
        with transaction.atomic():
            write()
    except DatabaseError as error:
        return "never changed or deleted" in str(error)
    return False


@pytest.mark.parametrize("values", CHANGES.values(), ids=CHANGES)
def test_the_database_changes_no_row_of_the_trail(event: Event, values: dict[str, Any]) -> None:
    assert refused(lambda: Event.objects.filter(pk=event.pk).update(**values))

    guarding.lift()
    # The same write goes through without the guard: it is the guard that refuses.
    Event.objects.filter(pk=event.pk).update(**{name: v for name, v in values.items() if name != "shop_id"})


def test_the_database_deletes_no_row_of_the_trail(event: Event) -> None:
    def by_hand() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM events_event WHERE id = %s", [event.pk])

    assert refused(lambda: Event.objects.filter(pk=event.pk).delete())
    assert refused(by_hand)
    assert Event.objects.filter(pk=event.pk).exists()


def test_a_row_may_lose_what_it_says_of_a_person_and_nothing_else(event: Event) -> None:
    Event.objects.filter(pk=event.pk).update(payload=None, changes={}, address=None)

    event.refresh_from_db()
    assert (event.payload, event.changes, event.address) == (None, {}, None)
    assert (event.actor, event.message, event.subject_label) == ("staff:1", "Said so", "Customer 5")
    # And it does not come back.
    assert refused(lambda: Event.objects.filter(pk=event.pk).update(payload={"2026-07": {"id": 6}}))


def test_the_guard_comes_back_after_a_migration(event: Event) -> None:
    guarding.lift()
    guarding.ensure()

    assert refused(lambda: Event.objects.filter(pk=event.pk).delete())


def told(shop: Shop, since: int) -> list[tuple[str, str, bool]]:
    """Topic, actor and whether a request is named, of each row about a customer since an id."""
    with shop_scope(shop):
        rows = Event.objects.filter(subject_type="customers.customer", id__gt=since).order_by("id")
        return [(row.topic, row.actor, bool(row.request_id)) for row in rows]


def newest(shop: Shop) -> int:
    with shop_scope(shop):
        return Event.objects.latest("id").pk


def test_each_change_through_the_interface_leaves_one_row(api: ApiClient, shop: Shop) -> None:
    since, app = newest(shop), f"app:{api.installation.app_id}"
    made = api.post("customers.json", {"customer": {"email": "a@example.com"}}).json()["customer"]
    api.put(f"customers/{made['id']}.json", {"customer": {"note": "n", "tags": "t"}})
    api.delete(f"customers/{made['id']}.json")

    verbs = ("create", "update", "delete")
    assert told(shop, since) == [(f"customers/{verb}", app, True) for verb in verbs]


def test_a_change_in_the_panel_leaves_one_row_and_a_refused_one_none(panel_with: PanelWith, shop: Shop) -> None:
    with shop_scope(shop):
        customer = make_customer(first_name="Anna", email="anna@example.com")
    panel, since = panel_with("customers"), newest(shop)

    panel.post(CHANGE, customer.pk, **form_of(customer, email="no address"))
    assert told(shop, since) == []
    panel.post(CHANGE, customer.pk, **form_of(customer, first_name="Anne", note="n"))

    assert told(shop, since) == [("customers/update", f"staff:{panel.user.pk}", True)]


def test_a_change_by_a_task_leaves_one_row(shop: Shop) -> None:
    with shop_scope(shop):
        make_customer(first_name="Anna", email="anna@example.com")
        table = b"first_name,email\nAnne,anna@example.com\nBo,bo@example.com\nBo,bo@example.com\n"
        kept = imports.keep(ContentFile(table), "people.csv", actor="system", at=timezone.now())
        imports.mark_importing(kept)
        since = newest(shop)
        list(running.run(kept))

    assert told(shop, since) == [("customers/update", "system", False), ("customers/create", "system", False)]
