"""Bulk edits, imports and REST requests that change the same object at the same time: no change is lost."""

import io
from collections.abc import Callable
from functools import partial

import pytest
from django.utils import timezone

from apps.bulk_edits.domain import edits, targets
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.catalog.models import Product
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.imports_exports.domain import imports, runner
from apps.imports_exports.models import Import, ImportedRow
from tests.support.api_client import ApiClient, Response
from tests.support.databases.races import run_concurrently, run_unguarded, run_while_uncommitted
from tests.support.factories import make_member
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_customer
from tests.support.files.import_export import to_json_lines

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media_root", "in_shop"),
]

ROUNDS = 20
EMAIL = "ada@example.com"


# --- Imports against REST ---------------------------------------------------------------------------------------------


def start_import(row: dict[str, object]) -> Import:
    text = to_json_lines({"customer": {"email": EMAIL, **row}}).encode()
    import_job = imports.save_upload(io.BytesIO(text), "in.jsonl", actor="system", at=timezone.now())
    imports.skip_validation(import_job)
    return import_job


def run_import(import_job: Import) -> list[str]:
    return [outcome.result for _, outcome in runner.run_import(import_job)]


def put_tags(api: ApiClient, customer: Customer, tags: str) -> Response:
    return api.put(f"customers/{customer.pk}.json", {"customer": {"id": customer.pk, "tags": tags}})


@pytest.mark.race(control="test_an_import_compares_with_outdated_values_without_the_customers_lock")
def test_an_import_and_a_request_both_change_a_customer(api: ApiClient, shop: Shop) -> None:
    customer = make_customer(email=EMAIL)

    for number in range(ROUNDS):
        import_job = start_import({"note": f"note {number}", "last_name": f"Lovelace {number}"})
        results, response = run_concurrently(
            shop, partial(run_import, import_job), partial(put_tags, api, customer, f"tag {number}")
        )

        assert (results, response.status_code) == (["changed"], 200)
        customer.refresh_from_db()
        assert (customer.note, customer.last_name) == (f"note {number}", f"Lovelace {number}")
        assert api.get(f"customers/{customer.pk}.json").json()["customer"]["tags"] == f"tag {number}"
    assert ImportedRow.objects.filter(fate="changed").count() == ROUNDS


@pytest.mark.race(control="customers/test_races.py::test_two_customers_share_a_contact_without_the_unique_keys")
def test_an_import_and_requests_create_one_customer(api: ApiClient, shop: Shop) -> None:
    for _ in range(ROUNDS):
        Customer.objects.all().delete()
        import_job = start_import({"note": "imported"})
        create = partial(api.post, "customers.json", {"customer": {"email": EMAIL, "first_name": "Ada"}})
        results, response = run_concurrently(shop, partial(run_import, import_job), create)

        customer = Customer.objects.get()
        if response.status_code == 201:
            # If the request creates the customer after the import has looked for it, the row fails with the reason.
            reasons = list(ImportedRow.objects.filter(file=import_job, fate="failed").values_list("reason", flat=True))
            expected = ["failed"] if reasons else ["changed"]
            assert (results, customer.first_name) == (expected, "Ada")
            assert all("already been taken" in reason for reason in reasons)
            assert customer.note == ("" if reasons else "imported")
        else:
            assert (response.status_code, results, customer.note) == (422, ["new"], "imported")


def put_note(api: ApiClient, customer: Customer) -> Response:
    return api.put(f"customers/{customer.pk}.json", {"customer": {"note": "the same"}})


@pytest.mark.race(control="test_an_import_compares_with_outdated_values_without_the_customers_lock")
def test_an_import_compares_with_what_a_request_has_just_stored(api: ApiClient, shop: Shop) -> None:
    customer, import_job = make_customer(email=EMAIL), start_import({"note": "the same"})

    results = run_while_uncommitted(shop, partial(put_note, api, customer), partial(run_import, import_job))

    assert results == ["skipped"]
    assert Event.objects.filter(topic="customers/update").count() == 1


def test_an_import_compares_with_outdated_values_without_the_customers_lock(api: ApiClient, shop: Shop) -> None:
    """Show what goes wrong without the lock: the import reports the request's change as its own."""
    customer, import_job = make_customer(email=EMAIL), start_import({"note": "the same"})

    results = run_unguarded(
        shop, partial(put_note, api, customer), partial(run_import, import_job), locks={"customers_customer"}
    )

    assert results == ["changed"]
    assert Event.objects.filter(topic="customers/update").count() == 2


# --- Bulk edits against edits -----------------------------------------------------------------------------------------


