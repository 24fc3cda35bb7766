"""Tests for images over REST: content validation, positions without gaps, limit of 250."""

import base64
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient, Response
from tests.support.factories.catalog import ATTACHMENT, PNG, make_image, make_product
from tests.support.files.images import make_animation, make_blank_png, make_plain_image
from tests.support.servers.http import Server, send_response
from tests.support.types import JsonObject


@pytest.fixture
def product(shop: Shop) -> Product:
    """Create a product without images."""
    with shop_scope(shop):
        return make_product(prices=("1.00", "2.00"))


def post_image(api: ApiClient, product: Product, **fields: object) -> Response:
    return api.post(f"products/{product.pk}/images.json", {"image": fields})


def encode_attachment(data: bytes) -> str:
    return base64.b64encode(data).decode()


def list_stored_files(media: Path) -> list[Path]:
    return sorted(path for path in media.rglob("*") if path.is_file()) if media.exists() else []


def get_image_order(api: ApiClient, product: Product) -> list[tuple[int, int]]:
    images = api.get(f"products/{product.pk}/images.json").json()["images"]
    return [(row["id"], row["position"]) for row in images]


def test_an_attachment_becomes_an_image(api: ApiClient, shop: Shop, product: Product) -> None:
    response = post_image(
        api,
        product,
        attachment=encode_attachment(make_plain_image("JPEG", (30, 60))),
        filename="../My  mug №1.PNG",
        alt="A mug",
    )

    image = response.json()["image"]
    assert response.status_code == 201
    assert (image["width"], image["height"], image["position"], image["alt"]) == (30, 60, 1, "A mug")
    assert image["src"].endswith("/My-mug-No1.jpg")
    assert image["admin_graphql_api_id"] == f"gid://platform/ProductImage/{image['id']}"
    assert response["X-Platform-API-Deprecated-Reason"].endswith("#product-images")
    with shop_scope(shop):
        assert Event.objects.latest("id").topic == "products/update"


