"""The REST resource for metafields, at a path under each owner and at ``/metafields``.

A separate viewset class for each owner type defines the access scope and the path. ``/metafields`` serves the shop's
own metafields. If the caller's scopes allow it, ``/metafields`` also serves any metafield by ID, and the metafields of
the owner named in the query or body.
"""

from collections.abc import Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import Http404

from apps.core.i18n.error_messages import NOT_IN_LIST
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.requests.authentication import SAFE_METHODS, ScopeMissing
from apps.core.rest.resources.fields import (
    ApiField,
    IntegerField,
    ModelDerivedField,
    ReadOnlyColumn,
    Render,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.filters import ResourceFilter, TextFilter, apply_filters, parse_id
from apps.core.rest.resources.nested_objects import check_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.access_scopes import SCOPES
from apps.core.types import Attrs, Schema
from apps.metafields.domain import types, write
from apps.metafields.domain.owners import OwnerType, find_owner_type, owner_types
from apps.metafields.domain.write import MAX_PER_BODY
from apps.metafields.models import Metafield

OWNER_ID_PARAMETER, OWNER_RESOURCE_PARAMETER = "metafield[owner_id]", "metafield[owner_resource]"
# Any one of these scopes allows writing the shop's own metafields. If the caller has none of these scopes, the error
# names the first scope.
WRITE_SCOPES = (
    "write_metafields",
    *(scope for scope in SCOPES if scope.startswith("write_") and scope != "write_metafields"),
)
_OWNER = {"owner_id": IntegerField(min_value=1), "owner_resource": TextField(max_length=255)}


class ValueField(ApiField):
    """The value of a metafield, converted according to the metafield's type."""

    schema = {"type": ["string", "integer", "boolean"]}

    def get_columns(self) -> tuple[str, ...]:
        return ("type", "value")

    def get_renderer(self) -> Render:
        return lambda _context, name, text: types.render_value(name, text)

    def to_internal_value(self, data: object) -> object:
        """Accept any value, because ``domain.write`` validates it against the type."""
        return data


class MetafieldSerializer(ResourceSerializer[Metafield]):
    """The REST representation of a metafield. ``domain.write`` validates request bodies."""

    namespace = TextField(max_length=20)
    key = TextField(max_length=30)
    value = ValueField()
    description = ModelDerivedField()
    owner_id = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    owner_resource = ReadOnlyColumn()
    type = ModelDerivedField()
    admin_graphql_api_id = global_id_field("Metafield")


_OWNER_DESCRIPTION = (
    "The owner of a metafield created at `/metafields`, by default the shop. Ignored on all other paths."
)
_OWNER_SCHEMA: Mapping[str, Schema] = {
    "owner_id": {"type": ["integer", "null"], "minimum": 1, "description": _OWNER_DESCRIPTION},
    "owner_resource": {"type": ["string", "null"], "description": _OWNER_DESCRIPTION},
}


class MetafieldFilterSet(ResourceFilter):
    namespace = TextFilter("namespace")
    key = TextFilter("key")
    type = TextFilter("type")


class MetafieldViewSet(ShopViewSet[Metafield]):
    serializer_class = MetafieldSerializer
    filterset_class = MetafieldFilterSet
    singular = "metafield"
    version_columns = ("version",)

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        """Return the schema of ``owner_id`` and ``owner_resource``, for paths that do not name the owner."""
        return _OWNER_SCHEMA

    def get_validated_attributes(self, instance: Metafield | None = None) -> Attrs:
        """Validate the body. For an existing metafield, ignore namespace and key, which cannot change."""
        values, errors = write.validate_metafield(self.unwrap_body(self.singular), instance)
        if errors:
            raise Unprocessable(errors)
        fixed = set() if instance is None else {"namespace", "key"}
        return {name: values[name] for name in values if name not in fixed}

    def perform_update(self, instance: Metafield, attrs: Attrs) -> None:
        write.update_metafield(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Metafield) -> None:
        write.delete_metafield(instance, actor=self.actor, at=self.at)


class OwnedMetafieldViewSet(MetafieldViewSet):
    """Views for ``/{owners}/{id}/metafields``, the metafields of one owner."""

    owner: ClassVar[OwnerType]

    def load_parents(self) -> None:
        columns = {name: value for name, value in self.kwargs.items() if name not in {"owner_id", "id"}}
        if not self.parents["owner_id"].objects.filter(pk=self.kwargs["owner_id"], **columns).exists():
            raise Http404

    def get_queryset(self) -> QuerySet[Metafield]:
        return Metafield.objects.filter(owner_resource=self.owner.resource, owner_id=self.kwargs["owner_id"])

    def perform_create(self, attrs: Attrs) -> Metafield:
        return write.create_metafield(self.owner, self.kwargs["owner_id"], attrs, actor=self.actor, at=self.at)


def create_viewset(owner: OwnerType, path: str = "", model: type[Model] | None = None) -> type[OwnedMetafieldViewSet]:
    """Create the viewset class for an owner type. By default, use the path and the model of the owner type."""
    attributes = {
        "__doc__": f"``/{path or owner.path}/{{id}}/metafields``.",
        "__module__": __name__,
        "owner": owner,
        "scope": owner.scope,
        "parents": {"owner_id": model or owner.model},
    }
    return type(f"{owner.gid}MetafieldViewSet", (OwnedMetafieldViewSet,), attributes)


class AnyMetafieldViewSet(MetafieldViewSet):
    """Views for ``/metafields``: the shop's own metafields, another owner's metafields, or any metafield by ID.

    Any write scope allows writing the shop's own metafields. Writing metafields of another owner requires that owner's
    write scope.
    """

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Require any write scope for writing. ``get_queryset`` checks the scopes for reading."""
        return () if method in SAFE_METHODS else WRITE_SCOPES

    def get_queryset(self) -> QuerySet[Metafield]:
        readable_resources = [owner.resource for owner in owner_types.values() if self._may(owner, "read")]
        return Metafield.objects.filter(owner_resource__in=readable_resources)

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[Metafield]:
        """Return the metafields of the owner named in the query, by default the shop, that match the filters."""
        own = {OWNER_ID_PARAMETER, OWNER_RESOURCE_PARAMETER}
        remaining_filters = {name: value for name, value in filters.items() if name not in own}
        return apply_filters(self.filterset_class, remaining_filters, Metafield.objects.filter(self._owner_in(filters)))

    def perform_create(self, attrs: Attrs) -> Metafield:
        owner, pk = self._owner_in_body()
        return write.create_metafield(owner, pk, attrs, actor=self.actor, at=self.at)

    def get_object(self) -> Metafield:
        """Return the metafield with the ID in the path, if the caller may write it."""
        metafield = super().get_object()
        self._demand(owner_types[metafield.owner_resource], "write")
        return metafield

    def _owner_in(self, filters: Mapping[str, str]) -> Q:
        if not filters.keys() & {OWNER_ID_PARAMETER, OWNER_RESOURCE_PARAMETER}:
            return Q(owner_resource="shop", owner_id=self.shop.pk)
        owner = find_owner_type(filters.get(OWNER_RESOURCE_PARAMETER, ""))
        if owner is None:
            raise BadRequest({OWNER_RESOURCE_PARAMETER: NOT_IN_LIST})
        try:
            pk = parse_id(filters.get(OWNER_ID_PARAMETER, ""))
        except ValidationError as error:
            raise BadRequest({OWNER_ID_PARAMETER: error.message}) from None
        self._demand(owner, "read")
        self._find(owner, pk)
        return Q(owner_resource=owner.resource, owner_id=pk)

    def _owner_in_body(self) -> tuple[OwnerType, int]:
        body = self.unwrap_body(self.singular)
        if body.get("owner_id") in (None, "") and body.get("owner_resource") in (None, ""):
            body = {"owner_id": self.shop.pk, "owner_resource": "shop"}
        values, errors = check_members(_OWNER, body)
        owner = find_owner_type(values.get("owner_resource", ""))
        if owner is None:
            errors.setdefault("owner_resource", [NOT_IN_LIST])
        if owner is None or errors:
            raise Unprocessable(errors)
        self._demand(owner, "write")
        self._find(owner, values["owner_id"])
        return owner, values["owner_id"]

    def _find(self, owner: OwnerType, pk: int) -> None:
        """Raise ``Http404`` if the shop has no owner of this type with this ID."""
        exists = pk == self.shop.pk if owner.scope is None else owner.model._default_manager.filter(pk=pk).exists()
        if not exists:
            raise Http404

    def _may(self, owner: OwnerType, verb: str) -> bool:
        scope = owner.get_scope(verb)
        return scope is None or scope in self.access.granted_scopes

    def _demand(self, owner: OwnerType, verb: str) -> None:
        if not self._may(owner, verb):
            raise ScopeMissing(owner.get_scope(verb) or "")


_TEXT: Schema = {"type": "string"}

METAFIELDS_SCHEMA: Schema = {
    "type": ["array", "null"],
    "maxItems": MAX_PER_BODY,
    "items": {
        "type": "object",
        "required": ["namespace", "key", "value", "type"],
        "properties": {
            "namespace": _TEXT,
            "key": _TEXT,
            "value": {"description": "As its type demands."},
            "type": _TEXT,
            "description": {"type": ["string", "null"]},
        },
    },
}
