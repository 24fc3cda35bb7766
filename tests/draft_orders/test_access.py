"""Who can see draft orders: scopes, other shops, the invoice page, erasure and merging of customers."""

import re
from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.utils import timezone

from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.models import get_column_values
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import merge, personal_data
from apps.draft_orders.domain.invoice_links import get_invoice_url
from apps.draft_orders.domain.invoices import send_invoice
from apps.draft_orders.models import DraftOrder, DraftOrderInvoice, DraftOrderLine
from apps.orders.domain import payments, transitions
from apps.orders.models import Order
from apps.shops.domain.settings import currency_objections
from tests.support import factories
from tests.support.api_client import ApiClient, ClientWith
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import CUSTOM_LINE, complete, make_draft_order
from tests.support.factories.orders import make_variant
from tests.support.types import Json

pytestmark = pytest.mark.usefixtures("in_shop")


def get_path(draft: DraftOrder) -> str:
    url = get_invoice_url(draft.shop_id, draft.invoice_key)
    return url[url.index("/invoices/") :]


def test_scopes_are_required(client_with: ClientWith) -> None:
    draft = make_draft_order()
    reader, other = client_with("read_draft_orders"), client_with("write_orders")

    assert reader.get("draft_orders.json").status_code == 200
    assert reader.put(f"draft_orders/{draft.pk}/complete.json").status_code == 403
    assert reader.post(f"draft_orders/{draft.pk}/send_invoice.json").status_code == 403
    assert other.get("draft_orders.json").status_code == 403
    assert DraftOrder.objects.get().status == "open"


