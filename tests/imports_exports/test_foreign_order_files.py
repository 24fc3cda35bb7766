"""Tests for order files that other systems wrote."""

import csv
import io
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.core.jobs import consistency_checks
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.imports_exports.models import ImportedRow
from apps.orders.models import LineItem, Order
from tests.support.api_client import ApiClient
from tests.support.files.import_export import get_row_results, import_text
from tests.support.types import JsonObject

pytestmark = [pytest.mark.usefixtures("media_root"), pytest.mark.django_db]

Row = Mapping[str, str]
ONE_NEW = "Done: 1 new, 0 changed, 0 skipped, 0 failed."
CHECKS = set(consistency_checks.consistency_checks) - {"lowest prices", "variant quantities"}
# The header of the reference platform's order table.
HEADER = [
    *("Name", "Email", "Financial Status", "Paid at", "Fulfillment Status", "Fulfilled at", "Accepts Marketing"),
    *("Currency", "Subtotal", "Shipping", "Taxes", "Total", "Discount Code", "Discount Amount", "Shipping Method"),
    *("Created at", "Lineitem quantity", "Lineitem name", "Lineitem price", "Lineitem compare at price"),
    *("Lineitem sku", "Lineitem requires shipping", "Lineitem taxable", "Lineitem fulfillment status"),
    *(
        f"{kind} {name}"
        for kind in ("Billing", "Shipping")
        for name in ("Name", "Street", "Address1", "Address2", "Company", "City", "Zip", "Province", "Country", "Phone")
    ),
    *("Notes", "Note Attributes", "Cancelled at", "Payment Method", "Payment Reference", "Refunded Amount", "Vendor"),
    *("Outstanding Balance", "Employee", "Location", "Device ID", "Id", "Tags", "Risk Level", "Source"),
    *("Lineitem discount", *(f"Tax {number} {part}" for number in range(1, 6) for part in ("Name", "Value"))),
    *("Phone", "Receipt Number", "Duties", "Billing Province Name", "Shipping Province Name", "Payment ID"),
    *("Payment Terms Name", "Next Payment Due At", "Payment References"),
]
WITHOUT_EFFECT = [
    *("Lineitem compare at price", "Billing Street", "Shipping Street", "Employee", "Location", "Device ID"),
    *("Risk Level", "Receipt Number", "Payment ID", "Payment Terms Name", "Next Payment Due At"),
    "Payment References",
]
ORDER: Row = {
    "Name": "#7001",
    "Email": "ada@example.com",
    "Financial Status": "paid",
    "Paid at": "2025-03-02 10:01:00 -0500",
    "Fulfillment Status": "fulfilled",
    "Fulfilled at": "2025-03-04 09:00:00 -0500",
    "Accepts Marketing": "yes",
    "Currency": "USD",
    "Subtotal": "27.00",
    "Shipping": "5.00",
    "Taxes": "3.20",
    "Total": "35.20",
    "Discount Code": "TEN",
    "Discount Amount": "3.00",
    "Shipping Method": "Post; fast | insured",
    "Created at": "2025-03-02 10:00:00 -0500",
    "Lineitem quantity": "2",
    "Lineitem name": "Mug",
    "Lineitem price": "10.00",
    "Lineitem compare at price": "12.00",
    "Lineitem sku": "MUG",
    "Lineitem requires shipping": "true",
    "Lineitem taxable": "true",
    "Lineitem fulfillment status": "fulfilled",
    "Billing Name": "Ada King Lovelace",
    "Billing Street": "1 Main St, Floor 2",
    "Billing Address1": "1 Main St",
    "Billing Address2": "Floor 2",
    "Billing City": "Albany",
    "Billing Zip": "'12207",
    "Billing Province": "NY",
    "Billing Country": "US",
    "Billing Province Name": "New York",
    "Shipping Name": "Ada Lovelace",
    "Shipping Address1": "2 Main St",
    "Shipping City": "Albany",
    "Shipping Zip": "'12207",
    "Shipping Province": "NY",
    "Shipping Country": "US",
    "Notes": "Ring twice",
    "Note Attributes": "gift: yes\ncard: From: Ada",
    "Payment Method": "Cash on Delivery (COD)",
    "Payment Reference": "c123.1",
    "Vendor": "Engines",
    "Id": "4507900",
    "Tags": "vip, gift",
    "Risk Level": "Low",
    "Source": "web",
    "Tax 1 Name": "NY State Tax 4%",
    "Tax 1 Value": "1.28",
    "Tax 2 Name": "Albany County Tax 6%",
    "Tax 2 Value": "1.92",
}
SECOND_LINE: Row = {
    "Lineitem quantity": "1",
    "Lineitem name": "Bowl",
    "Lineitem price": "10.00",
    "Lineitem sku": "BOWL",
    "Lineitem requires shipping": "true",
    "Lineitem taxable": "true",
    "Lineitem fulfillment status": "fulfilled",
    "Vendor": "Bowls",
}


