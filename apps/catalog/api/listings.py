"""Views for the products and collections that the calling app has published to its sales channel."""

from collections.abc import Callable
from typing import ClassVar, TypeVar

import orjson
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.catalog.api.listing_serializers import (
    CollectionListingSerializer,
    ProductListingSerializer,
    complete_listings,
)
from apps.catalog.api.products import ListFilter
from apps.catalog.domain.collections.membership import get_collection_products
from apps.catalog.domain.sales_channels import listings
from apps.catalog.models import Collection, CollectionListing, Product, ProductListing
from apps.core.rest.reading import keyset_pagination, render_cache
from apps.core.rest.reading.pages import PageSource, read_page_keys
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.resources.filters import IdFilter, IdsFilter, ResourceFilter
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Rendered

M = TypeVar("M", Product, Collection)
_PRODUCT_IDS = {
    "type": "object",
    "required": ["product_ids"],
    "properties": {"product_ids": {"type": "array", "items": {"type": "integer"}}},
}


class _ListingViewSet(ShopViewSet[M]):
    """The base class of both kinds of listings. The id in paths is the id of the product or collection.

    Attributes:
        listing_model: The table of publications.
        subject: The column of ``listing_model`` that refers to the product or collection.
        publish: The domain function that publishes the product or collection.
        unpublish: The domain function that removes it from the app's sales channel.
    """

    scope = "product_listings"
    listing_model: ClassVar[type[ProductListing | CollectionListing]]
    subject: ClassVar[str]
    publish: ClassVar[Callable[..., None]]
    unpublish: ClassVar[Callable[..., None]]

    def get_listings(self) -> "QuerySet[ProductListing | CollectionListing]":
        return self.listing_model._default_manager.filter(app_id=self.access.installation.app_id)

    def get_queryset(self) -> "QuerySet[M]":
        return self.model._default_manager.filter(pk__in=self.get_listings().values(f"{self.subject}_id"))

    def render_page(
        self, source: PageSource, page: keyset_pagination.PageRequest, order: keyset_pagination.Order
    ) -> HttpResponse:
        keys, has_more = read_page_keys(source, order, page, ("version",))
        links = self._build_links([key[2:] for key in keys], page, order, has_more)
        body = {self.plural: self._render([(key[0], key[1]) for key in keys])}
        return self.json_response(body, 200, **({"Link": links} if links else {}))

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        return self._render_one(kwargs["id"])

    def _render_one(self, pk: int) -> HttpResponse:
        rendered = self._render(list(self.get_queryset().filter(pk=pk).values_list("pk", "version")))
        if not rendered:
            raise Http404
        return self.json_response({self.singular: rendered[0]})

    def _render(self, keys: list[tuple[int, int]]) -> list[Rendered]:
        id_name, requested = f"{self.subject}_id", self.requested_fields
        names = None if requested is None else requested | {id_name, "options"} & self._field_names
        plan = get_read_plan(self.serializer_class, self.version, names)
        items = map(orjson.loads, render_cache.render_objects(plan, keys, self.context))
        ids = [key[0] for key in keys]
        published = dict(self.get_listings().filter(**{f"{id_name}__in": ids}).values_list(id_name, "published_at"))
        rendered = complete_listings(items, id_name, published, self.context)
        return rendered if requested is None else [_select(item, requested) for item in rendered]

    @property
    def _field_names(self) -> frozenset[str]:
        return frozenset(self.serializer_class._declared_fields)

    def update(self, request: Request, **kwargs: int) -> HttpResponse:
        """Publish the product or collection to the app's sales channel."""
        self.unwrap_body(self.singular)
        with transaction.atomic():
            self.publish(self.access.installation, kwargs["id"], actor=self.actor, at=self.at)
            return self._render_one(kwargs["id"])

    def destroy(self, request: Request, **kwargs: int) -> HttpResponse:
        """Remove the product or collection from the app's sales channel."""
        with transaction.atomic():
            self.unpublish(self.access.installation, kwargs["id"], actor=self.actor, at=self.at)
        return self.json_response({})


def _select(item: Rendered, names: frozenset[str]) -> Rendered:
    return {name: value for name, value in item.items() if name in names}


class ListedProductFilter(ResourceFilter):
    product_ids = IdsFilter()
    handle = ListFilter("handle")
    collection_id = IdFilter(method="in_collection")

    def in_collection(self, queryset: QuerySet[Product], name: str, value: int) -> QuerySet[Product]:
        collection = Collection.objects.filter(pk=value).first()
        if collection is None:
            return queryset.none()
        return queryset.filter(pk__in=get_collection_products(collection).values("pk"))


class ProductListingViewSet(_ListingViewSet[Product]):
    """Views for the listed products. Drafts and archived products are not visible."""

    model = Product
    serializer_class = ProductListingSerializer
    filterset_class = ListedProductFilter
    singular = "product_listing"
    listing_model = ProductListing
    subject = "product"
    publish = staticmethod(listings.publish_product)
    unpublish = staticmethod(listings.unpublish_product)

    def get_queryset(self) -> QuerySet[Product]:
        return super().get_queryset().filter(status=Product.Status.ACTIVE)


class ListedProductIdViewSet(ProductListingViewSet):
    """``GET /product_listings/product_ids.json``: the ids of the listed products."""

    plural = "product_ids"
    responses = {"list": _PRODUCT_IDS}

    def render_page(
        self, source: PageSource, page: keyset_pagination.PageRequest, order: keyset_pagination.Order
    ) -> HttpResponse:
        keys, has_more = read_page_keys(source, order, page, ())
        links = self._build_links([key[1:] for key in keys], page, order, has_more)
        return self.json_response({"product_ids": [key[0] for key in keys]}, 200, **({"Link": links} if links else {}))


class CollectionProductIdViewSet(ListedProductIdViewSet):
    """``GET /collection_listings/{id}/product_ids.json``: the ids of the listed products in a listed collection."""

    filterset_class = ResourceFilter

    def load_parents(self) -> None:
        rows = CollectionListing.objects.filter(app_id=self.access.installation.app_id).select_related("collection")
        listing = rows.filter(collection_id=self.kwargs["collection_id"]).first()
        if listing is None:
            raise Http404
        self.collection: Collection = listing.collection

    def get_queryset(self) -> QuerySet[Product]:
        return super().get_queryset().filter(pk__in=get_collection_products(self.collection).values("pk"))


class ListedCollectionFilter(ResourceFilter):
    handle = ListFilter("handle")


class CollectionListingViewSet(_ListingViewSet[Collection]):
    model = Collection
    serializer_class = CollectionListingSerializer
    filterset_class = ListedCollectionFilter
    singular = "collection_listing"
    has_few_rows = True
    listing_model = CollectionListing
    subject = "collection"
    publish = staticmethod(listings.publish_collection)
    unpublish = staticmethod(listings.unpublish_collection)
