"""Tests for product files that other systems, spreadsheets and people wrote."""

from decimal import Decimal
from pathlib import Path

import pytest

from apps.catalog.models import Product, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Customer
from apps.imports_exports.domain.flags import find_flag
from apps.inventory.domain.consistency_checks import find_differences
from apps.inventory.models import InventoryItem, InventoryLevel
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product
from tests.support.files.import_export import export_text, get_row_results, import_file, import_text

pytestmark = [pytest.mark.usefixtures("media_root"), pytest.mark.django_db]

NEW_ONLY = "Done: {} new, 0 changed, 0 skipped, 0 failed.\n"


def import_table(shop: Shop, tmp_path: Path, columns: str, *rows: str) -> str:
    return import_text(shop, "\n".join([columns, *rows, ""]), tmp_path, "in.csv")


def get_reason(shop: Shop, line: int = 2) -> str:
    return str({row[0]: row[2] for row in get_row_results(shop)}[line])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("0.0,3.0,12.340,12.340", (0, 3, Decimal("12.34"))),
        ("28.349523125,3,12.3,12.30", (28, 3, Decimal("12.3"))),
        ("453.59237,12.000,0012.00,12", (454, 12, Decimal(12))),
    ],
)
def test_numbers_may_be_written_in_several_ways(
    in_shop: Shop, tmp_path: Path, cells: str, expected: tuple[int, int, Decimal]
) -> None:
    columns = "Handle,Title,Variant Grams,Variant Inventory Qty,Variant Price,Cost per item,Variant Weight Unit"

    report = import_table(in_shop, tmp_path, columns, f"mug,Mug,{cells},g")

    variant = Variant.objects.get()
    assert report == NEW_ONLY.format(1)
    assert (variant.grams, variant.inventory_quantity, variant.price) == expected
    assert variant.inventory_item.cost == expected[2]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("Variant Price", "12.345", "variant 1: Variant Price: is invalid: '12.345'"),
        ("Variant Price", "12 EUR", "variant 1: Variant Price: is invalid: '12 EUR'"),
        ("Variant Grams", "1e3", "variant 1: Variant Grams: is invalid: '1e3'"),
        ("Variant Inventory Qty", "2.5", "Variant Inventory Qty: '2.5' is not a whole number"),
        ("Cost per item", "1.005", "Cost per item: is invalid: '1.005'"),
        ("Status", "sold", "Status: is not included in the list: 'sold'"),
        ("Variant Taxable", "perhaps", "Variant Taxable: 'perhaps' is neither yes nor no. Write true or false"),
        ("Published", "2024-01-01", "Published: '2024-01-01' is neither yes nor no. Write true or false"),
        ("Gift Card", "maybe", "Gift Card: 'maybe' is neither yes nor no. Write true or false"),
        ("Variant Inventory Policy", "2", "Variant Inventory Policy: '2' is neither yes nor no. Write true or false"),
    ],
)  # fmt: skip
def test_values_that_would_be_lost_are_refused_and_named(
    in_shop: Shop, tmp_path: Path, column: str, value: str, reason: str
) -> None:
    report = import_table(in_shop, tmp_path, f"Handle,Title,{column}", f"mug,Mug,{value}", "jug,Jug,")

    assert report == f"line 2: failed – {reason}\nDone: 1 new, 0 changed, 0 skipped, 1 failed.\n"
    assert Product.objects.get().handle == "jug"


def test_prices_in_yen_may_have_zero_decimals(tmp_path: Path) -> None:
    shop = factories.make_shop(domain="yen.example", currency="JPY")

    report = import_table(shop, tmp_path, "Handle,Title,Variant Price", "mug,Mug,1980.00", "jug,Jug,1980.50")

    assert report.startswith("line 3: failed – variant 1: Variant Price: is invalid: '1980.50'")
    with shop_scope(shop):
        assert Variant.objects.get().price == 1980


def test_the_apostrophe_of_spreadsheets_is_removed(in_shop: Shop, tmp_path: Path) -> None:
    columns = "Handle,Title,Variant Barcode,Variant SKU,Vendor,Variant HS Code"
    row = "mug,'Twas the best mug,'0012345678905,'00-A7,''Acme,'610300"

    import_table(in_shop, tmp_path, columns, row)

    variant = Variant.objects.select_related("product", "inventory_item").get()
    assert (variant.barcode, variant.inventory_item.sku) == ("0012345678905", "00-A7")
    assert (variant.product.title, variant.product.vendor) == ("'Twas the best mug", "'Acme")
    assert variant.inventory_item.harmonized_system_code == "610300"


