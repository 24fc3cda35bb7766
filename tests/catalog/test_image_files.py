"""Tests of stored product images: serving, sizes and orphaned files."""

import base64
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from apps.catalog.domain import image_cleanup, image_files
from apps.catalog.domain.collections.lifecycle import CollectionParts, update_collection
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.models import Product
from apps.core.jobs.periodic_tasks import hourly_tasks, run_periodic_tasks
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from tests.support.api_client import ApiClient, Response
from tests.support.factories.catalog import ATTACHMENT, PNG, make_custom, make_image, make_product
from tests.support.files.images import decode_image, make_animation

GIF_WITH_SCRIPT = make_animation(2) + b"<script>alert(1)</script>"


@pytest.fixture
def product(shop: Shop) -> Product:
    """Create a product without images."""
    with shop_scope(shop):
        return make_product()


def post_image(api: ApiClient, product: Product, **fields: object) -> Response:
    return api.post(f"products/{product.pk}/images.json", {"image": fields})


def list_stored_files(media: Path) -> list[Path]:
    return sorted(path for path in media.rglob("*") if path.is_file())


def get_path(src: str) -> str:
    return src.removeprefix("http://127.0.0.1:8000")


def fetch_image(path: str, method: str = "get") -> tuple[Any, bytes]:
    response = getattr(Client(), method)(path)
    return response, response.content


def test_pictures_are_served_for_good_and_never_run(api: ApiClient, product: Product) -> None:
    image = post_image(api, product, attachment=base64.b64encode(GIF_WITH_SCRIPT).decode(), filename="a.html").json()[
        "image"
    ]

    response, body = fetch_image(get_path(image["src"]))

    assert response.status_code == 200
    assert b"script" not in body
    assert response["Content-Type"] == "image/gif"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
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
    src = post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"]
    path = get_path(src).replace("mug.png", f"mug{suffix}.png")

    first, body = fetch_image(path)
    files = list_stored_files(media_dir)
    second, second_response = fetch_image(path)

    assert decode_image(body).size == size
    assert second_response == body
    assert first["Cache-Control"] == second["Cache-Control"] == "public, max-age=31536000, immutable"
    assert list_stored_files(media_dir) == files
    assert len(files) == 2


@pytest.mark.parametrize(
    "name",
    [
        "mug_0x0.png",
        "mug_9999x9999.png",
        "mug_huge.png",
        "mug_x.png",
        "mug.jpg",
        "cup.png",
        "cup_10x10.png",
        "..%2fmug.png",
        "mug.png%0d%0aX: y",
        "mug.svg",
        ".png",
        "m" * 199 + ".jpeg",
        "m" * 198 + "_small.jpeg",
        "m" * 300 + ".png",
    ],
)
def test_names_of_nothing_are_404(api: ApiClient, product: Product, media_dir: Path, name: str) -> None:
    src = post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"]

    response, _ = fetch_image(get_path(src).replace("mug.png", name))

    assert response.status_code == 404
    assert len(list_stored_files(media_dir)) == 1


def test_images_can_only_be_read(api: ApiClient, product: Product) -> None:
    src = post_image(api, product, attachment=ATTACHMENT).json()["image"]["src"]

    assert fetch_image(get_path(src), "post")[0].status_code == 405
    assert fetch_image(get_path(src), "head")[0].status_code == 200


