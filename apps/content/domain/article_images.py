"""Store article images and their resized versions.

``apps.core.media`` decides which images are valid.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.content.domain import blob_store
from apps.content.models import Article, FileContent
from apps.core.events.recording import record_event
from apps.core.media import transform, uploads
from apps.core.media.image_validation import ImageFormat, ImageRefused
from apps.core.media.metadata import METADATA_REMOVED, strip_metadata
from apps.core.media.names import Transformation
from apps.core.media.storage import get_content_storage
from apps.core.media.transform import transform_image
from apps.core.media.uploads import UploadRefused

logger = logging.getLogger(__name__)

MAX_URL = 4096


@dataclass(frozen=True, slots=True)
class ArticleImage:
    content: FileContent
    name: str
    width: int
    height: int


def store_article_image_from_body(values: Mapping[str, Any]) -> ArticleImage | None:
    """Store the image from a request body, if it has one. Call this before the transaction, as it may download."""
    attachment, src, filename = values.get("attachment"), values.get("src"), values.get("filename")
    if attachment is None and src is None:
        return None
    name = filename if isinstance(filename, str) else None
    try:
        return _store_image(
            uploads.load_image_from_body(attachment=attachment, src=src, filename=name, longest_url=MAX_URL)
        )
    except UploadRefused as error:
        # The error key is already "image", so remove this word from the message.
        raise UploadRefused(error.sentence.removeprefix("image ")) from error


def store_article_image(data: bytes, name: str) -> ArticleImage:
    return _store_image(uploads.load_uploaded_image(data, name))


def _store_image(image: uploads.ValidatedImage) -> ArticleImage:
    return ArticleImage(blob_store.store_blob(image.data), image.name, image.width, image.height)


def get_image_format(name: str) -> ImageFormat:
    suffix = name.rpartition(".")[2].lower()
    return ImageFormat.JPEG if suffix in {"jpg", "jpeg"} else ImageFormat(suffix)


def get_image_rendition(content: FileContent, transformation: Transformation) -> bytes:
    """Return a resized version of a stored image, creating it on the first request."""
    return transform.get_or_create_rendition(
        get_content_storage(),
        content.renditions,
        str(transformation),
        lambda: transform_image(blob_store.read_blob(content), transformation),
    )


def strip_article_images() -> int:
    """Strip metadata from the article images of the current shop. Return the number of changed images."""
    cleaned = 0
    rows = Article.objects.exclude(image=None).order_by("pk").select_related("image").only("image", "image_name")
    for article in rows:
        if article.image is None:
            continue
        data = blob_store.read_blob(article.image)
        try:
            if strip_metadata(data) == data:
                continue
            image = store_article_image(data, article.image_name)
        except ImageRefused as error:
            logger.warning("Image %s %s", article.image.name, error)
            continue
        size = {"image_width": image.width, "image_height": image.height}
        with transaction.atomic():
            if Article.objects.filter(pk=article.pk, image=article.image).update(image=image.content, **size):
                row = Article.objects.get(pk=article.pk)
                record_event("articles/update", row, actor="system", at=timezone.now(), message=METADATA_REMOVED)
                cleaned += 1
    return cleaned
