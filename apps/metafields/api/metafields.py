"""Metafields over REST, below each owner and at the top.

One viewset class is made per owner, so that each has its owner's scope and path. At the top live the shop's own; any
other can be named there too, by its id or by its owner, in queries and in bodies, as far as the caller's scopes reach.
"""

from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.api.errors import BadRequest, Unprocessable
from apps.api.requests.access import SAFE, ScopeMissing
from apps.api.resources.fields import ApiField, Column, FromModel, GlobalId, IntegerField, Render, TextField
from apps.api.resources.filters import ResourceFilter, TextFilter, apply_filters, read_id
from apps.api.resources.members import check_members
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Schema
from apps.api.viewsets import ShopViewSet
from apps.ground.phrases import NOT_IN_LIST
from apps.metafields.domain import setting, types
from apps.metafields.domain.owners import Owner, all_owners, owner_called, owner_named
from apps.metafields.models import Metafield
from apps.shops.models.scopes import SCOPES

OWNER_ID, OWNER_RESOURCE = "metafield[owner_id]", "metafield[owner_resource]"
# One of these writes the shop's own; the first is named where all are missing.
WRITING = (
    "write_metafields",
    *(scope for scope in SCOPES if scope.startswith("write_") and scope != "write_metafields"),
)
_OWNER = {"owner_id": IntegerField(min_value=1), "owner_resource": TextField(max_length=255)}


class ValueField(ApiField):
    """The value, shown as its type says."""

    schema = {"type": ["string", "integer", "boolean"]}

    def columns(self) -> tuple[str, ...]:
        """It takes the type to show it."""
        return ("type", "value")

    def reader(self) -> Render:
        """A truth value, a number or a text."""
        return lambda _context, name, text: types.show(name, text)

    def to_internal_value(self, data: object) -> object:
        """As it is; the service checks it against its type."""
        return data


class MetafieldSerializer(ResourceSerializer[Metafield]):
    """A metafield as the interface shows it; bodies are checked by ``apps.metafields.domain.setting.check``."""

    namespace = TextField(max_length=20)
    key = TextField(max_length=30)
    value = ValueField()
    description = FromModel()
    owner_id = Column()
    created_at = FromModel()
    updated_at = FromModel()
    owner_resource = Column()
    type = FromModel()
    admin_graphql_api_id = GlobalId("Metafield")

    class Meta:
        model = Metafield


_COUNTS = "When one is made at `/metafields`: what it is given to, by default the shop; elsewhere it is ignored."
_OWNER_SCHEMA: Mapping[str, Schema] = {
    "owner_id": {"type": ["integer", "null"], "minimum": 1, "description": _COUNTS},
    "owner_resource": {"type": ["string", "null"], "description": _COUNTS},
}


class MetafieldFilter(ResourceFilter):
    """How a list of metafields is narrowed."""

    namespace = TextFilter("namespace")
    key = TextFilter("key")
    type = TextFilter("type")


class MetafieldViewSet(ShopViewSet[Metafield]):
    """What all routes of metafields share."""

    model = Metafield
    serializer_class = MetafieldSerializer
    filterset_class = MetafieldFilter
    singular = "metafield"
    plural = "metafields"
    versions = ("version",)

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its owner, which counts where the path names none."""
        return _OWNER_SCHEMA

    def attributes(self, instance: Metafield | None = None) -> Attrs:
        """The body, checked; namespace and key are given once and for all."""
        values, errors = setting.check(self.unwrapped(self.singular), instance)
        if errors:
            raise Unprocessable(errors)
        return (
            values if instance is None else {name: values[name] for name in values if name not in {"namespace", "key"}}
        )

    def perform_update(self, instance: Metafield, attrs: Attrs) -> None:
        """Change it."""
        setting.update(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Metafield) -> None:
        """Take it away."""
        setting.delete(instance, actor=self.actor, at=self.at)


class OwnedMetafieldViewSet(MetafieldViewSet):
    """``/{owners}/{id}/metafields``: those of one owner."""

    owner: ClassVar[Owner]

    def open(self) -> None:
        """Load the owner, by its id and whatever else the path names of it."""
        columns = {name: value for name, value in self.kwargs.items() if name not in {"owner_id", "id"}}
        if not self.parents["owner_id"].objects.filter(pk=self.kwargs["owner_id"], **columns).exists():
            raise Http404

    def get_queryset(self) -> QuerySet[Metafield]:
        """The owner's."""
        return Metafield.objects.filter(owner_resource=self.owner.resource, owner_id=self.kwargs["owner_id"])

    def perform_create(self, attrs: Attrs) -> Metafield:
        """Give it to the owner."""
        return setting.create(self.owner, self.kwargs["owner_id"], attrs, actor=self.actor, at=self.at)


