import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from unittest.mock import patch

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import customers, erasure, personal_data, privacy_webhooks
from apps.customers.domain.lookup import BeingErased
from apps.customers.models import Customer
from apps.imports_exports.domain import exports
from apps.imports_exports.models import Export
from apps.orders.domain import hooks, privacy, updates
from apps.orders.models import Order
from tests.support.databases.races import run_unguarded, run_while_uncommitted
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.types import JsonObject

EMAIL = "ada@example.com"
ADDRESS = {"address1": "1 Main Street", "city": "Ottawa", "country": "Canada", "country_code": "CA"}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    # The thread that renews leases cannot see the job, because the test's transaction is not committed.
    settings.JOB_LEASE_SECONDS = 3600
    monkeypatch.setattr(erasure, "MAX_ROWS_IN_REQUEST", 2)
    monkeypatch.setattr(privacy, "BATCH_SIZE", 2)


@pytest.fixture
def killed_once() -> Iterator[None]:
    """Make the job fail once, in the second batch, after the batch has written rows."""
    calls = []

    def fail(ids: Sequence[int], *, at: datetime) -> None:
        calls.append(ids)
        if len(calls) == 2:
            raise RuntimeError("The worker is gone")

    with patch.dict(hooks.erasure_hooks, {"test": fail}):
        yield


def get_actor_arguments() -> JsonObject:
    return {"actor": "staff:17", "at": timezone.now()}


def create_orders(shop: Shop, times: int) -> Customer:
    for number in range(times):
        make_order(shop, email=EMAIL, note=f"note {number}", shipping_address=ADDRESS)
    return Customer.objects.get()


def run_task(task: str) -> Job:
    job: Job = Job.objects.get(task=task)
    Job.objects.filter(pk=job.pk).update(due_at=Now())
    assert queue.run_job(job.key)
    job.refresh_from_db()
    return job


def get_emails() -> list[str]:
    return list(Order.objects.order_by("pk").values_list("email", flat=True))


def test_an_erasure_continues_after_a_kill(shop: Shop, admin_client_with: PanelWith, killed_once: None) -> None:
    panel: Panel = admin_client_with("customers")
    with shop_scope(shop):
        customer = create_orders(shop, 5)
        first = Order.objects.order_by("pk")[0]

        response = panel.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))
        panel.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))
        assert response.status_code == 302
        page = panel.get("customers_customer_data", customer.pk).content.decode()
        assert "The erasure of personal data started on" in page
        with pytest.raises(BeingErased, match="being erased"):
            make_order(shop, email=EMAIL)
        with pytest.raises(BeingErased):
            customers.update_customer(customer, {"note": "new"}, **get_actor_arguments())

        assert run_task(erasure.ERASE_TASK).state == Job.State.WAITING
        assert get_emails() == ["", "", EMAIL, EMAIL, EMAIL]
        assert Customer.objects.get().email == EMAIL
        assert "2 of 6" in panel.get("customers_customer_data", customer.pk).content.decode()
        with pytest.raises(BeingErased):
            updates.update_order(first, {"email": EMAIL}, **get_actor_arguments())

        job = run_task(erasure.ERASE_TASK)
        assert (job.error, job.state, job.progress_done, job.progress_total) == ("", Job.State.DONE, 6, 6)
        assert get_emails() == [""] * 5
        (text,) = {str(text) for text in Order.objects.values_list("shipping_address", flat=True)}
        assert "'country_code': 'CA'" in text
        assert "Main Street" not in repr(list(Order.objects.values_list("shipping_address", "note")))
        customer.refresh_from_db()
        assert (customer.email, customer.erasing_at, customer.redacted_at is None) == ("", None, False)
        topics = list(Event.objects.values_list("topic", flat=True))
        assert (topics.count("orders/redact"), topics.count("customers/erase")) == (5, 1)
        assert Job.objects.filter(task=privacy_webhooks.REDACT_TASK).count() == 1
        # A new customer can have the same email address as an erased customer.
        assert make_order(shop, email=EMAIL).customer_id != customer.pk


