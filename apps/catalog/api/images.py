"""REST resources for images and their upload."""

from collections.abc import Mapping
from typing import TypeVar

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
    takes_uploads = True

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Handle the request, then delete the stored files that no row refers to."""
        self.stored_images: list[StoredImage] = []
        response = super().dispatch(request, *args, **kwargs)
        failed = response.status_code >= 400
        image_files.discard_images(image for image in self.stored_images if failed or not image.is_referenced)
        return response

    def store_image(self, entry: RequestData, *, seconds: float = 10) -> StoredImage:
        """Store the image of an object in the request body. Raise ``UploadRefused`` if that is not possible."""
        image = image_files.store_image_from_body(
            self.shop.pk,
            attachment=entry.get("attachment"),
            src=entry.get("src"),
            filename=entry.get("filename"),
            seconds=seconds,
        )
        self.stored_images.append(image)
        return image


class ProductImageViewSet(ImageUploadViewSet[ProductImage]):
    scope = "products"
    model = ProductImage
    serializer_class = ImageSerializer
    singular = "image"
    locks_in_service = True
    order = ("position", "id")
    version_columns = ("product__version",)
    parents = {"product_id": Product}
    deprecated = dict.fromkeys(("list", "create", "update", "destroy"), Deprecation("product-images", since="2025-01"))
    image: StoredImage | None = None

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return get_image_schemas(version)

    def prepare_write(self) -> None:
        if self.request.method == "POST":
            self.image = self.store_image(self.unwrap_body("image"))

    def get_validated_attributes(self, instance: ProductImage | None = None) -> Attrs:
        return {"wanted": parse_image(self.version, self.unwrap_body("image"), self.image)}

    def perform_create(self, attrs: Attrs) -> ProductImage:
        return images.add_image(self.kwargs["product_id"], attrs["wanted"], actor=self.actor, at=self.at)

    def perform_update(self, instance: ProductImage, attrs: Attrs) -> None:
        images.update_image(instance, attrs["wanted"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: ProductImage) -> None:
        images.delete_image(instance, actor=self.actor, at=self.at)