def test_a_file_is_fetched_from_its_address(api: ApiClient, product: Product, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    server = Server(send_response(PNG, "Content-Type: text/html"))
    try:
        response = post_image(api, product, src=f"{server.url}pictures/Blue%20mug.png?v=1")
    finally:
        server.close()

    assert response.status_code == 201, response.content
    assert response.json()["image"]["src"].endswith("/Blue-mug.png")


@pytest.mark.parametrize(
    "name",
    [
        "a.png\r\nSet-Cookie: owned=1\r\n\r\n<script>",
        'a"; filename="evil.html',
        "../../../etc/passwd",
        "..\\..\\boot.ini",
        "invoice\u202egnp.exe",
        "a\u2066\u200f\u061c.png",
        "%0d%0aSet-Cookie:owned=1.png",
    ],
)
def test_a_file_name_stays_outside_of_the_headers_and_the_path(api: ApiClient, product: Product, name: str) -> None:
    plainly = api.http.get(
        urlsplit(post_image(api, product, attachment=encode_attachment(PNG)).json()["image"]["src"]).path
    )

    response = post_image(api, product, attachment=encode_attachment(PNG), filename=name)

    assert response.status_code == 201, response.content
    path = urlsplit(response.json()["image"]["src"]).path
    assert re.fullmatch(r"/[\w/-]+/[\w-]+\.png", path, re.ASCII)
    served = api.http.get(path)
    assert served.status_code == 200
    del served["X-Request-ID"], plainly["X-Request-ID"]
    assert dict(served.headers) == dict(plainly.headers)


def test_an_address_that_must_not_be_reached_is_refused(api: ApiClient, product: Product) -> None:
    response = post_image(api, product, src="http://169.254.169.254/latest/meta-data/")

    assert response.status_code == 422
    assert response.json() == {"errors": {"image": ["Could not download image: address not allowed"]}}


def test_an_address_without_a_picture_is_refused(api: ApiClient, product: Product, settings: Settings) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    server = Server(send_response(b"gone", status="404 Not Found"))
    try:
        response = post_image(api, product, src=server.url)
    finally:
        server.close()

    assert response.status_code == 422
    assert response.json()["errors"]["image"][0].startswith("Could not download image: ")


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "image"),
        ({"attachment": encode_attachment(make_blank_png(12000, 12000))}, "image"),
        ({"attachment": encode_attachment(make_animation(300))}, "image"),
        ({"attachment": encode_attachment(make_plain_image("JPEG", (300, 300))[:-200])}, "image"),
        ({"attachment": encode_attachment(SVG), "filename": "a.png"}, "image"),
        ({"attachment": encode_attachment(b"<html></html>"), "filename": "a.jpg"}, "image"),
        ({"attachment": encode_attachment(b"%PDF-1.7")}, "image"),
        ({"attachment": encode_attachment(make_plain_image("WEBP", (5, 5)))}, "image"),
        ({"attachment": "a!b"}, "attachment"),
        ({"attachment": ATTACHMENT.rstrip("=") + "A"}, "attachment"),
        ({"attachment": f"data:image/png;base64,{ATTACHMENT}"}, "attachment"),
        ({"attachment": ""}, "attachment"),
        ({"attachment": ["x"]}, "attachment"),
        ({"attachment": encode_attachment(b"\0" * (20 * 1024 * 1024 + 1))}, "attachment"),
        ({"attachment": ATTACHMENT, "src": "https://example.com/a.png"}, "image"),
        ({"attachment": ATTACHMENT, "filename": ["x"]}, "filename"),
        ({"src": "ftp://example.com/a.png"}, "image"),
        ({"src": "https://example.com/" + "a" * 2048}, "src"),
        ({"src": {"a": 1}}, "src"),
        ({"attachment": ATTACHMENT, "position": -1}, "position"),
        ({"attachment": ATTACHMENT, "alt": "a" * 513}, "alt"),
        ({"attachment": ATTACHMENT, "variant_ids": ["x"]}, "variant_ids"),
        ({"attachment": ATTACHMENT, "variant_ids": [10**12]}, "variant_ids"),
    ],
)
def test_other_files_are_refused(
    api: ApiClient, product: Product, media_dir: Path, fields: JsonObject, field: str
) -> None:
    response = post_image(api, product, **fields)

    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]
    assert list_stored_files(media_dir) == []
    assert api.get(f"products/{product.pk}/images/count.json").json() == {"count": 0}


def test_a_replayed_create_stores_no_second_file(api: ApiClient, product: Product, media_dir: Path) -> None:
    path, body = f"products/{product.pk}/images.json", {"image": {"attachment": ATTACHMENT}}

    first = api.post(path, body, Idempotency_Key="k")
    second = api.post(path, body, Idempotency_Key="k")

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.content == second.content
    assert len(list_stored_files(media_dir)) == 1


@pytest.mark.parametrize(
    ("move", "expected"), [((0, 3), [1, 2, 0]), ((2, 1), [2, 0, 1]), ((1, 1), [1, 0, 2]), ((0, 99), [1, 2, 0])]
)
def test_moved_images_shift_others(
    api: ApiClient, shop: Shop, product: Product, move: tuple[int, int], expected: list[int]
) -> None:
    moved, to = move
    with shop_scope(shop):
        ids = [make_image(product).pk for _ in range(3)]

    api.put(f"products/{product.pk}/images/{ids[moved]}.json", {"image": {"position": to}})

    assert get_image_order(api, product) == [(ids[index], number) for number, index in enumerate(expected, 1)]
    main = api.get(f"products/{product.pk}.json").json()["product"]["image"]
    assert main["id"] == ids[expected[0]]