def test_an_erasure_that_stopped_is_asked_for_again(shop: Shop, admin_client_with: PanelWith) -> None:
    panel: Panel = admin_client_with("customers")
    with shop_scope(shop):
        customer = create_orders(shop, 3)
        erasure.erase_customer(customer, **get_actor_arguments())
        assert queue.cancel_job(Job.objects.get(task=erasure.ERASE_TASK))

        assert "but was not completed" in panel.get("customers_customer_data", customer.pk).content.decode()
        Job.objects.filter(task=erasure.ERASE_TASK).delete()
        panel.post("customers_customer_data_erase", customer.pk, confirm=str(customer.pk))
        run_task(erasure.ERASE_TASK)

        assert get_emails() == ["", "", ""]


def test_every_batch_runs_the_same_statements(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privacy, "BATCH_SIZE", 100)
    with shop_scope(shop):
        counts = []
        # The runs redact 2, 3 and 6 orders. Start with 2, because a single row is inserted with a different statement.
        for more in (2, 1, 3):
            customer = create_orders(shop, more)
            with CaptureQueriesContext(connection) as captured:
                privacy.redact_next_orders(customer, 0, "system", timezone.now())
            counts.append([_named(query["sql"]) for query in captured])

    assert counts[1] == counts[2]


def _named(statement: str) -> str:
    return re.sub(r"curs_\w+|save\w*", "", statement)[:60]


def test_the_file_of_a_person_is_fetched_by_who_asked(shop: Shop, admin_client_with: PanelWith) -> None:
    panel: Panel = admin_client_with("customers")
    other: Panel = admin_client_with("customers")
    with shop_scope(shop):
        customer = create_orders(shop, 5)
        expected = json.loads(json.dumps(personal_data.collect_data(customer)))

        response = panel.post("customers_customer_data_export", customer.pk)
        export = Export.objects.get()
        assert response["Location"] == panel.url("imports_exports_export_change", export.pk)
        assert "Creating the file" in panel.get("imports_exports_export_change", export.pk).content.decode()
        job = run_task(exports.EXPORT)

        assert (job.state, len(expected["orders"])) == (Job.State.DONE, 5)
        export.refresh_from_db()
        fetched = panel.http.get(panel.url("imports_exports_export_file", export.pk, export.key))
        assert json.loads(b"".join(fetched)) == expected
        assert other.get("imports_exports_export_file", export.pk, export.key).status_code == 404
        topics = list(Event.objects.values_list("topic", flat=True))
        assert (topics.count("customers/export"), topics.count("customers/data_request")) == (1, 1)


def test_exported_personal_data_is_read_in_batches(shop: Shop) -> None:
    with shop_scope(shop):
        rows = privacy.export_orders(create_orders(shop, 5), 0)
        loaded = []
        for _ in range(5):
            with CaptureQueriesContext(connection) as captured:
                next(rows)
            loaded.append(len(captured))

    assert [count > 0 for count in loaded] == [True, False, True, False, True]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
class TestRaces:
    @pytest.mark.race(control="test_an_order_is_created_during_an_erasure_without_the_customers_lock")
    def test_an_order_that_comes_as_an_erasure_begins_is_refused(self, shop: Shop) -> None:
        with shop_scope(shop):
            customer = create_orders(shop, 3)

        refused: list[bool] = []

        def order() -> None:
            with pytest.raises(BeingErased):
                make_order(shop, email=EMAIL)
            refused.append(True)

        run_while_uncommitted(shop, lambda: erasure.erase_customer(customer, **get_actor_arguments()), order)

        with shop_scope(shop):
            run_task(erasure.ERASE_TASK)
            assert (refused, get_emails()) == ([True], ["", "", ""])

    def test_an_order_is_created_during_an_erasure_without_the_customers_lock(self, shop: Shop) -> None:
        """Show what goes wrong without the lock: the order is created although the erasure has begun."""
        with shop_scope(shop):
            customer = create_orders(shop, 3)

        run_unguarded(
            shop,
            lambda: erasure.erase_customer(customer, **get_actor_arguments()),
            lambda: make_order(shop, email=EMAIL),
            locks={"customers_customer"},
        )

        with shop_scope(shop):
            assert get_emails().count(EMAIL) == 4
