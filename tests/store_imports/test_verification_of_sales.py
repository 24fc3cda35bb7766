"""Tests of ``import_store --verify`` with orders, discounts, gift cards and draft orders."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.core.management import CommandError
from django.db.models import F

from apps.catalog.models import Product
from apps.content.models import Page
from apps.core.jobs import consistency_checks
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.discounts.models import DiscountCode, PriceRule
from apps.draft_orders.models import DraftOrder
from apps.fulfillment.models import Fulfillment
from apps.gift_cards.models import GiftCard
from apps.inventory.models import InventoryLevel
from apps.orders.models import LineItem, Order, Transaction
from apps.refunds.models import Refund, RefundLineItem
from apps.store_imports.models import MappedId
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.old_sales import fill_sales
from tests.store_imports.old_store import post
from tests.store_imports.test_orders import CHECKS, create_order, create_product, fulfill, send
from tests.store_imports.test_verification import read_report
from tests.support.api_client import ApiClient

STREAMS = {"customers", "price_rules", "discount_codes", "gift_cards", "orders", "draft_orders"}
IMPORTED = ("settings", "locations", "countries", "products", "custom_collections", *sorted(STREAMS))


def fill_orders(api: ApiClient) -> None:
    """Create orders that are unpaid, partly fulfilled and refunded, canceled, and paid with a gift card."""
    product = create_product(api)
    place = api.get("locations.json").json()["locations"][0]["id"]
    line = {"variant_id": product["variants"][0]["id"], "quantity": 3, "tax_lines": [{"title": "VAT", "rate": "0.19"}]}
    stocked = {"inventory_behaviour": "decrement_obeying_policy", "customer": {"email": "ada@example.com"}}
    create_order(api, {"title": "Engraving", "price": "4.99"}, note="Ring")
    sent = create_order(api, line, financial_status="paid", note="Sent", **stocked)
    fulfill(api, sent["id"], 2)
    parent = api.get(f"orders/{sent['id']}/transactions.json").json()["transactions"][0]["id"]
    returned = {"line_item_id": sent["line_items"][0]["id"], "quantity": 1, "restock_type": "return"}
    refund = {
        "note": "Broken", "currency": "USD", "refund_line_items": [{**returned, "location_id": place}],
        "transactions": [{"parent_id": parent, "amount": "9.00", "kind": "refund", "gateway": "manual"}],
    }  # fmt: skip
    send(api, f"orders/{sent['id']}/refunds.json", {"refund": refund})
    canceled = create_order(api, line, financial_status="paid", **stocked)
    send(api, f"orders/{canceled['id']}/cancel.json", {"reason": "fraud", "restock": True})
    card = api.get("gift_cards.json").json()["gift_cards"][0]
    payment = {"kind": "sale", "amount": "5.00", "gateway": "gift_card", "receipt": {"gift_card_id": card["id"]}}
    send(api, f"orders/{create_order(api, line)['id']}/transactions.json", {"transaction": payment})


def verify(importer: StoreImporter, report: Path) -> set[tuple[str, str, str]]:
    """Return the differences of orders and sales: the streams, the kinds and the fields."""
    with suppress(CommandError):
        importer.run("--verify", "--report", str(report))
    rows = [row for row in read_report(report) if row["stream"] in STREAMS and not row["is_limit"]]
    return {(row["stream"], row["kind"], row["field"]) for row in rows}


def test_imported_orders_and_sales_are_equal_and_planted_differences_are_found(
    importer: StoreImporter, tmp_path: Path
) -> None:
    report = tmp_path / "report.jsonl"
    fill_sales(importer.source)
    fill_orders(importer.source)
    importer.run("--only", ",".join(IMPORTED))

    assert verify(importer, report) == set(), report.read_text()

    output = importer.output.getvalue()
    # The orders of the completed draft order and of the tests.
    assert "orders: 5 equal, 0 differing, 0 missing here, 0 deleted here, 0 more here, 0 listed limits" in output
    assert "draft_orders: 2 equal, 0 differing, 0 missing here, 0 deleted here, 0 more here, 1 listed limits" in output
    assert "discount_codes: 6 equal, 0 differing" in output
    assert "customers: not compared: total_spent" not in output

    with shop_scope(importer.shop):
        sent = Order.objects.get(note="Sent")
        Order.objects.filter(pk=sent.pk).update(tags=["planted"])
        LineItem.objects.filter(order=sent).update(sku="OTHER")
        Transaction.objects.filter(order=sent, kind="sale").update(gateway="bogus")
        Refund.objects.filter(order=sent).update(note="Other")
        RefundLineItem.objects.filter(refund__order=sent).update(restock_type="no_restock")
        Fulfillment.objects.filter(order=sent).update(tracking_company="Other")
        GiftCard.objects.filter(last_characters="aaaa").update(balance=F("balance") - 1)
        rule = PriceRule.objects.get(title="Summer")
        PriceRule.objects.filter(pk=rule.pk).update(usage_limit=7)
        rule.items.filter(product__isnull=False).delete()
        DiscountCode.objects.filter(code="SUMMER-3").update(earlier_uses=8)
        DiscountCode.objects.filter(code="SUMMER-4").delete()
        DraftOrder.objects.filter(note="Open").update(tags=["planted"])
        Customer.objects.filter(email="ada@example.com").update(orders_count=F("orders_count") + 1)

    assert verify(importer, report) == {
        ("orders", "differs", "tags"),
        ("orders", "differs", "line_items[0].sku"),
        ("orders", "differs", "transactions[0].gateway"),
        ("orders", "differs", "refunds[0].note"),
        ("orders", "differs", "refunds[0].refund_line_items[0].restock_type"),
        ("orders", "differs", "fulfillments[0].tracking_company"),
        ("orders", "differs", "transactions[0].manual_payment_gateway"),
        ("gift_cards", "differs", "balance"),
        ("price_rules", "differs", "usage_limit"),
        ("price_rules", "differs", "entitled_product_ids"),
        ("discount_codes", "differs", "usage_count"),
        ("discount_codes", "deleted in this shop", ""),
        ("draft_orders", "differs", "tags"),
        ("customers", "differs", "orders_count"),
    }


def test_orders_and_discounts_that_were_deleted_in_the_store_are_deleted(importer: StoreImporter) -> None:
    source = importer.source
    fill_sales(source)
    order = create_order(source, {"title": "Deleted", "price": "4.99"}, note="Deleted")
    importer.run("--only", ",".join(IMPORTED))
    rule = source.get("price_rules.json").json()["price_rules"][0]
    draft = next(row for row in source.get("draft_orders.json").json()["draft_orders"] if row["note"] == "Open")
    for path in (f"orders/{order['id']}", f"price_rules/{rule['id']}", f"draft_orders/{draft['id']}"):
        assert source.delete(f"{path}.json").status_code == 200

    importer.run("--final")

    with shop_scope(importer.shop):
        assert not Order.objects.filter(note="Deleted").exists()
        assert not PriceRule.objects.filter(title=rule["title"]).exists()
        assert [row.note for row in DraftOrder.objects.all()] == ["Sent"]
        mapped = MappedId.objects.filter(resource__in=("order", "price_rule", "draft_order", "discount_code"))
        assert dict(Counter(mapped.values_list("resource", flat=True))) == {
            "order": 1, "price_rule": 2, "draft_order": 1, "discount_code": 1,
        }  # fmt: skip


def test_items_keep_the_names_that_they_had_when_products_changed(importer: StoreImporter, tmp_path: Path) -> None:
    source = importer.source
    options = [{"name": "Size"}]
    variants = [{"option1": size, "price": "9.00", "sku": f"MUG-{size}", "grams": 300} for size in "SML"]
    body = {"title": "Mug", "vendor": "Pottery", "options": options, "variants": variants}
    product = send(source, "products.json", {"product": body})
    ids = [variant["id"] for variant in product["product"]["variants"]]
    lines = [*({"variant_id": pk, "quantity": 2} for pk in ids), {"title": "Gift wrap", "price": "3.00"}]
    send(source, "draft_orders.json", {"draft_order": {"line_items": lines, "note": "Open"}})
    path = f"products/{product['product']['id']}"
    assert source.delete(f"{path}/variants/{ids[2]}.json").status_code == 200
    assert source.put(f"{path}.json", {"product": {"title": "Cup", "vendor": "New"}}).status_code == 200
    changed = {"variant": {"option1": "Small", "sku": "CUP-S", "grams": 250, "taxable": False}}
    assert source.put(f"variants/{ids[0]}.json", changed).status_code == 200

    importer.run()

    assert verify(importer, tmp_path / "report.jsonl") == set(), (tmp_path / "report.jsonl").read_text()
    with shop_scope(importer.shop):
        rows = DraftOrder.objects.get().line_items.values_list("name", "sku", "vendor", "grams", "taxable")
        assert list(rows)[:3] == [(f"Mug - {size}", f"MUG-{size}", "Pottery", 300, True) for size in "SML"]
    assert "0 new, 0 changed, 1 unchanged" in importer.run("--only", "draft_orders")


def test_items_of_products_imported_after_their_order_refer_to_them(importer: StoreImporter, tmp_path: Path) -> None:
    source = importer.source
    create_product(source, title="First")
    importer.run("--only", "locations,products")
    product = create_product(source, title="Added during the import")
    line = {"variant_id": product["variants"][0]["id"], "quantity": 3}
    create_order(source, line, inventory_behaviour="decrement_obeying_policy", note="New")
    importer.run("--only", "customers,orders")
    with shop_scope(importer.shop):
        assert LineItem.objects.get().product_id is None

    importer.run()

    assert verify(importer, tmp_path / "report.jsonl") == set(), (tmp_path / "report.jsonl").read_text()
    with shop_scope(importer.shop):
        item = LineItem.objects.get()
        assert item.variant is not None
        assert item.product_id == item.variant.product_id
        assert list(item.taken_from.values()) == [3]
        assert InventoryLevel.objects.get(item=item.variant.inventory_item_id).available == 17
        of_shop = f"shop {importer.shop.pk},"
        assert [row for row in map(str, consistency_checks.find_differences(CHECKS)) if of_shop in row] == []
    again = importer.run("--only", "orders")
    assert "0 new, 0 changed, 1 unchanged" in again


def test_imported_objects_keep_their_time_of_creation(importer: StoreImporter, tmp_path: Path) -> None:
    source, moment = importer.source, datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    product = post(source, "products", "product", {"title": "Mug"})
    post(source, "pages", "page", {"title": "Terms"})
    fill_sales(source)
    models = (Product, Page, PriceRule, GiftCard, DraftOrder)
    with shop_scope(source.installation.shop):
        for model in models:
            assert model.objects.update(created_at=moment)

    importer.run()

    with shop_scope(importer.shop):
        for model in models:
            assert set(model.objects.values_list("created_at", flat=True)) == {moment}
        own = Product.objects.get(title="Mug")
        Product.objects.update(created_at=moment + timedelta(days=1))
    assert verify(importer, tmp_path / "report.jsonl") == set()
    with shop_scope(source.installation.shop):
        Product.objects.filter(pk=product["id"]).update(title="Cup", created_at=moment + timedelta(days=2))
    importer.run()
    with shop_scope(importer.shop):
        own.refresh_from_db()
        assert (own.title, own.created_at) == ("Cup", moment + timedelta(days=1))
