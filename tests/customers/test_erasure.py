import logging
import subprocess
from pathlib import Path

import pytest
from django.apps import apps
from django.core.checks import Error
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, models
from django.test import Client
from django.utils import timezone

from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.privacy import check_declarations, get_personal_fields
from apps.core.rest.models import IdempotencyKey
from apps.core.tenancy.models import App, SavedView, Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import customers, personal_data, search_columns
from apps.customers.domain.fields import EDITABLE_FIELDS
from apps.customers.models import Customer
from apps.discounts.domain.uses import record_uses
from apps.documents.domain.issue import issue_invoice
from apps.documents.models import IssuedDocument
from apps.fulfillment.models import FulfillmentOrder, MerchantRequest, PullAttempt
from apps.imports_exports.domain import dry_run, exports, imports
from apps.imports_exports.models import Import, ImportedRow, SavedMapping
from apps.orders.domain import updates
from apps.orders.models import Comment, Order, Transaction
from apps.store_imports.models import ImportProblem, StoreImport
from apps.webhooks.models import Attempt, Delivery, Endpoint, Payload, Pending
from tests.customers.test_accounts import get_activation_link
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories import ALL_SCOPES, make_member
from tests.support.factories.content import make_article
from tests.support.factories.discounts import make_code
from tests.support.factories.fulfillment import make_service, route_order_now
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.types import JsonObject

# This word marks all personal data of the customer, in upper or lower case.
WORD = "zaphodine"
PHONE = "+14155550199"
SIZE = {"namespace": "global", "key": "size", "type": "single_line_text_field"}
METAFIELD = {**SIZE, "value": f"{WORD}-value", "description": WORD}
ADDRESS = {"first_name": WORD.title(), "last_name": f"{WORD}-last", "company": f"{WORD} Ltd", "phone": PHONE}
ADDRESS |= {"address1": f"{WORD} Street 5", "address2": f"{WORD} House", "city": f"{WORD}ville", "zip": "10013"}
ADDRESS |= {"country": "United States", "province": "New York"}
PAYMENT: JsonObject = {"kind": "sale", "status": "success", "amount": "10.00", "receipt": {"payer": WORD}}
PAYMENT |= {"authorization": f"auth-{WORD}", "message": f"paid by {WORD}", "error_code": f"{WORD}-code"}
ORDER = {
    "email": f"{WORD}@example.com",
    "phone": PHONE,
    "billing_address": ADDRESS,
    "shipping_address": ADDRESS,
    "browser_ip": "203.0.113.77",
    "note": f"for {WORD}",
    "note_attributes": [{"name": "for", "value": WORD}],
    "tags": f"{WORD}-tag",
    "po_number": f"po-{WORD}",
    "source_identifier": f"source-{WORD}",
    "source_url": f"https://source.example/{WORD}",
    "reference": f"ref-{WORD}",
    "landing_site": f"/for/{WORD}",
    "referring_site": f"https://refers.example/{WORD}",
    "metafields": [METAFIELD],
    "line_items": [{"title": "Mug", "price": "5.00", "quantity": 2, "properties": [{"name": "to", "value": WORD}]}],
    "shipping_lines": [{"title": "Post", "price": "0.00", "phone": PHONE}],
    "transactions": [PAYMENT],
}
WORDS = (WORD, "4155550199", "203.0.113.77", "203.0.113.78")


def test_every_text_column_is_declared_personal_or_non_personal() -> None:
    assert check_declarations(None) == []


def test_the_check_reports_undeclared_contradictory_and_unknown_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Comment, "personal_fields", ("actor", "nonsense"))

    assert check_declarations(None) == [
        Error("orders.Comment.body is neither in personal_fields nor in non_personal_fields", id="privacy.E001"),
        Error("orders.Comment.actor is in personal_fields and in non_personal_fields", id="privacy.E002"),
        Error("orders.Comment has no column nonsense, but declares it as personal or non-personal", id="privacy.E003"),
    ]