def write_table(*rows: Row, header: list[str] = HEADER, delimiter: str = ",") -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, header, restval="", delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def import_order(shop: Shop, tmp_path: Path, cells: Row, second_line: Row = SECOND_LINE) -> Order:
    """Import an order with other cells than ``ORDER``."""
    table = write_table({**ORDER, **cells}, {"Name": ORDER["Name"], **second_line})
    report = import_text(shop, table, tmp_path, "in.csv")
    assert ONE_NEW in report
    assert [find for name in CHECKS for find in consistency_checks.consistency_checks[name]()] == []
    return Order.objects.get()


def get_reason(shop: Shop) -> str:
    [(_line, _fate, reason)] = get_row_results(shop)
    return str(reason)


def read_order(api: ApiClient) -> JsonObject:
    order = Order.objects.get()
    parts = ("refunds", "fulfillments", "transactions")
    answer = {name: api.get(f"orders/{order.pk}/{name}.json").json()[name] for name in parts}
    return {**answer, **api.get(f"orders/{order.pk}.json").json()["order"]}


def test_a_table_of_the_reference_platform_is_imported_field_by_field(
    in_shop: Shop, api: ApiClient, tmp_path: Path
) -> None:
    report = import_text(in_shop, write_table(ORDER, {"Name": "#7001", **SECOND_LINE}), tmp_path, "in.csv")

    assert report == f"Ignored unsupported columns: {', '.join(WITHOUT_EFFECT)}\n{ONE_NEW}\n"
    order = read_order(api)
    expected = {
        "name": "#7001",
        "email": "ada@example.com",
        "financial_status": "paid",
        "fulfillment_status": "fulfilled",
        "created_at": "2025-03-02T10:00:00-05:00",
        "buyer_accepts_marketing": True,
        "currency": "USD",
        "subtotal_price": "27.00",
        "total_tax": "3.20",
        "taxes_included": False,
        "total_price": "35.20",
        "total_outstanding": "0.00",
        "discount_codes": [{"code": "TEN", "amount": "3.00", "type": "fixed_amount"}],
        "note": "Ring twice",
        "note_attributes": [{"name": "gift", "value": "yes"}, {"name": "card", "value": "From: Ada"}],
        "payment_gateway_names": ["Cash on Delivery (COD)"],
        "source_identifier": "4507900",
        "source_name": "web",
        "tags": "gift, vip",
        "cancelled_at": None,
    }
    assert {name: order[name] for name in expected} == expected
    taxes = [(tax["title"], tax["rate"], tax["price"]) for tax in order["tax_lines"]]
    assert taxes == [("NY State Tax", 0.04, "1.28"), ("Albany County Tax", 0.06, "1.92")]
    lines = [
        (line["title"], line["sku"], line["quantity"], line["price"], line["vendor"], line["fulfillment_status"])
        for line in order["line_items"]
    ]
    assert lines == [
        ("Mug", "MUG", 2, "10.00", "Engines", "fulfilled"),
        ("Bowl", "BOWL", 1, "10.00", "Bowls", "fulfilled"),
    ]
    [shipping], [payment], [fulfillment] = order["shipping_lines"], order["transactions"], order["fulfillments"]
    assert (shipping["title"], shipping["price"]) == ("Post; fast | insured", "5.00")
    assert [tax["price"] for tax in shipping["tax_lines"]] == ["0.20", "0.30"]
    paid = ("sale", "success", "35.20", "c123.1", "2025-03-02T10:01:00-05:00")
    assert tuple(payment[name] for name in ("kind", "status", "amount", "authorization", "processed_at")) == paid
    assert fulfillment["created_at"] == "2025-03-04T09:00:00-05:00"
    billing, delivery = order["billing_address"], order["shipping_address"]
    names = ("first_name", "last_name", "address1", "address2", "zip", "province", "province_code", "country_code")
    assert [billing[name] for name in names] == [
        *("Ada King", "Lovelace", "1 Main St", "Floor 2", "12207", "New York", "NY", "US")
    ]
    assert (delivery["name"], delivery["province"], delivery["country"]) == (
        "Ada Lovelace",
        "New York",
        "United States",
    )
    customer = order["customer"]
    assert (customer["first_name"], customer["last_name"]) == ("Ada King", "Lovelace")
    assert customer["email_marketing_consent"]["state"] == "subscribed"
    assert customer["default_address"]["address1"] == "2 Main St"


