"""The calls that existing clients make to draft orders, discounts and gift cards have the known statuses and shapes.

There is one call for each recorded request, with the same members. Responses are compared with the wire tables.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.discounts.domain import batches
from apps.shops.domain import shop_countries
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_custom, make_product
from tests.support.factories.customers import post_customer
from tests.support.factories.discounts import make_code, make_rule
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits, get_routes

ADDRESS = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "address1": "1 Main St",
    "city": "Ottawa",
    "province": "ON",
    "country": "Canada",
    "zip": "K1A 0B1",
    "phone": "555-555-0100",
}
MUG = {"title": "Mug", "price": "20.00", "quantity": 2}
VARIANT_LINE = {"variant_id": "{variant}", "quantity": 1}
INVOICE = {
    "to": "ada@example.com",
    "from": "store@example.com",
    "bcc": ["store@example.com"],
    "subject": "Your mugs",
    "custom_message": "Thank you for ordering!",
}
RULE = {
    "title": "SUMMER",
    "target_type": "line_item",
    "target_selection": "all",
    "allocation_method": "across",
    "value_type": "fixed_amount",
    "value": "-10.0",
    "customer_selection": "all",
    "starts_at": "2017-01-19T17:59:10Z",
}
ENTITLED = {**RULE, "value_type": "percentage", "value": "-15.0", "target_selection": "entitled"}
BUNDLE = {
    **ENTITLED,
    "value": "-100.0",
    "allocation_method": "each",
    "prerequisite_collection_ids": ["{collection}"],
    "entitled_product_ids": ["{product}"],
    "prerequisite_to_entitlement_quantity_ratio": {"prerequisite_quantity": 2, "entitled_quantity": 1},
    "allocation_limit": 3,
}
FREE_SHIPPING = {
    **RULE,
    "target_type": "shipping_line",
    "allocation_method": "each",
    "value_type": "percentage",
    "value": "-100.0",
    "usage_limit": 20,
    "prerequisite_subtotal_range": {"greater_than_or_equal_to": "50.0"},
}
REFERENCE = {"remote_transaction_ref": "pos-1", "remote_transaction_url": "http://example.com/adjustments/1"}


def make_discount(value_type: str, amount: str) -> JsonObject:
    names = {"title": "Custom", "description": "Custom discount"}
    return {**names, "value_type": value_type, "value": "10.0", "amount": amount}


@dataclass(frozen=True)
class Call:
    """A recorded request. Names in braces are ids of the rows that ``arrange`` creates."""

    route: str
    path: str
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    status: int = 200


def draft(*lines: JsonObject, **members: object) -> Call:
    body = {"draft_order": {"line_items": list(lines), **members}}
    return Call("POST /draft_orders.json", "draft_orders.json", body, status=201)


def change_draft(**members: object) -> Call:
    return Call("PUT /draft_orders/{id}.json", "draft_orders/{draft}.json", {"draft_order": members})


def list_drafts(**query: str) -> Call:
    return Call("GET /draft_orders.json", "draft_orders.json", query=query)


def complete(**query: str) -> Call:
    return Call("PUT /draft_orders/{id}/complete.json", "draft_orders/{draft}/complete.json", query=query)


def send_invoice(**members: object) -> Call:
    path = "draft_orders/{draft}/send_invoice.json"
    return Call("POST /draft_orders/{id}/send_invoice.json", path, {"draft_order_invoice": members}, status=201)


def rule(**members: object) -> Call:
    return Call("POST /price_rules.json", "price_rules.json", {"price_rule": members}, status=201)


def card(**members: object) -> Call:
    return Call("POST /gift_cards.json", "gift_cards.json", {"gift_card": members}, status=201)


def adjustment(**members: object) -> Call:
    path = "gift_cards/{card}/adjustments.json"
    return Call("POST /gift_cards/{id}/adjustments.json", path, {"adjustment": members}, status=201)


NEXT_YEAR = str(timezone.now().date() + timedelta(days=365))
CALLS: dict[str, dict[str, Call]] = {
    "draft_order": {
        "discount and customer": draft(
            MUG,
            applied_discount=make_discount("fixed_amount", "10.00"),
            customer={"id": "{customer}"},
            use_customer_default_address=True,
        ),
        "percentage on a line": draft({**MUG, "applied_discount": make_discount("percentage", "4.0")}),
        "amount on a line": draft({**MUG, "applied_discount": make_discount("fixed_amount", "10.0")}),
        "customer": draft(MUG, customer={"id": "{customer}"}, use_customer_default_address=True),
        "billing address": draft(VARIANT_LINE, billing_address=ADDRESS),
        "shipping address": draft(VARIANT_LINE, shipping_address=ADDRESS),
        "variant": draft(VARIANT_LINE),
        "list": list_drafts(),
        "list since an id": list_drafts(since_id="{draft}"),
        "list with some fields": list_drafts(fields="id,line_items"),
        "list of changes": list_drafts(updated_at_min="2005-07-31T15:57:11-04:00"),
        "change discount": change_draft(applied_discount=make_discount("percentage", "4.00")),
        "change note": change_draft(note="The customer asked for an engraving"),
        "change lines": change_draft(line_items=[VARIANT_LINE]),
        "read": Call("GET /draft_orders/{id}.json", "draft_orders/{draft}.json"),
        "delete": Call("DELETE /draft_orders/{id}.json", "draft_orders/{draft}.json"),
        "count": Call("GET /draft_orders/count.json", "draft_orders/count.json"),
        "custom invoice": send_invoice(**INVOICE),
        "invoice": send_invoice(),
        "complete": complete(),
        "complete without payment": complete(payment_pending="true"),
    },
    "price_rule": {
        "buy X, get Y": rule(**BUNDLE),
        "amount": rule(**RULE),
        "collection": rule(**ENTITLED, entitled_collection_ids=["{collection}"]),
        "free shipping": rule(**FREE_SHIPPING),
        "list": Call("GET /price_rules.json", "price_rules.json"),
        "list since an id": Call("GET /price_rules.json", "price_rules.json", query={"since_id": "{rule}"}),
        "change title": Call(
            "PUT /price_rules/{id}.json", "price_rules/{rule}.json", {"price_rule": {"title": "WINTER"}}
        ),
        "read": Call("GET /price_rules/{id}.json", "price_rules/{rule}.json"),
        "delete": Call("DELETE /price_rules/{id}.json", "price_rules/{rule}.json"),
        "count": Call("GET /price_rules/count.json", "price_rules/count.json"),
    },
    "discount_code": {
        "create": Call(
            "POST /price_rules/{id}/discount_codes.json",
            "price_rules/{rule}/discount_codes.json",
            {"discount_code": {"code": "SUMMER10OFF"}},
            status=201,
        ),
        "list": Call("GET /price_rules/{id}/discount_codes.json", "price_rules/{rule}/discount_codes.json"),
        "change": Call(
            "PUT /price_rules/{id}/discount_codes/{id}.json",
            "price_rules/{rule}/discount_codes/{code}.json",
            {"discount_code": {"code": "WINTER20OFF"}},
        ),
        "read": Call("GET /price_rules/{id}/discount_codes/{id}.json", "price_rules/{rule}/discount_codes/{code}.json"),
        "delete": Call(
            "DELETE /price_rules/{id}/discount_codes/{id}.json",
            "price_rules/{rule}/discount_codes/{code}.json",
        ),
        "count": Call("GET /discount_codes/count.json", "discount_codes/count.json"),
        "create a batch": Call(
            "POST /price_rules/{id}/batch.json",
            "price_rules/{rule}/batch.json",
            {"discount_codes": [{"code": "SUMMER1"}, {"code": "SUMMER2"}, {"code": "SUMMER3"}]},
            status=201,
        ),
        "read a batch": Call("GET /price_rules/{id}/batch/{id}.json", "price_rules/{rule}/batch/{batch}.json"),
        "codes of a batch": Call(
            "GET /price_rules/{id}/batch/{id}/discount_codes.json",
            "price_rules/{rule}/batch/{batch}/discount_codes.json",
        ),
    },
    "gift_card": {
        "list of enabled cards": Call("GET /gift_cards.json", "gift_cards.json", query={"status": "enabled"}),
        "list": Call("GET /gift_cards.json", "gift_cards.json"),
        "read": Call("GET /gift_cards/{id}.json", "gift_cards/{card}.json"),
        "change expiry date": Call(
            "PUT /gift_cards/{id}.json", "gift_cards/{card}.json", {"gift_card": {"expires_on": NEXT_YEAR}}
        ),
        "change note": Call("PUT /gift_cards/{id}.json", "gift_cards/{card}.json", {"gift_card": {"note": "For Ada"}}),
        "count": Call("GET /gift_cards/count.json", "gift_cards/count.json"),
        "count of enabled cards": Call(
            "GET /gift_cards/count.json", "gift_cards/count.json", query={"status": "enabled"}
        ),
        "code and note": card(
            note="For Ada", initial_value="100.00", code="ABCD EFGH IJKL MNOP", template_suffix="birthday.liquid"
        ),
        "generated code": card(initial_value="25.00"),
        "recipient": card(
            initial_value="100.00",
            recipient_id="{customer}",
            message="Happy birthday!",
            send_on="2023-12-31T19:00:00-05:00",
        ),
        "disable": Call(
            "POST /gift_cards/{id}/disable.json",
            "gift_cards/{card}/disable.json",
            {"gift_card": {"id": "{card}"}},
            status=201,
        ),
        "search": Call(
            "GET /gift_cards/search.json", "gift_cards/search.json", query={"query": "last_characters:mnop"}
        ),
    },
    "gift_card_adjustment": {
        "list": Call("GET /gift_cards/{id}/adjustments.json", "gift_cards/{card}/adjustments.json"),
        "reference": adjustment(amount=10.0, **REFERENCE),
        "add": adjustment(amount=10.0, note="Refilled by $10"),
        "subtract": adjustment(amount=-20.0, note="Spent $20 elsewhere"),
        "time": adjustment(amount=10.0, processed_at="2023-07-02T09:31:20-04:00"),
        "read": Call("GET /gift_cards/{id}/adjustments/{id}.json", "gift_cards/{card}/adjustments/{adjustment}.json"),
    },
}
COUNTS = {"draft_order": 21, "price_rule": 10, "discount_code": 9, "gift_card": 12, "gift_card_adjustment": 6}


def make_draft(api: ApiClient, customer: int) -> int:
    """Create a draft order with all members."""
    draft_order = {
        "line_items": [{**MUG, "applied_discount": make_discount("percentage", "4.00")}],
        "applied_discount": make_discount("fixed_amount", "10.00"),
        "customer": {"id": customer},
        "billing_address": ADDRESS,
        "shipping_address": ADDRESS,
        "shipping_line": {"title": "Post", "price": "5.00", "handle": "post"},
        "note": "Rush order",
    }
    response = api.post("draft_orders.json", {"draft_order": draft_order})
    assert response.status_code == 201, response.content
    return int(response.json()["draft_order"]["id"])


def arrange(api: ApiClient) -> Attrs:
    """Create the rows of the calls, and return their ids by name."""
    product = make_product("Mug", prices=("20.00",))
    consent = {"state": "subscribed", "opt_in_level": "single_opt_in", "consent_updated_at": "2024-06-13T11:57:11Z"}
    fields = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com", "phone": "+16135550100"}
    customer = post_customer(
        api, **fields, addresses=[ADDRESS], email_marketing_consent=consent, sms_marketing_consent=consent
    )["id"]
    shop_countries.create_country({"code": "CA", "tax": Decimal("0.05")}, actor="system", at=timezone.now())
    ends_at = timezone.now() + timedelta(days=1)
    rule_row, gift_card = make_rule(ends_at=ends_at), make_gift_card("100.00", code="2345 6789 mnop")
    batch = batches.create_batch(rule_row, ["A1", "A2"], actor="system", at=timezone.now())
    return {
        "product": product.pk,
        "variant": product.variants.get().pk,
        "collection": make_custom("Kitchen", product).pk,
        "customer": customer,
        "draft": make_draft(api, customer),
        "rule": rule_row.pk,
        "code": make_code("SUMMER", rule_row).pk,
        "batch": batch.pk,
        "card": gift_card.pk,
        "adjustment": adjust(gift_card.pk, "5.00", note="Refilled").pk,
    }


def fill(value: Any, ids: Attrs) -> Any:
    """Replace the names in braces by ids."""
    if isinstance(value, dict):
        return {name: fill(member, ids) for name, member in value.items()}
    if isinstance(value, list):
        return [fill(member, ids) for member in value]
    if isinstance(value, str) and value.startswith("{"):
        return ids[value.strip("{}")]
    return value


def test_each_recorded_call_is_in_the_table() -> None:
    assert {resource: len(calls) for resource, calls in CALLS.items()} == COUNTS
    for resource, calls in CALLS.items():
        routes = Counter(call.route for call in calls.values())
        assert sorted(routes) == sorted(get_routes(resource))


@pytest.mark.parametrize(("resource", "name"), [(resource, name) for resource in CALLS for name in CALLS[resource]])
def test_a_recorded_call_has_its_status_and_shape(api: ApiClient, in_shop: Shop, resource: str, name: str) -> None:
    ids = arrange(api)
    call = CALLS[resource][name]
    path = f"{call.path.format(**ids)}?{urlencode(fill(call.query, ids))}"
    method = call.route.partition(" ")[0].lower()
    body = () if method in {"get", "delete"} else (fill(call.body, ids),)

    response = getattr(api, method)(path, *body)

    assert response.status_code == call.status, response.content
    problems = find_misfits(resource, call.route, response.json())
    if fields := call.query.get("fields"):
        (shown,) = response.json()["draft_orders"]
        assert list(shown) == fields.split(",")
        problems = [problem for problem in problems if not problem.endswith(" is missing")]
    if call.route == "POST /draft_orders.json" and "customer" not in call.body["draft_order"]:
        problems.remove(".draft_order.customer is None, not object")
    assert problems == []