def post(api: ApiClient, path: str, body: JsonObject) -> JsonObject:
    """Create something with an idempotency key, so that the response is stored."""
    response = api.post(f"{path}.json", body, Idempotency_Key=f"{WORD}-{path}")
    assert response.status_code < 300, response.content
    return response.json()


def fill_through_the_interface(api: ApiClient) -> tuple[int, int]:
    """Create a customer and an order, and return both ids."""
    email = f"{WORD}@example.com"
    values: JsonObject = {name: f"{WORD}-{name}" for name in EDITABLE_FIELDS if name in Customer.personal_fields}
    values |= {"email": email, "phone": PHONE, "addresses": [ADDRESS], "metafields": [METAFIELD]}
    customer = post(api, "customers", {"customer": values})["customer"]
    path = f"customers/{customer['id']}"
    api.put(f"{path}.json", {"customer": {"note": f"another {WORD} note", "tags": f"{WORD}-tag, {WORD}-more"}})
    invite = {"to": email, "from": email, "subject": f"Hello {WORD}", "custom_message": WORD, "bcc": [email]}
    post(api, f"{path}/send_invite", {"customer_invite": invite})
    body = {"order": {**ORDER, "customer": {"id": customer["id"]}}}
    order = post(api, "orders", body)["order"]
    api.put(f"orders/{order['id']}.json", {"order": {"tags": f"{WORD}-changed", "po_number": f"po2-{WORD}"}})
    with shop_scope(api.installation.shop):
        fill_fulfillment(api, order["id"])
    risk = {"message": f"{WORD} pays from abroad", "score": 0.5, "recommendation": "investigate", "source": "External"}
    post(api, f"orders/{order['id']}/risks", {"risk": risk})
    api.post(f"orders/{order['id']}/close.json", {}, Idempotency_Key="c1")
    # Closing a closed order records no event, but the response is stored.
    api.post(f"orders/{order['id']}/close.json", {}, Idempotency_Key="c2")
    # The customer's own request records an IP address.
    url = get_activation_link(api, Customer(pk=customer["id"]))
    password = {"password": "correct horse", "password_confirmation": "correct horse"}
    assert Client(REMOTE_ADDR="203.0.113.78").post(url, password).status_code == 200
    return customer["id"], order["id"]


def post_draft_order(api: ApiClient, customer_id: int) -> None:
    email = f"{WORD}@example.com"
    names = ("email", "billing_address", "shipping_address", "note", "note_attributes", "tags", "line_items")
    body = {name: ORDER[name] for name in names} | {"customer": {"id": customer_id}}
    draft = post(api, "draft_orders", {"draft_order": body})["draft_order"]
    invoice = {"to": email, "from": email, "subject": f"Hello {WORD}", "custom_message": WORD, "bcc": [email]}
    post(api, f"draft_orders/{draft['id']}/send_invoice", {"draft_order_invoice": invoice})


def post_comment(api: ApiClient) -> None:
    with shop_scope(api.installation.shop):
        article = make_article()
    comment: JsonObject = {"article_id": article.pk, "blog_id": article.blog_id}
    comment |= {"body": f"{WORD} likes it", "author": WORD, "email": f"{WORD}@example.com", "user_agent": WORD}
    post(api, "comments", {"comment": comment | {"ip": "203.0.113.77"}})