COMMERCE: Row = {
    "Order Number": "#7001",
    "Order Date": "2025-03-02 10:00",
    "Order Status": "Completed",
    "Paid Date": "2025-03-02 10:01",
    "Email (Billing)": "ada@example.com",
    "First Name (Billing)": "Ada",
    "Last Name (Billing)": "Lovelace",
    "Address 1&2 (Billing)": "1 Main St",
    "City (Billing)": "Albany",
    "State Code (Billing)": "NY",
    "Country Code (Billing)": "US",
    "Postcode (Billing)": "12207",
    "Payment Method Title": "Cash",
    "Coupon Code": "TEN",
    "Cart Discount Amount": "3.00",
    "Shipping Method Title": "Post",
    "Order Shipping Amount": "5.00",
    "Order Total Tax Amount": "3.20",
    "Order Total Amount": "35.20",
    "Item Name": "Mug",
    "SKU": "MUG",
    "Quantity": "3",
    "Item Cost": "10.00",
}
GERMAN: Row = {
    "Bestellnummer": "#7001",
    "Bestelldatum": "2025-03-02 10:00",
    "E-Mail": "ada@example.com",
    "Zahlungsstatus": "Bezahlt",
    "Bezahlt am": "2025-03-02 10:01",
    "Zahlungsart": "Cash",
    "Rechnungsadresse: Vorname": "Ada",
    "Rechnungsadresse: Nachname": "Lovelace",
    "Rechnung Straße": "1 Main St",
    "Rechnungs-PLZ": "12207",
    "Ort (Rechnung)": "Albany",
    "Rechnungsadresse: Region": "New York",
    "Rechnungsland": "Vereinigte Staaten",
    "Gutscheincode": "TEN",
    "Rabatt": "3.00",
    "Versandart": "Post",
    "Versandkosten": "5.00",
    "MwSt.": "3.20",
    "Gesamtbetrag": "35.20",
    "Artikelname": "Mug",
    "Artikelnummer": "MUG",
    "Menge": "3",
    "Einzelpreis": "10.00",
}
REFERENCE: Row = {
    "Name": "#7001",
    "Created at": "2025-03-02 10:00",
    "Email": "ada@example.com",
    "Financial Status": "paid",
    "Paid at": "2025-03-02 10:01",
    "Payment Method": "Cash",
    "Billing Name": "Ada Lovelace",
    "Billing Street": "1 Main St",
    "Billing Zip": "'12207",
    "Billing City": "Albany",
    "Billing Province": "NY",
    "Billing Country": "US",
    "Discount Code": "TEN",
    "Discount Amount": "3.00",
    "Shipping Method": "Post",
    "Shipping": "5.00",
    "Taxes": "3.20",
    "Total": "35.20",
    "Lineitem name": "Mug",
    "Lineitem sku": "MUG",
    "Lineitem quantity": "3",
    "Lineitem price": "10.00",
}


