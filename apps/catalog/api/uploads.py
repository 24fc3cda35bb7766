"""Store images from request bodies before the transaction, and delete the files if the request fails."""

from collections.abc import Mapping
from typing import TypeGuard, TypeVar

from django.http import HttpRequest, HttpResponseBase

from apps.api.types import RequestData
from apps.api.viewsets import ShopViewSet
from apps.catalog.domain import image_files
from apps.catalog.domain.image_files import StoredImage
from apps.ground.base_models import ShopOwned

M = TypeVar("M", bound=ShopOwned)


class ImageUploadViewSet(ShopViewSet[M]):
    """Base class for views that accept images in request bodies, as attachments or URLs."""

    takes_uploads = True

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Handle the request, then delete the stored files that no row refers to."""
        self.stored_images: list[StoredImage] = []
        response = super().dispatch(request, *args, **kwargs)
        failed = response.status_code >= 400
        image_files.discard_images(image for image in self.stored_images if failed or not image.is_referenced)
        return response

    def store_image(self, entry: RequestData, *, seconds: float = 10) -> StoredImage:
        """Store the image of an object in the request body.

        Raises:
            UploadRefused: The image cannot be downloaded, read or stored.
        """
        image = image_files.store_image_from_body(
            self.shop.pk,
            attachment=entry.get("attachment"),
            src=entry.get("src"),
            filename=entry.get("filename"),
            seconds=seconds,
        )
        self.stored_images.append(image)
        return image


def has_image(entry: object) -> TypeGuard[RequestData]:
    """Return True if an object in a request body contains an image."""
    return isinstance(entry, Mapping) and (entry.get("attachment") is not None or entry.get("src") is not None)
