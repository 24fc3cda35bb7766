"""The pictures of articles, kept as contents, and the renditions that file names ask for.

Rule: decisions, Content (Articles); ``apps.media`` decides what a picture is.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.content.domain import contents
from apps.content.models import Article, FileContent
from apps.events.domain.recording import record_event
from apps.media import intake, renditions
from apps.media.intake import PictureRefused
from apps.media.metadata import without_metadata
from apps.media.names import Transformation
from apps.media.pictures import ImageFormat, ImageRefused
from apps.media.storage import content_storage
from apps.media.transform import transform

logger = logging.getLogger(__name__)

MAX_URL = 4096


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that is stored and may be referred to."""

    content: FileContent
    name: str
    width: int
    height: int


def take_picture(given: Mapping[str, Any]) -> Picture | None:
    """Store the picture of a body's ``image``; None where it brings none.

    May download, so it is called before the transaction opens.

    Raises:
        PictureRefused: It brings two, or one that is not usable.
    """
    attachment, src, filename = given.get("attachment"), given.get("src"), given.get("filename")
    if attachment is None and src is None:
        return None
    name = filename if isinstance(filename, str) else None
    try:
        return _stored(intake.from_body(attachment=attachment, src=src, filename=name, longest_url=MAX_URL))
    except PictureRefused as refusal:
        # Here the members of the image have no place of their own among the errors.
        raise PictureRefused(refusal.sentence.removeprefix("image ")) from refusal


def store_picture(data: bytes, name: str) -> Picture:
    """Store a picture under a safe name.

    Raises:
        PictureRefused: The content is no image that is kept.
    """
    return _stored(intake.from_upload(data, name))


def _stored(taken: intake.TakenPicture) -> Picture:
    return Picture(contents.store(taken.data), taken.name, taken.width, taken.height)


def format_of(name: str) -> ImageFormat:
    """The format that a stored picture's name tells."""
    suffix = name.rpartition(".")[2].lower()
    return ImageFormat.JPEG if suffix in {"jpg", "jpeg"} else ImageFormat(suffix)


def rendition(content: FileContent, wish: Transformation) -> bytes:
    """A stored picture made smaller; made on the first read and kept."""
    return renditions.rendition(
        content_storage(), content.renditions, str(wish), lambda: transform(contents.read(content), wish)
    )


def clean_articles() -> int:
    """Take metadata out of the pictures that the current shop's articles have already; returns how many told more."""
    cleaned = 0
    rows = Article.objects.exclude(image=None).order_by("pk").select_related("image").only("image", "image_name")
    for article in rows:
        if article.image is None:
            continue
        data = contents.read(article.image)
        try:
            if without_metadata(data) == data:
                continue
            picture = store_picture(data, article.image_name)
        except ImageRefused as refusal:
            logger.warning("Picture %s %s", article.image.name, refusal)
            continue
        size = {"image_width": picture.width, "image_height": picture.height}
        with transaction.atomic():
            if Article.objects.filter(pk=article.pk, image=article.image).update(image=picture.content, **size):
                row = Article.objects.get(pk=article.pk)
                record_event("articles/update", row, actor="system", at=timezone.now(), message="Cleaned the picture")
                cleaned += 1
    return cleaned
