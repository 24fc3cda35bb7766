from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.draft_orders.models import DraftOrder, DraftOrderLine
from apps.orders.models import Order
from apps.shops.domain import shop_countries
from tests.support.api_client import ApiClient, get_errors
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.factories.orders import get_available, make_variant
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

pytestmark = pytest.mark.usefixtures("in_shop")

ADDRESS = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "address1": "1 Main St",
    "phone": "+15555550100",
    "city": "Ottawa",
    "province": "Ontario",
    "country": "Canada",
    "zip": "K1A 0B1",
}
DISCOUNT = {
    "description": "For regulars",
    "value_type": "percentage",
    "value": "10.0",
    "amount": "1.00",
    "title": "Regular",
}
LINE = {"title": "Engraving", "price": "20.00", "quantity": 2}


def create(api: ApiClient, **fields: object) -> JsonObject:
    response = api.post("draft_orders.json", {"draft_order": {"line_items": [LINE], **fields}})
    assert response.status_code == 201, response.content
    return dict(response.json()["draft_order"])


def update(api: ApiClient, pk: int, **fields: object) -> JsonObject:
    response = api.put(f"draft_orders/{pk}.json", {"draft_order": fields})
    assert response.status_code == 200, response.content
    return dict(response.json()["draft_order"])


def test_custom_items_require_no_shipping_unless_the_request_says_so(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    draft = create(api, line_items=[LINE, {**LINE, "requires_shipping": True}, {"variant_id": variant.pk}])
    kept = [{"id": row["id"], "quantity": 3} for row in draft["line_items"]]

    changed = update(api, draft["id"], line_items=[*kept, LINE])

    assert [row["requires_shipping"] for row in draft["line_items"]] == [False, True, True]
    assert [row["requires_shipping"] for row in changed["line_items"]] == [False, True, True, False]


def send_emails() -> None:
    for key in list(Job.objects.filter(state=Job.State.WAITING).values_list("key", flat=True)):
        assert jobs.run_job(key)


def make_full_customer() -> Customer:
    """Create a customer with all values that the wire table shows."""
    return make_customer(
        email="ada@example.com",
        first_name="Ada",
        last_name="Lovelace",
        email_marketing_consent={"state": "subscribed"},
        addresses=[ADDRESS],
    )


def test_a_draft_order_with_everything_has_all_fields(api: ApiClient, shop: Shop) -> None:
    variant, customer = make_variant(shop), make_full_customer()
    fixed = {**DISCOUNT, "value_type": "fixed_amount", "value": "1.00"}
    lines = [
        {"variant_id": variant.pk, "quantity": 2, "applied_discount": fixed},
        {**LINE, "taxable": False, "properties": [{"name": "Text", "value": "For Bob"}]},
    ]

    draft = create(
        api,
        line_items=lines,
        applied_discount=DISCOUNT,
        shipping_line={"title": "Post", "price": "5.00"},
        shipping_address=ADDRESS,
        billing_address=ADDRESS,
        customer={"id": customer.pk},
        note="Call first",
        note_attributes=[{"name": "colour", "value": "red"}],
        tags="b2b, spring",
    )

    assert (draft["name"], draft["status"], draft["email"]) == ("#D1", "open", "ada@example.com")
    assert draft["api_client_id"] == api.installation.app_id
    first, second = draft["line_items"]
    assert (first["title"], first["name"], first["price"], first["custom"]) == ("Mug", "Mug - Blue", "10.00", False)
    assert first["applied_discount"] == {
        "description": "For regulars",
        "value": "1",
        "title": "Regular",
        "amount": "2.00",
        "value_type": "fixed_amount",
    }
    assert (second["custom"], second["taxable"], second["properties"]) == (
        True,
        False,
        [{"name": "Text", "value": "For Bob"}],
    )
    # 20 - 2 + 40 = 58, without 10%, and with shipping.
    assert (draft["applied_discount"]["amount"], draft["subtotal_price"], draft["total_price"]) == (
        "5.80",
        "52.20",
        "57.20",
    )
    assert draft["shipping_line"] == {"title": "Post", "custom": True, "handle": None, "price": "5.00"}
    assert draft["shipping_address"]["country_code"] == "CA"
    assert draft["customer"]["id"] == customer.pk
    assert (draft["allow_discount_codes_in_checkout?"], draft["b2b?"]) == (False, False)
    read = api.get(f"draft_orders/{draft['id']}.json").json()
    listed = api.get("draft_orders.json").json()
    assert_fits("draft_order", "GET /draft_orders/{id}.json", read)
    assert_fits("draft_order", "GET /draft_orders.json", listed)
    assert read["draft_order"] == draft
    assert listed["draft_orders"] == [draft]
    assert_fits("draft_order", "POST /draft_orders.json", {"draft_order": draft})
    updated = update(api, draft["id"], note="Later")
    assert_fits("draft_order", "PUT /draft_orders/{id}.json", {"draft_order": updated})
    completed = api.put(f"draft_orders/{draft['id']}/complete.json").json()
    assert_fits("draft_order", "PUT /draft_orders/{id}/complete.json", completed)
    count = api.get("draft_orders/count.json").json()
    assert_fits("draft_order", "GET /draft_orders/count.json", count)
    assert count == {"count": 1}


def test_taxes_come_from_the_address(api: ApiClient) -> None:
    shop_countries.create_country({"code": "DE", "tax": Decimal("0.05")}, actor="system", at=timezone.now())

    draft = create(api, shipping_address={"country": "Germany"}, line_items=[LINE, {**LINE, "taxable": False}])

    assert [row["price"] for line in draft["line_items"] for row in line["tax_lines"]] == ["2.00"]
    assert draft["tax_lines"][0]["price"] == draft["total_tax"]
    assert (draft["total_tax"], draft["total_price"]) == ("2.00", "82.00")


def test_lines_keep_their_price_until_they_are_replaced(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    draft = create(api, line_items=[{"variant_id": variant.pk, "quantity": 1}, LINE])
    line_id, custom_id = [line["id"] for line in draft["line_items"]]
    type(variant).objects.filter(pk=variant.pk).update(price=Decimal("99.00"))

    kept = update(api, draft["id"], line_items=[{"id": line_id, "quantity": 3}])
    replaced = update(api, draft["id"], line_items=[{"variant_id": variant.pk}])
    priced = update(api, draft["id"], line_items=[{"variant_id": variant.pk, "price": "7.50", "title": "Ignored"}])

    assert [(line["id"], line["price"], line["quantity"]) for line in kept["line_items"]] == [(line_id, "10.00", 3)]
    assert kept["total_price"] == "30.00"
    assert not DraftOrderLine.objects.filter(pk=custom_id).exists()
    assert [(line["price"], line["quantity"]) for line in replaced["line_items"]] == [("99.00", 1)]
    assert [(line["price"], line["title"]) for line in priced["line_items"]] == [("7.50", "Mug")]


def test_a_draft_order_that_is_sent_back_does_not_change(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop)
    draft = create(
        api,
        line_items=[{"variant_id": variant.pk, "applied_discount": DISCOUNT}, LINE],
        applied_discount=DISCOUNT,
        shipping_line={"title": "Post", "price": "5.00"},
        shipping_address=ADDRESS,
    )
    events = Event.objects.count()

    assert update(api, draft["id"], **draft) == draft
    assert Event.objects.count() == events


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"line_items": []}, "line_items", "can't be blank"),
        ({"line_items": [{"title": "A"}]}, "line_items.0.price", "can't be blank"),
        ({"line_items": [{"price": "1.00"}]}, "line_items.0.title", "can't be blank"),
        ({"line_items": [{**LINE, "price": "1.001"}]}, "line_items.0.price", "is invalid"),
        ({"line_items": [{**LINE, "quantity": 0}]}, "line_items.0.quantity", "must be greater than or equal to 1"),
        ({"line_items": [{**LINE, "title": " "}]}, "line_items.0.title", "can't be blank"),
        ({"line_items": [{"variant_id": 7}]}, "line_items.0.variant_id", "is invalid"),
        (
            {"line_items": [{**LINE, "applied_discount": {"value_type": "percentage", "value": "101"}}]},
            "line_items.0.applied_discount.value",
            "must be less than or equal to 100",
        ),
        ({"applied_discount": {"value": "-1"}}, "applied_discount.value", "is invalid"),
        ({"applied_discount": {"value": "1.005"}}, "applied_discount.value", "is invalid"),
        ({"applied_discount": {"title": "A"}}, "applied_discount.value", "can't be blank"),
        ({"applied_discount": {"value": "1", "value_type": "free"}}, "applied_discount.value_type", None),
        ({"shipping_line": {"title": "Post"}}, "shipping_line.price", "can't be blank"),
        ({"shipping_line": {"price": "1.00"}}, "shipping_line.title", "can't be blank"),
        ({"shipping_line": {"title": "Post", "price": "1.001"}}, "shipping_line.price", "is invalid"),
        ({"email": "nonsense"}, "email", "is invalid"),
        ({"customer": {"id": 7}}, "customer.id", "is invalid"),
        ({"customer": {"email": "a@example.com"}}, "customer.id", "can't be blank"),
        ({"presentment_currency": "EUR"}, "presentment_currency", "is not included in the list"),
        ({"presentment_currency": "XXX"}, "presentment_currency", "is not included in the list"),
        ({"line_items": [{**LINE, "price": "999999999.00", "quantity": 1000000}]}, "total_price", None),
        ({"metafields": [{"key": "a"}]}, "metafields.0.namespace", None),
    ],
)
def test_invalid_values_are_refused(api: ApiClient, fields: JsonObject, field: str, message: str | None) -> None:
    stored = make_draft_order()
    version = stored.version

    created = api.post("draft_orders.json", {"draft_order": {"line_items": [LINE], **fields}})
    updated = api.put(f"draft_orders/{stored.pk}.json", {"draft_order": fields})

    for response in (created, updated):
        errors = get_errors(response)
        assert response.status_code == 422
        assert field in errors
        assert message in {None, *errors[field]}
    assert DraftOrder.objects.values_list("version", flat=True).get() == version


