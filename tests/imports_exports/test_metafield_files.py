"""Tests for imports and exports of metafields by owner and key."""

from pathlib import Path

import pytest

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.models import ImportedRow
from apps.inventory.models import InventoryItem
from apps.metafields.models import Metafield
from tests.support import factories
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_page
from tests.support.factories.customers import make_customer
from tests.support.factories.orders import make_order
from tests.support.files.import_export import import_text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]
COLUMNS = "Owner Type,Owner,Namespace,Key,Type,Value"


def import_table(shop: Shop, tmp_path: Path, *rows: str) -> str:
    return import_text(shop, "\n".join([COLUMNS, *rows, ""]), tmp_path, "in.csv")


@pytest.fixture
def full_shop(in_shop: Shop) -> Shop:
    make_product(title="Mug", handle="mug")
    InventoryItem.objects.update(sku="MUG-1")
    make_customer(email="Ada@Example.com")
    make_order(name="#1001")
    make_page(title="About us", handle="about")
    return in_shop


def get_values() -> set[tuple[str, str, str, str]]:
    return set(Metafield.objects.values_list("owner_resource", "namespace", "key", "value"))


def test_metafields_of_each_owner_are_set_by_its_name(full_shop: Shop, tmp_path: Path) -> None:
    rows = (
        "Product,mug,details,material,single_line_text_field,Clay",
        "variants,MUG-1,details,height,number_integer,12",
        "customer,ada@example.com,crm,level,single_line_text_field,gold",
        "order,#1001,crm,gift,boolean,true",
        "page,about,seo,hidden,boolean,false",
        "shop,,theme,color,color,#00ff00",
    )

    report = import_table(full_shop, tmp_path, *rows)
    again = import_table(full_shop, tmp_path, *rows)
    changed = import_table(full_shop, tmp_path, "product,mug,details,material,,Glass")

    assert report.endswith("Done: 6 new, 0 changed, 0 skipped, 0 failed.\n")
    assert again.endswith("Done: 0 new, 0 changed, 6 skipped, 0 failed.\n")
    assert changed.endswith("Done: 0 new, 1 changed, 0 skipped, 0 failed.\n")
    assert get_values() == {
        ("product", "details", "material", "Glass"),
        ("variant", "details", "height", "12"),
        ("customer", "crm", "level", "gold"),
        ("order", "crm", "gift", "true"),
        ("page", "seo", "hidden", "false"),
        ("shop", "theme", "color", "#00ff00"),
    }


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            "theme,mug,a,b,json,{}",
            (
                "Owner Type: 'theme' is not one of product, variant, collection, customer, order, blog, article, page, "
                "shop"
            ),
        ),
        ("product,jug,a,b,json,{}", "Owner: there is no product 'jug'"),
        ("variant,,a,b,json,{}", "Owner: there is no variant ''"),
        ("product,mug,a,b,number_integer,many", "Value: must be a whole number"),
        ("product,mug,a,b,no_such_type,1", "Type: is not included in the list"),
        ("product,mug,,b,json,{}", "Namespace: can't be blank"),
        ("product,mug,a,b,json,", "Value: can't be blank"),
    ],
)
def test_a_row_that_cannot_be_stored_fails_alone(full_shop: Shop, tmp_path: Path, row: str, reason: str) -> None:
    import_table(full_shop, tmp_path, row, "product,mug,details,material,single_line_text_field,Clay")

    results = ImportedRow.objects.filter(dry=False).order_by("line")
    assert [(result.fate, str(result.reason)) for result in results] == [("failed", reason), ("new", "")]
    assert get_values() == {("product", "details", "material", "Clay")}


def test_owners_of_another_shop_are_unknown(full_shop: Shop, tmp_path: Path) -> None:
    other = factories.make_shop(domain="other.example")

    report = import_table(
        other,
        tmp_path,
        "product,mug,a,b,json,{}",
        "shop,acme.example,a,b,json,{}",
        "customer,ada@example.com,a,b,json,{}",
    )

    assert report.endswith("Done: 0 new, 0 changed, 0 skipped, 3 failed.\n")
    with shop_scope(other):
        assert not Metafield.objects.exists()
