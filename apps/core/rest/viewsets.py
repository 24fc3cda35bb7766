"""The base viewset for resources: list, count, retrieve, create, update and delete.

Viewsets, permission checks, filters and schemas use the classes of DRF and its extensions. A resource is a subclass of
``ShopViewSet`` with a few attributes. A custom action parses the request, calls one domain function and renders the
response.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.db import sort_tables
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.rest.exceptions import CONTENT_TYPE
from apps.core.rest.reading import keyset_pagination, render_cache
from apps.core.rest.reading.pages import FilteredRows, PageSource, build_etag, read_key, read_page_keys, read_page_rows
from apps.core.rest.reading.query_plans import ReadPlan, RowValues, get_read_plan
from apps.core.rest.requests.authentication import SAFE_METHODS
from apps.core.rest.requests.views import SINGULAR_NAMES, ApiView
from apps.core.rest.resources.filters import DateTimeFilter, ResourceFilter, apply_filters, filter_sort_table
from apps.core.rest.resources.serializers import get_declared_fields, validate_body
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs, RequestData, Schema

__all__ = ["SINGULAR_NAMES", "ApiView", "ShopViewSet"]

M = TypeVar("M", bound=ShopOwned)
_BY_ID: Collection[keyset_pagination.Order] = {("id",), ("-id",)}


class ShopViewSet(ApiView, Generic[M]):
    """The viewset of one resource of a shop.

    Attributes:
        model: The model, by default the model of the serializer.
        order: ORM orderings of a list; the last ordering is unique.
        sort_columns: The sort columns for each value of the parameter ``order``. By default, lists can be sorted by id
            and by the times that an index supports.
        has_few_rows: True if a shop has so few rows that the list can be sorted without an index.
        version_columns: Columns that change whenever a rendered value of the resource changes. If set, rendered objects
            are cached.
        parents: The parent models, keyed by path argument. ``model`` has a column with the same name as the argument.
        renders_created_instance: If True, the created instance already has all stored values and the rendered related
            rows. The response is then rendered from the instance without a query.
        locks_in_service: True if the service of ``perform_update`` locks the row, perhaps after a related row.
        detail_properties: The JSON schemas of properties that only responses with a single object contain, keyed by
            property name.
    """

    model: type[M]
    filterset_class: ClassVar[type[ResourceFilter]] = ResourceFilter
    order: ClassVar[keyset_pagination.Order] = ("id",)
    sort_columns: ClassVar[Mapping[str, Sequence[str]]] = {}
    has_few_rows: ClassVar[bool] = False
    version_columns: ClassVar[tuple[str, ...]] = ()
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {}
    renders_created_instance: ClassVar[bool] = False
    locks_in_service: ClassVar[bool] = False
    detail_properties: ClassVar[Mapping[str, Schema]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "serializer_class" in cls.__dict__ and "model" not in cls.__dict__:
            cls.model = cls.serializer_class.Meta.model  # type: ignore[assignment]
        if "singular" in cls.__dict__:
            SINGULAR_NAMES.add(cls.singular)
            cls.plural = vars(cls).get("plural", f"{cls.singular}s")

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        """Return the JSON schemas of additional body properties in a version, keyed by name."""
        return {}

    def unwrap_body(self, singular: str) -> RequestData:
        """Return the object in the body. "" counts as ``null`` in properties that no field of the serializer checks."""
        data = super().unwrap_body(singular)
        blank = {name for name, value in data.items() if value == ""}
        if blank:
            blank &= self.get_extra_body_properties(self.version).keys()
        return {**data, **dict.fromkeys(blank)} if blank else data

    def load_parents(self) -> None:
        for argument, model in self.parents.items():
            if not model.objects.filter(pk=self.kwargs[argument]).exists():
                raise Http404

    @property
    def shows_all_shop_rows(self) -> bool:
        """Return True if every row of the shop is visible, so that prepared statements can be used."""
        return not self.parents and type(self).get_queryset is ShopViewSet.get_queryset

    def get_queryset(self) -> QuerySet[M]:
        """Return the rows that the caller may see under the parents in the path."""
        parent_ids = {argument: self.kwargs[argument] for argument in self.parents}
        return self.model.objects.filter(**parent_ids)

    def get_read_plan(self) -> ReadPlan:
        return get_read_plan(self.serializer_class, self.version, self.requested_fields)

    @cached_property
    def requested_fields(self) -> frozenset[str] | None:
        """Return the requested fields that the resource has, or None for all fields."""
        text = self.query.get("fields")
        if text is None or self.request.method not in SAFE_METHODS:
            return None
        requested = {word.strip().replace("-", "_") for word in text.split(",")} - {""}
        return frozenset(requested & get_declared_fields(self.serializer_class).keys()) if requested else None

    def get_order(self, filters: Mapping[str, str]) -> keyset_pagination.Order:
        """Return the order of a list: the parameter ``order``, ascending ids with ``since_id``, or the default."""
        if "order" in filters:
            return keyset_pagination.parse_order(filters["order"], self.get_sort_columns())
        return ("id",) if "since_id" in filters else self.order

    @classmethod
    def get_sort_columns(cls) -> Mapping[str, Sequence[str]]:
        """Return the sort columns for each value of the parameter ``order``."""
        if cls.sort_columns:
            return cls.sort_columns
        is_short = cls.has_few_rows or bool(cls.parents)
        columns = {field.name for field in cls.model._meta.concrete_fields}
        times = [name for name in ("created_at", "updated_at") if name in columns]
        return {"id": (), **{name: (name,) for name in times if is_short or sort_tables.is_indexed(cls.model, name)}}

    def list(self, request: Request, **_: int) -> HttpResponse:
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        order = page.order or self.get_order(page.filters)
        matches = self.filter_rows(page.filters)
        if not isinstance(matches, QuerySet) or self.parents or self.is_index_range(page.filters, order):
            return self.render_page(matches, page, order)
        if order in _BY_ID:
            since = page.filters.get("since_id")
            sort_rows = self._filter_sort_table(page.filters)
            return self.render_page(FilteredRows([matches], int(since) if since else None, sort_rows), page, order)
        return self.render_page(FilteredRows([matches]) if "order" in page.filters else matches, page, order)

    def is_index_range(self, filters: Mapping[str, str], order: keyset_pagination.Order) -> bool:
        """Return True if the filters only limit the first sort column, so that the matches are a range of its index."""
        column = order[0].lstrip("-")
        applied = [
            self.filterset_class.base_filters[name] for name in filters.keys() & self.filterset_class.base_filters
        ]
        return column != "id" and all(
            isinstance(filter_, DateTimeFilter) and filter_.field_name == column for filter_ in applied
        )

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[M] | type[M]:
        """Return the rows that match the filters, or the model class if every row of the shop matches."""
        if self.shows_all_shop_rows and not filters.keys() & self.filterset_class.base_filters.keys():
            return self.model
        return apply_filters(self.filterset_class, dict(filters), self.get_queryset())

    def render_page(
        self, source: PageSource, page: keyset_pagination.PageRequest, order: keyset_pagination.Order
    ) -> HttpResponse:
        if not self.version_columns:
            objects, positions, has_more = read_page_rows(self.get_read_plan(), source, order, page, self.context)
            return self._build_page_response(
                self._join_objects(objects), self._build_links(positions, page, order, has_more)
            )
        keys, has_more = read_page_keys(source, order, page, self.version_columns)
        # Links to other pages expire after a week. Change the ETag of a page with links daily, so clients get new
        # links.
        link_day = (page.cursor is not None or has_more) and keyset_pagination.get_link_day()
        etag = self._build_etag(has_more, link_day, *keys)
        if self._is_cached_by_client(etag):
            return self._not_modified(etag)
        # The ETag determines the shop, the rows and the fields, and the URL the filters, the order and the links.
        cache_key = build_etag((etag, self.request.path, self.request.META.get("QUERY_STRING", "")))
        cached = render_cache.get_page(cache_key)
        if cached is not None:
            return self._build_page_response(*cached, ETag=etag)
        width = 1 + len(self.version_columns)
        objects = render_cache.render_objects(self.get_read_plan(), [key[:width] for key in keys], self.context)
        body = self._join_objects(objects)
        links = self._build_links([key[width:] for key in keys], page, order, has_more)
        render_cache.set_page(cache_key, body, links)
        return self._build_page_response(body, links, ETag=etag)

    def _join_objects(self, objects: Sequence[bytes]) -> bytes:
        render_cache.check_response_size(objects)
        return b'{"' + self.plural.encode() + b'":[' + b",".join(objects) + b"]}"

    def _build_page_response(self, body: bytes, links: str, **headers: str) -> HttpResponse:
        if links:
            headers["Link"] = links
        return self.bytes_response(body, 200, **headers)

    def _build_links(
        self,
        positions: Sequence[keyset_pagination.CursorValues],
        page: keyset_pagination.PageRequest,
        order: keyset_pagination.Order,
        has_more: bool,
    ) -> str:
        """Return the ``Link`` header of a page, or "" if no other pages exist."""
        tokens = self._build_page_tokens(positions, page, order, has_more)
        return keyset_pagination.build_link_header(
            self.request.path, tokens, limit=page.limit, fields=self.query.get("fields")
        )

    def _build_page_tokens(
        self,
        positions: Sequence[keyset_pagination.CursorValues],
        page: keyset_pagination.PageRequest,
        order: keyset_pagination.Order,
        has_more: bool,
    ) -> dict[keyset_pagination.Direction, str]:
        """Return the tokens of the neighboring pages; ``positions`` are the sort values of each row."""
        if not positions:
            return {}
        backwards = page.cursor is not None and page.cursor.direction == "previous"
        exists: dict[keyset_pagination.Direction, bool] = {
            "previous": has_more if backwards else page.cursor is not None,
            "next": True if backwards else has_more,
        }
        ends = {"previous": positions[0], "next": positions[-1]}
        return {
            direction: keyset_pagination.create_page_token(
                direction,
                ends[direction],
                order=order,
                filters=page.filters,
                shop_id=self.shop.pk,
                route=self.list_name,
            )
            for direction, is_present in exists.items()
            if is_present
        }

    @property
    def list_name(self) -> str:
        """Return the name of this list in page tokens: the resource, the action and the path arguments."""
        return "/".join([self.plural, self.action or "", *(f"{k}={v}" for k, v in sorted(self.kwargs.items()))])

    def count(self, request: Request, **_: int) -> HttpResponse:
        filters = {name: value for name, value in self.query.items() if name not in {"limit", "fields"}}
        matches = self.filter_rows(filters)
        sort_rows = None if self.parents else self._filter_sort_table(filters)
        rows = matches.objects.all() if isinstance(matches, type) else matches
        return self.json_response({"count": self.count_rows(rows if sort_rows is None else sort_rows)})

    def count_rows(self, rows: QuerySet[Any]) -> int:
        return rows.order_by().count()

    def _filter_sort_table(self, filters: Mapping[str, str]) -> QuerySet[Any] | None:
        """Return the matching sort table rows, or None if the sort table lacks a column of the filters."""
        return filter_sort_table(self.filterset_class, filters, self.model) if self.shows_all_shop_rows else None

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        pk = kwargs["id"]
        if not self.version_columns:
            if not self.shows_all_shop_rows and not self.get_queryset().filter(pk=pk).exists():
                raise Http404
            return self.render_object(pk)
        key = self._get_key(pk)
        etag = self._build_etag(*key)
        if self._is_cached_by_client(etag):
            return self._not_modified(etag)
        return self._render_key(key, ETag=etag)

    def _get_key(self, pk: int) -> RowValues:
        """Return ``(id, *versions)`` of a row that the caller may see."""
        if self.shows_all_shop_rows:
            key = read_key(self.model, pk, self.version_columns)
        else:
            key = self.get_queryset().filter(pk=pk).values_list("pk", *self.version_columns).first()
        if key is None:
            raise Http404
        return key

    def _build_etag(self, *content: object) -> str:
        fields = None if self.requested_fields is None else sorted(self.requested_fields)
        requested = self.context.currencies
        currencies = None if requested is None else sorted(requested)
        return build_etag((self.shop.pk, self.shop.version, self.plural, self.version, fields, currencies, content))

    def _is_cached_by_client(self, etag: str) -> bool:
        """Return True if ``If-None-Match`` contains this entity tag; the comparison is weak."""
        return etag.removeprefix("W/") in self.request.META.get("HTTP_IF_NONE_MATCH", "")

    def _not_modified(self, etag: str) -> HttpResponse:
        return HttpResponse(status=304, content_type=CONTENT_TYPE, headers={"ETag": etag})

    def _render_key(self, key: RowValues, status: int = 200, **headers: str) -> HttpResponse:
        rendered = render_cache.render_objects(self.get_read_plan(), [key], self.context)
        if not rendered:
            raise Http404
        return self.bytes_response(b'{"' + self.singular.encode() + b'":' + rendered[0] + b"}", status, **headers)

    def render_object(self, pk: int, status: int = 200, **headers: str) -> HttpResponse:
        """Render the current state of one row under its singular name."""
        try:
            rendered = self.get_read_plan().read_one(pk, self.context)
        except KeyError:
            raise Http404 from None
        return self.json_response({self.singular: rendered}, status, **headers)

    def get_object(self) -> M:
        """Return the row in the path; raise ``Http404`` if the row is not visible to the caller."""
        instance = self.get_queryset().filter(pk=self.kwargs["id"]).first()
        if instance is None:
            raise Http404
        return instance

    def get_validated_attributes(self, instance: M | None = None) -> Attrs:
        return validate_body(self.serializer_class, self.version, self.unwrap_body(self.singular), instance=instance)

    def create(self, request: Request, **_: int) -> HttpResponse:
        attrs = self.get_validated_attributes()
        with transaction.atomic():
            instance = self.perform_create(attrs)
            return self.render_created(instance)

    def render_created(self, instance: M) -> HttpResponse:
        """Return a 201 response with the row and a ``Location`` header."""
        location = f"{settings.BASE_URL}{self.get_path(instance)}"
        if self.renders_created_instance:
            rendered = self.get_read_plan().render_instance(instance, self.context)
            return self.json_response({self.singular: rendered}, 201, Location=location)
        return self.render_object(instance.pk, 201, Location=location)

    def get_path(self, instance: M) -> str:
        """Return the path of a created row. The default is the list's path with the id."""
        return f"{self.request.path.removesuffix('.json')}/{instance.pk}.json"

    def perform_create(self, attrs: Attrs) -> M:
        """Save a new row and record an event; resources with business rules call their service instead."""
        parent_ids = {argument: self.kwargs[argument] for argument in self.parents}
        instance = self.model(shop=self.shop, **parent_ids, **attrs)
        instance.save()
        record_event(f"{self.plural}/create", instance, actor=self.actor, at=self.at)
        return instance

    def update(self, request: Request, **_: int) -> HttpResponse:
        """Update a row; fields that the body omits remain unchanged."""
        with transaction.atomic():
            instance = self.get_object()
            if not self.locks_in_service:
                self.lock_instance(instance)
            self.perform_update(instance, self.get_validated_attributes(instance))
            return self.render_object(instance.pk)

    def lock_instance(self, instance: M) -> None:
        """Lock and reload the row before the changes are computed.

        A resource overrides this method if a related row must be locked first.
        """
        refresh_for_update(instance, no_key=True)

    def perform_update(self, instance: M, attrs: Attrs) -> None:
        """Save the changes and record an event; resources with business rules call their service instead."""
        if changes := apply_changes(instance, attrs):
            instance.save(update_fields=list(changes))
            record_event(f"{self.plural}/update", instance, actor=self.actor, at=self.at, changes=changes)

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        with transaction.atomic():
            self.perform_destroy(self.get_object())
        return self.json_response({})

    def perform_destroy(self, instance: M) -> None:
        """Record the deletion, then delete the row; resources with business rules call their service instead."""
        record_event(f"{self.plural}/delete", instance, actor=self.actor, at=self.at)
        if not instance.delete()[0]:
            raise Http404