@pytest.mark.parametrize(("row", "delimiter"), [(REFERENCE, ","), (COMMERCE, ","), (GERMAN, ";")])
def test_the_same_order_in_three_layouts_is_imported_equally(
    in_shop: Shop, api: ApiClient, tmp_path: Path, row: Row, delimiter: str
) -> None:
    report = import_text(in_shop, write_table(row, header=list(row), delimiter=delimiter), tmp_path, "in.csv")

    assert report == f"{ONE_NEW}\n"
    order = read_order(api)
    expected = {
        "name": "#7001",
        "email": "ada@example.com",
        "financial_status": "paid",
        "created_at": "2025-03-02T10:00:00-05:00",
        "processed_at": "2025-03-02T10:00:00-05:00",
        "subtotal_price": "27.00",
        "total_tax": "3.20",
        "taxes_included": False,
        "total_price": "35.20",
        "discount_codes": [{"code": "TEN", "amount": "3.00", "type": "fixed_amount"}],
        "payment_gateway_names": ["Cash"],
    }
    assert {name: order[name] for name in expected} == expected
    address = {
        "name": "Ada Lovelace",
        "address1": "1 Main St",
        "zip": "12207",
        "city": "Albany",
        "province": "New York",
        "province_code": "NY",
        "country": "United States",
        "country_code": "US",
    }
    assert {name: order["billing_address"][name] for name in address} == address
    [line], [shipping], [payment] = order["line_items"], order["shipping_lines"], order["transactions"]
    assert (line["title"], line["sku"], line["quantity"], line["price"]) == ("Mug", "MUG", 3, "10.00")
    assert (shipping["title"], shipping["price"]) == ("Post", "5.00")
    assert (payment["amount"], payment["processed_at"]) == ("35.20", "2025-03-02T10:01:00-05:00")
    assert (order["customer"]["first_name"], order["customer"]["last_name"]) == ("Ada", "Lovelace")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # Taxes on top of the prices, and within the prices.
        ({}, (False, ["3.00"], "5", ["0", "0"])),
        ({"Total": "32.00"}, (True, ["3.00"], "5", ["0", "0"])),
        (
            {"Taxes": "", "Tax 1 Value": "", "Tax 2 Value": "", "Total": "32.00"},
            (False, ["3.00"], "5", ["0", "0"]),
        ),
        # The code applies to shipping: the file contains the shipping price before or after the discount.
        ({"Subtotal": "30.00"}, (False, ["3.00"], "5", ["0", "0"])),
        ({"Subtotal": "30.00", "Shipping": "0.00", "Total": "33.20"}, (False, ["3.00"], "3", ["0", "0"])),
        # A discount without a code becomes a discount of the items.
        ({"Discount Code": ""}, (False, [], "5", ["2", "1"])),
        # The discount of an item is part of the discount amount, or another discount.
        ({"Lineitem discount": "3.00"}, (False, ["0"], "5", ["3", "0"])),
        (
            {"Lineitem discount": "2.00", "Subtotal": "25.00", "Total": "33.20"},
            (False, ["3.00"], "5", ["2", "0"]),
        ),
    ],
)
def test_discounts_and_taxes_follow_from_the_totals(
    in_shop: Shop, tmp_path: Path, cells: Row, expected: tuple[bool, list[str], str, list[str]]
) -> None:
    order = import_order(in_shop, tmp_path, cells)

    assert order.total_price == Decimal(cells.get("Total", "35.20"))
    assert order.total_tax == Decimal(cells.get("Taxes", "3.20") or 0)
    discounts = LineItem.objects.order_by("position").values_list("total_discount", flat=True)
    found = (
        order.taxes_included,
        [code["amount"] for code in order.discount_codes],
        f"{order.total_shipping_price:f}".removesuffix(".000"),
        [f"{discount:f}".removesuffix(".000") for discount in discounts],
    )
    assert found == expected


