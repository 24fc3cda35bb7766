"""Tests for products in the panel: the form for a product with variants, and the image page."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import DjangoAssertNumQueries

from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.tenancy import permissions
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.inventory.models import InventoryItem
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import PNG, make_image, make_product, make_smart
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("media_root")

PRODUCT = {
    "title": "Canvas bag",
    "body_html": "",
    "vendor": "",
    "product_type": "Bags",
    "tags": "b, a, B",
    "status": "active",
    "published": "on",
    "options-0-name": "Colour",
    "options-1-name": "Size",
    "handle": "",
    "template_suffix": "",
    "published_scope": "web",
}


def build_variant_rows(*rows: dict[str, str], initial: int = 0) -> dict[str, str]:
    data = {"variants-TOTAL_FORMS": str(len(rows)), "variants-INITIAL_FORMS": str(initial)}
    for number, row in enumerate(rows):
        data |= {f"variants-{number}-{name}": value for name, value in row.items()}
    return data


def build_option_rows(*names: str) -> dict[str, str]:
    """Return the form's option rows without values, so that the values of existing variants are kept."""
    filled = [*names, "", "", ""][:3]
    return {f"options-{index}-name": name for index, name in enumerate(filled)}


def empty_metafields() -> dict[str, str]:
    return {"metafields-TOTAL_FORMS": "0", "metafields-INITIAL_FORMS": "0"}


def build_row(option1: str, price: str, **fields: str) -> dict[str, str]:
    blank = {"option2": "", "option3": "", "compare_at_price": "", "sku": "", "barcode": "", "grams": "0"}
    return blank | {"option1": option1, "price": price, "inventory_policy": "deny", "tracked": "on"} | fields


def get_version(instance: Any) -> str:
    instance.refresh_from_db()
    return str(instance.version)


def test_a_product_is_made_with_its_variants_in_one_form(product_client: Panel, shop: Shop) -> None:
    rows = build_variant_rows(
        build_row("Sand", "19.90", option2="S", sku="CB-S"),
        build_row("Olive", "21", option2="M", compare_at_price="25"),
    )

    response = product_client.post("catalog_product_add", **PRODUCT, **rows, **empty_metafields())

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    with shop_scope(shop):
        product = Product.objects.get()
        assert (product.handle, product.tags, product.vendor) == ("canvas-bag", "a, b", "Acme")
        assert [option.name for option in product.options.order_by("position")] == ["Colour", "Size"]
        new_rows = list(Variant.objects.order_by("position").values_list("title", "price", "inventory_item__sku"))
        assert new_rows == [("Sand / S", Decimal("19.9"), "CB-S"), ("Olive / M", Decimal(21), "")]
        event = Event.objects.get(topic="products/create")
        assert event.actor == f"staff:{product_client.user.pk}"


