"""Taking metadata out of the pictures that products and collections have already."""

import logging

from django.db import transaction
from django.utils import timezone

from apps.catalog.domain import pictures
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.pictures import Picture
from apps.catalog.domain.variants import touch
from apps.catalog.models import Collection, ProductImage
from apps.events.domain.recording import record_event
from apps.ground.tenancy import current_shop
from apps.media.pictures import ImageRefused
from apps.media.storage import StorageFailed

logger = logging.getLogger(__name__)
ACTOR = "system"


def clean_products() -> int:
    """Clean the pictures of the current shop's products; returns how many were."""
    cleaned = 0
    for pk, product_id, key, name in ProductImage.objects.order_by("pk").values_list("pk", "product_id", "key", "name"):
        picture = _cleaned(key, name)
        if picture is None:
            continue
        with transaction.atomic():
            product = lock_product(product_id)
            images = ProductImage.objects.filter(pk=pk, key=key)
            picture.kept = bool(images.update(key=picture.key, width=picture.width, height=picture.height))
            if picture.kept:
                touch(product)
                record_event("products/update", product, actor=ACTOR, at=timezone.now(), message="Cleaned a picture")
        cleaned += _settled(picture, key)
    return cleaned


def clean_collections() -> int:
    """Clean the pictures of the current shop's collections; returns how many were."""
    cleaned = 0
    rows = Collection.objects.exclude(image_key="").order_by("pk")
    for pk, key, name in rows.values_list("pk", "image_key", "image_name"):
        picture = _cleaned(key, name)
        if picture is None:
            continue
        with transaction.atomic():
            values = {"image_key": picture.key, "image_width": picture.width, "image_height": picture.height}
            picture.kept = bool(Collection.objects.filter(pk=pk, image_key=key).update(**values))
            if picture.kept:
                row = Collection.objects.get(pk=pk)
                record_event("collections/update", row, actor=ACTOR, at=timezone.now(), message="Cleaned the picture")
        cleaned += _settled(picture, key)
    return cleaned


def _cleaned(key: str, name: str) -> Picture | None:
    shop_id = current_shop().pk
    try:
        return pictures.cleaned(shop_id, key, name)
    except (ImageRefused, StorageFailed) as refusal:
        # A lost or damaged picture keeps no other from its turn.
        logger.warning("Picture %s %s", pictures.path_of(shop_id, key, name), refusal)
        return None


def _settled(picture: Picture, before: str) -> bool:
    """Delete the file that is not used any more: the former one, or the new one where somebody was quicker."""
    pictures.delete_files(picture.shop_id, before if picture.kept else picture.key)
    return picture.kept
