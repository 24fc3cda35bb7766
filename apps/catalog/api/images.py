"""Images of products over REST."""

from collections.abc import Mapping

from apps.api.requests.deprecations import Deprecation
from apps.api.shapes import Attrs, Schema
from apps.catalog.api.bodies import read_image
from apps.catalog.api.further import further_of_image
from apps.catalog.api.resources import ImageSerializer
from apps.catalog.api.uploads import TakesPictures
from apps.catalog.domain import images
from apps.catalog.domain.pictures import Picture
from apps.catalog.models import Product, ProductImage

_DEPRECATED = Deprecation("product-images", since="2025-01")


class ProductImageViewSet(TakesPictures[ProductImage]):
    """``/products/{product_id}/images``: in the order in which they are shown."""

    scope = "products"
    model = ProductImage
    serializer_class = ImageSerializer
    singular = "image"
    plural = "images"
    order = ("position", "id")
    versions = ("product__version",)
    parents = {"product_id": Product}
    deprecated = dict.fromkeys(("list", "create", "update", "destroy"), _DEPRECATED)

    picture: Picture | None = None

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its file, the variants that show it, and its metafields."""
        return further_of_image(version)

    def prepare(self) -> None:
        """Take the picture of a new image in."""
        if self.request.method == "POST":
            self.picture = self.take(self.unwrapped("image"))

    def attributes(self, instance: ProductImage | None = None) -> Attrs:
        """The body, checked."""
        return {"wanted": read_image(self.version, self.unwrapped("image"), self.picture)}

    def perform_create(self, attrs: Attrs) -> ProductImage:
        """The image takes its place among the others."""
        return images.add_image(self.kwargs["product_id"], attrs["wanted"], actor=self.actor, at=self.at)

    def hold(self, instance: ProductImage) -> None:
        """The body is compared with nothing; the service holds the product."""

    def perform_update(self, instance: ProductImage, attrs: Attrs) -> None:
        """Others make room where it moves."""
        images.update_image(instance, attrs["wanted"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: ProductImage) -> None:
        """Those behind it move up."""
        images.delete_image(instance, actor=self.actor, at=self.at)