def test_zip_codes_of_customers_lose_the_apostrophe(in_shop: Shop, tmp_path: Path) -> None:
    import_table(in_shop, tmp_path, "email,address1,city,zip,country", "ada@example.com,'12,Holtsville,'00501,US")

    address = Customer.objects.get().addresses.get()
    assert (address.zip, address.address1) == ("00501", "12")


def test_an_apostrophe_that_begins_a_name_is_kept(in_shop: Shop, tmp_path: Path) -> None:
    row = "ada@example.com,'t Hoen,1 Markt,'s-Hertogenbosch,'5211,NL"

    import_table(in_shop, tmp_path, "email,last_name,address1,city,zip,country", row)

    customer = Customer.objects.get()
    address = customer.addresses.get()
    assert (customer.last_name, address.city, address.zip) == ("'t Hoen", "'s-Hertogenbosch", "5211")


def test_apostrophes_that_are_part_of_a_value_survive_export_and_import(shop: Shop, tmp_path: Path) -> None:
    texts = ["'007", "''x", "'=1", "=1", "'Twas so", "'", "-5", "plain"]
    with shop_scope(shop):
        for number, text in enumerate(texts):
            product = make_product(title=text, handle=f"p-{number}")
            InventoryItem.objects.filter(variant__product=product).update(sku=text)
    other = factories.make_shop(domain="other.example")
    exported = export_text(shop, factories.UserFactory.create(), "products", "csv")

    report = import_text(other, exported, tmp_path, "in.csv")

    assert report == NEW_ONLY.format(len(texts))
    with shop_scope(other):
        rows = Variant.objects.order_by("product__handle").values_list("product__title", "inventory_item__sku")
        assert list(rows) == [(text, text) for text in texts]
    assert "''007" in exported


def test_numbers_that_a_spreadsheet_shortened_get_a_note(in_shop: Shop, tmp_path: Path) -> None:
    report = import_table(
        in_shop, tmp_path, "Handle,Title,Variant Barcode", "mug,Mug,4.00638E+12", "jug,Jug,4006381333931"
    )

    assert "1 failed" not in report
    assert Variant.objects.get(product__handle="mug").barcode == "4.00638E+12"
    assert get_reason(in_shop) == (
        "Variant Barcode: a spreadsheet shortened the number 4.00638E+12, which was imported as it is. "
        "Correct its digits"
    )
    assert get_reason(in_shop, 3) == ""


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("WAHR", "FALSCH"),
        ("VRAI", "FAUX"),
        ("VERDADERO", "FALSO"),
        ("SÍ", "NO"),
        ("Y", "N"),
        ("x", "0"),
        ("1", "unsubscribed"),
        ("subscribed", "not subscribed"),
        ("ja", "nein"),
        ("DOĞRU", "YANLIŞ"),
        ("ИСТИНА", "ЛОЖЬ"),
        ("ΑΛΗΘΗΣ", "ΨΕΥΔΗΣ"),
        ("はい", "いいえ"),
        ("  True ", "OFF"),
    ],
)
def test_yes_and_no_are_read_in_many_languages(yes: str, no: str) -> None:
    assert (find_flag(yes), find_flag(no)) == (True, False)


def test_flags_of_all_tables_are_read_alike(in_shop: Shop, tmp_path: Path) -> None:
    import_table(
        in_shop,
        tmp_path,
        "Handle,Title,Published,Variant Taxable,Variant Requires Shipping,Continue selling when out of stock",
        "mug,Mug,WAHR,VRAI,SÍ,VERDADERO",
        "jug,Jug,FALSCH,FAUX,NON,FALSO",
    )
    import_text(in_shop, "email,accepts_marketing,tax_exempt\na@b.co,SUBSCRIBED,x\nc@d.co,nein,0\n", tmp_path, "c.csv")
    refused = import_text(in_shop, "email,accepts_marketing\ne@f.co,pending\n", tmp_path, "d.csv")
    order = import_text(in_shop, "order,line_title,line_price,taxes_included\n#1,Mug,1,wohl\n", tmp_path, "o.csv")

    mug, jug = Variant.objects.select_related("product", "inventory_item").order_by("-product__handle")
    for variant, flag in ((mug, True), (jug, False)):
        assert (variant.product.published_at is not None, variant.taxable) == (flag, flag)
        assert variant.inventory_item.requires_shipping is flag
        assert variant.inventory_policy == ("continue" if flag else "deny")
    flags = Customer.objects.order_by("email").values_list("email_marketing_state", "tax_exempt")
    assert list(flags) == [("subscribed", True), ("not_subscribed", False)]
    assert "accepts_marketing: 'pending' is neither yes nor no" in refused
    assert "taxes_included: 'wohl' is neither yes nor no" in order