def test_line_ids_of_other_draft_orders_are_ignored_only_in_new_ones(api: ApiClient) -> None:
    other, stored = (make_draft_order().line_items.get().pk, make_draft_order())

    created = api.post("draft_orders.json", {"draft_order": {"line_items": [{**LINE, "id": other}]}})
    updated = api.put(f"draft_orders/{stored.pk}.json", {"draft_order": {"line_items": [{**LINE, "id": other}]}})

    assert created.status_code == 201
    assert created.json()["draft_order"]["line_items"][0]["id"] != other
    assert get_errors(updated) == {"line_items.0.id": ["is invalid"]}


def test_complete_creates_one_paid_order(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=5)
    body = [{"namespace": "app", "key": "color", "type": "single_line_text_field", "value": "red"}]
    draft = create(api, line_items=[{"variant_id": variant.pk, "quantity": 2}], tags="b2b", metafields=body)

    response = api.put(f"draft_orders/{draft['id']}/complete.json")
    again = api.put(f"draft_orders/{draft['id']}/complete.json")
    changed = api.put(f"draft_orders/{draft['id']}.json", {"draft_order": {"note": "Late"}})
    deleted = api.delete(f"draft_orders/{draft['id']}.json")

    completed = response.json()["draft_order"]
    order = api.get(f"orders/{completed['order_id']}.json").json()["order"]
    assert (completed["status"], completed["completed_at"] is not None) == ("completed", True)
    assert (order["financial_status"], order["total_price"], order["tags"]) == ("paid", "20.00", "b2b")
    assert order["source_name"] == "draft_order"
    assert get_available(variant) == 3
    transactions = api.get(f"orders/{order['id']}/transactions.json").json()["transactions"]
    assert [(row["kind"], row["gateway"], row["amount"]) for row in transactions] == [("sale", "manual", "20.00")]
    fields = api.get(f"orders/{order['id']}/metafields.json").json()["metafields"]
    assert [(row["namespace"], row["key"], row["value"]) for row in fields] == [("app", "color", "red")]
    assert get_errors(again) == {"base": ["The draft order is already completed"]}
    assert get_errors(changed) == {"base": ["The draft order is completed, so it cannot be changed"]}
    assert get_errors(deleted) == {"base": ["A completed draft order cannot be deleted"]}
    assert Order.objects.count() == 1


