"""Tests for case-insensitive matching in any script, with equal results on both databases."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog.models import Product, ProductTag, Variant
from apps.ground.case_folding import casefold_text
from apps.shops.models import Shop
from tests.catalog.factories import make_product, make_smart
from tests.conftest import ApiClient

NAMES = ["Äpfel Straße", "ZOË", "Ωmega ΣΟΦΟΣ", "Žluťoučký"]


@pytest.fixture
def named_products(in_shop: Shop) -> list[int]:
    """Create one product per name, and use the name as title, vendor, type, tag and option value."""
    products = [make_product(name, vendor=name, product_type=name, tags=name, prices=("1.00",)) for name in NAMES]
    for product in products:
        Variant.objects.filter(product=product).update(title=product.title)
    return [product.pk for product in products]


@pytest.mark.parametrize(
    "case",
    [
        ("equals", "ÄPFEL STRASSE", [0]),
        ("equals", "äpfel strasse", [0]),
        ("equals", "A\u0308pfel straße", [0]),
        ("equals", "zoë", [1]),
        ("equals", "ωMEGA σοφος", [2]),
        ("not_equals", "zOË", [0, 2, 3]),
        ("starts_with", "äPF", [0]),
        ("ends_with", "STRASSE", [0]),
        ("contains", "OË", [1]),
        ("contains", "ŤOUČ", [3]),
        ("not_contains", "σοφ", [0, 1, 3]),
        ("equals", "apfel straße", []),
    ],
)
@pytest.mark.parametrize("column", ["title", "vendor", "type", "tag", "variant_title"])
def test_rules_ignore_case_in_every_script(
    api: ApiClient, named_products: list[int], column: str, case: tuple[str, str, list[int]]
) -> None:
    relation, condition, expected = case
    smart = make_smart("Chosen", (column, relation, condition))

    products = api.get(f"collections/{smart.pk}/products.json").json()["products"]

    assert sorted(row["id"] for row in products) == [named_products[number] for number in expected]


def test_every_way_of_writing_takes_the_folded_copy_along(in_shop: Shop) -> None:
    product = make_product("Ä", vendor="Ä")
    variant = Variant.objects.get(product=product)

    product.title = "Ö"
    product.save(update_fields=["title"])
    Product.objects.filter(pk=product.pk).update(vendor="Ü")
    variant.title = "ß"
    Variant.objects.bulk_update([variant], ["title"])

    assert Product.objects.values_list("title_key", "vendor_key").get(pk=product.pk) == ("ö", "ü")
    assert Variant.objects.values_list("title_key", flat=True).get(pk=variant.pk) == "ss"


def test_rows_from_before_are_folded_by_the_migration(in_shop: Shop) -> None:
    product, tagged = make_product("Äpfel", vendor="ZOË"), make_product("x", tags="Straße, STRASSE x")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_product SET title_key = '', vendor_key = ''")
        cursor.execute("UPDATE catalog_producttag SET \"key\" = 'stra\u00dfe' WHERE name = 'Straße'")
    import_module("apps.catalog.migrations.0007_fold_what_is_there").fold(apps, None)

    assert Product.objects.values_list("title_key", "vendor_key").get(pk=product.pk) == ("äpfel", "zoë")
    assert set(ProductTag.objects.filter(product=tagged).values_list("key", flat=True)) == {"strasse", "strasse x"}


def test_text_rules_read_the_index_of_the_folded_copy(in_shop: Shop) -> None:
    # With few rows, the planner may choose any index that starts with the shop.
    Product.objects.bulk_create(
        Product(shop=in_shop, title=name, vendor=name, product_type=name, handle=name)
        for name in (f"name-{number}" for number in range(1000))
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE catalog_product")

    for column, index in (("title_key", "title"), ("vendor_key", "vendor"), ("product_type_key", "type")):
        plan = Product.objects.filter(**{column: "ÄPFEL"}).order_by().explain()

        # For an exact match, the planner may also choose the prefix index.
        assert any(f"catalog_product_{name}" in plan for name in (f"by_{index}", f"{index}_beginnings"))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_folding_twice_changes_nothing_and_case_never_counts(text: str) -> None:
    assert casefold_text(casefold_text(text)) == casefold_text(text)
    assert casefold_text(text.casefold()) == casefold_text(text)