def test_the_form_changes_what_it_names_and_nothing_else(product_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product("Bag", prices=("5.00", "6.00"), tags="a")
        first, second = Variant.objects.order_by("id")
    named_product = PRODUCT | {
        "title": "Bag",
        **build_option_rows("Size"),
        "tags": "a",
        "product_type": "",
        "vendor": "Acme",
    }
    named_product |= {"handle": "bag", "seen_version": get_version(product)}
    rows = build_variant_rows(
        build_row("1", "7.50", id=str(first.pk), product=str(product.pk), sku="NEW"),
        build_row("2", "6.00", id=str(second.pk), product=str(product.pk), DELETE="on"),
        initial=2,
    )

    response = product_client.post("catalog_product_change", product.pk, **named_product, **rows, **empty_metafields())

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    with shop_scope(shop):
        variant = Variant.objects.get()
        assert (variant.pk, variant.price, variant.inventory_item.sku) == (first.pk, Decimal("7.5"), "NEW")
        assert InventoryItem.objects.count() == 1
        assert Event.objects.filter(topic="products/update").count() == 1


def test_an_option_that_is_no_longer_named_goes_with_its_values(product_client: Panel, shop: Shop) -> None:
    rows = build_variant_rows(build_row("Sand", "19.90", option2="S"), build_row("Olive", "21.00", option2="M"))
    product_client.post("catalog_product_add", **PRODUCT, **rows, **empty_metafields())
    with shop_scope(shop):
        product = Product.objects.get()
        first, second = Variant.objects.order_by("id")
    named_product = PRODUCT | build_option_rows("Size") | {"tags": "a, b", "vendor": "Acme", "handle": product.handle}
    rows = build_variant_rows(
        build_row("Sand", "19.90", option2="S", id=str(first.pk), product=str(product.pk)),
        build_row("Olive", "21.00", option2="M", id=str(second.pk), product=str(product.pk)),
        initial=2,
    )

    response = product_client.post(
        "catalog_product_change",
        product.pk,
        **named_product,
        **rows,
        **empty_metafields(),
        seen_version=get_version(product),
    )

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    with shop_scope(shop):
        option = product.options.get()
        assert (option.name, option.values) == ("Size", ["S", "M"])
        assert list(Variant.objects.order_by("id").values_list("title", flat=True)) == ["S", "M"]


def test_a_cleared_handle_is_generated_and_numbered_where_taken(product_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        make_product("Bag")
        product = make_product("Bag", handle="tote")
        variant = product.variants.get()
    named_product = (
        PRODUCT | build_option_rows("Title") | {"title": "Bag", "handle": "", "seen_version": get_version(product)}
    )
    unchanged = build_row("Default Title", "0.00", id=str(variant.pk), product=str(product.pk))

    response = product_client.post(
        "catalog_product_change",
        product.pk,
        **named_product,
        **build_variant_rows(unchanged, initial=1),
        **empty_metafields(),
    )

    assert response.status_code == 302, re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)
    with shop_scope(shop):
        product.refresh_from_db()
        assert product.handle == "bag-1"


def test_domain_errors_come_back_on_the_form(product_client: Panel, shop: Shop) -> None:
    rows = build_variant_rows(build_row("Sand", "19.90", option2="S"), build_row("Sand", "21", option2="S"))

    response = product_client.post("catalog_product_add", **PRODUCT, **rows, **empty_metafields())

    assert response.status_code == 200
    assert "The variant &#x27;Sand / S&#x27; already exists." in response.content.decode()
    with shop_scope(shop):
        assert not Product.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("body_html", "<" * 10_001, "has too many tags"),
        ("tags", "x" * 256, "Is too long"),
        ("options-1-name", "colour", "two options with the same name"),
        ("options-1-name", "x" * 256, "The option name is too long."),
        ("options-2-values", "S, M", "Enter a name, such as Size"),
        ("options-1-values", '"S', "Add the missing quotation mark"),
        ("options-1-values", "x" * 256, "at most 255 characters"),
        ("title", "", "This field is required"),
    ],
)
def test_invalid_values_are_reported(product_client: Panel, shop: Shop, field: str, value: str, message: str) -> None:
    response = product_client.post(
        "catalog_product_add", **PRODUCT | {field: value}, **build_variant_rows(), **empty_metafields()
    )

    assert response.status_code == 200
    assert message in response.content.decode()
    with shop_scope(shop):
        assert not Product.objects.exists()