def test_rows_of_other_shops_are_not_used(api: ApiClient) -> None:
    other_shop = factories.make_shop()
    with shop_scope(other_shop):
        foreign, customer = make_draft_order(), make_customer()
    variant = make_variant(other_shop)
    path = f"draft_orders/{foreign.pk}"
    line = {"title": "Mug", "price": "1.00"}

    answers = [
        api.get(f"{path}.json"),
        api.put(f"{path}.json", {"draft_order": {"note": "x"}}),
        api.delete(f"{path}.json"),
        api.put(f"{path}/complete.json"),
        api.post(f"{path}/send_invoice.json", {}),
        api.post("draft_orders.json", {"draft_order": {"line_items": [{"variant_id": variant.pk}]}}),
        api.post("draft_orders.json", {"draft_order": {"line_items": [line], "customer": {"id": customer.pk}}}),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5 + [422] * 2
    assert api.get("draft_orders.json").json() == {"draft_orders": []}
    with shop_scope(other_shop):
        assert DraftOrder.objects.get().status == "open"


def test_the_invoice_page_shows_the_state(client: Client) -> None:
    lines = [{**CUSTOM_LINE, "properties": [{"name": "Text", "value": "<b>Ada</b>"}, {"name": "_id", "value": "s3"}]}]
    draft = make_draft_order(lines, shipping_line={"title": "Post", "price": Decimal("5.00")}, note="Staff only")
    path = get_path(draft)

    page = client.get(path)
    complete(draft, payment_pending=True)
    pending = client.get(path).content.decode()

    text = page.content.decode()
    assert page.status_code == 200
    assert ("no-store" in page["Cache-Control"], page["X-Robots-Tag"]) == (True, "noindex, nofollow")
    assert page["Referrer-Policy"] == "no-referrer"
    assert all(word in text for word in ("#D1", "2 × Engraving", "40.00 USD", "5.00 USD", "45.00 USD", "Not paid yet"))
    assert "&lt;b&gt;Ada&lt;/b&gt;" in text
    assert not any(word in text for word in ("<b>Ada", "s3", "Staff only"))
    assert "The payment is pending" in pending
    assert "/orders/" in pending


def test_a_paid_invoice_says_so(client: Client, in_shop: Shop) -> None:
    Shop.objects.filter(pk=in_shop.pk).update(payment_instructions="Pay by bank transfer")
    draft = complete(make_draft_order())

    text = client.get(get_path(draft)).content.decode()
    assert "Paid. Thank you for your order." in text
    assert "bank transfer" not in text


def test_an_invoice_of_a_partly_paid_order_shows_what_is_due(client: Client, in_shop: Shop) -> None:
    draft = complete(make_draft_order(), payment_pending=True)
    assert draft.order
    sale = {"kind": "sale", "amount": Decimal("15.00")}
    payments.create_transaction(draft.order, sale, actor="system", at=timezone.now())

    partly_paid = client.get(get_path(draft)).content.decode()
    order = transitions.cancel_order(Order.objects.get(), actor="system", at=timezone.now())
    canceled = client.get(get_path(draft)).content.decode()

    assert order.cancelled_at
    assert "The payment is pending" in partly_paid
    rows = ["Paid", "15.00 USD", "Balance due", "25.00 USD"]
    assert re.findall("|".join(rows), partly_paid) == rows
    assert "The order was canceled." in canceled
    assert "reply to the email" not in canceled


def test_an_invoice_says_how_to_pay(client: Client, in_shop: Shop) -> None:
    draft, default = make_draft_order(email="ada@example.com"), "To pay, reply to the email with this invoice"
    assert default in client.get(get_path(draft)).content.decode()

    in_shop.payment_instructions = "Transfer the total to:\nDE02 1203 <Main & Co>"
    in_shop.save()
    send_invoice(draft, {}, actor="system", at=timezone.now())
    jobs.run_job(Job.objects.get(task="draft_orders.send_invoice").key)

    assert "Transfer the total to:\nDE02 1203 <Main & Co>\n" in str(mail.outbox[0].body)
    text = client.get(get_path(draft)).content.decode()
    assert "Transfer the total to:<br>DE02 1203 &lt;Main &amp; Co&gt;" in text
    assert default not in text + str(mail.outbox[0].body)
    complete(draft, payment_pending=True)
    assert "Transfer the total to:" in client.get(get_path(draft)).content.decode()


def test_an_invoice_page_needs_its_own_link(client: Client, settings: LazySettings) -> None:
    draft = make_draft_order()
    path, other_shop = get_path(draft), factories.make_shop()
    key = draft.invoice_key
    wrong = [
        f"/invoices/{draft.shop_id}/{key}",
        f"/invoices/{draft.shop_id}/{key}.{'a' * 43}",
        path.replace(f"/{draft.shop_id}/", f"/{other_shop.pk}/"),
        f"/invoices/{2**63}/{path.rpartition('/')[2]}",
        path[:-1],
    ]

    assert [client.get(url).status_code for url in wrong] == [404] * len(wrong)
    assert client.post(path).status_code == 405
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret key, long enough for a test of rotated keys"
    assert client.get(path).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get(path).status_code == 404


def test_amounts_on_the_page_are_in_the_presentment_currency(client: Client, in_shop: Shop) -> None:
    in_shop.presentment_currencies = [{"currency": "JPY", "rate": "150", "rounding": ""}]
    in_shop.save()
    draft = make_draft_order(presentment_currency="JPY")

    assert "6,000 JPY" in client.get(get_path(draft)).content.decode()


def test_an_email_about_an_erased_draft_order_is_not_sent() -> None:
    customer = make_customer(email="ada@example.com")
    draft = make_draft_order(customer_id=customer.pk)
    send_invoice(draft, {}, actor="system", at=timezone.now())
    personal_data.redact_customer(customer, actor="system", at=timezone.now())

    for key in list(Job.objects.filter(task="draft_orders.send_invoice").values_list("key", flat=True)):
        jobs.run_job(key)

    assert mail.outbox == []


def test_data_about_the_customer_is_exported_and_erased() -> None:
    customer = make_customer(first_name="Sylvia", email="sylvia@example.com")
    lines = [{**CUSTOM_LINE, "properties": [{"name": "Text", "value": "For Sylvia"}]}]
    address = {"first_name": "Sylvia", "country": "Germany"}
    draft = make_draft_order(
        lines, customer_id=customer.pk, note="Sylvia called", tags="sylvia", shipping_address=address
    )
    send_invoice(draft, {"custom_message": "Dear Sylvia"}, actor="system", at=timezone.now())
    make_draft_order(note="Kept")

    exported: Json = personal_data.collect_data(customer)["draft_orders"]
    personal_data.redact_customer(customer, actor="system", at=timezone.now())

    assert [(row["note"], row["email"], row["line_items"][0]["properties"]) for row in exported] == [
        ("Sylvia called", "sylvia@example.com", [{"name": "Text", "value": "For Sylvia"}])
    ]
    assert exported[0]["invoices"][0]["custom_message"] == "Dear Sylvia"
    models = (DraftOrder, DraftOrderLine, DraftOrderInvoice)
    rows = [get_column_values(row) for model in models for row in model.objects.all()]
    assert "sylvia" not in str(rows).lower()
    assert sorted(DraftOrder.objects.values_list("note", flat=True)) == ["", "Kept"]
    assert DraftOrder.objects.get(pk=draft.pk).total_price == Decimal("40.00")


def test_merged_customers_keep_their_draft_orders() -> None:
    kept, other = make_customer(first_name="Ada"), make_customer(first_name="Bo")
    draft = make_draft_order(customer_id=other.pk)

    merge.merge_customers(kept, other, {}, actor="system", at=timezone.now())

    assert DraftOrder.objects.get(pk=draft.pk).customer_id == kept.pk


def test_a_deleted_customer_leaves_the_draft_order(api: ApiClient) -> None:
    customer = make_customer()
    draft = make_draft_order(customer_id=customer.pk)
    path = f"draft_orders/{draft.pk}.json"
    assert api.get(path).json()["draft_order"]["customer"]["id"] == customer.pk

    response = api.delete(f"customers/{customer.pk}.json")

    assert response.status_code == 200
    assert api.get(path).json()["draft_order"]["customer"] is None


def test_the_shop_currency_stays_while_there_are_draft_orders(in_shop: Shop) -> None:
    make_draft_order()

    assert "the shop has draft orders" in [objection(in_shop, "EUR") for objection in currency_objections.values()]
