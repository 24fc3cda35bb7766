"""Custom and smart collections over REST, the view on both, and the products of each in its order."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.errors import BadRequest, Unprocessable
from apps.api.resources.filters import (
    MAX_IDS,
    IdFilter,
    MomentFilter,
    PublishedFilter,
    ResourceFilter,
    TextFilter,
    apply_filters,
)
from apps.api.rows import paging
from apps.api.shapes import Data, Schema
from apps.api.viewsets import ShopViewSet
from apps.catalog.api.collection_resources import (
    CollectionSerializer,
    CustomCollectionSerializer,
    SmartCollectionSerializer,
    read_collection,
)
from apps.catalog.api.fields import read_id
from apps.catalog.api.further import further_of_collection
from apps.catalog.api.resources import ProductSummarySerializer
from apps.catalog.api.uploads import TakesPictures, has_picture
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.membership import ORDERS, products_of, smart_collections_with, with_order
from apps.catalog.domain.inputs import Attrs
from apps.catalog.domain.pictures import Picture, address_of
from apps.catalog.models import Collection, CustomCollection, Product, SmartCollection
from apps.ground.phrases import INVALID, NOT_IN_LIST, at_most_ids
from apps.media.intake import PictureRefused


class CountsProducts(ShopViewSet[Collection]):
    """Single reads that also say how many products there are."""

    singular = "collection"
    plural = "collections"
    scope = "products"
    order = ("title", "id")
    versions = ("version",)
    alone: ClassVar[Mapping[str, Schema]] = {
        "products_count": {"type": "integer", "description": "How many products it holds; not in lists."}
    }

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        """One collection with the number of its products."""
        collection = self.get_object()
        try:
            shown = self.plan().read_one(collection.pk, self.context)
        except KeyError:
            raise Http404 from None
        if self.wants_count:
            shown["products_count"] = products_of(collection).count()
        return self.json({self.singular: shown})

    @property
    def wants_count(self) -> bool:
        """Whether the number is asked for; counting costs a query."""
        asked = {word.strip().replace("-", "_") for word in self.query.get("fields", "").split(",")} - {""}
        return not asked or "products_count" in asked


class CollectionViewSet(CountsProducts):
    """``/collections/{id}``: both kinds."""

    model = Collection
    serializer_class = CollectionSerializer


class CollectionFilter(ResourceFilter):
    """How a list of collections of one kind is narrowed."""

    title = TextFilter("title")
    handle = TextFilter("handle")
    published_status = PublishedFilter()
    published_at_min = MomentFilter("published_at", "gte")
    published_at_max = MomentFilter("published_at", "lte")


class CustomCollectionFilter(CollectionFilter):
    """How a list of custom collections is narrowed."""

    product_id = IdFilter("collects__product_id")


class SmartCollectionFilter(CollectionFilter):
    """How a list of smart collections is narrowed."""

    product_id = IdFilter(method="with_product")

    def with_product(self, queryset: QuerySet[Collection], name: str, value: int) -> QuerySet[Collection]:
        """Those whose rules the product fits."""
        return queryset.filter(pk__in=smart_collections_with(value))


class _KindViewSet(CountsProducts, TakesPictures[Collection]):
    """The routes of one kind of collections."""

    kind: Collection.Kind
    singular = "collection"

    picture: Picture | None = None
    refused: PictureRefused | None = None

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its picture, its metafields, and the products that a custom one is made of."""
        return further_of_collection(self.kind)

    def prepare(self) -> None:
        """Take a new picture in."""
        image = self.unwrapped(self.singular).get("image") if self.action in {"create", "update"} else None
        if not has_picture(image):
            return
        if "id" in self.kwargs:
            image = _without_own_address(image, self.get_object())
        if image is not None and has_picture(image):
            try:
                self.picture = self.take(image)
            except PictureRefused as error:
                self.refused = error

    def attributes(self, instance: Collection | None = None) -> Attrs:
        """The body, checked; its parts wait beside it."""
        attrs, self.parts = read_collection(
            self.serializer_class,
            self.version,
            self.unwrapped(self.singular),
            instance=instance,
            picture=self.picture,
            refused=self.refused,
        )
        return attrs

    def perform_create(self, attrs: Attrs) -> Collection:
        """The title makes a handle."""
        return lifecycle.create_collection(self.kind, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_update(self, instance: Collection, attrs: Attrs) -> None:
        """The collection, its picture and its products change together."""
        lifecycle.update_collection(instance, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Collection) -> None:
        """The products stay."""
        lifecycle.delete_collection(instance, actor=self.actor, at=self.at)


def _without_own_address(image: Data, collection: Collection) -> Data:
    """A client that sends a whole collection back sends the address of the picture that it has."""
    own = address_of(collection.shop_id, collection.image_key, collection.image_name) if collection.image_key else None
    if image.get("attachment") is None and ("created_at" in image or image.get("src") == own):
        return {name: value for name, value in image.items() if name != "src"}
    return image


class CustomCollectionViewSet(_KindViewSet):
    """``/custom_collections``."""

    kind = Collection.Kind.CUSTOM
    model = CustomCollection
    serializer_class = CustomCollectionSerializer
    filterset_class = CustomCollectionFilter
    singular = "custom_collection"
    plural = "custom_collections"


class SmartCollectionViewSet(_KindViewSet):
    """``/smart_collections``."""

    kind = Collection.Kind.SMART
    model = SmartCollection
    serializer_class = SmartCollectionSerializer
    filterset_class = SmartCollectionFilter
    singular = "smart_collection"
    plural = "smart_collections"
    bodies = {"arrange": {"type": "object"}}
    answers = {"arrange": {"type": "object", "maxProperties": 0}}

    def arrange(self, request: Request, **_: int) -> HttpResponse:
        """Set how the collection is sorted and which products come first; the arguments are in the query."""
        sort_order = self.query.get("sort_order")
        if sort_order is not None and sort_order not in Collection.SortOrder.values:
            raise Unprocessable({"sort_order": [NOT_IN_LIST]})
        named = self.request._request.GET.getlist("products[]")
        ids = [pk for pk in map(read_id, named) if pk is not None]
        if len(ids) < len(named):
            raise BadRequest({"products": INVALID})
        if len(ids) > 10 * MAX_IDS:
            raise BadRequest({"products": at_most_ids(10 * MAX_IDS)})
        with transaction.atomic():
            lifecycle.set_order(self.get_object(), sort_order=sort_order, product_ids=ids, actor=self.actor, at=self.at)
        return self.json({})


class CollectionProductViewSet(ShopViewSet[Product]):
    """``/collections/{collection_id}/products``: in the collection's order."""

    scope = "products"
    model = Product
    serializer_class = ProductSummarySerializer
    singular = "product"
    plural = "products"
    versions = ("version",)
    collections: type[Collection] = Collection

    def open(self) -> None:
        """Load the collection."""
        collection = self.collections.objects.filter(pk=self.kwargs["collection_id"]).first()
        if collection is None:
            raise Http404
        self.collection = collection

    def list(self, request: Request, **_: int) -> HttpResponse:
        """A page of the collection's products; a page that follows keeps the order of the first."""
        page = paging.read_page(self.query, shop_id=self.shop.pk, route=self.route)
        order = page.order or self.order_for(page.filters)
        members = apply_filters(self.filterset_class, dict(page.filters), products_of(self.collection))
        return self.page_response(with_order(members, self.collection, order), page, order)

    def order_for(self, filters: Mapping[str, str]) -> paging.Order:
        """The collection's order; with ``since_id`` it is by id."""
        return ("id",) if "since_id" in filters else ORDERS[self.collection.sort_order]


class SmartCollectionProductViewSet(CollectionProductViewSet):
    """``/smart_collections/{collection_id}/products``: the same, where the collection is filled by rules."""

    collections = SmartCollection