def test_a_new_image_takes_its_place_and_a_deleted_one_leaves_none(
    api: ApiClient,
    shop: Shop,
    product: Product,
    media_dir: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with shop_scope(shop):
        first, second = make_image(product), make_image(product)
    new = post_image(api, product, attachment=ATTACHMENT, position=1).json()["image"]
    assert get_image_order(api, product) == [(new["id"], 1), (first.pk, 2), (second.pk, 3)]

    with django_capture_on_commit_callbacks(execute=True):
        response = api.delete(f"products/{product.pk}/images/{first.pk}.json")

    assert response.json() == {}
    assert get_image_order(api, product) == [(new["id"], 1), (second.pk, 2)]
    assert len(list_stored_files(media_dir)) == 2


def test_deleting_the_product_deletes_the_files(
    api: ApiClient,
    shop: Shop,
    product: Product,
    media_dir: Path,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with shop_scope(shop):
        image = make_image(product)
    Client().get(f"/content/images/{shop.pk}/{image.key}/mug_10x10.png")
    assert len(list_stored_files(media_dir)) == 2

    with django_capture_on_commit_callbacks(execute=True):
        api.delete(f"products/{product.pk}.json")

    assert list_stored_files(media_dir) == []


def test_the_251st_image_is_refused(api: ApiClient, shop: Shop, product: Product, media_dir: Path) -> None:
    with shop_scope(shop):
        ProductImage.objects.bulk_create(
            ProductImage(shop=shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
            for n in range(1, MAX_IMAGES + 1)
        )

    one_more = post_image(api, product, attachment=ATTACHMENT)
    all_at_once = api.put(f"products/{product.pk}.json", {"product": {"images": [{"id": 1}] * 251}})

    assert one_more.status_code == 422
    assert one_more.json() == {"errors": {"image": ["A product can have at most 250 images."]}}
    assert all_at_once.status_code == 422
    assert list_stored_files(media_dir) == []
    assert api.get(f"products/{product.pk}/images/count.json").json() == {"count": 250}


def test_images_with_too_many_pixels_are_refused(
    api: ApiClient, media_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.catalog.api.products.MAX_MEGAPIXELS", 1)
    vast = {"attachment": encode_attachment(make_blank_png(1000, 1001))}

    refused = api.post("products.json", {"product": {"title": "Vast", "images": [vast, {"attachment": ATTACHMENT}]}})

    assert refused.status_code == 422
    assert refused.json() == {"errors": {"images.1.image": ["exceeds the limit of 1 megapixels per request"]}}
    assert list_stored_files(media_dir) == []


def test_variants_are_named_by_the_image(api: ApiClient, shop: Shop, product: Product) -> None:
    with shop_scope(shop):
        first, second = Variant.objects.filter(product=product).order_by("id").values_list("pk", flat=True)

    image = post_image(api, product, attachment=ATTACHMENT, variant_ids=[first]).json()["image"]
    changed = api.put(f"products/{product.pk}/images/{image['id']}.json", {"image": {"variant_ids": [second]}})

    assert image["variant_ids"] == [first]
    assert changed.json()["image"]["variant_ids"] == [second]


def test_update_of_the_product_makes_the_images_those_of_the_list(api: ApiClient, shop: Shop, product: Product) -> None:
    with shop_scope(shop):
        first, second, third = (make_image(product).pk for _ in range(3))
    rows = [{"id": third}, {"attachment": ATTACHMENT, "alt": "new"}, {"id": first, "position": 1, "alt": "one"}]

    images = api.put(f"products/{product.pk}.json", {"product": {"images": rows}}).json()["product"]["images"]

    assert [row["id"] for row in images][:2] == [first, third]
    assert [(row["alt"], row["position"]) for row in images] == [("one", 1), (None, 2), ("new", 3)]
    assert second not in [row["id"] for row in images]
    cleared = api.put(f"products/{product.pk}.json", {"product": {"images": []}}).json()["product"]
    assert (cleared["images"], cleared["image"]) == ([], None)


def test_an_image_of_another_product_does_not_exist(api: ApiClient, shop: Shop, product: Product) -> None:
    with shop_scope(shop):
        image = make_image(make_product("Bag"))
    path = f"products/{product.pk}/images/{image.pk}.json"

    statuses = [api.get(path), api.put(path, {"image": {"alt": "x"}}), api.delete(path)]

    assert [response.status_code for response in statuses] == [404, 404, 404]