def test_many_variants_are_edited_one_by_one(product_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product("Bag", prices=("1.00",) * 101)
        variant = Variant.objects.earliest("id")

    page = product_client.get("catalog_product_change", product.pk).content.decode()
    rows = product_client.get("catalog_variant_changelist", product__id__exact=product.pk).content.decode()
    saved = product_client.post(
        "catalog_variant_change",
        variant.pk,
        option1="XL",
        price="9",
        grams="0",
        weight="1.5",
        weight_unit="kg",
        taxable="on",
        inventory_policy="continue",
        sku="S-1",
    )

    assert "View all 101 variants" in page
    assert "variants-TOTAL_FORMS" not in page
    assert rows.count("/change/") >= 50
    assert saved.status_code == 302, re.findall(r"errorlist.*?</ul>", saved.content.decode(), re.DOTALL)
    variant.refresh_from_db()
    assert (variant.option1, variant.title, variant.grams, variant.inventory_policy) == ("XL", "XL", 1500, "continue")


def test_a_view_of_the_list_shows_stock_and_pictures(
    product_client: Panel, shop: Shop, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with shop_scope(shop):
        for number in range(3):
            make_image(make_product(f"Bag {number}", prices=("1.00", "2.00")))
    product_client.get("catalog_product_changelist")

    with django_assert_max_num_queries(11):
        page = product_client.get("catalog_product_changelist").content.decode()

    assert "0 in stock for 2 variants" in page
    assert page.count("bo-thumb") == 3
    assert "_96x96.png" in page


def test_images_are_added_described_ordered_and_removed(product_client: Panel, shop: Shop, media_root: Path) -> None:
    with shop_scope(shop):
        product = make_product("Bag")
    files = [SimpleUploadedFile(f"{name}.png", PNG) for name in "abc"]

    added = product_client.http.post(
        product_client.url("catalog_product_images", product.pk), {"files": files}, follow=True
    )
    with shop_scope(shop):
        first, second, third = ProductImage.objects.order_by("position").values_list("pk", flat=True)
    saved = product_client.http.post(
        product_client.url("catalog_product_images", product.pk),
        {"image": [third, first, second], f"alt-{first}": " Front ", "remove": [second]},
    )

    assert "3 images added." in get_messages(added)
    assert saved.status_code == 302
    with shop_scope(shop):
        rows = list(ProductImage.objects.order_by("position").values_list("pk", "position", "alt"))
    assert rows == [(third, 1, None), (first, 2, "Front")]


def test_images_move_by_keyboard_without_scripts(product_client: Panel, shop: Shop) -> None:
    with shop_scope(shop):
        product = make_product("Bag")
        ids = [make_image(product).pk for _ in range(3)]

    for move in (f"{ids[2]}:-1", f"{ids[0]}:-1", "x:1", f"{ids[1]}:9"):
        listed_ids = ProductImage._base_manager.order_by("position").values_list("pk", flat=True)
        product_client.http.post(
            product_client.url("catalog_product_images", product.pk), {"image": list(listed_ids), "move": move}
        )

    with shop_scope(shop):
        assert list(ProductImage.objects.order_by("position").values_list("pk", flat=True)) == [ids[0], ids[2], ids[1]]


def test_an_invalid_image_is_refused_with_the_whole_form(product_client: Panel, shop: Shop, media_root: Path) -> None:
    with shop_scope(shop):
        product = make_product("Bag")
    files = [SimpleUploadedFile("a.png", PNG), SimpleUploadedFile("b.png", b"<svg/>")]

    response = product_client.http.post(
        product_client.url("catalog_product_images", product.pk), {"files": files}, follow=True
    )

    assert "Nothing has been changed." in get_messages(response)
    assert not [path for path in media_root.rglob("*") if path.is_file()]
    with shop_scope(shop):
        assert not ProductImage.objects.exists()


def test_images_above_the_limit_are_refused(product_client: Panel, shop: Shop, media_root: Path) -> None:
    with shop_scope(shop):
        product = make_product("Bag")
        ProductImage.objects.bulk_create(
            ProductImage(shop=shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
            for n in range(1, MAX_IMAGES)
        )
    files = [SimpleUploadedFile(f"{name}.png", PNG) for name in "ab"]

    response = product_client.http.post(
        product_client.url("catalog_product_images", product.pk), {"files": files}, follow=True
    )

    assert "at most 250 images" in get_messages(response)
    with shop_scope(shop):
        assert ProductImage.objects.count() == MAX_IMAGES - 1


def test_staff_fix_prices_on_the_page_of_a_variant(admin_client_with: PanelWith, api: ApiClient, shop: Shop) -> None:
    shop.presentment_currencies = [
        {"currency": "EUR", "rate": "0.92", "rounding": "0.99"},
        {"currency": "JPY", "rate": "150", "rounding": ""},
    ]
    shop.save()
    with shop_scope(shop):
        priced: Variant = make_product(prices=("10.00",)).variants.get()
    panel = admin_client_with("products")

    def prices() -> dict[str, tuple[str, Any]]:
        presentment_prices = api.get(f"variants/{priced.pk}.json").json()["variant"]["presentment_prices"]
        return {
            row["price"]["currency_code"]: (row["price"]["amount"], row["compare_at_price"])
            for row in presentment_prices
        }

    page = panel.get("catalog_variant_change", priced.pk)
    form = page.context["adminform"].form
    with shop_scope(shop):
        form_values = {name: form[name].value() for name in form.fields}
    data = {name: value for name, value in form_values.items() if value is not None and value is not False}
    assert "Leave blank to use the converted price of 9.99." in page.content.decode()

    saved = panel.post("catalog_variant_change", priced.pk, **data | {"price_EUR": "9.00", "compare_EUR": "10.00"})
    alone = panel.post("catalog_variant_change", priced.pk, **data | {"compare_JPY": "1000"})
    finer = panel.post("catalog_variant_change", priced.pk, **data | {"price_JPY": "10.5"})

    assert saved.status_code == 302, re.findall(r"errorlist.*?</ul>", saved.content.decode(), re.DOTALL)
    assert prices()["EUR"] == ("9.00", {"amount": "10.00", "currency_code": "EUR"})
    assert "Enter a price if you enter a compare-at price." in alone.content.decode()
    assert "This amount has too many decimal places for JPY." in finer.content.decode()
    second_form = panel.get("catalog_variant_change", priced.pk).context["adminform"].form
    assert (second_form["price_EUR"].value(), second_form["price_JPY"].value()) == ("9.00", None)
    panel.post("catalog_variant_change", priced.pk, **data)
    assert prices()["EUR"] == ("9.99", None)


def test_viewers_see_all_currencies(admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(permissions.grants, "test", permissions.allow("reports", "v", "catalog.variant"))
    shop.presentment_currencies = [{"currency": "EUR", "rate": "0.92", "rounding": ""}]
    shop.save()
    with shop_scope(shop):
        variant = make_product(prices=("10.00",)).variants.get()

    page = admin_client_with("reports").get("catalog_variant_change", variant.pk)

    assert page.status_code == 200
    assert "9.20 EUR" in page.content.decode()


@pytest.mark.parametrize("page", ["catalog_product_changelist", "catalog_smartcollection_changelist"])
@pytest.mark.parametrize("term", ["ÄPFEL", "strasse", "PFEL STR"])
def test_lists_ignore_case_in_every_script(admin_client_with: PanelWith, in_shop: Shop, page: str, term: str) -> None:
    for title in ("Äpfel Straße", "Other"):
        make_product(title)
        make_smart(title, ("title", "equals", "x"))

    response = admin_client_with("products", "collections").get(page, q=term)

    assert [row.title for row in response.context["cl"].result_list] == ["Äpfel Straße"]


@pytest.mark.parametrize("by_name", ["Title", "Size, Colour"])
def test_the_only_variant_is_called_after_the_product(product_client: Panel, shop: Shop, by_name: str) -> None:
    response = product_client.post(
        "catalog_product_add",
        **PRODUCT | build_option_rows(*by_name.split(", ")),
        **build_variant_rows(),
        **empty_metafields(),
    )
    assert response.status_code == 302
    with shop_scope(shop):
        product, variant = Product.objects.get(), Variant.objects.get()
    options_before = variant.option1, variant.option2, variant.title

    pages = [
        product_client.get("catalog_product_change", product.pk),
        product_client.get("catalog_variant_changelist"),
        product_client.get("catalog_variant_change", variant.pk),
        product_client.get("inventory_inventoryitem_changelist"),
    ]
    blank = build_row("", "3.00", id=str(variant.pk), product=str(product.pk))
    sent_product = PRODUCT | build_option_rows(*by_name.split(", ")) | {"seen_version": get_version(product)}
    saved = product_client.post(
        "catalog_product_change",
        product.pk,
        **sent_product,
        **build_variant_rows(blank, initial=1),
        **empty_metafields(),
    )

    assert [page.status_code for page in pages] == [200] * 4
    assert not [page.request["PATH_INFO"] for page in pages if "Default Title" in page.content.decode()]
    assert saved.status_code == 302, re.findall(r"errorlist.*?</ul>", saved.content.decode(), re.DOTALL)
    with shop_scope(shop):
        variant.refresh_from_db()
        assert (variant.option1, variant.option2, variant.title) == options_before
        assert variant.price == Decimal("3.00")


@pytest.mark.parametrize(("language", "price"), [("en", "18.00"), ("de", "18,00")])
def test_viewers_read_the_whole_product(admin_client_with: PanelWith, in_shop: Shop, language: str, price: str) -> None:
    viewer = admin_client_with(view_only=["products"])
    User.objects.filter(pk=viewer.user.pk).update(language=language)
    markup = '<p onclick="steal()">Warm &amp; <b>dry</b></p><script>steal()</script>'
    product = make_product("Coat", prices=("18", "2"), body_html=markup)
    Variant.objects.update(weight=Decimal("0.25"))

    sheet = viewer.get("catalog_product_change", product.pk).content.decode()
    page = viewer.get("catalog_variant_change", product.variants.earliest("pk").pk).content.decode()

    assert f">{price}</td>" in sheet
    assert re.findall(r'data-column="(option\d)">([^<]+)<', sheet) == [("option1", "Size")]
    assert '<div class="bo-visual-text"><p>Warm &amp; <b>dry</b></p></div>' in sheet
    assert "steal" not in sheet
    assert ("New variants" in sheet, "Neue Varianten" in sheet) == (False, False)
    assert re.search(rf'class="readonly[^>]*>{re.escape(price)}</div>', page)
    assert re.search(r'class="readonly[^>]*>0[.,]25</div>', page)
    assert re.search(r"<label[^>]*>Size</label>", page)
    assert not re.search(r"Option ?[123]|18\.000", sheet + page)


def test_the_variant_form_labels_values_with_the_option_names(product_client: Panel, in_shop: Shop) -> None:
    variant = make_product("Coat", prices=("1.00",)).variants.get()

    page = product_client.get("catalog_variant_change", variant.pk).content.decode()

    assert re.search(r'<label[^>]*for="id_option1"[^>]*>\s*Size', page)
    assert re.search(r'<input[^>]*name="weight"[^>]*value="0"', page)