def test_a_file_that_storage_lost_is_404(api: ApiClient, product: Product, media_dir: Path) -> None:
    path = get_path(post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"])
    for file in list_stored_files(media_dir):
        file.unlink()

    assert fetch_image(path)[0].status_code == 404
    assert fetch_image(path.replace("mug.png", "mug_10x10.png"))[0].status_code == 404


def test_sizes_of_another_name_are_404_though_the_size_is_kept(api: ApiClient, product: Product) -> None:
    path = get_path(post_image(api, product, attachment=ATTACHMENT, filename="mug.png").json()["image"]["src"])
    fetch_image(path.replace("mug.png", "mug_10x10.png"))

    assert fetch_image(path.replace("mug.png", "cup_10x10.png"))[0].status_code == 404


BY: Attrs = {"actor": "staff:17", "at": timezone.now()}


def is_stored(picture: StoredImage) -> bool:
    return default_storage.exists(image_files.get_image_path(picture.shop_id, picture.key, picture.name))


def run_cleanup_for_a_day(at: datetime) -> int:
    """Run the hourly image cleanup for each hour of a day."""
    with all_shops_scope():
        return sum(image_cleanup.delete_orphan_images(at.replace(hour=hour)) for hour in range(24))


def get_tomorrow() -> datetime:
    return (timezone.now() + timedelta(days=2)).replace(hour=0)


def test_files_of_a_killed_process_are_deleted_after_a_day(shop: Shop, other_shop: Shop, media_dir: Path) -> None:
    with shop_scope(shop):
        own_image, theirs = (
            image_files.store_uploaded_image(shop.pk, PNG, "left.png"),
            image_files.store_uploaded_image(other_shop.pk, PNG, "theirs.png"),
        )
    assert (
        Client().get(image_files.get_local_image_url(own_image.shop_id, own_image.key, "left_10x10.png")).status_code
        == 200
    )

    early = run_cleanup_for_a_day(timezone.now())
    assert (early, is_stored(own_image)) == (0, True)
    cleared = run_cleanup_for_a_day(get_tomorrow())

    assert (cleared, is_stored(own_image), is_stored(theirs)) == (2, False, False)
    assert [path for path in media_dir.rglob("*") if path.is_file()] == []
    assert run_cleanup_for_a_day(get_tomorrow()) == 0


def test_files_that_rows_refer_to_stay_however_old_they_are(shop: Shop, media_dir: Path) -> None:
    with shop_scope(shop):
        product, collection = make_product(), make_custom()
        images = [make_image(product) for _ in range(30)]
        banner = image_files.store_uploaded_image(shop.pk, PNG, "banner.png")
        update_collection(collection, {}, CollectionParts(image=banner), **BY)
        stored_images = [StoredImage(shop.pk, row.key, row.name, 1, 1) for row in images]
        Client().get(image_files.get_local_image_url(shop.pk, images[0].key, "mug_10x10.png"))
    before = sorted(path for path in media_dir.rglob("*") if path.is_file())
    for path in before:
        os.utime(path, (0, 0))

    assert run_cleanup_for_a_day(get_tomorrow()) == 0
    assert all(map(is_stored, [*stored_images, banner]))
    assert sorted(path for path in media_dir.rglob("*") if path.is_file()) == before


def test_half_deleted_and_half_stored_files_are_deleted_too(shop: Shop, media_dir: Path) -> None:
    with shop_scope(shop):
        half_deleted = image_files.store_uploaded_image(shop.pk, PNG, "a.png")
        started = image_files.store_uploaded_image(shop.pk, PNG, "b.png")
    Client().get(image_files.get_local_image_url(shop.pk, half_deleted.key, "a_10x10.png"))
    (media_dir / image_files.get_image_path(shop.pk, half_deleted.key, "a.png")).unlink()
    (media_dir / image_files.get_image_path(shop.pk, started.key, "b.png")).unlink()

    assert run_cleanup_for_a_day(timezone.now()) == 0
    assert run_cleanup_for_a_day(get_tomorrow()) == 2
    assert not (media_dir / image_files.get_image_folder(shop.pk, half_deleted.key)).exists()
    assert not (media_dir / image_files.get_image_folder(shop.pk, started.key)).exists()


def test_the_hourly_round_clears_its_own_keys_only(shop: Shop, media_dir: Path) -> None:
    five, also_five, six = [StoredImage(shop.pk, prefix * 16, "a.png", 1, 1) for prefix in ("05", "1d", "06")]
    for picture in (five, also_five, six):
        default_storage.save(image_files.get_image_path(shop.pk, picture.key, picture.name), ContentFile(PNG))

    # At 5:00 the cleanup handles the key prefixes 0x05 and 0x1d: 0x1d is 29, and 29 modulo 24 is 5.
    run_periodic_tasks(hourly_tasks, get_tomorrow().replace(hour=5))

    assert (is_stored(five), is_stored(also_five), is_stored(six)) == (False, False, True)


@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_pictures_in_a_bucket_are_served_sized_and_cleared(shop: Shop, bucket: None) -> None:
    with shop_scope(shop):
        row = make_image(make_product())
        unused_image = image_files.store_uploaded_image(shop.pk, PNG, "left.png")
    live = StoredImage(shop.pk, row.key, row.name, 1, 1)
    address = image_files.get_local_image_url(shop.pk, row.key, "mug_10x10.png")

    first, second = Client().get(address), Client().get(address)
    missing = Client().get(image_files.get_local_image_url(shop.pk, row.key, "cup_10x10.png"))

    assert (first.status_code, missing.status_code) == (200, 404)
    assert first.content == second.content
    assert run_cleanup_for_a_day(get_tomorrow()) == 1
    assert (is_stored(live), is_stored(unused_image)) == (True, False)
    assert Client().get(image_files.get_local_image_url(shop.pk, unused_image.key, "left_10x10.png")).status_code == 404