def test_an_order_with_an_unexplained_total_is_refused(in_shop: Shop, tmp_path: Path) -> None:
    table = write_table({**ORDER, "Total": "99.00"}, {"Name": "#7001", **SECOND_LINE})

    report = import_text(in_shop, table, tmp_path, "in.csv")

    assert "0 new, 0 changed, 0 skipped, 1 failed" in report
    assert "must be 35.20" in get_reason(in_shop)
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("names", "taxes", "note"),
    [
        ({"Tax 1 Name": "MwSt. (19,5 %)", "Tax 2 Name": ""}, [("MwSt.", "0.195"), ("Tax", "0")], ""),
        ({"Tax 2 Name": "", "Tax 2 Value": ""}, [("NY State Tax", "0.04"), ("Tax", "0")], ""),
        (
            {"Tax 2 Value": "7.00"},
            [("Tax", "0")],
            "the named taxes add up to 8.28 USD, but the order has taxes of 3.20",
        ),
    ],
)
def test_taxes_keep_their_names_and_rates(
    in_shop: Shop, tmp_path: Path, names: Row, taxes: list[tuple[str, str]], note: str
) -> None:
    order = import_order(in_shop, tmp_path, names)

    assert [(tax["title"], tax["rate"]) for tax in order.tax_lines] == taxes
    assert order.total_tax == Decimal("3.20")
    assert note in get_reason(in_shop)


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        ({"Financial Status": "pending"}, ("pending", []), ""),
        ({"Financial Status": "authorized"}, ("authorized", [("authorization", "35.20")]), ""),
        (
            {"Financial Status": "partially_paid", "Outstanding Balance": "5.20"},
            ("partially_paid", [("sale", "30.00")]),
            "",
        ),
        ({"Financial Status": "partially_paid"}, ("pending", []), "doesn't contain the paid amount"),
        (
            {"Financial Status": "partially_refunded", "Refunded Amount": "5.00"},
            ("partially_refunded", [("sale", "35.20"), ("refund", "5.00")]),
            "the refund of 5.00 USD was imported as an amount",
        ),
        (
            {"Financial Status": "partially_refunded"},
            ("paid", [("sale", "35.20")]),
            "doesn't contain the refunded amount",
        ),
        (
            {"Financial Status": "refunded", "Refunded Amount": "35.20"},
            ("refunded", [("sale", "35.20"), ("refund", "35.20")]),
            "doesn't contain the date of the refund",
        ),
        (
            {"Financial Status": "voided", "Cancelled at": "2025-03-05 10:00:00 -0500"},
            ("voided", [("authorization", "35.20"), ("void", "35.20")]),
            "",
        ),
        (
            {"Financial Status": "expired"},
            ("voided", [("authorization", "35.20"), ("void", "35.20")]),
            "the expired authorization was imported as voided",
        ),
        ({"Financial Status": "weird"}, ("pending", []), "the payment status 'weird' is unknown"),
    ],
)
def test_payments_follow_from_the_status(
    in_shop: Shop, tmp_path: Path, cells: Row, expected: tuple[str, list[tuple[str, str]]], note: str
) -> None:
    open_line = {"Fulfillment Status": "unfulfilled", "Fulfilled at": "", "Lineitem fulfillment status": "pending"}
    second_line = {**SECOND_LINE, "Lineitem fulfillment status": "pending"}

    order = import_order(in_shop, tmp_path, {**open_line, **cells}, second_line)

    rows = order.transactions.order_by("sequence").values_list("kind", "amount")
    assert (order.financial_status, [(kind, str(amount)[:-1]) for kind, amount in rows]) == expected
    assert (order.status == "cancelled") is ("Cancelled at" in cells)
    assert note in get_reason(in_shop)


def test_a_complete_refund_refunds_all_items_and_shipping(in_shop: Shop, api: ApiClient, tmp_path: Path) -> None:
    cells = {"Financial Status": "refunded", "Refunded Amount": "35.20", "Cancelled at": "2025-03-05 10:00:00 -0500"}
    import_order(in_shop, tmp_path, {**cells, "Fulfillment Status": "restocked"})

    order = read_order(api)

    [refund] = order["refunds"]
    assert [(row["quantity"], row["subtotal"], row["total_tax"]) for row in refund["refund_line_items"]] == [
        (2, 18.0, 1.8),
        (1, 9.0, 0.9),
    ]
    assert refund["refund_shipping_lines"][0]["subtotal_amount_set"]["shop_money"]["amount"] == "5.00"
    assert [(row["kind"], row["amount"]) for row in refund["transactions"]] == [("refund", "35.20")]
    assert refund["processed_at"] == "2025-03-05T10:00:00-05:00"
    assert (order["cancelled_at"], order["total_outstanding"]) == ("2025-03-05T10:00:00-05:00", "0.00")
    assert order["current_total_price"] == "0.00"


