"""Views for collections (custom, smart or both) and for the products in a collection."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from apps.catalog.api.collection_serializers import (
    CollectionSerializer,
    CustomCollectionSerializer,
    SmartCollectionSerializer,
    parse_collection,
)
from apps.catalog.api.extra_schemas import get_collection_schemas
from apps.catalog.api.fields import parse_id
from apps.catalog.api.images import ImageUploadViewSet
from apps.catalog.api.parsing import has_image
from apps.catalog.api.serializers import ProductSummarySerializer
from apps.catalog.domain.collections import lifecycle
from apps.catalog.domain.collections.membership import (
    ORDERS,
    annotate_sort_values,
    find_smart_collections,
    get_collection_products,
)
from apps.catalog.domain.image_files import StoredImage, get_image_url
from apps.catalog.models import Collection, Product, SmartCollection
from apps.core.i18n.error_messages import INVALID, NOT_IN_LIST, at_most_ids
from apps.core.media.uploads import UploadRefused
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.resources.filters import (
    MAX_IDS,
    DateTimeFilter,
    IdFilter,
    PublishedFilter,
    ResourceFilter,
    TextFilter,
    apply_filters,
)
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, RequestData, Schema


class ProductCountViewSet(ShopViewSet[Collection]):
    """Base class for views that add the number of products to responses with a single collection."""

    singular = "collection"
    scope = "products"
    order = ("title", "id")
    has_few_rows = True
    version_columns = ("version",)
    detail_properties: ClassVar[Mapping[str, Schema]] = {
        "products_count": {"type": "integer", "description": "The number of products in the collection. Not in lists."}
    }

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        collection = self.get_object()
        try:
            data = self.get_read_plan().read_one(collection.pk, self.context)
        except KeyError:
            raise Http404 from None
        if self.wants_count:
            data["products_count"] = get_collection_products(collection).count()
        return self.json_response({self.singular: data})

    @property
    def wants_count(self) -> bool:
        """Return True if the response contains ``products_count``, which costs a query."""
        requested_fields = {word.strip().replace("-", "_") for word in self.query.get("fields", "").split(",")} - {""}
        return not requested_fields or "products_count" in requested_fields


class CollectionViewSet(ProductCountViewSet):
    model = Collection
    serializer_class = CollectionSerializer


class CollectionFilter(ResourceFilter):
    title = TextFilter("title")
    handle = TextFilter("handle")
    published_status = PublishedFilter()
    published_at_min = DateTimeFilter("published_at", "gte")
    published_at_max = DateTimeFilter("published_at", "lte")


class CustomCollectionFilter(CollectionFilter):
    product_id = IdFilter("collects__product_id")


class SmartCollectionFilter(CollectionFilter):
    product_id = IdFilter(method="with_product")

    def with_product(self, queryset: QuerySet[Collection], name: str, value: int) -> QuerySet[Collection]:
        return queryset.filter(pk__in=find_smart_collections(value))


class _KindViewSet(ProductCountViewSet, ImageUploadViewSet[Collection]):
    kind: Collection.Kind
    image: StoredImage | None = None
    upload_error: UploadRefused | None = None

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return get_collection_schemas(self.kind)

    def prepare_write(self) -> None:
        image = self.unwrap_body(self.singular).get("image") if self.action in {"create", "update"} else None
        if not has_image(image):
            return
        if "id" in self.kwargs:
            image = _without_current_url(image, self.get_object())
        if has_image(image):
            try:
                self.image = self.store_image(image)
            except UploadRefused as error:
                self.upload_error = error

    def get_validated_attributes(self, instance: Collection | None = None) -> Attrs:
        """Validate the body, and store the image, products and metafields for the service in ``self.parts``."""
        attrs, self.parts = parse_collection(
            self.serializer_class,
            self.version,
            self.unwrap_body(self.singular),
            instance=instance,
            image=self.image,
            upload_error=self.upload_error,
        )
        return attrs

    def perform_create(self, attrs: Attrs) -> Collection:
        return lifecycle.create_collection(self.kind, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_update(self, instance: Collection, attrs: Attrs) -> None:
        lifecycle.update_collection(instance, attrs, self.parts, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Collection) -> None:
        lifecycle.delete_collection(instance, actor=self.actor, at=self.at)


def _without_current_url(image: RequestData, collection: Collection) -> RequestData:
    """Remove the URL of the current image, which clients often send back with the whole collection."""
    current_url = (
        get_image_url(collection.shop_id, collection.image_key, collection.image_name) if collection.image_key else None
    )
    if image.get("attachment") is None and ("created_at" in image or image.get("src") == current_url):
        return {name: value for name, value in image.items() if name != "src"}
    return image


class CustomCollectionViewSet(_KindViewSet):
    kind = Collection.Kind.CUSTOM
    serializer_class = CustomCollectionSerializer
    filterset_class = CustomCollectionFilter
    singular = "custom_collection"


class SmartCollectionViewSet(_KindViewSet):
    kind = Collection.Kind.SMART
    serializer_class = SmartCollectionSerializer
    filterset_class = SmartCollectionFilter
    singular = "smart_collection"
    request_bodies = {"arrange": {"type": "object"}}
    responses = {"arrange": {"type": "object", "maxProperties": 0}}

    def arrange(self, request: Request, **_: int) -> HttpResponse:
        """Set the sort order and the first products of the collection from query parameters."""
        sort_order = self.query.get("sort_order")
        if sort_order is not None and sort_order not in Collection.SortOrder.values:
            raise Unprocessable({"sort_order": [NOT_IN_LIST]})
        product_ids = self.request._request.GET.getlist("products[]")
        ids = [pk for pk in map(parse_id, product_ids) if pk is not None]
        if len(ids) < len(product_ids):
            raise BadRequest({"products": INVALID})
        if len(ids) > 10 * MAX_IDS:
            raise BadRequest({"products": at_most_ids(10 * MAX_IDS)})
        with transaction.atomic():
            lifecycle.set_collection_order(
                self.get_object(), sort_order=sort_order, product_ids=ids, actor=self.actor, at=self.at
            )
        return self.json_response({})


class CollectionProductViewSet(ShopViewSet[Product]):
    """Views for ``/collections/{collection_id}/products``, in the collection's sort order."""

    scope = "products"
    model = Product
    serializer_class = ProductSummarySerializer
    singular = "product"
    version_columns = ("version",)
    collections: type[Collection] = Collection

    def load_parents(self) -> None:
        self.collection: Collection = get_object_or_404(self.collections.objects.all(), pk=self.kwargs["collection_id"])

    def list(self, request: Request, **_: int) -> HttpResponse:
        """Return a page of the collection's products. Later pages use the sort order of the first page."""
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        order = page.order or self.get_order(page.filters)
        members = apply_filters(self.filterset_class, dict(page.filters), get_collection_products(self.collection))
        return self.render_page(annotate_sort_values(members, self.collection, order), page, order)

    def get_order(self, filters: Mapping[str, str]) -> keyset_pagination.Order:
        """Return the sort order of the collection, or sort by id if ``since_id`` is given."""
        if "order" in filters:
            raise BadRequest({"order": "order cannot be passed"})
        return ("id",) if "since_id" in filters else ORDERS[self.collection.sort_order]


class SmartCollectionProductViewSet(CollectionProductViewSet):
    collections = SmartCollection
