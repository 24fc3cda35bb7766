"""Products over REST, with their options, variants and images in one body."""

import time
from collections.abc import Mapping

from django.db.models import Model, QuerySet

from apps.api.resources.filters import ApiFilter, IdFilter, MomentFilter, PublishedFilter, ResourceFilter, TextFilter
from apps.api.shapes import Schema
from apps.catalog.api.bodies import new_pictures, read_product
from apps.catalog.api.further import further_of_product
from apps.catalog.api.prices import CurrenciesFilter, ShowsPrices
from apps.catalog.api.resources import ProductSerializer
from apps.catalog.api.uploads import TakesPictures
from apps.catalog.domain import products
from apps.catalog.domain.collections.membership import products_of
from apps.catalog.domain.inputs import Attrs, Parts
from apps.catalog.domain.locks import lock_stock
from apps.catalog.domain.pictures import Picture
from apps.catalog.models import Collection, Product
from apps.media.intake import PictureRefused

# All pictures of one body together may take as long as this.
DOWNLOAD_SECONDS = 30.0
# And have as many pixels: a small file can hold the most that a picture may have.
MAX_MEGAPIXELS = 100


class ListFilter(ApiFilter):
    """One of a list of comma-separated words."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}__in": [word.strip() for word in value.split(",")][:250]})


class WordsFilter(TextFilter):
    """Equal to a text, found by the index of its folded copy."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        if value is None:
            return qs
        return qs.filter(**{f"{self.field_name}_key": value, str(self.field_name): value})


class ProductFilter(ResourceFilter):
    """How a list of products is narrowed."""

    title = WordsFilter("title")
    vendor = WordsFilter("vendor")
    product_type = WordsFilter("product_type")
    handle = ListFilter("handle")
    status = ListFilter("status")
    collection_id = IdFilter(method="in_collection")
    published_status = PublishedFilter()
    published_at_min = MomentFilter("published_at", "gte")
    published_at_max = MomentFilter("published_at", "lte")
    presentment_currencies = CurrenciesFilter()

    def in_collection(self, queryset: QuerySet[Product], name: str, value: int) -> QuerySet[Product]:
        """The products of a collection of either kind; of an unknown one none."""
        collection = Collection.objects.filter(pk=value).first()
        if collection is None:
            return queryset.none()
        return queryset.filter(pk__in=products_of(collection).values("pk"))


class ProductViewSet(ShowsPrices[Product], TakesPictures[Product]):
    """``/products``."""

    scope = "products"
    model = Product
    serializer_class = ProductSerializer
    filterset_class = ProductFilter
    singular = "product"
    plural = "products"
    versions = ("version",)

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its parts."""
        return further_of_product(version)

    def prepare(self) -> None:
        """Take the pictures of new images in."""
        self.pictures: dict[int, Picture] = {}
        self.refused: dict[int, PictureRefused] = {}
        entries = new_pictures(self.unwrapped("product").get("images"))
        if entries and "id" in self.kwargs:
            self.get_object()
        deadline = time.monotonic() + DOWNLOAD_SECONDS
        pixels = 0
        for index, entry in entries:
            if pixels > MAX_MEGAPIXELS * 10**6:
                self.refused[index] = PictureRefused(f"comes after more than {MAX_MEGAPIXELS} megapixels in one body")
                continue
            try:
                self.pictures[index] = self.take(entry, seconds=max(deadline - time.monotonic(), 0.1))
            except PictureRefused as error:
                self.refused[index] = error
            else:
                pixels += self.pictures[index].width * self.pictures[index].height

    def read(self, instance: Product | None = None) -> tuple[Attrs, Parts]:
        """The body, checked, with the pictures that were taken in."""
        return read_product(
            self.version, self.unwrapped("product"), instance=instance, taken=self.pictures, refused=self.refused
        )

    def attributes(self, instance: Product | None = None) -> Attrs:
        """The body, checked; its parts wait beside it."""
        attrs, self.parts = self.read(instance)
        return attrs

    def perform_create(self, attrs: Attrs) -> Product:
        """A product has at least one variant."""
        return products.create_product(attrs, self.parts, actor=self.actor, at=self.at)

    def hold(self, instance: Product) -> None:
        """Stock comes before the product, where variants may change or go."""
        if self.unwrapped("product").get("variants") is not None:
            lock_stock(product_id=instance.pk, going=True)
        super().hold(instance)

    def perform_update(self, instance: Product, attrs: Attrs) -> None:
        """The product and its parts change together."""
        products.update_product(instance, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Product) -> None:
        """Everything that hangs on the product goes with it."""
        products.delete_product(instance, actor=self.actor, at=self.at)
