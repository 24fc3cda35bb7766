import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.catalog.models import Collect, Collection
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from tests.support.factories.catalog import PNG, make_custom, make_product, make_smart
from tests.support.panel.client import Panel
from tests.support.panel.pages import NO_METAFIELDS, get_messages

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

FIELDS = {
    "title": "Kitchen",
    "body_html": "",
    "sort_order": "manual",
    "visibility": "visible",
    "published_scope": "web",
}
COLLECTION: Attrs = {**FIELDS, **NO_METAFIELDS}
RULE = {"rules-column": ["title", ""], "rules-relation": ["contains", "equals"], "rules-condition": ["mug", ""]}
ADD, ADD_SMART = "catalog_customcollection_add", "catalog_smartcollection_add"


def test_a_collection_is_made_with_its_picture(product_client: Panel) -> None:
    picture = SimpleUploadedFile("Pots & pans.png", PNG)

    response = product_client.post(ADD, **COLLECTION, picture=picture, image_alt="Pots")

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    collection = Collection.objects.get(title="Kitchen")
    assert (collection.kind, collection.handle, collection.image_alt) == ("custom", "kitchen", "Pots")
    assert (collection.image_name, collection.image_width) == ("Pots-pans.png", 40)
    assert Event.objects.get(topic="collections/create").actor == f"staff:{product_client.user.pk}"
    pages = [product_client.get(ADD), product_client.get("catalog_customcollection_change", collection.pk)]
    hides_removal = [b'<input type="hidden" name="remove_picture"' in page.content for page in pages]
    assert hides_removal == [True, False]
    assert b"0 products" in pages[1].content
    assert b"Collection created" in product_client.get("catalog_customcollection_history", collection.pk).content


def test_a_picture_that_is_none_comes_back_on_the_form(product_client: Panel) -> None:
    picture = SimpleUploadedFile("a.png", b"nothing")

    response = product_client.post(ADD, **COLLECTION, picture=picture)

    assert response.status_code == 200
    assert "Image must be in one of the formats PNG, JPEG, GIF, WebP, AVIF." in response.content.decode()


def test_members_are_found_added_ordered_and_removed(product_client: Panel) -> None:
    collection = make_custom("Kitchen", sort_order="manual")
    mug, cup, bag = make_product("Red mug"), make_product("Blue mug"), make_product("Bag")
    where = product_client.url("catalog_customcollection_products", collection.pk)

    html = product_client.http.get(where, {"q": "mug"}).content.decode()
    for product in (mug, cup, bag):
        product_client.http.post(where, {"add": product.pk})
    again = product_client.http.post(where, {"add": mug.pk}, follow=True)
    product_client.http.post(where, {"product": [bag.pk, cup.pk, mug.pk], "remove": [cup.pk]})
    product_client.http.post(where, {"product": [bag.pk, mug.pk], "move": f"{mug.pk}:-1"})

    assert [name in html for name in ("Red mug", "Blue mug", ">Bag<")] == [True, True, False]
    message = "The product was not added because it is already in the collection or no longer exists."
    assert message in get_messages(again)
    rows = Collect.objects.filter(collection=collection).order_by("position")
    assert list(rows.values_list("product_id", flat=True)) == [mug.pk, bag.pk]


def test_a_foreign_product_cannot_be_added(product_client: Panel, other_shop: Shop) -> None:
    with shop_scope(other_shop):
        foreign = make_product()
    collection = make_custom("Kitchen")

    product_client.post("catalog_customcollection_products", collection.pk, add=foreign.pk)

    assert not Collect.objects.exists()


def test_rules_are_written_as_rows(product_client: Panel) -> None:
    mug = make_product("Mug")
    make_product("Bag")

    response = product_client.post(ADD_SMART, **COLLECTION | RULE | {"title": "Mugs", "disjunctive": "on"})

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    smart = Collection.objects.get(kind="smart")
    assert smart.rules == [{"column": "title", "relation": "contains", "condition": "mug"}]
    assert smart.disjunctive
    page = product_client.get("catalog_smartcollection_products", smart.pk).content.decode()
    assert mug.title in page
    assert ">Bag<" not in page


def test_rules_that_make_no_sense_are_explained(product_client: Panel) -> None:
    bad = {"rules-column": ["variant_price"], "rules-relation": ["contains"], "rules-condition": ["cheap"]}

    response = product_client.post(ADD_SMART, **COLLECTION | bad)
    none = product_client.post(ADD_SMART, **COLLECTION)

    assert "Rule 1: operator is not included in the list." in response.content.decode()
    assert "This field is required" in none.content.decode() or "Rules: can&#x27;t be blank." in none.content.decode()


def test_the_preview_shows_what_rules_would_choose(product_client: Panel) -> None:
    make_product("<b>Mug</b>")
    make_product("Bag")

    def preview(**changed: list[str]) -> str:
        return product_client.get("catalog_smartcollection_preview", **RULE | changed).content.decode()

    html = preview()
    assert "<strong> 1 product </strong>" in " ".join(html.split())
    assert "&lt;b&gt;Mug" in html
    assert "No products match." in preview(**{"rules-condition": ["x"]})
    assert "Rule 1: operator" in preview(**{"rules-relation": ["over", "equals"]})


def test_a_smart_collection_is_ordered_by_hand(product_client: Panel) -> None:
    first, second = make_product("Mug 1"), make_product("Mug 2")
    smart = make_smart("Mugs", ("title", "contains", "mug"), sort_order="manual")
    where = product_client.url("catalog_smartcollection_products", smart.pk)

    product_client.http.post(where, {"product": [second.pk, first.pk]})

    page = product_client.http.get(where).content.decode()
    assert page.index("Mug 2") < page.index("Mug 1")
