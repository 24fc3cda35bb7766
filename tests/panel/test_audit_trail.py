from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.core.events import redaction
from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.events.values import HIDDEN_VALUE
from apps.core.tenancy.models import Shop, User
from apps.core.types import Attrs
from apps.imports_exports.domain import imports, runner
from tests.panel.test_customers import send_form
from tests.support import services
from tests.support.api_client import ApiClient
from tests.support.databases.event_triggers import drop_event_triggers
from tests.support.factories.customers import make_customer
from tests.support.panel.client import PanelWith

CHANGES: dict[str, Attrs] = {
    "id": {"key": "00000000-0000-0000-0000-000000000001"},
    "actor": {"actor": "staff:99"},
    "topic": {"topic": "customers/delete"},
    "subject": {"subject_id": 7},
    "label": {"subject_label": "another"},
    "message": {"message": ""},
    "when": {"created_at": timezone.now()},
    "request": {"request_id": ""},
    "another payload": {"payload": {"2026-10": {}}},
    "other changes": {"changes": {"note": ["a", "c"]}},
    "another address": {"address": "198.51.100.9"},
    "another shop": {"shop_id": 0},
}


@pytest.fixture
def event(in_shop: Shop) -> Event:
    """Return an event with a value in each column."""
    return Event.objects.create(
        shop=in_shop,
        topic="customers/update",
        subject_type="customers.customer",
        subject_id=5,
        subject_label="Customer 5",
        actor="staff:1",
        message="Said so",
        changes={"note": ["a", "b"]},
        payload={"2026-10": {"id": 5}},
        group="00000000-0000-0000-0000-000000000000",
        request_id="r",
        address="198.51.100.8",
        created_at=timezone.now(),
    )


def is_refused(write: Callable[[], object]) -> bool:
    try:
        with transaction.atomic():
            write()
    except DatabaseError as error:
        return "never changed or deleted" in str(error)
    return False


@pytest.mark.parametrize("values", CHANGES.values(), ids=CHANGES)
def test_the_database_changes_no_row_of_the_trail(event: Event, values: Attrs) -> None:
    assert is_refused(lambda: Event.objects.filter(pk=event.pk).update(**values))

    drop_event_triggers()
    # The write succeeds without the trigger. This proves that the trigger rejected the write.
    Event.objects.filter(pk=event.pk).update(**{name: v for name, v in values.items() if name != "shop_id"})


def test_the_database_deletes_no_row_of_the_trail(event: Event) -> None:
    def by_hand() -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM events_event WHERE id = %s", [event.pk])

    assert is_refused(lambda: Event.objects.filter(pk=event.pk).delete())
    assert is_refused(by_hand)
    assert Event.objects.filter(pk=event.pk).exists()


# SET clauses for columns that an erasure clears.
EMPTIED = ("payload = NULL, changes = '{}', address = NULL", "payload = NULL", "changes = '{}'", "address = NULL")
# SET clauses that are forbidden during an erasure.
NEVER_OPEN = (
    "topic = 'x'",
    "actor = ''",
    "message = ''",
    "subject_label = ''",
    "request_id = ''",
    "created_at = updated_at",
    "payload = '{}'",
    "changes = '{\"note\": []}'",
    "address = '198.51.100.9'",
    "payload = NULL, message = ''",
)


def run_sql(sql: str, *, within: Callable[[], AbstractContextManager[None]] = nullcontext) -> Callable[[], None]:

    def write() -> None:
        with within(), connection.cursor() as cursor:
            cursor.execute(sql)

    return write


@pytest.mark.parametrize("values", EMPTIED)
def test_rows_lose_personal_data_only_inside_allow_redaction(event: Event, values: str) -> None:
    sql = f"UPDATE events_event SET {values} WHERE id = {event.pk}"
    assert is_refused(run_sql(sql))

    run_sql(sql, within=redaction.allow_redaction)()

    lost_parts = [pair.split(" = ")[0] for pair in values.split(", ")]
    row = Event.objects.get(pk=event.pk)
    assert [getattr(row, name) for name in lost_parts] == [{"changes": {}}.get(name) for name in lost_parts]
    kept_columns = {"payload", "changes", "address", "actor", "message", "subject_label"} - {*lost_parts}
    assert {name: getattr(row, name) for name in kept_columns} == {name: getattr(event, name) for name in kept_columns}
    # Outside an erasure, updates are refused again, so the erased values cannot be restored.
    assert is_refused(run_sql("UPDATE events_event SET payload = NULL, changes = '{}', updated_at = created_at"))
    assert is_refused(lambda: Event.objects.filter(pk=event.pk).update(payload={"2026-10": {"id": 6}}))


@pytest.mark.parametrize("values", NEVER_OPEN)
def test_the_door_lets_nothing_else_through(event: Event, values: str) -> None:
    sql = f"UPDATE events_event SET {values} WHERE id = {event.pk}"

    assert is_refused(run_sql(sql, within=redaction.allow_redaction))
    assert is_refused(run_sql(f"DELETE FROM events_event WHERE id = {event.pk}", within=redaction.allow_redaction))


@pytest.mark.django_db(transaction=True)
def test_the_door_is_open_in_its_own_transaction_alone(in_shop: Shop) -> None:
    with transaction.atomic():
        record_event("shop/update", in_shop, actor="system", at=timezone.now(), changes={"name": ["a", "b"]})
    emptied = "UPDATE events_event SET changes = '{}'"

    def failing() -> None:
        with transaction.atomic(), redaction.allow_redaction():
            run_sql(emptied)()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()

    assert is_refused(run_sql(emptied))
    assert Event.objects.filter(changes={"name": ["a", "b"]}).exists()


