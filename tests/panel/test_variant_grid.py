import re
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.inventory.models import InventoryLevel
from tests.support import factories
from tests.support.api_client import Response
from tests.support.factories.catalog import PNG, make_product
from tests.support.factories.inventory import get_first_location
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import PageForm, get_form
from tests.support.types import JsonObject

pytestmark = pytest.mark.usefixtures("media_root")

ADD, CHANGE, UPLOAD = "catalog_product_add", "catalog_product_change", "catalog_product_upload"


def get_product_form(panel: Panel, *args: object) -> PageForm:
    return get_form(panel.get(CHANGE if args else ADD, *args).content, model="product")


def save_product(panel: Panel, typed: JsonObject, *args: object) -> Response:
    return panel.http.post(panel.url(CHANGE if args else ADD, *args), get_product_form(panel, *args).data | typed)


def get_form_errors(response: Response) -> str:
    return " ".join(re.findall(r"(?s)<(?:ul|div|p)[^>]*errorlist.*?</ul>|errornote.*?</p>", response.content.decode()))


def upload_image(panel: Panel, name: str = "red.png", data: bytes = PNG) -> Response:
    return panel.http.post(panel.url(UPLOAD), {"file": SimpleUploadedFile(name, data)})


def test_values_make_the_variants_in_one_save_also_without_scripts(product_client: Panel, in_shop: Shop) -> None:
    row_id = get_first_location(in_shop).pk
    ticket = upload_image(product_client).json()
    typed = {
        "title": "Shirt",
        "options-0-name": "Size",
        "options-0-values": 'S, "0,5 l"',
        "options-1-name": "Colour",
        "options-1-values": "Red, Blue, Green",
        "variants-0-price": "9,90",
        "variants-0-cost": "4,5",
        f"variants-0-stock_{row_id}": "7",
        "variants-0-picture": ticket["choice"],
        "picture": ticket["ticket"],
        "picture-alt": "A red shirt",
    }

    response = save_product(product_client, {name: [value] for name, value in typed.items()})

    assert response.status_code == 302, get_form_errors(response)
    rows = list(Variant.objects.select_related("inventory_item").order_by("position"))
    assert [row.title for row in rows] == [
        f"{size} / {colour}" for size in ("S", "0,5 l") for colour in ("Red", "Blue", "Green")
    ]
    assert {(row.price, row.inventory_item.cost, row.inventory_item.tracked) for row in rows} == {
        (Decimal("9.9"), Decimal("4.5"), True)
    }
    assert [row.inventory_quantity for row in rows] == [7, 0, 0, 0, 0, 0]
    image = ProductImage.objects.get()
    assert (image.alt, rows[0].image_id, rows[1].image_id) == ("A red shirt", image.pk, None)
    assert Event.objects.filter(topic__in=("products/create", "products/update")).count() == 1


def test_a_new_value_adds_only_what_it_makes(product_client: Panel, in_shop: Shop) -> None:
    product = make_product("Shirt", prices=("5.00", "6.00"))
    (values,) = get_product_form(product_client, product.pk).data["options-0-values"]

    response = save_product(product_client, {"options-0-values": [f"{values}, New"]}, product.pk)

    assert response.status_code == 302, get_form_errors(response)
    titles = list(Variant.objects.order_by("position").values_list("title", "price"))
    assert (len(titles), titles[2]) == (3, ("New", Decimal("5.00")))


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"variants-0-price": "1,234"}, "Is this 1234 or 1.234?"),
        ({"options-0-name": "Size", "options-0-values": ", ".join(map(str, range(2049)))}, "at most 2048 variants"),
        ({"picture": "forged"}, "Upload it again"),
        ({"variants-0-picture": "new-nothing"}, "Select a valid choice"),
        ({"variants-0-stock_{place}": "9999999999"}, "less than or equal to"),
        ({"variants-0-stock_{place}": "-1"}, "Enter a number from 0 to"),
    ],
)
def test_invalid_grids_are_refused(product_client: Panel, in_shop: Shop, typed: dict[str, str], message: str) -> None:
    row_id = get_first_location(in_shop).pk
    form_data = {name.format(place=row_id): [value] for name, value in typed.items()}

    response = save_product(product_client, {"title": ["Shirt"]} | form_data)

    assert response.status_code == 200
    assert message in response.content.decode()
    assert not Product.objects.exists()


def test_a_value_used_by_a_variant_is_not_removed_silently(product_client: Panel, in_shop: Shop) -> None:
    product = make_product("Shirt", prices=("5.00", "6.00"))
    first, second = get_product_form(product_client, product.pk).data["options-0-values"][0].split(", ")

    response = save_product(product_client, {"options-0-values": [first]}, product.pk)

    assert f"still uses “{second}”" in response.content.decode()
    assert Variant.objects.count() == 2


def test_the_last_variant_stays(product_client: Panel, in_shop: Shop) -> None:
    product = make_product("Shirt", prices=("5.00", "6.00"))

    response = save_product(product_client, {f"variants-{number}-DELETE": ["on"] for number in range(2)}, product.pk)

    assert "The last variant of a product cannot be deleted." in response.content.decode()
    assert Variant.objects.count() == 2


def test_a_count_does_not_overwrite_a_concurrent_stock_change(product_client: Panel, in_shop: Shop) -> None:
    product = make_product("Shirt")
    row_id = get_first_location(in_shop).pk
    stale = {f"variants-0-stock_{row_id}": ["5"], f"initial-variants-0-stock_{row_id}": ["3"]}

    response = save_product(product_client, stale, product.pk)

    assert "This quantity was changed to “0” while you were editing." in response.content.decode()
    assert InventoryLevel.objects.get().available == 0


def test_pictures_stay_with_a_form_that_comes_back(product_client: Panel, in_shop: Shop) -> None:
    refused = save_product(product_client, {"title": [""], "files": [SimpleUploadedFile("a.png", PNG)]})
    data = get_form(refused.content, model="product").data | {"title": ["Shirt"]}
    saved = product_client.http.post(product_client.url(ADD), data)

    assert (refused.status_code, saved.status_code) == (200, 302), get_form_errors(saved)
    assert ProductImage.objects.get().product.title == "Shirt"


def test_invalid_and_foreign_images_fail(product_client: Panel, admin_client_with: PanelWith, in_shop: Shop) -> None:
    none, missing = upload_image(product_client, data=b"<svg/>"), product_client.http.post(product_client.url(UPLOAD))
    assert (none.status_code, missing.status_code) == (422, 422)
    assert none.json()["error"]

    foreign = admin_client_with("products", shop=factories.make_shop(domain="other.example"))
    ticket = upload_image(foreign).json()["ticket"]
    response = save_product(product_client, {"title": ["Shirt"], "picture": [ticket]})
    assert "already in use" in response.content.decode()
    assert not Product.objects.exists()