def fill_fulfillment(api: ApiClient, order_id: int) -> None:
    """Fulfill part of the order, hold another part, and record personal data from a service and a carrier."""
    row = route_order_now(Order.objects.get(pk=order_id))[0]
    first = [{"id": row.lines.get().pk, "quantity": 1}]
    hold = {"reason": "other", "reason_notes": f"{WORD} is away", "fulfillment_order_line_items": first}
    post(api, f"fulfillment_orders/{row.pk}/hold", {"fulfillment_hold": hold})
    texts = {"message": f"for {WORD}", "answer_message": f"{WORD}?", "answer_reason": WORD}
    MerchantRequest.objects.create(
        shop_id=row.shop_id, fulfillment_order=row, kind="fulfillment_request", sent_at=timezone.now(),
        line_messages=[{"id": 1, "message": WORD}], **texts,
    )  # fmt: skip
    rest = FulfillmentOrder.objects.get(order=order_id, status="open")
    body = {
        "line_items_by_fulfillment_order": [{"fulfillment_order_id": rest.pk}],
        "tracking_info": {"number": f"{WORD}-1", "url": f"https://track.example/{WORD}"},
        "message": f"to {WORD}",
        "origin_address": {"city": f"{WORD}ville"},
    }
    fulfillment = post(api, "fulfillments", {"fulfillment": body})["fulfillment"]
    where = {name: f"{WORD} {name}" for name in ("message", "address1", "city", "province", "country", "zip")}
    events = f"orders/{order_id}/fulfillments/{fulfillment['id']}/events"
    post(api, events, {"event": {"status": "in_transit", **where}})
    refund = {"note": f"for {WORD}", "transactions": [{"kind": "refund", "amount": "0.01", "gateway": "manual"}]}
    post(api, f"orders/{order_id}/refunds", {"refund": refund})


def fill_files(shop: Shop) -> None:
    """Create exports and imports, with row results."""
    user, at = make_member(shop, owner=True), timezone.now()
    for kind in ("customers", "orders", "events"):
        export = exports.create_export(
            kind=kind, format="jsonl", filters={}, user=user, actor=f"staff:{user.pk}", at=at
        )
        job = Job.objects.get(task=exports.EXPORT, arguments={"export_id": export.pk})
        assert queue.run_job(job.key)
    searched = {"subject_label__icontains": WORD}
    exports.create_export(kind="events", format="csv", filters=searched, user=user, actor=f"staff:{user.pk}", at=at)
    table = f"first_name,email,note\n{WORD},new-{WORD}@example.com,{WORD}\n{WORD},not {WORD},\n".encode()
    import_job = imports.save_upload(ContentFile(table), f"{WORD}.csv", actor=f"staff:{user.pk}", at=at)
    list(dry_run.validate_file(import_job))
    finished_import = Import.objects.create(
        shop=shop, name=f"{WORD}.csv", format="csv", digest="x" * 64, actor="system", state="done", finished_at=at,
        problem=f"The row of {WORD} could not be read", unknown=[f"{WORD}@example.com"],
        reading_note=f"Only the sheet {WORD} is read.",
        mapping={"kind": "customers", "columns": {f"{WORD}@example.com": "email"}},
    )  # fmt: skip
    base = {"shop": shop, "file": finished_import, "kind": "orders"}
    ImportedRow.objects.create(**base, line=1, fate="failed", label=f"{WORD} order", reason=f"{WORD} is unknown")
    ImportedRow.objects.create(
        **base, line=2, fate="new", label=Order.objects.get().name, source_key=f"order:source-{WORD}"
    )
    mapping = {"kind": "customers", "columns": {f"{WORD}@example.com": "email"}}
    SavedMapping.objects.create(shop=shop, name=f"Table of {WORD}", mapping=mapping, fingerprint="x")
    store_import = StoreImport.objects.create(shop=shop, source_url="https://old.example", finished_at=at)
    ImportProblem.objects.create(
        shop=shop, store_import=store_import, stream="customers", source_id=1, is_failure=True, reason=f"{WORD} taken"
    )  # fmt: skip
    operations = {"tags": {"add": [WORD], "remove": []}}
    edit = BulkEdit.objects.create(shop=shop, kind="customers", operations=operations, actor="system", state="done")
    EditedRow.objects.create(
        shop=shop, edit=edit, row_id=Customer.objects.order_by("pk")[0].pk, fate="changed", label=f"{WORD} {WORD}",
        reason=f"{WORD} was refused", changes=[["Tags", WORD, ""]], before={"tags": WORD},
    )  # fmt: skip
    SavedView.objects.create(shop=shop, user=user, screen="customers.customer", name=f"The {WORD}s", query="q=x")
    SavedView.objects.create(shop=shop, user=user, screen="orders.order", name="x", query=f"q={WORD}%40example.com")
    failed = Job.objects.filter(task="customers.send_invitation").get()
    Job.objects.filter(pk=failed.pk).update(error=f"{{'{WORD}@example.com': (550, b'No such user')}}")