@pytest.mark.postgres
def test_the_trail_is_not_emptied_as_a_whole(event: Event) -> None:
    # PostgreSQL refuses TRUNCATE while constraint checks are pending.
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")()
    for sql in ("TRUNCATE events_event CASCADE", "TRUNCATE shops_shop CASCADE"):
        assert is_refused(run_sql(sql))
        assert is_refused(run_sql(sql, within=redaction.allow_redaction))

    drop_event_triggers()
    # Without the trigger, TRUNCATE succeeds.
    run_sql("TRUNCATE events_event CASCADE")()


@pytest.mark.skipif(services.is_postgres(), reason="PostgreSQL knows no such writes")
@pytest.mark.parametrize("same", ["id", "key"])
def test_rows_are_never_replaced(event: Event, same: str) -> None:
    names = [field.column for field in Event._meta.concrete_fields if field.column not in {"id", "key"}]
    also = {"id": "key", "key": "id"}[same]
    new = {"id": "NULL", "key": "'another'"}[also]
    other_texts = [f'"{name}"' for name in names]
    columns, picked = ", ".join([same, also, *other_texts]), ", ".join([same, new, *other_texts])
    sql = f"INSERT OR REPLACE INTO events_event ({columns}) SELECT {picked} FROM events_event WHERE id = {event.pk}"

    assert is_refused(run_sql(sql))

    drop_event_triggers()
    run_sql(sql)()
    assert not Event.objects.filter(pk=event.pk, key=event.key).exists()


def test_the_guard_comes_back_after_a_migration(event: Event) -> None:
    drop_event_triggers()
    redaction.create_event_triggers()

    assert is_refused(lambda: Event.objects.filter(pk=event.pk).delete())


def get_events_since(since: int) -> list[tuple[str, str, bool]]:
    """Return the topic and actor of each newer customer event, and True if the event has a request id."""
    rows = Event.objects.filter(subject_type="customers.customer", id__gt=since).order_by("id")
    return [(row.topic, row.actor, bool(row.request_id)) for row in rows]


def get_newest_id() -> int:
    return Event.objects.latest("id").pk


def test_each_change_through_the_interface_leaves_one_row(api: ApiClient, in_shop: Shop) -> None:
    since, app = get_newest_id(), f"app:{api.installation.app_id}"
    customer = api.post("customers.json", {"customer": {"email": "a@example.com"}}).json()["customer"]
    api.put(f"customers/{customer['id']}.json", {"customer": {"note": "n", "tags": "t"}})
    api.delete(f"customers/{customer['id']}.json")

    verbs = ("create", "update", "delete")
    assert get_events_since(since) == [(f"customers/{verb}", app, True) for verb in verbs]


def test_a_panel_change_writes_one_row_and_a_refused_one_none(admin_client_with: PanelWith, in_shop: Shop) -> None:
    customer = make_customer(first_name="Anna", email="anna@example.com")
    panel, since = admin_client_with("customers"), get_newest_id()

    send_form(panel, customer, email="no address")
    assert get_events_since(since) == []
    send_form(panel, customer, first_name="Anne", note="n")
    assert get_events_since(since) == [("customers/update", f"staff:{panel.user.pk}", True)]


def test_a_change_by_a_task_leaves_one_row(in_shop: Shop) -> None:
    make_customer(first_name="Anna", email="anna@example.com")
    table = b"first_name,email\nAnne,anna@example.com\nBo,bo@example.com\nBo,bo@example.com\n"
    import_job = imports.save_upload(ContentFile(table), "people.csv", actor="system", at=timezone.now())
    imports.skip_validation(import_job)
    since = get_newest_id()
    list(runner.run_import(import_job))

    assert get_events_since(since) == [(f"customers/{verb}", "system", False) for verb in ("update", "create")]


def test_changes_are_described_in_words(admin_client_with: PanelWith, in_shop: Shop) -> None:
    panel = admin_client_with("staff_audit_log_view", "customers")
    changes: Attrs = {
        "accepts_marketing": [None, True],
        "merged_customer_id": [7, None],
        "no_such_thing": [["a", "b"], HIDDEN_VALUE],
        "state": ["disabled", "enabled"],
        "total_spent": ["0.000", "1234.500"],
        "last_order_at": [None, "2026-11-25T14:33:00+00:00"],
    }
    customer = make_customer()
    record_event("customers/update", customer, actor="system", at=timezone.now(), changes=changes)
    event = Event.objects.latest("pk")

    def get_descriptions(language: str) -> tuple[list[Any], str, str]:
        User.objects.filter(pk=panel.user.pk).update(language=language)
        pages = panel.get("events_event_changelist", view="all"), panel.get("customers_customer_history", customer.pk)
        rows, history = (" ".join(page.content.decode().split()) for page in pages)
        return panel.get("events_event_change", event.pk).context["changes"], rows, history

    rows, *english = get_descriptions("en")
    german, *pages = get_descriptions("de")

    assert {line.name: (line.before, line.after) for line in rows} == {
        "Email marketing": ("", "yes"),
        # Times are in the shop's time zone.
        "Last order at": ("", "25 Nov 2026, 09:33"),
        "Merged customer": ("7", ""),
        "No such thing": ("a, b", "(hidden)"),
        "State": ("No account", "Active account"),
        "Total spent": ("0.00", "1,234.50"),
    }
    assert ("Umsatz", "0,00", "1.234,50", "", "") in german
    assert all("Merged customer" in page and "merged_customer_id" not in page for page in english)
    assert all("Zusammengeführter Kunde" in page for page in pages)
