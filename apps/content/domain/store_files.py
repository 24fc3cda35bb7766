"""Store the images that staff upload for descriptions and articles.

An image keeps its file name. If a different image already has that name, part of the digest is appended. The same image
is stored only once per name. Descriptions and articles refer to an image only by URL, so they show a broken image after
the image is deleted.
"""

from datetime import datetime
from pathlib import PurePath

from django.db import transaction

from apps.content.domain import article_images
from apps.content.models import StoreFile
from apps.core.events.recording import record_event
from apps.core.media.names import parse_transformation
from apps.core.tenancy.scope import get_current_shop

MAX_LISTED_FILES = 60


def search_store_files(term: str) -> list[StoreFile]:
    return list(
        StoreFile.objects.filter(name__istartswith=term).select_related("content").order_by("-id")[:MAX_LISTED_FILES]
    )


def save_store_file(data: bytes, name: str, *, actor: str, at: datetime) -> StoreFile:
    """Store an image under a sanitized name. Return the existing file if it has the same name and content."""
    image = article_images.store_article_image(data, name)
    path = PurePath(image.name)
    # A name such as "hat_large.png" cannot be used, because it requests a resized version of "hat.png".
    is_plain_name = parse_transformation(image.name) is None
    unique_name = f"{path.stem[:200]}-{image.content.sha256[:12]}{path.suffix}"
    attrs = {"content": image.content, "width": image.width, "height": image.height}
    for candidate in (image.name, unique_name) if is_plain_name else (unique_name,):
        with transaction.atomic():
            file, is_new = StoreFile.objects.get_or_create(shop=get_current_shop(), name=candidate, defaults=attrs)
            if is_new:
                record_event("files/create", file, actor=actor, at=at)
        if file.content_id == image.content.pk:
            break
    return file


@transaction.atomic
def delete_store_file(file: StoreFile, *, actor: str, at: datetime) -> None:
    """Delete a file. The cleanup deletes the blob later if no other row uses it."""
    record_event("files/delete", file, actor=actor, at=at)
    file.delete()


def find_store_file(name: str) -> StoreFile | None:
    """Return the file with this name, or the original if the name requests a resized version."""
    files = StoreFile.objects.select_related("content")
    file = files.filter(name=name).first()
    parsed = None if file else parse_transformation(name)
    return files.filter(name=parsed[0]).first() if parsed else file
