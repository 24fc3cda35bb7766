"""Remove metadata from existing images of products and collections."""

import logging

from django.db import transaction
from django.utils import timezone

from apps.catalog.domain import image_files
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.locks import lock_product
from apps.catalog.domain.variants import touch_product
from apps.catalog.models import Collection, ProductImage
from apps.events.domain.recording import record_event
from apps.ground.tenancy import get_current_shop
from apps.media.image_validation import ImageRefused
from apps.media.storage import StorageFailed

logger = logging.getLogger(__name__)
ACTOR = "system"


def strip_product_images() -> int:
    """Strip metadata from the product images of the current shop and return the number of changed images."""
    cleaned = 0
    for pk, product_id, key, name in ProductImage.objects.order_by("pk").values_list("pk", "product_id", "key", "name"):
        image = _store_stripped_copy(key, name)
        if image is None:
            continue
        with transaction.atomic():
            product = lock_product(product_id)
            images = ProductImage.objects.filter(pk=pk, key=key)
            image.is_referenced = bool(images.update(key=image.key, width=image.width, height=image.height))
            if image.is_referenced:
                touch_product(product)
                record_event("products/update", product, actor=ACTOR, at=timezone.now(), message="Removed metadata")
        cleaned += _delete_unused_file(image, key)
    return cleaned


def strip_collection_images() -> int:
    """Strip metadata from the collection images of the current shop and return the number of changed images."""
    cleaned = 0
    rows = Collection.objects.exclude(image_key="").order_by("pk")
    for pk, key, name in rows.values_list("pk", "image_key", "image_name"):
        image = _store_stripped_copy(key, name)
        if image is None:
            continue
        with transaction.atomic():
            values = {"image_key": image.key, "image_width": image.width, "image_height": image.height}
            image.is_referenced = bool(Collection.objects.filter(pk=pk, image_key=key).update(**values))
            if image.is_referenced:
                row = Collection.objects.get(pk=pk)
                record_event("collections/update", row, actor=ACTOR, at=timezone.now(), message="Removed metadata")
        cleaned += _delete_unused_file(image, key)
    return cleaned


def _store_stripped_copy(key: str, name: str) -> StoredImage | None:
    shop_id = get_current_shop().pk
    try:
        return image_files.store_without_metadata(shop_id, key, name)
    except (ImageRefused, StorageFailed) as error:
        # Skip a missing or damaged file and continue with the others.
        logger.warning("Image %s %s", image_files.get_image_path(shop_id, key, name), error)
        return None


def _delete_unused_file(image: StoredImage, before: str) -> bool:
    """Delete the original if the row refers to the copy, or else delete the copy.

    If the image was changed concurrently, the row does not refer to the copy.

    Returns:
        True if the original was deleted.
    """
    image_files.delete_image_files(image.shop_id, before if image.is_referenced else image.key)
    return image.is_referenced
