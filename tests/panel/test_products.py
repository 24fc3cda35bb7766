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
from apps.inventory.models import InventoryItem
from tests.support.api_client import ApiClient, Response
from tests.support.factories.catalog import PNG, make_image, make_product, make_smart
from tests.support.factories.inventory import get_first_location, set_stock
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import NO_METAFIELDS, get_messages
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("in_shop", "media_root")

PRODUCT_STATES = {"Bag": "active", "Hat": "draft", "Mug": "archived"}
PRODUCT = {
    "title": "Canvas bag",
    "body_html": "",
    "vendor": "",
    "product_type": "Bags",
    "tags": "b, a, B",
    "status": "active",
    "visibility": "visible",
    "options-0-name": "Colour",
    "options-1-name": "Size",
    "handle": "",
    "template_suffix": "",
    "published_scope": "web",
}


def build_option_rows(*names: str) -> dict[str, str]:
    """Return the form's option rows without values, so that the values of existing variants are kept."""
    return {f"options-{index}-name": name for index, name in enumerate([*names, "", "", ""][:3])}


def build_row(option1: str, price: str, variant: Variant | None = None, **fields: str) -> dict[str, str]:
    blank = {"option2": "", "option3": "", "compare_at_price": "", "sku": "", "barcode": "", "grams": "0"}
    known = {"id": str(variant.pk), "product": str(variant.product_id)} if variant else {}
    return blank | {"option1": option1, "price": price, "inventory_policy": "deny", "tracked": "on"} | known | fields


def save_product(
    panel: Panel, fields: dict[str, str], *rows: dict[str, str], product: Product | None = None
) -> Response:
    """Submit the add form, or a product's form with a row for each existing variant."""
    data = {"variants-TOTAL_FORMS": str(len(rows)), "variants-INITIAL_FORMS": str(len(rows) if product else 0)}
    for number, row in enumerate(rows):
        data |= {f"variants-{number}-{name}": value for name, value in row.items()}
    data |= PRODUCT | NO_METAFIELDS | fields
    if product is None:
        return panel.post("catalog_product_add", **data)
    product.refresh_from_db()
    return panel.post("catalog_product_change", product.pk, **data, seen_version=str(product.version))


def save_images(panel: Panel, product: Product, data: JsonObject) -> Response:
    return panel.http.post(panel.url("catalog_product_images", product.pk), data, follow=True)


def get_errors(response: Response) -> list[str]:
    return re.findall(r"errorlist.*?</ul>", response.content.decode(), re.DOTALL)


def test_a_product_is_made_with_its_variants_in_one_form(product_client: Panel) -> None:
    rows = [
        build_row("Sand", "19.90", option2="S", sku="CB-S"),
        build_row("Olive", "21", option2="M", compare_at_price="25"),
    ]

    response = save_product(product_client, {}, *rows)

    assert response.status_code == 302, get_errors(response)
    product = Product.objects.get()
    assert (product.handle, product.tags, product.vendor) == ("canvas-bag", "a, b", "Acme")
    assert [option.name for option in product.options.order_by("position")] == ["Colour", "Size"]
    new_rows = list(Variant.objects.order_by("position").values_list("title", "price", "inventory_item__sku"))
    assert new_rows == [("Sand / S", Decimal("19.9"), "CB-S"), ("Olive / M", Decimal(21), "")]
    assert Event.objects.get(topic="products/create").actor == f"staff:{product_client.user.pk}"


def test_the_form_changes_what_it_names_and_nothing_else(product_client: Panel) -> None:
    product = make_product("Bag", prices=("5.00", "6.00"), tags="a")
    first, second = Variant.objects.order_by("id")
    fields = {"title": "Bag", "tags": "a", "product_type": "", "vendor": "Acme", "handle": "bag"}
    rows = [build_row("1", "7.50", first, sku="NEW"), build_row("2", "6.00", second, DELETE="on")]

    response = save_product(product_client, fields | build_option_rows("Size"), *rows, product=product)

    assert response.status_code == 302, get_errors(response)
    variant = Variant.objects.get()
    assert (variant.pk, variant.price, variant.inventory_item.sku) == (first.pk, Decimal("7.5"), "NEW")
    assert InventoryItem.objects.count() == 1
    assert Event.objects.filter(topic="products/update").count() == 1


