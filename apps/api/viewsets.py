"""The frame of every resource's routes: who calls, in which version, at what rate, and in which shop.

DRF gives the frame (viewsets, authentication, permissions, filters, schema); reading and checking bodies go through the
compiled declarations. A resource is a subclass of ``ShopViewSet`` with a few attributes. An action of its own parses,
makes one domain call, and renders.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.errors import CONTENT_TYPE
from apps.api.requests.access import SAFE
from apps.api.requests.views import SINGULARS, ApiView
from apps.api.resources.filters import ResourceFilter, apply_filters, ranks_that_fit
from apps.api.resources.serializers import declaration, read_body
from apps.api.rows import paging
from apps.api.rows.narrowed import Narrowed
from apps.api.rows.pages import Fitting, page_keys, read_page_rows, single_key, tag_of
from apps.api.rows.plans import Plan, Values, plan_for
from apps.api.rows.rendering import refuse_too_large, render_many
from apps.api.shapes import Attrs, Schema
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.ground.locks import reread
from apps.ground.rows import ShopOwned

__all__ = ["SINGULARS", "ApiView", "ShopViewSet"]

M = TypeVar("M", bound=ShopOwned)
_BY_ID: Collection[paging.Order] = {("id",), ("-id",)}


class ShopViewSet(ApiView, Generic[M]):
    """The routes of one resource of a shop.

    Attributes:
        model: Its rows.
        filterset_class: How a list is narrowed.
        order: ORM orderings of a list; the last is unique.
        versions: Columns that move with everything the resource shows; with them its objects are kept rendered.
        parents: By path argument, the model that must have the row; the argument is also a column of ``model``.
        shows_made: Whether the instance that a create makes has every value as it is stored, with the related rows that
            are shown; the answer is then made of it, and nothing is read back.
        alone: What a resource shows besides its fields where it stands alone: by name, its JSON schema.
        topics: By action, the topic that plain creates, updates and deletes record.
    """

    model: type[M]
    filterset_class: ClassVar[type[ResourceFilter]] = ResourceFilter
    order: ClassVar[paging.Order] = ("id",)
    versions: ClassVar[tuple[str, ...]] = ()
    parents: ClassVar[Mapping[str, type[ShopOwned]]] = {}
    shows_made: ClassVar[bool] = False
    alone: ClassVar[Mapping[str, Schema]] = {}

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Note the resource's singular name."""
        super().__init_subclass__(**kwargs)
        if "singular" in cls.__dict__:
            SINGULARS.add(cls.singular)

    def further(self, version: str) -> Mapping[str, Schema]:
        """What the bodies of a version have besides the resource's fields: by name, its JSON schema."""
        return {}

    def open(self) -> None:
        """Load the parents that the path names."""
        for argument, model in self.parents.items():
            if not model.objects.filter(pk=self.kwargs[argument]).exists():
                raise Http404

    # --- reading -----------------------------------------------------------------------------------------------------

    @property
    def is_plain(self) -> bool:
        """Whether the visible rows depend on nothing but the shop, so that the fixed statements serve."""
        return not self.parents and type(self).get_queryset is ShopViewSet.get_queryset

    def get_queryset(self) -> QuerySet[M]:
        """The rows that this caller may see under this path."""
        narrowed = {argument: self.kwargs[argument] for argument in self.parents}
        return self.model.objects.filter(**narrowed)

    def plan(self) -> Plan:
        """How the resource is read in this request: its version, and the fields asked for."""
        return plan_for(self.serializer_class, self.version, self.fields)

    @cached_property
    def fields(self) -> frozenset[str] | None:
        """The fields asked for, as far as the resource has them; None for all."""
        text = self.query.get("fields")
        if text is None or self.request.method not in SAFE:
            return None
        asked = {word.strip().replace("-", "_") for word in text.split(",")} - {""}
        return frozenset(asked & declaration(self.serializer_class).keys()) if asked else None

    def order_for(self, filters: Mapping[str, str]) -> paging.Order:
        """The order of a list; with ``since_id`` it is by id."""
        return ("id",) if "since_id" in filters else self.order

    def list(self, request: Request, **_: int) -> HttpResponse:
        """A page of the rows that fit."""
        page = paging.read_page(self.query, shop_id=self.shop.pk, route=self.route)
        order = page.order or self.order_for(page.filters)
        fitting = self.filtered(page.filters)
        if isinstance(fitting, QuerySet) and not self.parents and order in _BY_ID:
            since = page.filters.get("since_id")
            return self.page_response(
                Narrowed([fitting], int(since) if since else None, self._ranks(page.filters)), page, order
            )
        return self.page_response(fitting, page, order)

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[M] | type[M]:
        """The rows that fit the filters; a model where all of its rows in the shop do, which fixed statements serve."""
        if self.is_plain and not filters.keys() & self.filterset_class.base_filters.keys():
            return self.model
        return apply_filters(self.filterset_class, dict(filters), self.get_queryset())

    def page_response(self, fitting: Fitting, page: paging.PageRequest, order: paging.Order) -> HttpResponse:
        """One page of the rows that fit, with its ``Link`` header."""
        if self.versions:
            keys, has_more = page_keys(fitting, order, page, self.versions)
            rows = [key[: 1 + len(self.versions)] for key in keys]
            # A page that is one of several has links, which live for a week.
            linked = (page.cursor is not None or has_more) and paging.link_age()
            etag = self._tag(has_more, linked, *rows)
            if self._is_known(etag):
                return self._not_modified(etag)
            objects = render_many(self.plan(), rows, self.context)
            places = [key[1 + len(self.versions) :] for key in keys]
        else:
            etag = ""
            objects, places, has_more = read_page_rows(self.plan(), fitting, order, page, self.context)
        refuse_too_large(objects)
        body = b'{"' + self.plural.encode() + b'":[' + b",".join(objects) + b"]}"
        response = self.bytes(body)
        if etag:
            response["ETag"] = etag
        links = self._links(places, page, order, has_more)
        if links:
            response["Link"] = paging.link_header(
                self.request.path, links, limit=page.limit, fields=self.query.get("fields")
            )
        return response

    def _links(
        self, places: Sequence[paging.Place], page: paging.PageRequest, order: paging.Order, has_more: bool
    ) -> dict[paging.Direction, str]:
        """Tokens for the neighbours; ``places`` are the order's values of each row, in list order."""
        if not places:
            return {}
        backwards = page.cursor is not None and page.cursor.direction == "previous"
        exists: dict[paging.Direction, bool] = {
            "previous": has_more if backwards else page.cursor is not None,
            "next": True if backwards else has_more,
        }
        ends = {"previous": places[0], "next": places[-1]}
        return {
            direction: paging.make_token(
                direction,
                ends[direction],
                order=order,
                filters=page.filters,
                shop_id=self.shop.pk,
                route=self.route,
            )
            for direction, there in exists.items()
            if there
        }

    @property
    def route(self) -> str:
        """Names this list for its tokens: the resource and the parents in the path."""
        return "/".join([self.plural, self.action or "", *(f"{k}={v}" for k, v in sorted(self.kwargs.items()))])

    def count(self, request: Request, **_: int) -> HttpResponse:
        """How many rows fit."""
        filters = {name: value for name, value in self.query.items() if name not in {"limit", "fields"}}
        fitting = self.filtered(filters)
        ranked = None if self.parents else self._ranks(filters)
        rows = fitting.objects.all() if isinstance(fitting, type) else fitting
        return self.json({"count": self.counted(rows if ranked is None else ranked)})

    def counted(self, rows: QuerySet[Any]) -> int:
        """How many rows there are."""
        return rows.order_by().count()

    def _ranks(self, filters: Mapping[str, str]) -> QuerySet[Any] | None:
        """The ranks in the place of the rows, where they carry all that is asked for."""
        return ranks_that_fit(self.filterset_class, filters, self.model) if self.is_plain else None

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        """One row."""
        pk = kwargs["id"]
        if not self.versions:
            self._must_see(pk)
            return self.object_response(pk)
        key = self._key(pk)
        etag = self._tag(*key)
        if self._is_known(etag):
            return self._not_modified(etag)
        return self._rendered(key, ETag=etag)

    def _must_see(self, pk: int) -> None:
        if not self.is_plain and not self.get_queryset().filter(pk=pk).exists():
            raise Http404

    def _key(self, pk: int) -> Values:
        """``(id, *versions)`` of a row that this caller may see."""
        if self.is_plain:
            key = single_key(self.model, pk, self.versions)
        else:
            key = self.get_queryset().filter(pk=pk).values_list("pk", *self.versions).first()
        if key is None:
            raise Http404
        return key

    def _tag(self, *content: object) -> str:
        """The entity tag of an answer that is made of these versions."""
        fields = None if self.fields is None else sorted(self.fields)
        asked = self.context.currencies
        currencies = None if asked is None else sorted(asked)
        return tag_of((self.shop.pk, self.shop.version, self.plural, self.version, fields, currencies, content))

    def _is_known(self, etag: str) -> bool:
        """Whether the client has it, in whatever form it lists its tags; the comparison is the weak one."""
        return etag.removeprefix("W/") in self.request.META.get("HTTP_IF_NONE_MATCH", "")

    def _not_modified(self, etag: str) -> HttpResponse:
        return HttpResponse(status=304, content_type=CONTENT_TYPE, headers={"ETag": etag})

    def _rendered(self, key: Values, status: int = 200, **headers: str) -> HttpResponse:
        rendered = render_many(self.plan(), [key], self.context)
        if not rendered:
            raise Http404
        return self.bytes(b'{"' + self.singular.encode() + b'":' + rendered[0] + b"}", status, **headers)

    def object_response(self, pk: int, status: int = 200, **headers: str) -> HttpResponse:
        """One row under its singular name, as it is now."""
        try:
            shown = self.plan().read_one(pk, self.context)
        except KeyError:
            raise Http404 from None
        return self.json({self.singular: shown}, status, **headers)

    # --- writing -----------------------------------------------------------------------------------------------------

    def get_object(self) -> M:
        """The row that the path names, among those that this caller may see."""
        instance = self.get_queryset().filter(pk=self.kwargs["id"]).first()
        if instance is None:
            raise Http404
        return instance

    def attributes(self, instance: M | None = None) -> Attrs:
        """The body, checked."""
        return read_body(self.serializer_class, self.version, self.unwrapped(self.singular), instance=instance)

    def create(self, request: Request, **_: int) -> HttpResponse:
        """Make a row."""
        attrs = self.attributes()
        with transaction.atomic():
            instance = self.perform_create(attrs)
            return self.created(instance)

    def created(self, instance: M) -> HttpResponse:
        """201 with the row and where it is found."""
        location = f"{settings.BASE_URL}{self.path_of(instance)}"
        if self.shows_made:
            return self.json({self.singular: self.plan().of(instance, self.context)}, 201, Location=location)
        return self.object_response(instance.pk, 201, Location=location)

    def path_of(self, instance: M) -> str:
        """Where a row that was made is found: below the list to which it was sent, unless a resource says otherwise."""
        return f"{self.request.path.removesuffix('.json')}/{instance.pk}.json"

    def perform_create(self, attrs: Attrs) -> M:
        """Save a new row and record that it was made; a resource with rules calls its service instead."""
        narrowed = {argument: self.kwargs[argument] for argument in self.parents}
        instance = self.model(shop=self.shop, **narrowed, **attrs)
        instance.save()
        record_event(f"{self.plural}/create", instance, actor=self.actor, at=self.at)
        return instance

    def update(self, request: Request, **_: int) -> HttpResponse:
        """Change a row; what the body does not name stays."""
        with transaction.atomic():
            instance = self.get_object()
            self.hold(instance)
            self.perform_update(instance, self.attributes(instance))
            return self.object_response(instance.pk)

    def hold(self, instance: M) -> None:
        """Hold the row and read it again, before the body is compared with it.

        Where other rows of its aggregate are locked before it, a resource locks those first, or leaves the row alone
        because its body is compared with nothing and its service locks.
        """
        reread(instance, no_key=True)

    def perform_update(self, instance: M, attrs: Attrs) -> None:
        """Save what changes and record it; a resource with rules calls its service instead."""
        if changes := assign(instance, attrs):
            instance.save(update_fields=list(changes))
            record_event(f"{self.plural}/update", instance, actor=self.actor, at=self.at, changes=changes)

    def destroy(self, request: Request, **_: int) -> HttpResponse:
        """Delete a row."""
        with transaction.atomic():
            self.perform_destroy(self.get_object())
        return self.json({})

    def perform_destroy(self, instance: M) -> None:
        """Record the deletion, then delete; a resource with rules calls its service instead."""
        record_event(f"{self.plural}/delete", instance, actor=self.actor, at=self.at)
        if not instance.delete()[0]:
            raise Http404
