"""Pictures in bodies: taken in before the transaction, and discarded where nothing came of them."""

from collections.abc import Mapping
from typing import TypeGuard, TypeVar

from django.http import HttpRequest, HttpResponseBase

from apps.api.shapes import Data
from apps.api.viewsets import ShopViewSet
from apps.catalog.domain import pictures
from apps.catalog.domain.pictures import Picture
from apps.ground.rows import ShopOwned

M = TypeVar("M", bound=ShopOwned)


class TakesPictures(ShopViewSet[M]):
    """The routes of a resource whose bodies may hold pictures, attached or by address."""

    takes_uploads = True

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer, then delete the files that no row came to refer to."""
        self.taken: list[Picture] = []
        response = super().dispatch(request, *args, **kwargs)
        failed = response.status_code >= 400
        pictures.discard(picture for picture in self.taken if failed or not picture.kept)
        return response

    def take(self, entry: Data, *, seconds: float = 10) -> Picture:
        """Store the picture of an entry.

        Raises:
            PictureRefused: It cannot be had, read or kept.
        """
        picture = pictures.take(
            self.shop.pk,
            attachment=entry.get("attachment"),
            src=entry.get("src"),
            filename=entry.get("filename"),
            seconds=seconds,
        )
        self.taken.append(picture)
        return picture


def has_picture(entry: object) -> TypeGuard[Data]:
    """Whether an entry brings a picture along."""
    return isinstance(entry, Mapping) and (entry.get("attachment") is not None or entry.get("src") is not None)
