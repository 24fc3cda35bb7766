"""Tests for product tables of other systems: the import creates the same products as a table in our own columns."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.catalog.models import Collect, Product, ProductImage, Variant
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.models import Import
from apps.imports_exports.resources.products.export import read_products
from tests.imports_exports.test_product_files import remove_own_values
from tests.support import factories
from tests.support.factories.catalog import PNG, make_product
from tests.support.files.import_export import get_row_results, import_file, import_text
from tests.support.servers.http import Server, send_response

pytestmark = [pytest.mark.usefixtures("media_root"), pytest.mark.django_db]

TABLES = Path(__file__).parent / "foreign_tables"
NAMES = ("woocommerce", "magento", "bigcommerce-v2", "bigcommerce-v3", "prestashop")


def get_products(shop: Shop) -> list[Any]:
    """Return all fields of the shop's products, the stock at each location, and the collections."""
    with shop_scope(shop):
        ids = list(Product.objects.order_by("handle").values_list("pk", flat=True))
        stock = Variant.objects.order_by("inventory_item__sku", "product__handle", "position")
        levels = list(stock.values_list("product__handle", "title", "inventory_item__levels__available"))
        collects = Collect.objects.order_by("product__handle", "collection__title")
        members = list(collects.values_list("product__handle", "collection__title"))
        return [*map(remove_own_values, read_products(ids)), levels, members]


@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_table_creates_the_same_products_as_our_table(shop: Shop, tmp_path: Path, name: str) -> None:
    other = factories.make_shop(domain="other.example", name=shop.name)

    report = import_file(shop, TABLES / f"{name}.csv")
    expected_report = import_file(other, TABLES / f"{name}.expected.csv")

    assert report.splitlines()[-1] == expected_report.splitlines()[-1]
    assert "0 changed, 0 skipped, 0 failed" in report
    assert get_products(shop) == get_products(other)


@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_table_changes_nothing_when_it_comes_again(shop: Shop, name: str) -> None:
    import_file(shop, TABLES / f"{name}.csv")
    before = get_products(shop)

    report = import_file(shop, TABLES / f"{name}.csv")

    assert "0 new, 0 changed" in report
    assert get_products(shop) == before


NOTES = {
    "woocommerce": {
        2: "The category Clothing > Tees became the collection Tees; Material was not imported: Linen",
        3: "Color was not imported: Blue; The sale price 9 was not imported: the sale ended on 2020-01-31",
    },
    "magento": {
        4: "The texts of the store view de were not imported. Texts have one language; "
        "The category Men > Tees became the collection Tees; fabric was not imported: Linen, washed",
        6: "The image /p/o/poster.jpg was not imported: it is not a complete URL. "
        "Put the address of your old shop before it",
    },
    "bigcommerce-v2": {
        2: "The rule [RB]Size=XL was not imported: [PERCENT]5; "
        "The category Clothing > Tees became the collection Tees",
    },
    "bigcommerce-v3": {
        2: "Video was not imported: abc123; "
        "The category number 23 was not imported: the file does not contain its name",
    },
    "prestashop": {2: "Feature was not imported: Colour:Black:1"},
}  # fmt: skip
IGNORED = {
    "woocommerce": ["Is featured?", "Tax class", "Attribute 1 global", "Meta: _edit_lock"],
    "magento": ["product_websites", "is_in_stock"],
    "bigcommerce-v2": ["Bin Picking Number", "Option Set"],
    "bigcommerce-v3": ["Low Stock", "Brand ID"],
    "prestashop": ["Tax rules ID", "On sale (0/1)", "Supplier reference #"],
}


@pytest.mark.parametrize("name", NAMES)
def test_values_and_columns_without_a_field_are_named(shop: Shop, name: str) -> None:
    import_file(shop, TABLES / f"{name}.csv")

    assert {line: reason for line, _, reason in get_row_results(shop) if reason} == NOTES[name]
    with shop_scope(shop):
        import_job = Import.objects.get()
        assert (import_job.passed_over, import_job.unknown) == (IGNORED[name], [])


