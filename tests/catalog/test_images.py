import base64
import os
import re
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks as Capture

from apps.catalog.domain import image_cleanup, image_files
from apps.catalog.domain.collections.lifecycle import CollectionParts, update_collection
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.images import MAX_IMAGES
from apps.catalog.models import Product, ProductImage, Variant
from apps.core.events.models import Event
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.catalog import ATTACHMENT, PNG, make_custom, make_image, make_product
from tests.support.files.images import decode_image, make_animation, make_blank_png, make_plain_image
from tests.support.periodic import run_periodic_tasks
from tests.support.servers.http import Server, send_response
from tests.support.types import JsonObject

GIF_WITH_SCRIPT = make_animation(2) + b"<script>alert(1)</script>"
FOR_GOOD = "public, max-age=31536000, immutable"


@pytest.fixture
def product(in_shop: Shop) -> Product:
    return make_product(prices=("1.00", "2.00"))


def post_image(api: ApiClient, product: Product, **fields: object) -> Response:
    return api.post(f"products/{product.pk}/images.json", {"image": fields})


def store_image(api: ApiClient, product: Product, attachment: str = ATTACHMENT, **fields: object) -> str:
    """Store an image and return the path of its file."""
    response = post_image(api, product, attachment=attachment, **fields)
    assert response.status_code == 201, response.content
    return urlsplit(response.json()["image"]["src"]).path


def encode_attachment(data: bytes) -> str:
    return base64.b64encode(data).decode()


def list_stored_files(media: Path) -> list[Path]:
    return sorted(path for path in media.rglob("*") if path.is_file())


def get_image_order(api: ApiClient, product: Product) -> list[tuple[int, int]]:
    images = api.get(f"products/{product.pk}/images.json").json()["images"]
    return [(row["id"], row["position"]) for row in images]


def test_an_attachment_becomes_an_image(api: ApiClient, product: Product) -> None:
    attachment = encode_attachment(make_plain_image("JPEG", (30, 60)))

    response = post_image(api, product, attachment=attachment, filename="../My  mug №1.PNG", alt="A mug")

    image = response.json()["image"]
    assert response.status_code == 201
    assert (image["width"], image["height"], image["position"], image["alt"]) == (30, 60, 1, "A mug")
    assert image["src"].endswith("/My-mug-No1.jpg")
    assert image["admin_graphql_api_id"] == f"gid://platform/ProductImage/{image['id']}"
    assert response["X-Platform-API-Deprecated-Reason"].endswith("#product-images")
    assert Event.objects.latest("id").topic == "products/update"


@pytest.mark.usefixtures("allow_loopback")
def test_a_file_is_fetched_from_its_address(api: ApiClient, product: Product) -> None:
    with closing(Server(send_response(PNG, "Content-Type: text/html"))) as server:
        response = post_image(api, product, src=f"{server.url}pictures/Blue%20mug.png?v=1")

    assert response.status_code == 201, response.content
    assert response.json()["image"]["src"].endswith("/Blue-mug.png")


@pytest.mark.parametrize(
    "name",
    [
        *["a.png\r\nSet-Cookie: owned=1\r\n\r\n<script>", "../../../etc/passwd", "invoice\u202egnp.exe"],
        *['a"; filename="evil.html', "..\\..\\boot.ini", "a\u2066\u200f\u061c.png", "%0d%0aSet-Cookie:owned=1.png"],
    ],
)
def test_a_file_name_stays_outside_of_the_headers_and_the_path(api: ApiClient, product: Product, name: str) -> None:
    plainly = api.http.get(store_image(api, product))

    path = store_image(api, product, filename=name)

    assert re.fullmatch(r"/[\w/-]+/[\w-]+\.png", path, re.ASCII)
    served = api.http.get(path)
    assert served.status_code == 200
    del served["X-Request-ID"], plainly["X-Request-ID"]
    assert dict(served.headers) == dict(plainly.headers)


def test_an_address_that_must_not_be_reached_is_refused(api: ApiClient, product: Product) -> None:
    response = post_image(api, product, src="http://169.254.169.254/latest/meta-data/")

    assert get_errors(response) == {"image": ["Could not download image: address not allowed"]}