def start_edit(actor: str, *products: Product, vendor: str) -> tuple[BulkEdit, Job]:
    ids, now = [product.pk for product in products], timezone.now()
    edit = edits.create_draft(targets.edit_targets["products"], ids, actor=actor, at=now)
    edits.plan_edit(edit, {"vendor": vendor}, actor=actor, at=now)
    edits.start_edit(edit, actor=actor, at=now)
    return edit, Job.objects.filter(task=edits.RUN_TASK).latest("pk")


def put_product(api: ApiClient, product: Product, **values: str) -> Response:
    return api.put(f"products/{product.pk}.json", {"product": values})


@pytest.fixture
def actor(shop: Shop) -> str:
    return get_staff_actor(make_member(shop, "products"))


def get_fates(edit: BulkEdit) -> list[str]:
    return list(EditedRow.objects.filter(edit=edit, dry=False).values_list("fate", flat=True))


@pytest.mark.race(control="test_an_undo_overwrites_a_concurrent_edit_without_the_products_lock")
def test_a_bulk_edit_and_a_request_both_change_a_product(api: ApiClient, shop: Shop, actor: str) -> None:
    product = make_product("Mug")

    for number in range(ROUNDS):
        edit, job = start_edit(actor, product, vendor=f"vendor {number}")
        ran, response = run_concurrently(
            shop, partial(queue.run_job, job.key), partial(put_product, api, product, title=f"Mug {number}")
        )

        product.refresh_from_db()
        assert (ran, response.status_code) == (True, 200)
        assert (product.vendor, product.title, get_fates(edit)) == (f"vendor {number}", f"Mug {number}", ["changed"])


@pytest.mark.race(control="test_an_undo_overwrites_a_concurrent_edit_without_the_products_lock")
def test_an_undo_never_overwrites_a_concurrent_edit(api: ApiClient, shop: Shop, actor: str) -> None:
    product = make_product("Mug")

    for number in range(ROUNDS):
        edit, job = start_edit(actor, product, vendor=f"vendor {number}")
        queue.run_job(job.key)
        edits.start_undo(edit, actor=actor, at=timezone.now())
        undo = Job.objects.get(task=edits.UNDO_TASK, arguments__edit_id=edit.pk)
        ran, response = run_concurrently(
            shop, partial(queue.run_job, undo.key), partial(put_product, api, product, vendor=f"edited {number}")
        )

        product.refresh_from_db()
        assert (ran, response.status_code, product.vendor) == (True, 200, f"edited {number}")
        assert get_fates(edit) in (["kept"], ["undone"])


@pytest.mark.race(control="test_an_undo_overwrites_a_concurrent_edit_without_the_products_lock")
def test_one_of_two_workers_runs_a_bulk_edit(api: ApiClient, shop: Shop, actor: str) -> None:
    products = [make_product(f"Mug {number}") for number in range(3)]

    for number in range(ROUNDS):
        edit, job = start_edit(actor, *products, vendor=f"vendor {number}")
        assert sorted(run_concurrently(shop, *[partial(queue.run_job, job.key)] * 3)) == [False, False, True]
        assert get_fates(edit) == ["changed"] * 3


def undo_during_an_edit(api: ApiClient, actor: str) -> tuple[Product, Callable[[], object], Callable[[], object]]:
    product = make_product("Mug")
    edit, job = start_edit(actor, product, vendor="bulk")
    queue.run_job(job.key)
    edits.start_undo(edit, actor=actor, at=timezone.now())
    undo = Job.objects.get(task=edits.UNDO_TASK)
    return product, partial(put_product, api, product, vendor="edited"), partial(queue.run_job, undo.key)


@pytest.mark.race(control="test_an_undo_overwrites_a_concurrent_edit_without_the_products_lock")
def test_an_undo_waits_for_an_edit_and_keeps_its_result(api: ApiClient, shop: Shop, actor: str) -> None:
    product, request, undo = undo_during_an_edit(api, actor)

    assert run_while_uncommitted(shop, request, undo)

    product.refresh_from_db()
    assert product.vendor == "edited"
    assert get_fates(BulkEdit.objects.get()) == ["kept"]


def test_an_undo_overwrites_a_concurrent_edit_without_the_products_lock(api: ApiClient, shop: Shop, actor: str) -> None:
    """Show what goes wrong without the lock: the undo compares the version before the request's change."""
    product, request, undo = undo_during_an_edit(api, actor)

    assert run_unguarded(shop, request, undo, locks={"catalog_product"})

    product.refresh_from_db()
    assert product.vendor != "edited"