def fill_the_past(shop: Shop, customer: Customer, order: Order) -> None:
    """Create values as older versions stored them: changes in the audit log, and staff comments."""
    Customer.objects.filter(pk=customer.pk).update(activation_nonce=WORD)
    Order.objects.filter(pk=order.pk).update(client_details={"user_agent": f"{WORD}-agent"})
    updates.add_comment(order, f"{WORD} called", actor="staff:1", at=timezone.now())
    Order.objects.filter(pk=order.pk).update(shipping_address={**ADDRESS, "address2": f"Hall 7 of {WORD}"})
    card = make_gift_card(customer_id=customer.pk, note=f"For {WORD}")
    type(card).objects.filter(pk=card.pk).update(message=f"To {WORD}")
    reference = {"remote_transaction_ref": WORD, "remote_transaction_url": f"https://till.example/{WORD}"}
    adjust(card.pk, note=f"Lunch of {WORD}", **reference)
    record_uses(order, [make_code().code], enforce=False, at=timezone.now())
    document = issue_invoice(order, actor="staff:1", at=timezone.now())
    # The snapshot is kept, because tax law requires the recipient of an invoice (tests/documents/test_invoices.py).
    IssuedDocument.objects.filter(pk=document.pk).update(snapshot={})
    for row, changes in ((order, {"tags": ["", WORD]}), (customer, {"note": [WORD, ""]})):
        Event.objects.create(
            shop=shop, topic="orders/updated", subject_type=row._meta.label_lower, subject_id=row.pk, actor="staff:1",
            changes=changes, group="00000000-0000-0000-0000-000000000000", created_at=timezone.now(),
        )  # fmt: skip


def fill_deliveries(shop: Shop, app: App) -> None:
    """Create sent and waiting deliveries about the customer, and an endpoint's response."""
    events, waiting = Event.objects.filter(subject_type="customers.customer", payload__isnull=False).order_by("id")[:2]
    endpoint = Endpoint.objects.create(shop=shop, uri="https://app.example/", uri_digest="x", host="app.example")
    for event in (events, waiting):
        payload = Payload.objects.create(shop=shop, event=event, digest="x", body=f'{{"name": "{WORD}"}}'.encode())
        delivery = Delivery.objects.create(
            shop=shop, app=app, event=event, endpoint=endpoint, payload=payload, triggered_at=event.created_at,
            state="done" if event == events else "due",
        )  # fmt: skip
    Attempt.objects.create(
        shop=shop, delivery=delivery, number=1, response_headers={"set-cookie": WORD}, excerpt=f"Thanks, {WORD}"
    )
    Pending.objects.create(shop=shop, event=waiting, metafields={"2026-10": [{"value": WORD}]})
    PullAttempt.objects.create(
        shop=shop, service=make_service(app), kind="stock", number=1, outcome="bad_answer",
        url=f"https://app.example/?sku={WORD}", message=f"{WORD} is no quantity", excerpt=f'{{"{WORD}": "{WORD}"}}',
    )  # fmt: skip


def find_columns() -> list[str]:
    """Return the columns of all tables that contain any of the words, including search indexes."""
    results = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in cursor.description or ()]
            for row in cursor.fetchall():
                for column, value in zip(columns, row, strict=True):
                    text = bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)
                    if any(word in text.lower() for word in WORDS):
                        results.append(f"{table}.{column}: {text[:100]}")
    return results