@pytest.mark.usefixtures("allow_loopback")
def test_an_address_without_a_picture_is_refused(api: ApiClient, product: Product) -> None:
    with closing(Server(send_response(b"gone", status="404 Not Found"))) as server:
        response = post_image(api, product, src=server.url)

    assert get_errors(response)["image"][0].startswith("Could not download image: ")


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
        ({"attachment": encode_attachment(make_plain_image("TIFF", (5, 5)))}, "image"),
        ({"attachment": "a!b"}, "attachment"),
        ({"attachment": ATTACHMENT.rstrip("=") + "A"}, "attachment"),
        ({"attachment": f"data:image/png;base64,{ATTACHMENT}"}, "attachment"),
        ({"attachment": ""}, "image"),
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

    assert list(get_errors(response)) == [field]
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
    api: ApiClient, product: Product, move: tuple[int, int], expected: list[int]
) -> None:
    moved, to = move
    ids = [make_image(product).pk for _ in range(3)]

    api.put(f"products/{product.pk}/images/{ids[moved]}.json", {"image": {"position": to}})

    assert get_image_order(api, product) == [(ids[index], number) for number, index in enumerate(expected, 1)]
    main = api.get(f"products/{product.pk}.json").json()["product"]["image"]
    assert main["id"] == ids[expected[0]]


def test_a_new_image_takes_its_place_and_a_deleted_one_leaves_none(
    api: ApiClient, product: Product, media_dir: Path, django_capture_on_commit_callbacks: Capture
) -> None:
    first, second = make_image(product), make_image(product)
    new = post_image(api, product, attachment=ATTACHMENT, position=1).json()["image"]
    assert get_image_order(api, product) == [(new["id"], 1), (first.pk, 2), (second.pk, 3)]

    with django_capture_on_commit_callbacks(execute=True):
        response = api.delete(f"products/{product.pk}/images/{first.pk}.json")

    assert response.json() == {}
    assert get_image_order(api, product) == [(new["id"], 1), (second.pk, 2)]
    assert len(list_stored_files(media_dir)) == 2


def test_deleting_the_product_deletes_the_files(
    api: ApiClient, in_shop: Shop, product: Product, media_dir: Path, django_capture_on_commit_callbacks: Capture
) -> None:
    image = make_image(product)
    Client().get(f"/content/images/{in_shop.pk}/{image.key}/mug_10x10.png")
    assert len(list_stored_files(media_dir)) == 2

    with django_capture_on_commit_callbacks(execute=True):
        api.delete(f"products/{product.pk}.json")

    assert list_stored_files(media_dir) == []


def test_the_251st_image_is_refused(api: ApiClient, in_shop: Shop, product: Product, media_dir: Path) -> None:
    ProductImage.objects.bulk_create(
        ProductImage(shop=in_shop, product=product, position=n, key=f"{n:032x}", name="a.png", width=1, height=1)
        for n in range(1, MAX_IMAGES + 1)
    )

    one_more = post_image(api, product, attachment=ATTACHMENT)
    all_at_once = api.put(f"products/{product.pk}.json", {"product": {"images": [{"id": 1}] * 251}})

    assert get_errors(one_more) == {"image": ["A product can have at most 250 images."]}
    assert all_at_once.status_code == 422
    assert list_stored_files(media_dir) == []
    assert api.get(f"products/{product.pk}/images/count.json").json() == {"count": 250}