def test_complete_with_a_pending_payment(api: ApiClient) -> None:
    draft = create(api)

    invalid = api.put(f"draft_orders/{draft['id']}/complete.json?payment_pending=maybe")
    completed = api.put(f"draft_orders/{draft['id']}/complete.json?payment_pending=true").json()["draft_order"]

    assert invalid.status_code == 400
    order = api.get(f"orders/{completed['order_id']}.json").json()["order"]
    assert (order["financial_status"], order["total_outstanding"]) == ("pending", "40.00")


def test_items_that_are_out_of_stock_are_not_sold(api: ApiClient, shop: Shop) -> None:
    variant = make_variant(shop, stock=1)
    draft = create(api, line_items=[{"variant_id": variant.pk, "quantity": 2}])

    response = api.put(f"draft_orders/{draft['id']}/complete.json")

    assert list(get_errors(response)) == ["line_items.0.quantity"]
    assert (get_available(variant), Order.objects.count()) == (1, 0)
    assert api.get(f"draft_orders/{draft['id']}.json").json()["draft_order"]["status"] == "open"


def test_the_list_is_filtered(api: ApiClient) -> None:
    first, second = create(api), create(api)
    complete(DraftOrder.objects.get(pk=first["id"]))
    soon = (timezone.now() + timedelta(minutes=1)).isoformat()

    def ids(**query: object) -> list[int]:
        response = api.get("draft_orders.json", **query)
        return [row["id"] for row in response.json()["draft_orders"]]

    assert ids() == [first["id"], second["id"]]
    assert ids(status="completed") == [first["id"]]
    assert ids(status="open") == [second["id"]]
    assert ids(since_id=first["id"]) == [second["id"]]
    assert ids(ids=str(second["id"])) == [second["id"]]
    assert ids(updated_at_min=soon) == []
    assert ids(updated_at_max=soon) == [first["id"], second["id"]]
    assert api.get("draft_orders.json", fields="id,name").json()["draft_orders"][0] == {
        "id": first["id"],
        "name": "#D1",
    }
    page = api.get("draft_orders.json", limit=1)
    assert 'rel="next"' in page["Link"]
    assert api.get("draft_orders.json", status="nonsense").status_code == 400
    assert api.get("draft_orders/count.json", status="open").json() == {"count": 1}