def test_states_that_only_other_systems_have_come_in_with_a_note(in_shop: Shop, tmp_path: Path) -> None:
    columns = "Handle,Title,Inventory quantity,Status,Gift Card,Fulfillment service,Option1 Name,Option1 Value"
    rows = (
        "mug,Mug,-2,active,false,manual,Title,Default Title",
        "jug,Jug,1,Unlisted,false,manual,Title,Default Title",
        "card,Card,,active,TRUE,manual,Title,Default Title",
        "pot,Pot,1,active,false,amazon,Size,S",
        "pot,,1,,,amazon,,M",
    )

    import_table(in_shop, tmp_path, columns, *rows)

    reasons = {line: reason for line, _, reason in get_row_results(in_shop)}
    statuses = dict(Product.objects.values_list("handle", "status"))
    assert statuses == {"mug": "active", "jug": "draft", "card": "active", "pot": "active"}
    assert reasons[2] == "The stock of -2 is negative: more units were sold than were in stock"
    assert reasons[3] == "The status unlisted is not supported: the product was imported as a draft"
    assert reasons[4] == "Gift cards are not supported: this gift card was imported as an ordinary product"
    assert reasons[5].startswith("The shop has no fulfillment service 'amazon': ")
    assert reasons[5].count("amazon") == 1
    assert set(Variant.objects.values_list("fulfillment_service", flat=True)) == {"manual"}
    assert InventoryLevel.objects.get(item__variant__product__handle="mug").available == -2
    assert Variant.objects.get(product__handle="mug").inventory_quantity == -2
    assert not list(find_differences())


def test_negative_stock_survives_export_and_import(shop: Shop, tmp_path: Path) -> None:
    import_table(shop, tmp_path, "Handle,Title,Variant Inventory Qty", "mug,Mug,-2")
    user = factories.UserFactory.create()
    for form in ("csv", "jsonl"):
        other = factories.make_shop(domain=f"{form}.example")
        exported = export_text(shop, user, "products", form)

        report = import_text(other, exported, tmp_path, f"{form}.{form}")
        again = import_text(shop, exported, tmp_path, f"{form}.{form}")

        assert "1 new" in report
        assert again == "Done: 0 new, 0 changed, 1 skipped, 0 failed.\n"
        with shop_scope(other):
            assert InventoryLevel.objects.get().available == -2


@pytest.mark.parametrize(
    "handle", ["skin-tac™-wipes", "日本語", "größe-°c", "a_b.c~d", "крем", "x" * 255, "50-½", "--a--"]
)
def test_handles_are_kept_as_the_file_gives_them(in_shop: Shop, tmp_path: Path, handle: str) -> None:
    report = import_table(in_shop, tmp_path, "Handle,Title,Variant Price", f"{handle},Mug,1")
    again = import_table(in_shop, tmp_path, "Handle,Title,Variant Price", f"{handle},Mug,2")

    assert report == NEW_ONLY.format(1)
    assert again == "Done: 0 new, 1 changed, 0 skipped, 0 failed.\n"
    assert Product.objects.get().handle == handle


@pytest.mark.parametrize(
    ("handle", "new"),
    [
        ("Blue-Mug", "blue-mug"),
        ("blue mug", "blue-mug"),
        ("mugs/blue", "mugs-blue"),
        ("mug?", "mug"),
        ("100%", "100"),
        ("y" * 300, "y" * 255),
        ("/", "mug"),
    ],
)
def test_handles_that_can_not_be_kept_get_a_note(in_shop: Shop, tmp_path: Path, handle: str, new: str) -> None:
    report = import_table(in_shop, tmp_path, "Handle,Title,Variant Price", f"{handle},Mug,1")

    assert report.endswith(NEW_ONLY.format(1))
    assert Product.objects.get().handle == new
    assert get_reason(in_shop) == f"the handle {handle} was changed to {new}"


@pytest.mark.parametrize(
    ("first", "second", "handle"),
    [("cafe\u0301", "café", "café"), ("İzmir", "izmir", "izmir"), ("KRÜGE", "kru\u0308ge", "krüge")],
)
def test_spellings_that_look_the_same_are_one_handle(
    in_shop: Shop, tmp_path: Path, first: str, second: str, handle: str
) -> None:
    import_table(in_shop, tmp_path, "Handle,Title,Variant Price", f"{first},Mug,1")
    report = import_table(in_shop, tmp_path, "Handle,Title,Variant Price", f"{second},Mug,2")

    assert "0 new, 1 changed, 0 skipped, 0 failed" in report
    assert Product.objects.get().handle == handle