def test_images_with_too_many_pixels_are_refused(
    api: ApiClient, media_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.catalog.api.products.MAX_MEGAPIXELS", 1)
    vast = {"attachment": encode_attachment(make_blank_png(1000, 1001))}

    refused = api.post("products.json", {"product": {"title": "Vast", "images": [vast, {"attachment": ATTACHMENT}]}})

    assert get_errors(refused) == {"images.1.image": ["exceeds the limit of 1 megapixels per request"]}
    assert list_stored_files(media_dir) == []


def test_variants_are_named_by_the_image(api: ApiClient, product: Product) -> None:
    first, second = Variant.objects.filter(product=product).order_by("id").values_list("pk", flat=True)

    image = post_image(api, product, attachment=ATTACHMENT, variant_ids=[first]).json()["image"]
    changed = api.put(f"products/{product.pk}/images/{image['id']}.json", {"image": {"variant_ids": [second]}})

    assert image["variant_ids"] == [first]
    assert changed.json()["image"]["variant_ids"] == [second]


def test_update_of_the_product_makes_the_images_those_of_the_list(api: ApiClient, product: Product) -> None:
    first, second, third = (make_image(product).pk for _ in range(3))
    rows = [{"id": third}, {"attachment": ATTACHMENT, "alt": "new"}, {"id": first, "position": 1, "alt": "one"}]

    images = api.put(f"products/{product.pk}.json", {"product": {"images": rows}}).json()["product"]["images"]

    assert [row["id"] for row in images][:2] == [first, third]
    assert [(row["alt"], row["position"]) for row in images] == [("one", 1), (None, 2), ("new", 3)]
    assert second not in [row["id"] for row in images]
    cleared = api.put(f"products/{product.pk}.json", {"product": {"images": []}}).json()["product"]
    assert (cleared["images"], cleared["image"]) == ([], None)


def test_an_image_of_another_product_does_not_exist(api: ApiClient, product: Product) -> None:
    image = make_image(make_product("Bag"))
    path = f"products/{product.pk}/images/{image.pk}.json"

    statuses = [api.get(path), api.put(path, {"image": {"alt": "x"}}), api.delete(path)]

    assert [response.status_code for response in statuses] == [404, 404, 404]


def test_pictures_are_served_for_good_and_never_run(api: ApiClient, product: Product) -> None:
    response = Client().get(store_image(api, product, attachment=encode_attachment(GIF_WITH_SCRIPT), filename="a.html"))

    assert response.status_code == 200
    assert b"script" not in response.content
    assert (response["Content-Type"], response["Cache-Control"]) == ("image/gif", FOR_GOOD)
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Content-Disposition"].startswith("inline")
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    ("suffix", "size"),
    [
        ("_20x20", (20, 10)),
        ("_x10", (20, 10)),
        ("_10x", (10, 5)),
        ("_10x10_crop_center", (10, 10)),
        ("_10x10@2x", (20, 10)),
        ("_pico", (16, 8)),
        ("_master", (40, 20)),
        ("_grande", (40, 20)),
    ],
)
def test_sizes_are_cached(
    api: ApiClient, product: Product, media_dir: Path, suffix: str, size: tuple[int, int]
) -> None:
    path = store_image(api, product, filename="mug.png").replace("mug.png", f"mug{suffix}.png")

    first = Client().get(path)
    files = list_stored_files(media_dir)
    second = Client().get(path)

    assert decode_image(first.content).size == size
    assert second.content == first.content
    assert first["Cache-Control"] == second["Cache-Control"] == FOR_GOOD
    assert list_stored_files(media_dir) == files
    assert len(files) == 2


def test_names_of_nothing_are_404(api: ApiClient, product: Product, media_dir: Path) -> None:
    path = store_image(api, product, filename="mug.png")
    names = (
        *("mug_0x0.png", "mug_9999x9999.png", "mug_huge.png", "mug_x.png", "mug.jpg", "cup.png", "cup_10x10.png"),
        *("..%2fmug.png", "mug.png%0d%0aX: y", "mug.svg", ".png", "m" * 199 + ".jpeg", "m" * 198 + "_small.jpeg"),
        "m" * 300 + ".png",
    )

    statuses = {name: Client().get(path.replace("mug.png", name)).status_code for name in names}

    assert statuses == dict.fromkeys(names, 404)
    assert len(list_stored_files(media_dir)) == 1


def test_images_can_only_be_read(api: ApiClient, product: Product) -> None:
    path = store_image(api, product)

    assert (Client().post(path).status_code, Client().head(path).status_code) == (405, 200)


def test_a_file_that_storage_lost_is_404(api: ApiClient, product: Product, media_dir: Path) -> None:
    path = store_image(api, product, filename="mug.png")
    for file in list_stored_files(media_dir):
        file.unlink()

    for name in ("mug.png", "mug_10x10.png"):
        assert Client().get(path.replace("mug.png", name)).status_code == 404


def test_sizes_of_another_name_are_404_though_the_size_is_kept(api: ApiClient, product: Product) -> None:
    path = store_image(api, product, filename="mug.png")
    Client().get(path.replace("mug.png", "mug_10x10.png"))

    assert Client().get(path.replace("mug.png", "cup_10x10.png")).status_code == 404


BY: Attrs = {"actor": "staff:17", "at": timezone.now()}


def is_stored(picture: StoredImage) -> bool:
    return default_storage.exists(image_files.get_image_path(picture.shop_id, picture.key, picture.name))


def run_cleanup_for_a_day(at: datetime) -> int:
    with all_shops_scope():
        return sum(image_cleanup.delete_orphan_images(at.replace(hour=hour)) for hour in range(24))