def viewset_for(owner: Owner, path: str = "", model: type[Model] | None = None) -> type[OwnedMetafieldViewSet]:
    """The viewset of an owner's metafields, by default at its path and for all of its rows."""
    attributes = {
        "__doc__": f"``/{path or owner.path}/{{id}}/metafields``.",
        "__module__": __name__,
        "owner": owner,
        "scope": owner.scope,
        "parents": {"owner_id": model or owner.model},
    }
    return type(f"{owner.gid}MetafieldViewSet", (OwnedMetafieldViewSet,), attributes)


class AnyMetafieldViewSet(MetafieldViewSet):
    """``/metafields``: the shop's own; lists of an owner that the query names; any metafield by its id.

    Whoever may write anything may write the shop's own; those of other owners take the owner's scope besides.
    """

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """Reading takes none; writing any one that writes."""
        return () if method in SAFE else WRITING

    def get_queryset(self) -> QuerySet[Metafield]:
        """What the caller's scopes let it see."""
        seen = [owner.resource for owner in all_owners() if self._may(owner, "read")]
        return Metafield.objects.filter(owner_resource__in=seen)

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[Metafield]:
        """Those of the owner that the query names, else of the shop."""
        others = {name: value for name, value in filters.items() if name not in {OWNER_ID, OWNER_RESOURCE}}
        return apply_filters(self.filterset_class, others, Metafield.objects.filter(self._owner_in(filters)))

    def count(self, request: Request, **_: int) -> HttpResponse:
        """How many fit."""
        return super().count(request)

    def perform_create(self, attrs: Attrs) -> Metafield:
        """Give it to the owner that the body names, else to the shop."""
        owner, pk = self._owner_in_body()
        return setting.create(owner, pk, attrs, actor=self.actor, at=self.at)

    def get_object(self) -> Metafield:
        """One that the caller may change."""
        metafield = super().get_object()
        owner = owner_named(metafield.owner_resource)
        assert owner is not None
        self._demand(owner, "write")
        return metafield

    def _owner_in(self, filters: Mapping[str, str]) -> Q:
        if not filters.keys() & {OWNER_ID, OWNER_RESOURCE}:
            return Q(owner_resource="shop", owner_id=self.shop.pk)
        owner = owner_called(filters.get(OWNER_RESOURCE, ""))
        if owner is None:
            raise BadRequest({OWNER_RESOURCE: NOT_IN_LIST})
        try:
            pk = read_id(filters.get(OWNER_ID, ""))
        except ValidationError as error:
            raise BadRequest({OWNER_ID: error.message}) from None
        self._demand(owner, "read")
        self._find(owner, pk)
        return Q(owner_resource=owner.resource, owner_id=pk)

    def _owner_in_body(self) -> tuple[Owner, int]:
        given = self.unwrapped(self.singular)
        if given.get("owner_id") is None and given.get("owner_resource") is None:
            given = {"owner_id": self.shop.pk, "owner_resource": "shop"}
        values, errors = check_members(_OWNER, given)
        owner = owner_called(values.get("owner_resource", ""))
        if owner is None:
            errors.setdefault("owner_resource", [NOT_IN_LIST])
        if owner is None or errors:
            raise Unprocessable(errors)
        self._demand(owner, "write")
        self._find(owner, values["owner_id"])
        return owner, values["owner_id"]

    def _find(self, owner: Owner, pk: int) -> None:
        """Make sure that this shop has the owner."""
        there = pk == self.shop.pk if owner.scope is None else owner.model._default_manager.filter(pk=pk).exists()
        if not there:
            raise Http404

    def _may(self, owner: Owner, verb: str) -> bool:
        scope = owner.scope_to(verb)
        return scope is None or scope in self.access.granted

    def _demand(self, owner: Owner, verb: str) -> None:
        if not self._may(owner, verb):
            raise ScopeMissing(owner.scope_to(verb) or "")