def test_products_with_handles_that_were_converted_earlier_are_recognized(in_shop: Shop, tmp_path: Path) -> None:
    make_product(title="Wipes", handle="skin-tactm-wipes")
    columns = "Handle,Title,Variant Price"

    report = import_table(in_shop, tmp_path, columns, "skin-tac™-wipes,Wipes,2", "skin-täctm-wipes,Other,3")

    handles = dict(Product.objects.values_list("handle", "title"))
    assert "1 new, 1 changed, 0 skipped, 0 failed" in report
    assert handles == {"skin-tactm-wipes": "Wipes", "skin-täctm-wipes": "Other"}
    assert get_reason(in_shop) == "the handle skin-tac™-wipes was changed to skin-tactm-wipes"


def test_a_converted_handle_of_another_product_is_refused(in_shop: Shop, tmp_path: Path) -> None:
    make_product(title="Blue mug", handle="blue-mug")

    import_table(in_shop, tmp_path, "Handle,Title", "blue mug,Mug in blue")

    assert get_reason(in_shop) == (
        "The handle blue mug can't be used in URLs, and blue-mug is the handle of another product. Change the handle"
    )
    assert Product.objects.get().title == "Blue mug"


def test_rows_that_are_not_together_make_one_product(in_shop: Shop, tmp_path: Path) -> None:
    columns = "Handle,Title,Tags,Option1 Name,Option1 Value,Variant Price"
    rows = (
        "mug,Mug,warm,Size,S,1",
        "jug,Jug,,Size,S,2",
        "mug,,,,M,3",
        "jug,,,,M,4",
        "pot,,,,S,5",
        "mug,,,,L,6",
        "pot,Pot,,Size,M,7",
    )

    report = import_table(in_shop, tmp_path, columns, *rows)

    titles = Variant.objects.order_by("product__handle", "position").values_list("product__title", "title", "price")
    assert report == NEW_ONLY.format(3)
    assert [line for line, _, _ in get_row_results(in_shop)] == [2, 3, 6]
    assert [(title, variant, int(price)) for title, variant, price in titles] == [
        ("Jug", "S", 2),
        ("Jug", "M", 4),
        ("Mug", "S", 1),
        ("Mug", "M", 3),
        ("Mug", "L", 6),
        ("Pot", "S", 5),
        ("Pot", "M", 7),
    ]
    assert Product.objects.get(handle="mug").tags == "warm"


