"""REST resources for images and their upload."""

from collections.abc import Mapping
from typing import TypeGuard, TypeVar

from django.http import HttpRequest, HttpResponseBase

from apps.catalog.api.extra_schemas import get_image_schemas
from apps.catalog.api.parsing import parse_image
from apps.catalog.api.serializers import ImageSerializer
from apps.catalog.domain import image_files, images
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.models import Product, ProductImage
from apps.core.rest.requests.deprecations import Deprecation
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, RequestData, Schema

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


_DEPRECATED = Deprecation("product-images", since="2025-01")


class ProductImageViewSet(ImageUploadViewSet[ProductImage]):
    """Views for ``/products/{product_id}/images``. Images are sorted by position."""

    scope = "products"
    model = ProductImage
    serializer_class = ImageSerializer
    singular = "image"
    plural = "images"
    order = ("position", "id")
    version_columns = ("product__version",)
    parents = {"product_id": Product}
    deprecated = dict.fromkeys(("list", "create", "update", "destroy"), _DEPRECATED)

    image: StoredImage | None = None

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        """Return the schemas of an image's file, variants and metafields."""
        return get_image_schemas(version)

    def prepare_write(self) -> None:
        """Store the file of a new image before the transaction starts."""
        if self.request.method == "POST":
            self.image = self.store_image(self.unwrap_body("image"))

    def get_validated_attributes(self, instance: ProductImage | None = None) -> Attrs:
        """Validate the body and return the image input under the key ``wanted``."""
        return {"wanted": parse_image(self.version, self.unwrap_body("image"), self.image)}

    def perform_create(self, attrs: Attrs) -> ProductImage:
        """Add the image at the requested position."""
        return images.add_image(self.kwargs["product_id"], attrs["wanted"], actor=self.actor, at=self.at)

    def lock_instance(self, instance: ProductImage) -> None:
        """Do nothing. The service locks the product, and parsing the body does not need the current image."""

    def perform_update(self, instance: ProductImage, attrs: Attrs) -> None:
        """Update the image, and move the other images if its position changes."""
        images.update_image(instance, attrs["wanted"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: ProductImage) -> None:
        """Delete the image and close the gap in the positions."""
        images.delete_image(instance, actor=self.actor, at=self.at)


def has_image(entry: object) -> TypeGuard[RequestData]:
    """Return True if an object in a request body contains an image."""
    return isinstance(entry, Mapping) and (entry.get("attachment") is not None or entry.get("src") is not None)