def test_an_option_that_is_no_longer_named_goes_with_its_values(product_client: Panel) -> None:
    values = (("Sand", "19.90", "S"), ("Olive", "21.00", "M"))
    save_product(product_client, {}, *(build_row(colour, price, option2=size) for colour, price, size in values))
    product, variants = Product.objects.get(), Variant.objects.order_by("id")
    rows = [
        build_row(colour, price, row, option2=size) for (colour, price, size), row in zip(values, variants, strict=True)
    ]
    fields = {"tags": "a, b", "vendor": "Acme", "handle": product.handle, **build_option_rows("Size")}

    response = save_product(product_client, fields, *rows, product=product)

    assert response.status_code == 302, get_errors(response)
    option = product.options.get()
    assert (option.name, option.values) == ("Size", ["S", "M"])
    assert list(Variant.objects.order_by("id").values_list("title", flat=True)) == ["S", "M"]


def test_a_cleared_handle_is_generated_and_numbered_where_taken(product_client: Panel) -> None:
    make_product("Bag")
    product = make_product("Bag", handle="tote")
    unchanged = build_row("Default Title", "0.00", product.variants.get())

    response = save_product(product_client, {"title": "Bag", **build_option_rows("Title")}, unchanged, product=product)

    assert response.status_code == 302, get_errors(response)
    product.refresh_from_db()
    assert product.handle == "bag-1"


def test_domain_errors_come_back_on_the_form(product_client: Panel) -> None:
    rows = [build_row("Sand", price, option2="S") for price in ("19.90", "21")]

    response = save_product(product_client, {}, *rows)

    assert response.status_code == 200
    assert "The variant &#x27;Sand / S&#x27; already exists." in response.content.decode()
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
def test_invalid_values_are_reported(product_client: Panel, field: str, value: str, message: str) -> None:
    response = save_product(product_client, {field: value})

    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Product.objects.exists()


def test_many_variants_are_edited_one_by_one(product_client: Panel) -> None:
    product = make_product("Bag", prices=("1.00",) * 101)
    variant = Variant.objects.earliest("id")

    page = product_client.get("catalog_product_change", product.pk).content.decode()
    rows = product_client.get("catalog_variant_changelist", product__id__exact=product.pk).content.decode()
    fields = {"option1": "XL", "price": "9", "grams": "0", "weight": "1.5", "weight_unit": "kg", "taxable": "on"}
    saved = product_client.post("catalog_variant_change", variant.pk, **fields, inventory_policy="continue", sku="S-1")

    assert "View all 101 variants" in page
    assert "variants-TOTAL_FORMS" not in page
    assert rows.count("/change/") >= 50
    assert saved.status_code == 302, get_errors(saved)
    variant.refresh_from_db()
    assert (variant.option1, variant.title, variant.grams, variant.inventory_policy) == ("XL", "XL", 1500, "continue")