def get_tomorrow() -> datetime:
    return (timezone.now() + timedelta(days=2)).replace(hour=0)


def test_files_of_a_killed_process_are_deleted_after_a_day(shop: Shop, other_shop: Shop, media_dir: Path) -> None:
    before = list_stored_files(media_dir)
    with shop_scope(shop):
        own = image_files.store_uploaded_image(shop.pk, PNG, "left.png")
        theirs = image_files.store_uploaded_image(other_shop.pk, PNG, "theirs.png")
    assert Client().get(image_files.get_local_image_url(shop.pk, own.key, "left_10x10.png")).status_code == 200

    assert (run_cleanup_for_a_day(timezone.now()), is_stored(own)) == (0, True)
    assert (run_cleanup_for_a_day(get_tomorrow()), is_stored(own), is_stored(theirs)) == (2, False, False)
    assert list_stored_files(media_dir) == before
    assert run_cleanup_for_a_day(get_tomorrow()) == 0


def test_files_that_rows_refer_to_stay_however_old_they_are(in_shop: Shop, media_dir: Path) -> None:
    product, collection = make_product(), make_custom()
    images = [make_image(product) for _ in range(30)]
    banner = image_files.store_uploaded_image(in_shop.pk, PNG, "banner.png")
    update_collection(collection, {}, CollectionParts(image=banner), **BY)
    stored_images = [StoredImage(in_shop.pk, row.key, row.name, 1, 1) for row in images]
    Client().get(image_files.get_local_image_url(in_shop.pk, images[0].key, "mug_10x10.png"))
    before = list_stored_files(media_dir)
    for path in before:
        os.utime(path, (0, 0))

    assert run_cleanup_for_a_day(get_tomorrow()) == 0
    assert all(map(is_stored, [*stored_images, banner]))
    assert list_stored_files(media_dir) == before


def test_half_deleted_and_half_stored_files_are_deleted_too(in_shop: Shop, media_dir: Path) -> None:
    half_deleted = image_files.store_uploaded_image(in_shop.pk, PNG, "a.png")
    started = image_files.store_uploaded_image(in_shop.pk, PNG, "b.png")
    Client().get(image_files.get_local_image_url(in_shop.pk, half_deleted.key, "a_10x10.png"))
    for picture in (half_deleted, started):
        (media_dir / image_files.get_image_path(in_shop.pk, picture.key, picture.name)).unlink()

    assert (run_cleanup_for_a_day(timezone.now()), run_cleanup_for_a_day(get_tomorrow())) == (0, 2)
    for picture in (half_deleted, started):
        assert not (media_dir / image_files.get_image_folder(in_shop.pk, picture.key)).exists()


def test_the_hourly_round_clears_its_own_keys_only(shop: Shop, media_dir: Path) -> None:
    five, also_five, six = [StoredImage(shop.pk, prefix * 16, "a.png", 1, 1) for prefix in ("05", "1d", "06")]
    for picture in (five, also_five, six):
        default_storage.save(image_files.get_image_path(shop.pk, picture.key, picture.name), ContentFile(PNG))

    # At 5:00 the cleanup handles the key prefixes 0x05 and 0x1d: 0x1d is 29, and 29 modulo 24 is 5.
    run_periodic_tasks(Every.HOUR, get_tomorrow().replace(hour=5))

    assert (is_stored(five), is_stored(also_five), is_stored(six)) == (False, False, True)


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_pictures_in_a_bucket_are_served_sized_and_cleared(in_shop: Shop, bucket: None) -> None:
    row = make_image(make_product())
    unused_image = image_files.store_uploaded_image(in_shop.pk, PNG, "left.png")
    live = StoredImage(in_shop.pk, row.key, row.name, 1, 1)
    address = image_files.get_local_image_url(in_shop.pk, row.key, "mug_10x10.png")

    first, second = Client().get(address), Client().get(address)
    missing = Client().get(image_files.get_local_image_url(in_shop.pk, row.key, "cup_10x10.png"))

    assert (first.status_code, missing.status_code) == (200, 404)
    assert first.content == second.content
    assert run_cleanup_for_a_day(get_tomorrow()) == 1
    assert (is_stored(live), is_stored(unused_image)) == (True, False)
    gone = image_files.get_local_image_url(in_shop.pk, unused_image.key, "left_10x10.png")
    assert Client().get(gone).status_code == 404