def test_unreadable_rows_of_separated_products_fail_their_products(in_shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    rows = [
        b"Handle,Title,Variant Price",
        b"mug,Mug,1",
        "jug,Krüge für Öl,1".encode(),
        b"mug,caf\xe9,2",
        b"jug,,3",
        b"\xe9,,",
        b"pot,Pot,1",
    ]
    path.write_bytes(b"\n".join(rows) + b"\n")

    report = import_file(in_shop, path)

    assert "0 new, 0 changed, 0 skipped, 4 failed" in report
    reasons = {line: reason for line, _, reason in get_row_results(in_shop)}
    assert reasons[2] == "product mug can't be imported: line 4 is not UTF-8"
    assert reasons[3] == "product jug can't be imported: line 6 is not UTF-8, and this line may be one of its rows"
    assert reasons[7] == "product pot can't be imported: line 6 is not UTF-8, and this line may be one of its rows"
    assert not Product.objects.exists()


def test_columns_without_name_and_extra_values_do_not_stop_imports(in_shop: Shop, tmp_path: Path) -> None:
    report = import_table(
        in_shop,
        tmp_path,
        "Handle,,Title,,Variant Price,,",
        "mug,a,Mug,b,1,c,,,,",
        "jug,,Jug,,2,,,x,'y",
        "pot,,Pot",
    )

    assert "Ignored unsupported columns: column 2, which has no name, column 4, which has no name" in report
    assert report.endswith("Done: 3 new, 0 changed, 0 skipped, 0 failed.\n")
    prices = dict(Variant.objects.values_list("product__title", "price"))
    assert prices == {"Mug": Decimal(1), "Jug": Decimal(2), "Pot": Decimal(0)}
    assert [reason for _, _, reason in get_row_results(in_shop)] == [
        "",
        "Line 3 has values after the last column, which were not imported: 'x', 'y'",
        "",
    ]


@pytest.mark.parametrize(
    ("kind", "columns", "row"),
    [("order", "order,line_title,line_price", "#1,Mug,1"), ("email", "email,note", "ada@example.com,x")],
)
def test_values_at_the_end_refuse_rows_of_other_tables(
    in_shop: Shop, tmp_path: Path, kind: str, columns: str, row: str
) -> None:
    blanks = import_table(in_shop, tmp_path, columns, f"{row},,,")
    values = import_text(in_shop, f"{columns}\n{row},z\n", tmp_path, "again.csv")

    assert blanks == NEW_ONLY.format(1)
    assert "cells, but the file has" in values
    assert "1 failed" in values


def test_existing_variants_keep_their_service_if_the_file_names_an_unknown_one(in_shop: Shop, tmp_path: Path) -> None:
    make_product(title="Mug", handle="mug")
    Variant.objects.update(barcode="1")

    report = import_table(in_shop, tmp_path, "Handle,Variant Barcode,Variant Fulfillment Service", "mug,1,amazon")

    assert "0 new, 0 changed, 1 skipped, 0 failed" in report
    assert Variant.objects.get().fulfillment_service == "manual"


EARLIER_NAMES = """\
Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Variant SKU,Variant Grams,\
Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Variant Compare At Price,\
Variant Requires Shipping,Variant Taxable,Variant Barcode,SEO Title,SEO Description,Cost per item,Status
mug,Mug,<p>Blue</p>,Engines,Cups,"gift, blue",true,Size,Small,'00501,300,shopify,7,deny,9.50,12.00,true,true,4006381,\
Fine mug,Holds tea,4.00,active
"""
PRESENT_NAMES = """\
Title,URL handle,Description,Vendor,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,\
Price,Compare-at price,Cost per item,Charge tax,Inventory tracker,Inventory quantity,\
Continue selling when out of stock,Weight value (grams),Requires shipping,SEO title,SEO description
Mug,mug,<p>Blue</p>,Engines,Cups,"gift, blue",TRUE,Active,00501,4006381,Size,Small,9.50,12.00,4.00,TRUE,shopify,7,\
DENY,300.0,TRUE,Fine mug,Holds tea
"""
GERMAN_NAMES = """\
Handle;Titel;Beschreibung;Hersteller;Produkttyp;Schlagwörter;Veröffentlicht;Option 1: Name;Option 1: Wert;\
Artikelnummer;Gewicht (g);Variante: Bestandsführung;Lagerbestand;Variante: Wenn ausverkauft;Preis;UVP;\
Variante: Muss versandt werden;Steuerpflichtig;EAN;Titel für Suchmaschinen;Beschreibung für Suchmaschinen;\
Einkaufspreis;Status
mug;Mug;<p>Blue</p>;Engines;Cups;gift, blue;WAHR;Size;Small;00501;300;shopify;7;nein;9.50;12.00;ja;ja;4006381;Fine mug;\
Holds tea;4.00;active
"""


@pytest.mark.parametrize("table", [EARLIER_NAMES, PRESENT_NAMES, GERMAN_NAMES])
def test_the_same_product_in_three_layouts_is_imported_equally(
    in_shop: Shop, api: ApiClient, tmp_path: Path, table: str
) -> None:
    report = import_text(in_shop, table, tmp_path, "in.csv")

    assert report == NEW_ONLY.format(1)
    [product] = api.get("products.json").json()["products"]
    expected = {
        "handle": "mug",
        "title": "Mug",
        "body_html": "<p>Blue</p>",
        "vendor": "Engines",
        "product_type": "Cups",
        "tags": "blue, gift",
        "status": "active",
    }
    assert {name: product[name] for name in expected} == expected
    assert product["published_at"] is not None
    assert [(option["name"], option["values"]) for option in product["options"]] == [("Size", ["Small"])]
    [variant] = product["variants"]
    expected_variant = {
        "sku": "00501",
        "grams": 300,
        "price": "9.50",
        "compare_at_price": "12.00",
        "inventory_quantity": 7,
        "inventory_policy": "deny",
        "requires_shipping": True,
        "taxable": True,
        "barcode": "4006381",
        "option1": "Small",
    }
    assert {name: variant[name] for name in expected_variant} == expected_variant
    assert InventoryItem.objects.get().cost == Decimal("4.00")
    seo = api.get(f"products/{product['id']}/metafields.json").json()["metafields"]
    assert sorted(row["value"] for row in seo) == ["Fine mug", "Holds tea"]
