"""Tests that image files without a row are deleted after a day, and that no other files are deleted."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from apps.catalog.domain import image_files, orphan_images
from apps.catalog.domain.collections.lifecycle import CollectionParts, update_collection
from apps.catalog.domain.image_files import StoredImage
from apps.ground.tenancy import all_shops_scope, shop_scope
from apps.jobs.domain import housekeeping
from apps.shops.models import Shop
from tests.catalog.factories import PNG, make_custom, make_image, make_product

BY: dict[str, Any] = {"actor": "staff:17", "at": timezone.now()}


def is_stored(picture: StoredImage) -> bool:
    return default_storage.exists(image_files.get_image_path(picture.shop_id, picture.key, picture.name))


def run_cleanup_for_a_day(at: datetime) -> int:
    """Run the hourly image cleanup for each hour of a day."""
    with all_shops_scope():
        return sum(orphan_images.delete_orphan_images(at.replace(hour=hour)) for hour in range(24))


def get_tomorrow() -> datetime:
    return (timezone.now() + timedelta(days=2)).replace(hour=0)


def test_what_a_killed_process_left_goes_after_a_day(shop: Shop, other_shop: Shop, media_dir: Path) -> None:
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


def test_what_rows_name_stays_however_old_it_is(shop: Shop, media_dir: Path) -> None:
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
    housekeeping.run_hourly_tasks(get_tomorrow().replace(hour=5))

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
