"""Views for products, including their options, variants and images."""

import time
from collections.abc import Mapping

from django.db.models import Model, QuerySet

from apps.catalog.api.extra_schemas import get_product_schemas
from apps.catalog.api.images import ImageUploadViewSet
from apps.catalog.api.parsing import list_new_images, parse_product, remove_part_ids
from apps.catalog.api.prices import CurrenciesFilter, PresentmentPricesViewSet
from apps.catalog.api.serializers import ProductSerializer
from apps.catalog.domain import products
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.domain.image_files import StoredImage
from apps.catalog.domain.locks import lock_stock
from apps.catalog.models import Collection, Product
from apps.core.media.uploads import UploadRefused
from apps.core.rest.resources.filters import (
    ApiFilter,
    DateTimeFilter,
    IdFilter,
    PublishedFilter,
    ResourceFilter,
    TextFilter,
)
from apps.core.types import Attrs, Schema

# The maximum total download time of all images in one request body.
DOWNLOAD_SECONDS = 30.0
# The maximum total of megapixels of all images in one request body. Even a small file can be a very large image.
MAX_MEGAPIXELS = 100


class ListFilter(ApiFilter):
    """Filter by a comma-separated list of values."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__in": [word.strip() for word in value.split(",")][:250]})


class FoldedTextFilter(TextFilter):
    """Filter by an exact string. The query also compares the case-folded column, which has an index."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}_key": value, str(self.field_name): value})


class ProductFilter(ResourceFilter):
    title = FoldedTextFilter("title")
    vendor = FoldedTextFilter("vendor")
    product_type = FoldedTextFilter("product_type")
    handle = ListFilter("handle")
    status = ListFilter("status")
    collection_id = IdFilter(method="in_collection")
    published_status = PublishedFilter()
    published_at_min = DateTimeFilter("published_at", "gte")
    published_at_max = DateTimeFilter("published_at", "lte")
    presentment_currencies = CurrenciesFilter()

    def in_collection(self, queryset: QuerySet[Product], name: str, value: int) -> QuerySet[Product]:
        collection = Collection.objects.filter(pk=value).first()
        if collection is None:
            return queryset.none()
        return queryset.filter(pk__in=get_collection_products(collection).values("pk"))


class ProductViewSet(PresentmentPricesViewSet[Product], ImageUploadViewSet[Product]):
    scope = "products"
    model = Product
    serializer_class = ProductSerializer
    filterset_class = ProductFilter
    singular = "product"
    version_columns = ("version",)

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return get_product_schemas(version)

    def prepare_write(self) -> None:
        self.images: dict[int, StoredImage] = {}
        self.upload_errors: dict[int, UploadRefused] = {}
        body = self.unwrap_body("product")
        entries = list_new_images((body if "id" in self.kwargs else remove_part_ids(body)).get("images"))
        if entries and "id" in self.kwargs:
            self.get_object()
        deadline = time.monotonic() + DOWNLOAD_SECONDS
        pixels = 0
        for index, entry in entries:
            if pixels > MAX_MEGAPIXELS * 10**6:
                self.upload_errors[index] = UploadRefused(
                    f"exceeds the limit of {MAX_MEGAPIXELS} megapixels per request"
                )
                continue
            try:
                self.images[index] = self.store_image(entry, seconds=max(deadline - time.monotonic(), 0.1))
            except UploadRefused as error:
                self.upload_errors[index] = error
            else:
                pixels += self.images[index].width * self.images[index].height

    def get_validated_attributes(self, instance: Product | None = None) -> Attrs:
        """Validate the body, and store the options, variants and images for the service in ``self.parts``."""
        attrs, self.parts = parse_product(
            self.version,
            self.unwrap_body("product"),
            instance=instance,
            stored_images=self.images,
            upload_errors=self.upload_errors,
        )
        return attrs

    def perform_create(self, attrs: Attrs) -> Product:
        return products.create_product(attrs, self.parts, actor=self.actor, at=self.at)

    def lock_instance(self, instance: Product) -> None:
        """Lock the product's stock before the product if the body changes variants."""
        if self.unwrap_body("product").get("variants") is not None:
            lock_stock(product_id=instance.pk, deleting=True)
        super().lock_instance(instance)

    def perform_update(self, instance: Product, attrs: Attrs) -> None:
        products.update_product(instance, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Product) -> None:
        products.delete_product(instance, actor=self.actor, at=self.at)