def test_names_are_not_used_twice(api: ApiClient) -> None:
    first = create(api)
    response = api.delete(f"draft_orders/{first['id']}.json")

    assert response.json() == {}
    assert create(api)["name"] == "#D2"
    assert api.get(f"draft_orders/{first['id']}.json").status_code == 404


def test_the_invoice_is_sent(api: ApiClient) -> None:
    draft = create(api, email="ada@example.com")
    values = {
        "to": "bob@example.com",
        "from": "sales@example.com",
        "bcc": ["archive@example.com"],
        "subject": "Your offer",
        "custom_message": "As discussed.",
    }
    path = f"draft_orders/{draft['id']}/send_invoice.json"

    response = api.post(path, {"draft_order_invoice": values})

    assert response.status_code == 201
    assert_fits("draft_order", "POST /draft_orders/{id}/send_invoice.json", response.json())
    assert response.json()["draft_order_invoice"] == values
    send_emails()
    [email] = mail.outbox
    assert (email.to, email.bcc, email.from_email, email.subject) == (
        ["bob@example.com"],
        ["archive@example.com"],
        "sales@example.com",
        "Your offer",
    )
    assert "As discussed." in email.body
    assert draft["invoice_url"] in email.body
    sent = api.get(f"draft_orders/{draft['id']}.json").json()["draft_order"]
    assert (sent["status"], sent["invoice_sent_at"] is not None) == ("invoice_sent", True)


def test_an_invoice_needs_an_address(api: ApiClient) -> None:
    draft = create(api)

    response = api.post(f"draft_orders/{draft['id']}/send_invoice.json", {"draft_order_invoice": {"bcc": ["x"]}})

    assert get_errors(response) == {"to": ["can't be blank"], "bcc": ["is invalid"]}
    assert not mail.outbox
