"""The pictures that staff keep for descriptions and articles.

A picture is stored under the name it had; where another has that name already, with a part of its digest behind it. The
same picture under the same name is there once. Texts name a picture by its address alone, so one that is deleted leaves
a gap in those that show it.
"""

from datetime import datetime
from pathlib import PurePath

from django.db import transaction

from apps.content.domain import pictures
from apps.content.models import StoreFile
from apps.events.domain.recording import record_event
from apps.ground.tenancy import current_shop
from apps.media.names import parse_transformation

SHOWN = 60


def find(term: str) -> list[StoreFile]:
    """The newest files whose name begins with a term."""
    return list(StoreFile.objects.filter(name__istartswith=term).select_related("content").order_by("-id")[:SHOWN])


def keep(data: bytes, name: str, *, actor: str, at: datetime) -> StoreFile:
    """Store a picture under a safe name; the one that is there already, if it is the same.

    Raises:
        PictureRefused: It is no picture that is kept.
        StorageFailed: It could not be written.
    """
    picture = pictures.store_picture(data, name)
    path = PurePath(picture.name)
    # A name such as "hat_large.png" asks for a smaller version of "hat.png".
    is_free = parse_transformation(picture.name) is None
    of_its_own = f"{path.stem[:200]}-{picture.content.sha256[:12]}{path.suffix}"
    attrs = {"content": picture.content, "width": picture.width, "height": picture.height}
    for candidate in (picture.name, of_its_own) if is_free else (of_its_own,):
        with transaction.atomic():
            file, is_new = StoreFile.objects.get_or_create(shop=current_shop(), name=candidate, defaults=attrs)
            if is_new:
                record_event("files/create", file, actor=actor, at=at)
        if file.content_id == picture.content.pk:
            break
    return file


@transaction.atomic
def delete(file: StoreFile, *, actor: str, at: datetime) -> None:
    """Let go of a file; its bytes go where nothing else uses them."""
    record_event("files/delete", file, actor=actor, at=at)
    file.delete()


def named(name: str) -> StoreFile | None:
    """The file of this name, or the one of which the name asks for a smaller version."""
    files = StoreFile.objects.select_related("content")
    file = files.filter(name=name).first()
    parsed = None if file else parse_transformation(name)
    return files.filter(name=parsed[0]).first() if parsed else file
