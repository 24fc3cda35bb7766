"""Fill a store with discounts, gift cards, draft orders, tax rates and staff."""

from datetime import date
from decimal import Decimal

from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.discounts.domain.codes import NewCode, create_codes
from apps.discounts.models import PriceRule
from apps.gift_cards.domain.restored_balances import restore_card_without_code
from tests.store_imports.old_store import _remove_ids, post
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.types import Json, JsonObject

RULE: JsonObject = {
    "title": "Summer", "value_type": "percentage", "value": "-10.0", "customer_selection": "all",
    "target_type": "line_item", "target_selection": "all", "allocation_method": "across",
    "starts_at": "2024-05-01T00:00:00Z",
}  # fmt: skip
ADDRESS: JsonObject = {
    "first_name": "Ada", "last_name": "Number", "address1": "1 Main Street", "city": "Berlin", "zip": "10115",
    "country_code": "DE",
}  # fmt: skip


def fill_sales(api: ApiClient) -> None:
    """Create two products, a collection and a customer, and what an import of sales reads."""
    shop = api.installation.shop
    Shop.objects.filter(pk=shop.pk).update(plan="premium", taxes_included=True, timezone="Europe/Berlin")
    products = [
        post(api, "products", "product", {"title": title, "variants": [{"price": "12.50", "sku": title}]})
        for title in ("Chair", "Stool")
    ]
    collection = post(api, "custom_collections", "custom_collection", {"title": "Best"})
    customer = post(api, "customers", "customer", {"email": "ada@example.com", "first_name": "Ada"})
    germany = post(api, "countries", "country", {"code": "DE", "tax": 0.19})
    canada = post(api, "countries", "country", {"code": "CA", "tax": 0.05})
    province = next(row for row in canada["provinces"] if row["code"] == "ON")
    body = {"province": {"tax": 0.13, "tax_name": "HST", "tax_type": "harmonized"}}
    assert api.put(f"countries/{canada['id']}/provinces/{province['id']}.json", body).status_code == 200
    rule = post(api, "price_rules", "price_rule", {
        **RULE, "usage_limit": 20, "once_per_customer": True, "ends_at": "2035-01-01T00:00:00Z",
        "target_selection": "entitled", "entitled_product_ids": [products[0]["id"]],
        "entitled_collection_ids": [collection["id"]], "entitled_variant_ids": [products[1]["variants"][0]["id"]],
        "customer_selection": "prerequisite", "prerequisite_customer_ids": [customer["id"]],
        "prerequisite_subtotal_range": {"greater_than_or_equal_to": "40.0"},
    })  # fmt: skip
    post(api, "price_rules", "price_rule", {
        **RULE, "title": "Free shipping", "value": "-100.0", "target_type": "shipping_line",
        "allocation_method": "each", "target_selection": "entitled", "entitled_country_ids": [germany["id"]],
    })  # fmt: skip
    everyone = post(api, "price_rules", "price_rule", {**RULE, "title": "Everyone"})
    add_codes(api, rule["id"], {f"SUMMER-{number}": number for number in range(5)})
    add_codes(api, everyone["id"], {"WELCOME": 0})
    add_gift_cards(shop, customer["id"])
    line = {"variant_id": products[0]["variants"][0]["id"], "quantity": 3, "price": "11.00"}
    custom = {"title": "Engraving", "price": "5.00", "quantity": 1, "sku": "E", "taxable": False}
    discount = {"title": "Regular", "value": "10.0", "value_type": "percentage", "description": "Regular"}
    post(api, "draft_orders", "draft_order", {
        "note": "Open", "email": "ada@example.com", "tags": "phone", "customer": {"id": customer["id"]},
        "line_items": [{**line, "applied_discount": discount}, {**custom, "properties": [{"name": "A", "value": "B"}]}],
        "shipping_address": ADDRESS, "billing_address": ADDRESS, "applied_discount": {**discount, "value": "5.0"},
        "shipping_line": {"title": "Post", "price": "4.90"}, "note_attributes": [{"name": "Gift", "value": "yes"}],
        "discount_codes": ["WELCOME"],
    })  # fmt: skip
    sent = post(api, "draft_orders", "draft_order", {"note": "Sent", "email": "a@example.com", "line_items": [line]})
    response = api.post(f"draft_orders/{sent['id']}/send_invoice.json", {"draft_order_invoice": {}})
    assert response.status_code == 201, response.content
    done = post(api, "draft_orders", "draft_order", {"note": "Done", "line_items": [custom]})
    assert api.put(f"draft_orders/{done['id']}/complete.json").status_code == 200
    factories.make_member(shop, "orders", "products", email=f"worker-{shop.pk}@example.com", first_name="Wim")
    factories.make_member(shop, owner=True, email=f"boss-{shop.pk}@example.com", first_name="Bo")


def add_codes(api: ApiClient, rule_id: int, uses: dict[str, int]) -> None:
    with shop_scope(api.installation.shop):
        rule = PriceRule.objects.get(pk=rule_id)
        codes = [NewCode(rule, code, number) for code, number in uses.items()]
        create_codes(codes, actor="system", at=timezone.now())


def add_gift_cards(shop: Shop, customer_id: int) -> None:
    """Create a card of a customer that is partly used, and one that is disabled, empty and expired."""
    at = timezone.now()
    with shop_scope(shop):
        owned = {"initial_value": Decimal(50), "customer_id": customer_id, "note": "For Ada"}
        restore_card_without_code(owned, "aaaa", balance=Decimal("20.50"), is_disabled=False, actor="system", at=at)
        expired = {"initial_value": Decimal(10), "expires_on": date(2024, 1, 31)}
        restore_card_without_code(expired, "bbbb", balance=Decimal(0), is_disabled=True, actor="system", at=at)


def describe_sales(api: ApiClient) -> JsonObject:
    """Return everything that an import of sales brings, without ids and times."""
    sales: JsonObject = {}
    for country in api.get("countries.json").json()["countries"]:
        taxes = {row["code"]: (row["tax"], row["tax_name"], row["tax_type"]) for row in country["provinces"]}
        sales[country["code"]] = (country["tax"], country["tax_name"], taxes)
    for rule in api.get("price_rules.json").json()["price_rules"]:
        codes = api.get(f"price_rules/{rule['id']}/discount_codes.json").json()["discount_codes"]
        selected = {name: len(ids) for name, ids in rule.items() if name.endswith("_ids")}
        uses = {code["code"]: code["usage_count"] for code in codes}
        sales[rule["title"]] = {**_remove_ids(rule), "codes": uses, "selected": selected}
    for card in api.get("gift_cards.json").json()["gift_cards"]:
        owner = card["customer_id"] and _get_email(api, card["customer_id"])
        names = ("balance", "initial_value", "currency", "expires_on", "note", "template_suffix")
        values = {name: card[name] for name in names}
        sales[card["last_characters"]] = {**values, "owner": owner, "is_disabled": bool(card["disabled_at"])}
    for draft in api.get("draft_orders.json").json()["draft_orders"]:
        if draft["status"] != "completed":
            owner = draft.pop("customer")
            hidden = {name: draft.pop(name) for name in ("name", "invoice_url")}
            assert all(hidden.values())
            sales[draft["note"]] = {**_remove_ids(draft), "owner": owner and owner["email"]}
    return sales


def _get_email(api: ApiClient, customer_id: int) -> Json:
    return api.get(f"customers/{customer_id}.json").json()["customer"]["email"]