def test_a_view_of_the_list_shows_stock_and_pictures(
    product_client: Panel, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        make_image(make_product(f"Bag {number}", prices=("1.00", "2.00")))
    product_client.get("catalog_product_changelist")

    with django_assert_max_num_queries(11):
        page = product_client.get("catalog_product_changelist").content.decode()

    assert "0 in stock for 2 variants" in page
    assert page.count("bo-thumb") == 3
    assert "_96x96.png" in page
    assert "1.00 – 2.00" in page


def test_the_list_shows_prices_views_and_sold_out_variants(product_client: Panel) -> None:
    bag, hat, mug = (make_product(title, status=status) for title, status in PRODUCT_STATES.items())
    for product, quantity in ((bag, 0), (hat, 3), (mug, 0)):
        variant = Variant.objects.select_related("inventory_item").get(product=product)
        InventoryItem.objects.filter(pk=variant.inventory_item_id).update(tracked=product != mug)
        set_stock(variant.inventory_item, get_first_location(product_client.shop), quantity)

    page = product_client.get("catalog_product_changelist")
    titles = {
        view: [
            row.title for row in product_client.get("catalog_product_changelist", view=view).context["cl"].result_list
        ]
        for view in ("all", "active", "draft", "archived")
    }

    assert {row.title: row.has_sold_out for row in page.context["cl"].result_list} == {
        "Bag": True,
        "Hat": False,
        "Mug": False,
    }
    assert page.content.decode().count('class="bo-low"') == 1
    assert titles == {"all": ["Mug", "Hat", "Bag"], "active": ["Bag"], "draft": ["Hat"], "archived": ["Mug"]}


def test_images_are_added_described_ordered_and_removed(product_client: Panel, media_root: Path) -> None:
    product = make_product("Bag")
    files = [SimpleUploadedFile(f"{name}.png", PNG) for name in "abc"]

    added = save_images(product_client, product, {"files": files})
    first, second, third = ProductImage.objects.order_by("position").values_list("pk", flat=True)
    changes = {"image": [third, first, second], f"alt-{first}": " Front ", "remove": [second]}
    saved = save_images(product_client, product, changes)

    assert "3 images added." in get_messages(added)
    assert saved.redirect_chain
    rows = list(ProductImage.objects.order_by("position").values_list("pk", "position", "alt"))
    assert rows == [(third, 1, None), (first, 2, "Front")]


def test_images_move_by_keyboard_without_scripts(product_client: Panel) -> None:
    product = make_product("Bag")
    ids = [make_image(product).pk for _ in range(3)]

    for move in (f"{ids[2]}:-1", f"{ids[0]}:-1", "x:1", f"{ids[1]}:9"):
        listed_ids = ProductImage._base_manager.order_by("position").values_list("pk", flat=True)
        save_images(product_client, product, {"image": list(listed_ids), "move": move})

    assert list(ProductImage.objects.order_by("position").values_list("pk", flat=True)) == [ids[0], ids[2], ids[1]]


def test_an_invalid_image_is_refused_with_the_whole_form(product_client: Panel, media_root: Path) -> None:
    product = make_product("Bag")
    files = [SimpleUploadedFile("a.png", PNG), SimpleUploadedFile("b.png", b"<svg/>")]

    response = save_images(product_client, product, {"files": files})

    assert "Nothing has been changed." in get_messages(response)
    assert not [path for path in media_root.rglob("*") if path.is_file()]
    assert not ProductImage.objects.exists()


def test_images_above_the_limit_are_refused(product_client: Panel, shop: Shop, media_root: Path) -> None:
    product = make_product("Bag")
    ProductImage.objects.bulk_create(
        ProductImage(shop=shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
        for n in range(1, MAX_IMAGES)
    )
    files = [SimpleUploadedFile(f"{name}.png", PNG) for name in "ab"]

    response = save_images(product_client, product, {"files": files})

    assert "at most 250 images" in get_messages(response)
    assert ProductImage.objects.count() == MAX_IMAGES - 1


def test_staff_fix_prices_on_the_page_of_a_variant(admin_client_with: PanelWith, api: ApiClient, shop: Shop) -> None:
    shop.presentment_currencies = [
        {"currency": "EUR", "rate": "0.92", "rounding": "0.99"},
        {"currency": "JPY", "rate": "150", "rounding": ""},
    ]
    shop.save()
    priced: Variant = make_product(prices=("10.00",)).variants.get()
    panel = admin_client_with("products")

    def get_euros() -> tuple[str, Any]:
        rows = api.get(f"variants/{priced.pk}.json").json()["variant"]["presentment_prices"]
        (row,) = (row for row in rows if row["price"]["currency_code"] == "EUR")
        return row["price"]["amount"], row["compare_at_price"]

    page = panel.get("catalog_variant_change", priced.pk)
    form = page.context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    data = {name: value for name, value in values.items() if value is not None and value is not False}
    assert "Leave blank to use the converted price of 9.99." in page.content.decode()

    saved = panel.post("catalog_variant_change", priced.pk, **data | {"price_EUR": "9.00", "compare_EUR": "10.00"})
    alone = panel.post("catalog_variant_change", priced.pk, **data | {"compare_JPY": "1000"})
    finer = panel.post("catalog_variant_change", priced.pk, **data | {"price_JPY": "10.5"})

    assert saved.status_code == 302, get_errors(saved)
    assert get_euros() == ("9.00", {"amount": "10.00", "currency_code": "EUR"})
    assert "Enter a price if you enter a compare-at price." in alone.content.decode()
    assert "This amount has too many decimal places for JPY." in finer.content.decode()
    second_form = panel.get("catalog_variant_change", priced.pk).context["adminform"].form
    assert (second_form["price_EUR"].value(), second_form["price_JPY"].value()) == ("9.00", None)
    panel.post("catalog_variant_change", priced.pk, **data)
    assert get_euros() == ("9.99", None)


def test_viewers_see_all_currencies(admin_client_with: PanelWith, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(permissions.grants, "test", permissions.allow("reports", "v", "catalog.variant"))
    shop.presentment_currencies = [{"currency": "EUR", "rate": "0.92", "rounding": ""}]
    shop.save()
    variant = make_product(prices=("10.00",)).variants.get()

    page = admin_client_with("reports").get("catalog_variant_change", variant.pk)

    assert page.status_code == 200
    assert "9.20 EUR" in page.content.decode()


@pytest.mark.parametrize("page", ["catalog_product_changelist", "catalog_smartcollection_changelist"])
@pytest.mark.parametrize("term", ["ÄPFEL", "strasse", "PFEL STR"])
def test_lists_ignore_case_in_every_script(admin_client_with: PanelWith, page: str, term: str) -> None:
    for title in ("Äpfel Straße", "Other"):
        make_product(title)
        make_smart(title, ("title", "equals", "x"))

    response = admin_client_with("products", "collections").get(page, q=term)

    assert [row.title for row in response.context["cl"].result_list] == ["Äpfel Straße"]


@pytest.mark.parametrize("by_name", ["Title", "Size, Colour"])
def test_the_only_variant_is_called_after_the_product(product_client: Panel, by_name: str) -> None:
    fields = build_option_rows(*by_name.split(", "))
    response = save_product(product_client, fields)
    assert response.status_code == 302
    product, variant = Product.objects.get(), Variant.objects.get()
    options_before = variant.option1, variant.option2, variant.title

    pages = [
        product_client.get("catalog_product_change", product.pk),
        product_client.get("catalog_variant_changelist"),
        product_client.get("catalog_variant_change", variant.pk),
        product_client.get("inventory_inventoryitem_changelist"),
    ]
    saved = save_product(product_client, fields, build_row("", "3.00", variant), product=product)

    assert [page.status_code for page in pages] == [200] * 4
    assert not [page.request["PATH_INFO"] for page in pages if "Default Title" in page.content.decode()]
    assert saved.status_code == 302, get_errors(saved)
    variant.refresh_from_db()
    assert (variant.option1, variant.option2, variant.title) == options_before
    assert variant.price == Decimal("3.00")


@pytest.mark.parametrize(("language", "price"), [("en", "18.00"), ("de", "18,00")])
def test_viewers_read_the_whole_product(admin_client_with: PanelWith, language: str, price: str) -> None:
    viewer = admin_client_with(view_only=["products"])
    User.objects.filter(pk=viewer.user.pk).update(language=language)
    markup = '<p onclick="steal()">Warm &amp; <b>dry</b></p><script>steal()</script>'
    product = make_product("Coat", prices=("18", "2"), body_html=markup)
    Variant.objects.update(weight=Decimal("0.25"))

    sheet = viewer.get("catalog_product_change", product.pk).content.decode()
    page = viewer.get("catalog_variant_change", product.variants.earliest("pk").pk).content.decode()

    assert f">{price}</td>" in sheet
    assert ">None<" not in sheet
    assert re.findall(r'data-column="(option\d)">([^<]+)<', sheet) == [("option1", "Size")]
    assert '<div class="bo-visual-text"><p>Warm &amp; <b>dry</b></p></div>' in sheet
    assert "steal" not in sheet
    assert ("New variants" in sheet, "Neue Varianten" in sheet) == (False, False)
    assert re.search(rf'class="readonly[^>]*>{re.escape(price)}</div>', page)
    assert re.search(r'class="readonly[^>]*>0[.,]25</div>', page)
    assert re.search(r"<label[^>]*>Size</label>", page)
    assert not re.search(r"Option ?[123]|18\.000", sheet + page)


def test_the_variant_form_labels_values_with_the_option_names(product_client: Panel) -> None:
    variant = make_product("Coat", prices=("1.00",)).variants.get()

    page = product_client.get("catalog_variant_change", variant.pk).content.decode()

    assert re.search(r'<label[^>]*for="id_option1"[^>]*>\s*Size', page)
    assert re.search(r'<input[^>]*name="weight"[^>]*value="0"', page)