def find_files(*folders: Path) -> list[str]:
    """Return the files that contain any of the words. Each argument is a file or a folder to search."""
    results = []
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            text = read_file(path).lower() if path.is_file() else b""
            results += [f"{path}: {word}" for word in WORDS if word.encode() in text]
    return results


def read_file(path: Path) -> bytes:
    """Return a file's content, read by another process.

    If this process opened and closed SQLite's file, it would lose its locks on the file. Other connections would then
    consider the database unused and remove the write-ahead log.
    """
    return subprocess.run(["cat", str(path)], check=True, capture_output=True).stdout


def get_database_files() -> list[Path]:
    if connection.vendor != "sqlite":
        return []
    return [path for end in ("", "-wal") if (path := Path(f"{connection.settings_dict['NAME']}{end}")).exists()]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_an_erasure_leaves_nothing_of_the_person(
    client_with: ClientWith, shop: Shop, subscribed_app: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    api = client_with(*ALL_SCOPES)
    customer_id, order_id = fill_through_the_interface(api)
    post_comment(api)
    post_draft_order(api, customer_id)
    with shop_scope(shop):
        customer, order = Customer.objects.get(pk=customer_id), Order.objects.get(pk=order_id)
        fill_the_past(shop, customer, order)
        fill_files(shop)
        fill_deliveries(shop, api.installation.app)
        own = [model for model in apps.get_models() if not model._meta.proxy]
        own = [model for model in own if connection.vendor in getattr(model, "used_on", {connection.vendor})]
        columns = [(model, name) for model in own for name in get_personal_fields(model)]
        empty = {f"{model._meta.label}.{name}" for model, name in columns if not _holds(model, name)}
    stored = Path(default_storage.path(""))
    assert find_files(stored)
    assert empty == set(), "fill these places here, too"

    with shop_scope(shop):
        personal_data.redact_customer(Customer.objects.get(pk=customer_id), actor="staff:1", at=timezone.now())
        # Run the jobs that the erasure enqueued.
        for job in Job.objects.filter(task__in=("imports_exports.delete_files", search_columns.CLEAR_TASK)):
            assert queue.run_job(job.key)
            job.refresh_from_db()
            assert (job.state, job.error) == (Job.State.DONE, "")

        assert {*Delivery.objects.values_list("state", flat=True)} == {"done", "cancelled"}

    assert find_columns() == []
    assert find_files(stored, *get_database_files()) == []
    assert not any(word in caplog.text.lower() for word in WORDS)


def find_stored_responses() -> list[str]:
    """Return the paths of the requests with stored responses that contain the word."""
    rows = IdempotencyKey.objects.order_by("pk").values_list("path", "body")
    return [path for path, body in rows if WORD.encode() in bytes(body).lower()]


def test_a_deletion_clears_the_stored_responses(client_with: ClientWith, shop: Shop) -> None:
    api = client_with(*ALL_SCOPES)
    customer_id, order_id = fill_through_the_interface(api)
    other = {"customer": {"email": "other@example.com"}}
    api.post("customers.json", other, Idempotency_Key="other")
    by: JsonObject = {"actor": "staff:1", "at": timezone.now()}

    with shop_scope(shop):
        assert len(find_stored_responses()) > 5
        # An order that was paid through a gateway cannot be deleted.
        Transaction.objects.filter(order=order_id).update(gateway="manual")
        updates.delete_order(Order.objects.get(pk=order_id), **by)
        customers.delete_customer(Customer.objects.get(pk=customer_id), **by)

        assert find_stored_responses() == []
    replay = api.post("customers.json", other, Idempotency_Key="other")
    assert replay.json()["customer"]["email"] == "other@example.com"


def _holds(model: type[models.Model], column: str) -> bool:
    """Return True if any row has a value in the column."""
    values = model._base_manager.values_list(column, flat=True)
    return any(value not in (None, "", {}, [], b"") for value in values)