def import_rows(shop: Shop, tmp_path: Path, *rows: str, **options: Any) -> str:
    return import_text(shop, "\n".join([*rows, ""]), tmp_path, "in.csv", **options)


def test_images_are_lists_and_variations_have_their_own(shop: Shop, tmp_path: Path, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    server = Server(send_response(PNG))
    url = server.url
    try:
        import_rows(
            shop,
            tmp_path,
            "ID,Type,SKU,Name,Published,Regular price,Parent,Images,Attribute 1 name,Attribute 1 value(s)",
            f'1,variable,TEE,Tee,1,,,"{url}a.png, {url}b.png?w=1,2",Size,"S, M"',
            "2,variation,TEE-S,,1,5,id:1,,Size,S",
            f"3,variation,TEE-M,,1,5,id:1,{url}c.png|{url}d.png,Size,M",
        )
    finally:
        server.close()

    with shop_scope(shop):
        images = list(ProductImage.objects.order_by("position").values_list("pk", flat=True))
        assert sorted(request.split()[1] for request in server.requests) == [
            b"/a.png",
            b"/b.png?w=1,2",
            b"/c.png",
            b"/d.png",
        ]
        assert list(Variant.objects.order_by("position").values_list("title", "image")) == [
            ("S", None),
            ("M", images[2]),
        ]


def test_german_column_names_of_woocommerce_are_known(in_shop: Shop, tmp_path: Path) -> None:
    import_rows(
        in_shop,
        tmp_path,
        "ID,Typ,Artikelnummer,Name,Veröffentlicht,Vorrätig?,Lager,Gewicht (kg),Angebotspreis,Regulärer Preis,"
        "Kategorien,Übergeordnetes Produkt,Attribut 1 Name,Attribut 1 Wert(e)",
        '1,variable,HUT,Hut,1,1,,,,,Kopf,,Farbe,"Rot, Blau"',
        '2,variation,HUT-R,,1,1,4,"0,1","9,90","12,00",,id:1,Farbe,Rot',
    )

    variant = Variant.objects.get()
    assert (variant.title, variant.price, variant.compare_at_price) == ("Rot", Decimal("9.90"), Decimal(12))
    assert (variant.inventory_quantity, variant.grams, variant.product.title) == (4, 100, "Hut")


def test_a_refused_product_does_not_affect_the_others(in_shop: Shop, tmp_path: Path) -> None:
    attributes = ",".join(f"Attribute {number} name,Attribute {number} value(s)" for number in range(1, 5))
    report = import_rows(
        in_shop,
        tmp_path,
        f"ID,Type,SKU,Name,Published,Regular price,Parent,{attributes}",
        "1,simple,MUG,Mug,1,5,,,,,,,,,",
        "2,variation,LOST-1,,1,5,id:99,,,,,,,,",
        "3,variable,TEE,Tee,1,,,A,1,B,2,C,3,D,4",
        "4,variation,TEE-1,,1,5,TEE,A,1,B,2,C,3,D,4",
        "5,simple,JUG,Jug,1,five,,,,,,,,,",
        "6,simple,CUP,Cup,1,4,,,,,,,,,",
    )

    assert report.splitlines() == [
        (
            "line 3: failed – product product-2 can't be imported: line 3 belongs to id:99, which is not in the file. "
            "Export it together with the rows that belong to it"
        ),
        (
            "line 4: failed – product line 4 can't be imported: line 4 has 4 options (A, B, C, D), "
            "but a product can have at most 3"
        ),
        "line 6: failed – variant 1: Regular price: is invalid: 'five'",
        "Done: 2 new, 0 changed, 0 skipped, 3 failed.",
    ]
    assert set(Product.objects.values_list("handle", flat=True)) == {"mug", "cup"}


def test_rows_may_be_short_or_long_or_unreadable(in_shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    rows = ["ID,Type,SKU,Name,Published,Regular price,Parent", "1,simple,MUG,Mug,1,5", "2,simple,JUG,Jug,1,5,,extra"]
    path.write_bytes(("\n".join(rows) + "\n3,simple,CUP,Cup ").encode() + b"\0,1,5,\n")

    report = import_file(in_shop, path)

    assert report.splitlines() == [
        "line 3: new – jug Line 3 has values after the last column, which were not imported: 'extra'",
        "line 4: failed – product product-3 can't be imported: line 4 contains a NUL character",
        "Done: 2 new, 0 changed, 0 skipped, 1 failed.",
    ]


COMBINATION_COLUMNS = (
    "Product ID*;Product Reference;Attribute (Name:Type:Position)*;Value (Value:Position)*;Reference;EAN13;"
    "Impact on price;Quantity;Impact on weight;Default (0 = No, 1 = Yes)"
)
COMBINATIONS = (
    COMBINATION_COLUMNS,
    "4;POT;Colour:color:0, Size:select:1;Black:0, Big:0;POT-B;4006381333931;2,50;3;0,1;1",
    "4;POT;Colour:color:0, Size:select:1;Red:1, Big:0;POT-R;;0;4;;0",
)


def test_combinations_of_prestashop_become_variants_of_the_imported_product(in_shop: Shop, tmp_path: Path) -> None:
    import_file(in_shop, TABLES / "prestashop.csv")

    report = import_rows(in_shop, tmp_path, *COMBINATIONS)

    assert report.splitlines() == [
        "Ignored unsupported columns: Default (0 = No, 1 = Yes)",
        "Done: 0 new, 1 changed, 0 skipped, 0 failed.",
    ]
    variants = Variant.objects.filter(product__handle="iron-teapot").order_by("position")
    assert list(variants.values_list("title", "inventory_item__sku", "price", "grams", "inventory_quantity")) == [
        ("Black / Big", "POT-B", Decimal("24.91"), 900, 3),
        ("Red / Big", "POT-R", Decimal("22.41"), 800, 4),
    ]
    again = import_rows(in_shop, tmp_path, *COMBINATIONS)
    assert again.endswith("Done: 0 new, 0 changed, 1 skipped, 0 failed.\n")


def test_combinations_without_their_product_are_refused(in_shop: Shop, tmp_path: Path) -> None:
    make_product(title="Other", handle="other")

    report = import_rows(in_shop, tmp_path, *COMBINATIONS)

    assert "there is no product with the SKU POT. Import the file of products first" in report
    assert Product.objects.get().handle == "other"


def test_a_combination_may_be_in_the_file_of_its_product(in_shop: Shop, tmp_path: Path) -> None:
    import_rows(
        in_shop,
        tmp_path,
        "Product ID;Active (0/1);Name *;Price tax excluded;Attribute (Name:Type:Position)*;Value (Value:Position)*;"
        "Reference;Impact on price;Quantity",
        "4;1;Teapot;20;Colour:color:0;Black:0;POT-B;2.5;3",
        "5;1;Cup;4;;;CUP;;9",
        "4;1;Teapot;20;Colour:color:0;Red:1;POT-R;0;4",
    )

    variants = Variant.objects.order_by("product__handle", "position")
    assert list(variants.values_list("product__handle", "title", "price", "inventory_quantity")) == [
        ("cup", "Default Title", Decimal(4), 9),
        ("teapot", "Black", Decimal("22.5"), 3),
        ("teapot", "Red", Decimal(20), 4),
    ]


def test_products_with_the_same_name_keep_apart(in_shop: Shop, tmp_path: Path) -> None:
    import_rows(
        in_shop,
        tmp_path,
        "ID,Type,SKU,Name,Published,Regular price,Parent",
        "1,simple,A,Mug,1,5,",
        "2,simple,B,Mug,1,6,",
        "3,simple,C,日本,1,6,",
        "4,simple,D,…,1,6,",
    )

    handles = Product.objects.order_by("pk").values_list("handle", flat=True)
    assert list(handles) == ["mug", "mug-2", "ri-ben", "product-4"]