@pytest.mark.parametrize(
    ("statuses", "expected", "note"),
    [
        (("unfulfilled", "pending", "pending"), ("", [0, 0]), ""),
        (("fulfilled", "fulfilled", "fulfilled"), ("fulfilled", [2, 1]), ""),
        (("fulfilled", "", ""), ("fulfilled", [2, 1]), ""),
        (("partial", "fulfilled", "pending"), ("partial", [2, 0]), ""),
        (("partial", "partial", "pending"), ("partial", [1, 0]), "the fulfilled quantity of Mug: one unit"),
        (("partial", "", ""), ("", [0, 0]), "which items were fulfilled"),
        (("Teilweise versandt", "pending", "fulfilled"), ("partial", [0, 1]), ""),
        (("partial", "Versandt", "pending"), ("partial", [2, 0]), ""),
        (("lost", "pending", "pending"), ("", [0, 0]), "the fulfillment status 'lost' is unknown"),
    ],
)
def test_fulfilled_quantities_follow_from_the_statuses(
    in_shop: Shop, tmp_path: Path, statuses: tuple[str, str, str], expected: tuple[str, list[int]], note: str
) -> None:
    cells = {"Fulfillment Status": statuses[0], "Lineitem fulfillment status": statuses[1]}

    order = import_order(in_shop, tmp_path, cells, {**SECOND_LINE, "Lineitem fulfillment status": statuses[2]})

    lines = LineItem.objects.order_by("position")
    fulfilled = [line.fulfilled_quantity for line in lines]
    assert (order.fulfillment_status, fulfilled) == expected
    assert [line.quantity - line.fulfillable_quantity for line in lines] == fulfilled
    assert order.fulfillments.count() == any(fulfilled)
    assert note in get_reason(in_shop)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("Taxes", "3,20", "Taxes: '3,20' is not an amount"),
        ("Refunded Amount", "-5.00", "Refunded Amount: '-5.00' is not an amount"),
        ("Lineitem quantity", "many", "Lineitem quantity: 'many' is not a whole number"),
        ("Paid at", "yesterday", "Paid at: "),
        ("Accepts Marketing", "perhaps", "'perhaps' is neither yes nor no"),
    ],
)
def test_cells_that_cannot_be_read_are_named(
    in_shop: Shop, tmp_path: Path, column: str, value: str, reason: str
) -> None:
    table = write_table({**ORDER, column: value}, {"Name": "#7001", **SECOND_LINE})

    report = import_text(in_shop, table, tmp_path, "in.csv")

    assert "0 new, 0 changed, 0 skipped, 1 failed" in report
    assert reason in get_reason(in_shop)
    assert not Order.objects.exists()


def test_all_cells_of_a_row_that_cannot_be_read_are_named(in_shop: Shop, tmp_path: Path) -> None:
    cells = {"Taxes": "3,20", "Lineitem quantity": "many", "Accepts Marketing": "perhaps"}

    import_text(in_shop, write_table({**ORDER, **cells}, {"Name": "#7001", **SECOND_LINE}), tmp_path, "in.csv")

    reason = get_reason(in_shop)
    assert all(part in reason for part in ("'3,20' is not an amount", "'many' is not a whole", "neither yes nor no"))
    assert not Order.objects.exists()


def test_an_order_without_a_contact_keeps_the_name_and_creates_no_customer(in_shop: Shop, tmp_path: Path) -> None:
    order = import_order(in_shop, tmp_path, {"Email": ""})

    assert order.billing_address is not None
    assert order.billing_address["last_name"] == "Lovelace"
    assert not Customer.objects.exists()


def test_an_order_of_an_earlier_import_without_ids_is_not_imported_again(in_shop: Shop, tmp_path: Path) -> None:
    table = write_table(ORDER, {"Name": "#7001", **SECOND_LINE})
    other = write_table({**ORDER, "Id": "9", "Created at": "2024-01-01 10:00"}, {"Name": "#7001", **SECOND_LINE})
    import_text(in_shop, table, tmp_path, "in.csv")
    ImportedRow.objects.update(source_key="order:#7001")

    again = import_text(in_shop, table, tmp_path, "again.csv")
    other_shop = import_text(in_shop, other, tmp_path, "other.csv")

    assert "0 new, 0 changed, 1 skipped, 0 failed" in again
    assert "1 new" in other_shop
    assert Order.objects.count() == 2


def test_a_batch_of_orders_equals_single_orders(in_shop: Shop, tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {},
        {"Financial Status": "refunded", "Refunded Amount": "35.20"},
        {"Financial Status": "pending", "Cancelled at": "2025-03-05 10:00:00 -0500", "Fulfillment Status": ""},
        {"Financial Status": "partially_refunded", "Refunded Amount": "1.00"},
    ]
    rows: list[Row] = []
    for number, changed in enumerate(cells):
        name = {"Name": f"#800{number}", "Id": str(number + 1)}
        rows += [{**ORDER, **changed, **name}, {**name, **SECOND_LINE}]

    report = import_text(in_shop, write_table(*rows), tmp_path, "in.csv")

    assert "4 new" in report
    statuses = list(Order.objects.order_by("name").values_list("financial_status", "status"))
    assert statuses == [
        ("paid", "open"),
        ("refunded", "open"),
        ("voided", "cancelled"),
        ("partially_refunded", "open"),
    ]
    assert [find for name in CHECKS for find in consistency_checks.consistency_checks[name]()] == []
